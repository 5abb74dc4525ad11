/** Whoever is not a replica at its configured address gets nothing and displaces nobody. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { Command, HEADER_SIZE } from '../../wire/index.ts';
import type { PeerIdentity } from './peer-hello.ts';
import {
  allUp,
  fill,
  freeAddresses,
  pause,
  Stranger,
  stopAll,
  TestNode,
  until,
} from './peer-test-helper.ts';

afterEach(stopAll);

const strangeId = new Uint8Array(16).fill(0xee);

function pretend(node: TestNode, replica: number): PeerIdentity {
  return { ...node.own, replica, replicaId: strangeId };
}

test('a stranger that says it is a peer is denied by that peer, and displaces nobody', async () => {
  const addresses = await freeAddresses(2);
  const [first] = addresses;
  assert.ok(first !== undefined);
  const a = await TestNode.start({ replica: 0, addresses });
  const b = await TestNode.start({ replica: 1, addresses });
  await allUp([a, b]);
  a.diary.length = 0;
  const stranger = await Stranger.dial(first);
  stranger.hello(pretend(a, 1), 0);
  await until(() => stranger.isClosed, 'the stranger is out');
  assert.equal(a.server.counters().closed['peer-unproven'], 1);
  assert.ok(a.logged(/replica 1, the one at 127\.0\.0\.1:\d+ says it is not/));
  for (let i = 0; i < 10; i++) a.send(1, i);
  await until(() => b.count('message 0 9') === 1, 'the real one still gets its messages');
  assert.deepEqual(stranger.messages(), { commands: [Command.helloOk], isConfirmed: false });
  assert.deepEqual(a.diary, []);
  assert.notDeepEqual(a.ids.get(1), strangeId);
});

test('a stranger in place of a peer that is away receives nothing', async () => {
  const addresses = await freeAddresses(2);
  const [first] = addresses;
  assert.ok(first !== undefined);
  const a = await TestNode.start({ replica: 0, addresses });
  const stranger = await Stranger.dial(first);
  stranger.hello(pretend(a, 1), 0, new Uint8Array(16).fill(5));
  await pause(100);
  a.send(1, 1);
  await pause(50);
  assert.deepEqual(stranger.messages(), { commands: [Command.helloOk], isConfirmed: false });
  assert.deepEqual(a.diary, ['down 1']);
  assert.equal(a.links.counters().dropped['not-connected'], 1);
  // When the real one comes, it says so, and is believed.
  const b = await TestNode.start({ replica: 1, addresses });
  await allUp([a, b]);
  await until(() => stranger.isClosed, 'the stranger is out');
});

test('what strangers send as replicas is not taken, hello or not', async () => {
  const addresses = await freeAddresses(2);
  const [first] = addresses;
  assert.ok(first !== undefined);
  const a = await TestNode.start({ replica: 0, addresses });
  const b = await TestNode.start({ replica: 1, addresses });
  await allUp([a, b]);
  a.diary.length = 0;
  const commit = fill(new Uint8Array(HEADER_SIZE), Command.commit, a.own.cluster, 99);
  const ping = fill(new Uint8Array(HEADER_SIZE), Command.pingClient, a.own.cluster, 98);
  const cases: readonly [string, (stranger: Stranger) => void][] = [
    ['a peer command', (stranger) => stranger.socket.write(commit)],
    [
      'a peer command after a hello',
      (stranger) => {
        stranger.hello(pretend(a, 1), 0);
        stranger.socket.write(commit);
      },
    ],
    [
      'a client command after a hello',
      (stranger) => {
        stranger.hello(pretend(a, 1), 0);
        stranger.socket.write(ping);
      },
    ],
    [
      'a hello after a client command',
      (stranger) => {
        stranger.socket.write(ping);
        stranger.hello(pretend(a, 1), 0);
      },
    ],
    [
      'two hellos with two nonces',
      (stranger) => {
        stranger.hello(pretend(a, 1), 0);
        stranger.hello(pretend(a, 1), 0);
      },
    ],
  ];
  for (const [what, act] of cases) {
    const stranger = await Stranger.dial(first);
    act(stranger);
    await until(() => stranger.isClosed, what);
    assert.equal(a.count('message 1 99'), 0, what);
  }
  assert.deepEqual(a.diary, ['client 98']);
});

test('hellos of the wrong replica are answered, closed and explained on both sides', async () => {
  const cases: readonly [Partial<PeerIdentity>, number, RegExp][] = [
    [{ replica: 1 }, 2, /looks for replica 2 here, this is replica 0/],
    [{ replica: 0 }, 1, /it says it is replica 0, as is this one/],
    [{ replica: 3, replicaCount: 3 }, 0, /it says it is replica 3, there are 3/],
    [{ replica: 1, replicaCount: 5 }, 0, /it says 5 replicas, there are 3/],
  ];
  for (const [as, target, line] of cases) {
    const addresses = await freeAddresses(3);
    const [first] = addresses;
    assert.ok(first !== undefined);
    const a = await TestNode.start({ replica: 0, addresses });
    const stranger = await Stranger.dial(first);
    stranger.hello({ ...a.own, replicaId: strangeId, ...as }, target);
    await until(() => stranger.isClosed, `${line}`);
    assert.deepEqual(stranger.messages().commands, [Command.helloOk]);
    assert.ok(a.logged(line), `${line}`);
  }
});

test('a replica of another cluster is refused with a line that names both', async () => {
  const addresses = await freeAddresses(2);
  const a = await TestNode.start({ replica: 0, addresses });
  const b = await TestNode.start({ replica: 1, addresses, cluster: 7 });
  await until(() => a.logged(/of cluster 7 refused, this is cluster 0/), 'a line at a');
  await until(() => b.logged(/of cluster 0 refused, this is cluster 7/), 'a line at b');
  assert.deepEqual([a.isUp(1), b.isUp(0)], [false, false]);
});

test('replicas with swapped addresses refuse each other and say so', async () => {
  const addresses = await freeAddresses(3);
  const [x, y, z] = addresses;
  assert.ok(x !== undefined && y !== undefined && z !== undefined);
  const a = await TestNode.start({ replica: 0, addresses: [x, y, z] });
  const b = await TestNode.start({ replica: 1, addresses: [x, z, y] });
  const c = await TestNode.start({ replica: 2, addresses: [x, z, y] });
  const wrong = (port: number, wanted: number, found: number): RegExp =>
    new RegExp(`:${port} is not replica ${wanted} of 3, replica ${found} of 3 answers there`);
  await until(() => a.logged(wrong(y.port, 1, 2)) && a.logged(wrong(z.port, 2, 1)), 'lines at a');
  await until(() => b.logged(/replica 0 looks for replica 2 here, this is replica 1/), 'line at b');
  await pause(100);
  assert.deepEqual([a.isUp(1), a.isUp(2), b.isUp(0), c.isUp(0)], [false, false, false, false]);
  // The two that agree do work together.
  await allUp([b, c]);
  const lines = a.logs.filter(({ event }) => event === 'peer-other-replica');
  assert.equal(lines.length, 2, 'one line per peer');
});

test('many claims at once are limited, and the real peer still gets through', async () => {
  const addresses = await freeAddresses(2);
  const [first] = addresses;
  assert.ok(first !== undefined);
  const a = await TestNode.start({ replica: 0, addresses });
  const strangers: Stranger[] = [];
  for (let i = 0; i < 40; i++) {
    const stranger = await Stranger.dial(first);
    stranger.hello(pretend(a, 1), 0);
    strangers.push(stranger);
  }
  await until(() => a.server.counters().closed['peer-claims-max'] === 24, 'the limit');
  const b = await TestNode.start({ replica: 1, addresses });
  await allUp([a, b]);
  await until(() => strangers.every(({ isClosed }) => isClosed), 'all strangers are out');
});

test('clients leave slots to the peers, and connections too', async () => {
  const addresses = await freeAddresses(2);
  const [first] = addresses;
  assert.ok(first !== undefined);
  const a = await TestNode.start({
    replica: 0,
    addresses,
    requestSlots: 4,
    reserve: { request: 2, small: 2, reply: 0 },
    serverLimits: { connectionsMax: 6 },
  });
  a.hold = true;
  const clients: Stranger[] = [];
  for (let i = 0; i < 6; i++) {
    const client = await Stranger.dial(first);
    const size = HEADER_SIZE + 100;
    client.socket.write(fill(new Uint8Array(HEADER_SIZE), Command.pingClient, a.own.cluster, i));
    client.socket.write(fill(new Uint8Array(size), Command.request, a.own.cluster, 10 + i, size));
    clients.push(client);
  }
  await until(() => a.held.length === 6 + 2, 'clients have what they may have');
  const b = await TestNode.start({ replica: 1, addresses });
  await allUp([a, b]);
  b.send(0, 50, 1_000);
  b.send(0, 51);
  await until(() => a.count('message 1 51') === 1, 'the peer is heard');
  a.letGo();
  await until(() => [10, 11, 12, 13, 14, 15].every((i) => a.count(`client ${i}`) === 1), 'clients');
});
