/** A dialled connection by itself, against a listener that says what the test wants. */
import assert from 'node:assert/strict';
import net, { type Socket } from 'node:net';
import { test } from 'node:test';
import { MessagePool } from '../../wire/index.ts';
import type { Connection } from '../connection.ts';
import { DialledLink, type DialledLinkOwner } from './dialled-link.ts';
import { buildHelloOk, type PeerIdentity } from './peer-hello.ts';
import { peerLimits } from './peer-limits.ts';
import { checksum, until } from './peer-test-helper.ts';

const own: PeerIdentity = {
  cluster: new Uint8Array(16),
  replica: 0,
  replicaCount: 2,
  replicaId: new Uint8Array(16).fill(1),
  isRecovered: false,
  release: 1,
};

test('a connection that was given up counts for nothing, before it is closed', async () => {
  const sockets: Socket[] = [];
  const server = net.createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    socket.once('data', () => socket.write(buildHelloOk({ ...own, replica: 1 }, null, checksum)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const bound = server.address();
  assert.ok(bound !== null && typeof bound === 'object');
  const diary: string[] = [];
  const owner: DialledLinkOwner = {
    onGreeted: () => diary.push('greeted'),
    onAnswer: () => diary.push('answer'),
    onMessage: () => diary.push('message'),
    onBlocked: () => {},
    onLost: (problem, wasGreeted) => diary.push(`lost ${problem.kind} ${wasGreeted}`),
  };
  const link = new DialledLink({
    own,
    replica: 1,
    address: { host: '127.0.0.1', port: bound.port },
    pool: new MessagePool({ requestSlotSize: 4096, requestSlots: 2, replySlots: 0, smallSlots: 4 }),
    requestSizeMax: 4096,
    readBuffer: new Uint8Array(4096),
    limits: { ...peerLimits, redialMsMin: 60_000, redialMsMax: 60_000 },
    owner,
  });
  link.dial();
  await until(() => link.isGreeted, 'greeted');
  link.onRefused(null as unknown as Connection, 'test', 'warn', '');
  assert.deepEqual([link.isGreeted, link.isConnected], [false, false]);
  assert.throws(() => link.ask(null as unknown as Connection, new Uint8Array(16).fill(1)));
  assert.deepEqual(diary, ['greeted']);
  await until(() => diary.length === 2, 'closed');
  assert.deepEqual(diary, ['greeted', 'lost foreign true']);
  // Before the next attempt is due, a hint that the peer is there begins it.
  link.hurry();
  assert.equal(link.isConnected, false, 'not so soon');
  await until(() => {
    link.hurry();
    return link.isGreeted;
  }, 'dialled again');
  link.close();
  server.close();
  for (const socket of sockets) socket.destroy();
});
