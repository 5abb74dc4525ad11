/** Clusters of Raft replicas in memory: they commit, lose leaders, come back, and answer once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COUNTER_ADD, COUNTER_READ } from '../../engine/index.ts';
import { readSafeU64 } from '../../stdx/index.ts';
import { HEADER_SIZE, PongClientOffset, readCommand } from '../../wire/index.ts';
import { TestClient, u32 } from './client-test-helper.ts';
import { type ClusterOptions, TestCluster } from './cluster-test-helper.ts';
import { Echo } from './machines-test-helper.ts';

function clusterOf(options: ClusterOptions): TestCluster {
  const cluster = new TestCluster(options).startAll();
  cluster.until(() => cluster.primary !== undefined, 'a primary');
  return cluster;
}

/** So many registered clients. */
function clientsOf(cluster: TestCluster, count: number): TestClient[] {
  const clients = Array.from({ length: count }, (_, i) => new TestClient(cluster, i + 1));
  for (const client of clients) client.register();
  return clients;
}

function someBackup(cluster: TestCluster): number {
  return (cluster.primary! + 1) % cluster.options.replicas;
}

const totalOf = (client: TestClient): number => readSafeU64(client.call(COUNTER_READ), 0) as number;

for (const replicas of [1, 2, 3, 5, 7]) {
  test(`${replicas} replicas commit, and all execute the same`, () => {
    const cluster = clusterOf({ replicas });
    const clients = clientsOf(cluster, 10);
    for (let round = 0; round < 10; round++) {
      for (const client of clients) client.begin(client.build(COUNTER_ADD, u32(1)));
      cluster.until(() => clients.every((client) => client.poll()), 'all answers');
    }
    assert.equal(totalOf(clients[0]!), 100);
    cluster.until(() => cluster.settled(), 'all have executed all');
    const roots = cluster.lives.map((life) => life!.machine.root().join());
    assert.equal(new Set(roots).size, 1);
    cluster.stop();
  });
}

test('requests of one turn share a write and a message to each of the others', () => {
  const cluster = clusterOf({ replicas: 3 });
  const clients = clientsOf(cluster, 40);
  cluster.sleep(50);
  const leader = cluster.life(cluster.primary!);
  const writes = leader.writes;
  const messages = leader.peerMessages;
  for (const client of clients) client.begin(client.build(COUNTER_ADD, u32(1)));
  cluster.until(() => clients.every((client) => client.poll()), 'all answers');
  assert.ok(leader.writes - writes <= 6, `${leader.writes - writes} writes`);
  assert.ok(leader.peerMessages - messages <= 16, `${leader.peerMessages - messages} messages`);
  cluster.stop();
});

test('the leader dies, another one serves, and nothing that was answered is lost', () => {
  const cluster = clusterOf({ replicas: 3 });
  const [client] = clientsOf(cluster, 1) as [TestClient];
  let total = 0;
  for (let round = 1; round <= 6; round++) {
    total += round;
    assert.equal(client.add(round), total);
    const dead = cluster.primary!;
    cluster.kill(dead);
    cluster.until(() => cluster.primary !== undefined, 'another primary');
    total += 100;
    assert.equal(client.add(100), total);
    cluster.start(dead);
    cluster.until(() => cluster.settled(), 'the one that came back has all');
  }
  cluster.stop();
});

test('all die at once, and come back with all that was answered', () => {
  for (const replicas of [1, 3]) {
    const cluster = clusterOf({ replicas });
    const [client] = clientsOf(cluster, 1) as [TestClient];
    for (let round = 1; round <= 5; round++) {
      assert.equal(client.add(10), 10 * round);
      const view = cluster.life(cluster.primary!).replica.status().view;
      for (const replica of cluster.lives.keys()) cluster.kill(replica);
      cluster.startAll();
      cluster.until(() => cluster.primary !== undefined, 'a primary');
      const after = cluster.life(cluster.primary!).replica.status().view;
      assert.ok(after > view, 'clients see views go up');
    }
    assert.equal(totalOf(client), 50);
    cluster.stop();
  }
});

