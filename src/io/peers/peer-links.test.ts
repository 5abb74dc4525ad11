/** Links between real sockets: how they come up, carry, break, and come up again. */
import assert from 'node:assert/strict';
import net from 'node:net';
import { afterEach, test } from 'node:test';
import { HEADER_SIZE } from '../../wire/index.ts';
import { peerLimits } from './peer-limits.ts';
import { allUp, freeAddresses, pause, stopAll, TestNode, until } from './peer-test-helper.ts';

afterEach(stopAll);

test('three replicas find each other, in any order of starting', async () => {
  for (const order of [
    [0, 1, 2],
    [2, 0, 1],
  ]) {
    const addresses = await freeAddresses(3);
    const nodes: TestNode[] = [];
    for (const replica of order) {
      nodes.push(await TestNode.start({ replica, addresses }));
      await pause(30);
    }
    await allUp(nodes);
    for (const node of nodes) {
      for (const other of nodes) {
        if (node === other) continue;
        const { replica } = other.own;
        assert.equal(node.count(`up ${replica}`), 1);
        assert.deepEqual(node.ids.get(replica), other.own.replicaId);
      }
    }
  }
});

test('messages arrive in order, with who sent them, and never before the link is up', async () => {
  const addresses = await freeAddresses(2);
  const a = await TestNode.start({ replica: 0, addresses });
  const b = new TestNode({ replica: 1, addresses });
  // Sends at the very moment it learns that the link is up.
  const up = b.onPeerUp.bind(b);
  b.onPeerUp = (replica, replicaId, isRecovered) => {
    up(replica, replicaId, isRecovered);
    for (let i = 0; i < 20; i++) b.send(0, i, i % 5 === 4 ? 50_000 : 0);
  };
  await b.begin();
  await until(() => a.count('message 1 19') === 1, 'the last message');
  const messages = Array.from({ length: 20 }, (_, i) => `message 1 ${i}`);
  assert.deepEqual(
    a.diary.filter((line) => !line.startsWith('down')),
    ['up 1', ...messages],
  );
  assert.equal(a.links.counters().dropped['received-early'], undefined);
});

test('a peer that restarts is down, then up again with the same id', async () => {
  const addresses = await freeAddresses(2);
  const a = await TestNode.start({ replica: 0, addresses });
  const replicaId = crypto.getRandomValues(new Uint8Array(16));
  const first = await TestNode.start({ replica: 1, addresses, replicaId });
  await allUp([a, first]);
  a.diary.length = 0;
  await first.stop();
  await until(() => a.count('down 1') === 1, 'down');
  await pause(100);
  assert.equal(a.count('down 1'), 1, 'once per outage, however often it is dialled');
  const second = await TestNode.start({ replica: 1, addresses, replicaId });
  await allUp([a, second]);
  assert.equal(a.count('up 1'), 1);
  assert.deepEqual(a.ids.get(1), replicaId);
  assert.equal(a.recovered.has(1), false);
  await second.stop();
  const third = await TestNode.start({ replica: 1, addresses, isRecovered: true });
  await allUp([a, third]);
  assert.deepEqual(a.ids.get(1), third.own.replicaId);
  assert.equal(a.recovered.has(1), true);
});

test('a peer that is not there is down once, then dialled ever more slowly', async () => {
  const addresses = await freeAddresses(2);
  const a = await TestNode.start({
    replica: 0,
    addresses,
    limits: { redialMsMax: 80, troubleAfterMs: 0 },
  });
  await until(() => a.count('down 1') === 1, 'down');
  const refused = (): number => a.links.counters().dialsFailed['ECONNREFUSED'];
  const startMs = performance.now();
  const before = refused();
  await until(() => refused() >= before + 8, 'dialled again and again');
  // 10 + 20 + 40 + 80 + 80 …, each up to a quarter less: a slow machine only takes longer.
  const waitedMs = performance.now() - startMs;
  const leastMs = (3 / 4) * 5 * 80;
  assert.ok(waitedMs >= leastMs, `8 dials in ${waitedMs} ms`);
  assert.equal(a.count('down 1'), 1);
  const lines = a.logs.filter(({ event }) => event === 'peer-system');
  assert.equal(lines.length, 1, 'one line');
  assert.match(lines[0]?.message ?? '', /replica 1 of 2 at 127\.0\.0\.1:\d+ cannot be reached/);
});

test('a peer that comes back is dialled at once, however slowly it was dialled before', async () => {
  const addresses = await freeAddresses(2);
  const limits = { redialMsMin: 60_000, redialMsMax: 60_000 };
  const a = await TestNode.start({ replica: 0, addresses, limits });
  await until(() => a.count('down 1') === 1, 'down');
  await pause(100);
  const startMs = performance.now();
  const b = await TestNode.start({ replica: 1, addresses });
  await allUp([a, b]);
  assert.ok(performance.now() - startMs < 500);
});

