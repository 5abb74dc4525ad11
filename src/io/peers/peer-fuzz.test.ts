/** Bytes that no replica sends, to the listener and from the address that is dialled. */
import assert from 'node:assert/strict';
import net from 'node:net';
import { afterEach, test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { Command, HEADER_SIZE, isKnownCommand, Offset, sealHeader } from '../../wire/index.ts';
import { buildHello, buildHelloOk } from './peer-hello.ts';
import {
  allUp,
  checksum,
  fill,
  freeAddresses,
  pause,
  Stranger,
  stopAll,
  TestNode,
  until,
} from './peer-test-helper.ts';

afterEach(stopAll);

const SEED = 20_260_101;

/** A hello with a few bytes changed, most of them sealed again, some cut short. */
function mutated(node: TestNode, prng: Prng): Uint8Array {
  const own = { ...node.own, replica: prng.below(3), replicaId: new Uint8Array(16).fill(9) };
  const nonce = crypto.getRandomValues(new Uint8Array(16));
  const target = own.replica === 0 ? 1 : 0;
  const bytes = buildHello(own, target, nonce, null, checksum);
  for (let i = prng.below(4); i > 0; i--) {
    // Not the size: it would only make the listener wait for more.
    const at = prng.below(HEADER_SIZE);
    if (at < Offset.size || at >= Offset.size + 4) bytes[at] = prng.below(256);
  }
  if (isKnownCommand(bytes[Offset.command]) && prng.below(8) > 0) sealHeader(bytes, checksum);
  return prng.below(10) === 0 ? bytes.subarray(0, prng.below(HEADER_SIZE)) : bytes;
}

test(`mutated hellos (seed ${SEED}) harm no link`, async () => {
  const addresses = await freeAddresses(3);
  const nodes: TestNode[] = [];
  for (const replica of [0, 1, 2]) nodes.push(await TestNode.start({ replica, addresses }));
  await allUp(nodes);
  const [node] = nodes;
  const [address] = addresses;
  assert.ok(node !== undefined && address !== undefined);
  for (const one of nodes) one.diary.length = 0;
  const prng = new Prng(SEED);
  for (let round = 0; round < 60; round++) {
    const strangers = await Promise.all([1, 2, 3, 4, 5].map(() => Stranger.dial(address)));
    for (const stranger of strangers) {
      for (let i = prng.below(4); i >= 0; i--) stranger.socket.write(mutated(node, prng));
    }
    await pause(5);
    for (const stranger of strangers) {
      assert.equal(stranger.messages().isConfirmed, false);
      stranger.socket.destroy();
    }
  }
  node.send(1, 5);
  nodes[2]?.send(0, 6);
  await until(() => nodes[1]?.count('message 0 5') === 1, 'a message from the attacked');
  await until(() => node.count('message 2 6') === 1, 'a message to the attacked');
  const changes = nodes.flatMap(({ diary }) => diary).filter((line) => /up|down/.test(line));
  assert.deepEqual(changes, []);
});

test('what answers at a configured address and is no replica is named once, and left alone', async () => {
  const prng = new Prng(SEED);
  const [own] = await freeAddresses(1);
  assert.ok(own !== undefined);
  const cluster = new Uint8Array(16);
  const commit = fill(new Uint8Array(HEADER_SIZE), Command.commit, cluster, 1);
  const ping = fill(new Uint8Array(HEADER_SIZE), Command.pingClient, cluster, 1);
  const identity = {
    cluster,
    replica: 1,
    replicaCount: 2,
    replicaId: new Uint8Array(16).fill(1),
    isRecovered: false,
    release: 1,
  };
  const helloOk = buildHelloOk(identity, null, checksum);
  const garbage = Uint8Array.from({ length: 1000 }, () => prng.below(256));
  const cases: readonly [string, Uint8Array[], RegExp][] = [
    ['garbage', [garbage], /does not behave like replica 1 of 2: the header checksum is wrong/],
    ['no hello', [commit], /does not behave like replica 1 of 2: it does not say who it is/],
    ['a client', [ping], /does not behave like .*\(pingClient\)/],
    ['more answers than questions', [helloOk, helloOk], /does not behave like/],
    ['HTTP', [new TextEncoder().encode('HTTP/1.1 400 Bad\r\n'.repeat(20))], /header checksum/],
  ];
  for (const [what, answers, line] of cases) {
    const impostor = net.createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        for (const answer of answers) socket.write(answer);
      });
    });
    await new Promise<void>((resolve) => impostor.listen(0, '127.0.0.1', resolve));
    const bound = impostor.address();
    assert.ok(bound !== null && typeof bound === 'object');
    const addresses = [own, { host: '127.0.0.1', port: bound.port }];
    const node = await TestNode.start({ replica: 0, addresses, limits: { redialMsMax: 20 } });
    await until(() => node.logged(line), what);
    await pause(60);
    assert.equal(node.logs.length, 1, what);
    assert.deepEqual(node.diary, [], what);
    await node.stop();
    impostor.close();
  }
});