test('a request that comes again is answered from its session, by any leader', () => {
  const cluster = clusterOf({ replicas: 3 });
  const [client] = clientsOf(cluster, 1) as [TestClient];
  const bytes = client.build(COUNTER_ADD, u32(5));
  client.begin(bytes);
  cluster.until(() => client.poll(), 'an answer');
  const first = client.replies.at(-1)!;
  for (let round = 0; round < 2; round++) {
    const { length } = cluster.sent;
    cluster.receive(cluster.primary!, client.connection, bytes);
    const [again, ...more] = cluster.sent.slice(length);
    assert.equal(more.length, 0);
    assert.deepEqual(again!.bytes.subarray(128), first.subarray(128), 'the same reply');
    cluster.kill(cluster.primary!);
    cluster.until(() => cluster.primary !== undefined || round === 1, 'another primary');
  }
  cluster.startAll();
  assert.equal(totalOf(client), 5);
  cluster.stop();
});

test('a backup passes a request on, and answers it itself', () => {
  const cluster = clusterOf({ replicas: 3 });
  const [client] = clientsOf(cluster, 1) as [TestClient];
  cluster.sleep(200);
  const backup = someBackup(cluster);
  const { length } = cluster.sent;
  client.begin(client.build(COUNTER_ADD, u32(3)), backup);
  cluster.until(() => client.poll(), 'an answer', 90);
  const replies = cluster.sent.slice(length).filter((one) => readCommand(one.bytes) === 8);
  assert.deepEqual(
    replies.map(({ replica }) => replica),
    [backup],
  );
  assert.equal(cluster.life(backup).count('request-forwarded'), 1);
  assert.equal(readSafeU64(client.replies.at(-1)!.subarray(HEADER_SIZE), 0), 3);
  cluster.stop();
});

test('a new leader tells its clients, and takes over what was held', () => {
  const cluster = clusterOf({ replicas: 3 });
  const clients = clientsOf(cluster, 3);
  cluster.sleep(50);
  const dead = cluster.primary!;
  const survivors = [0, 1, 2].filter((replica) => replica !== dead);
  for (const replica of survivors) clients[replica]!.begin(clients[replica]!.build(129), replica);
  cluster.kill(dead);
  const { length } = cluster.sent;
  cluster.until(() => cluster.primary !== undefined, 'another primary');
  const pongs = cluster.sent.slice(length).filter(({ bytes }) => readCommand(bytes) === 4);
  assert.ok(pongs.some(({ replica }) => replica === cluster.primary));
  assert.ok(pongs.every(({ bytes }) => bytes[PongClientOffset.pingTimestampMonotonic] === 0xff));
  cluster.until(() => survivors.every((i) => clients[i]!.poll()), 'both are answered', 90);
  cluster.stop();
});

test('a leader that is cut off serves nobody, and comes back as a follower', () => {
  const cluster = clusterOf({ replicas: 3 });
  const [client, other] = clientsOf(cluster, 2) as [TestClient, TestClient];
  const old = cluster.primary!;
  cluster.isolate(old, true);
  client.begin(client.build(COUNTER_ADD, u32(1)), old);
  cluster.until(() => cluster.primary !== undefined && cluster.primary !== old, 'another primary');
  other.view = cluster.life(cluster.primary!).replica.status().view;
  assert.equal(other.add(10), 10);
  assert.equal(client.replies.length, 1, 'no answer from the old one');
  cluster.isolate(old, false);
  cluster.until(() => client.poll(), 'an answer');
  cluster.until(() => cluster.settled(), 'all agree');
  assert.notEqual(cluster.life(old).replica.status().role, 'primary');
  assert.equal(totalOf(other), 11);
  cluster.stop();
});

test('requests as large as they may be, and one too large', () => {
  const cluster = clusterOf({ replicas: 3, machine: () => new Echo() });
  const [client] = clientsOf(cluster, 1) as [TestClient];
  for (const size of [1, 4000, 8192 - HEADER_SIZE]) {
    const body = new Uint8Array(size).map((_, i) => i + size);
    assert.deepEqual(client.call(128, body).slice(0, size), body);
  }
  cluster.until(() => cluster.settled(), 'all have executed all');
  client.begin(client.build(128, new Uint8Array(8193 - HEADER_SIZE)));
  client.poll();
  assert.equal(client.evictions, 1);
  cluster.stop();
});