test('an address that leads nowhere is no proof that the peer is gone', async () => {
  const [own] = await freeAddresses(1);
  assert.ok(own !== undefined);
  // No network leads to the first; the second accepts in silence.
  const silent: net.Socket[] = [];
  const mute = net.createServer((socket) => silent.push(socket));
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
  const bound = mute.address();
  assert.ok(bound !== null && typeof bound === 'object');
  const addresses = [
    own,
    { host: '255.255.255.255', port: 9 },
    { host: '127.0.0.1', port: bound.port },
  ];
  const limits = { greetTimeoutMs: 100, redialMsMax: 50, troubleAfterMs: 50 };
  const a = await TestNode.start({ replica: 0, addresses, limits });
  await until(() => a.logged(/replica 1 of 3 at 255\.255\.255\.255:9 .*ENETUNREACH/), 'a line');
  await until(() => a.links.counters().dialsFailed['no-answer'] > 2, 'dialled again');
  await pause(100);
  assert.equal(a.logs.filter(({ fields }) => fields['peer'] === 1).length, 1, 'one line only');
  assert.equal(a.logs.filter(({ fields }) => fields['peer'] === 2).length, 1);
  assert.deepEqual(a.diary, []);
  for (const socket of silent) socket.destroy();
  mute.close();
});

test('a peer that takes nothing is cut off, and what waits is limited', async () => {
  const addresses = await freeAddresses(2);
  const a = await TestNode.start({ replica: 0, addresses, requestSlots: 200 });
  const b = await TestNode.start({ replica: 1, addresses, requestSlots: 4 });
  await allUp([a, b]);
  a.diary.length = 0;
  b.hold = true;
  const { preparesMax } = peerLimits;
  // The kernel's buffers take some megabytes; when they are full, messages wait on the link.
  for (let sent = 0; a.links.status()[0]?.unsent !== preparesMax; ) {
    for (let i = 0; i < 8; i++) a.send(1, sent++, 60_000);
    await pause(20);
    assert.ok(sent < 4_000);
  }
  a.send(1, 0, 60_000);
  assert.ok(a.links.counters().dropped['prepare-queue-full'] > 0);
  for (let i = 0; i < 300; i++) a.send(1, i);
  assert.equal(a.links.status()[0]?.unsent, preparesMax + 256);
  assert.equal(a.links.counters().dropped['small-queue-full'], 300 - 256);
  const startMs = performance.now();
  await until(() => a.count('down 1') === 1, 'cut off');
  const elapsedMs = performance.now() - startMs;
  assert.ok(elapsedMs > 600 && elapsedMs < 2_500, `${elapsedMs} ms`);
  b.letGo();
  await allUp([a, b]);
  assert.equal(a.links.status()[0]?.unsent, 0);
  a.send(1, 77);
  await until(() => b.count('message 0 77') === 1, 'a message on the new link');
});

test('a reader without a slot waits, and goes on when there is one', async () => {
  const addresses = await freeAddresses(2);
  const a = await TestNode.start({ replica: 0, addresses });
  const b = await TestNode.start({ replica: 1, addresses, requestSlots: 2 });
  await allUp([a, b]);
  b.hold = true;
  for (let i = 0; i < 6; i++) a.send(1, i, 10_000);
  await until(() => b.held.length === 2, 'all slots are taken');
  await pause(50);
  assert.equal(b.held.length, 2);
  b.letGo();
  await until(() => b.count('message 0 5') === 1, 'the rest');
  const numbers = b.diary.filter((line) => line.startsWith('message'));
  assert.deepEqual(
    numbers,
    [0, 1, 2, 3, 4, 5].map((i) => `message 0 ${i}`),
  );
});

test('a link that has fallen silent is asked, then given up', async () => {
  const addresses = await freeAddresses(2);
  const limits = { probeAfterMs: 100, silenceMs: 600, redialMsMax: 50 };
  const a = await TestNode.start({ replica: 0, addresses, limits });
  const b = await TestNode.start({ replica: 1, addresses });
  await allUp([a, b]);
  a.diary.length = 0;
  // Idle, but alive: questions are answered.
  await pause(1_000);
  assert.equal(a.count('down 1'), 0);
  // From now on it takes what comes and says nothing, like a machine behind a cut cable.
  b.links.onHello = () => {};
  await until(() => a.count('down 1') === 1, 'given up');
  assert.ok(a.links.counters().dialsFailed['silent'] >= 1);
});

test('messages of every size go through, in pieces of any size', async () => {
  const addresses = await freeAddresses(2);
  const a = await TestNode.start({ replica: 0, addresses });
  const b = await TestNode.start({ replica: 1, addresses });
  await allUp([a, b]);
  for (let i = 0; i < 200; i++) {
    a.send(1, i, (i * 331) % (65_536 - HEADER_SIZE));
    if (i % 7 === 6) await until(() => b.count(`message 0 ${i}`) === 1, `message ${i}`);
  }
  await until(() => b.count('message 0 199') === 1, 'the last');
  assert.equal(b.diary.filter((line) => line.startsWith('message')).length, 200);
});
