/** What a Raft replica does when something is wrong: with its disk, its peers, its machine. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ApplyContext,
  CLIENTS_MAX,
  COUNTER_ADD,
  COUNTER_READ,
  CounterMachine,
} from '../../engine/index.ts';
import { readSafeU64 } from '../../stdx/index.ts';
import { Command, EvictionOffset, readCommand } from '../../wire/index.ts';
import { TestClient, u32 } from './client-test-helper.ts';
import { type ClusterOptions, TestCluster } from './cluster-test-helper.ts';
import type { ReplicaParts } from './parts.ts';

function clusterOf(options: Partial<ClusterOptions> = {}): [TestCluster, TestClient] {
  const cluster = new TestCluster({ replicas: 3, ...options }).startAll();
  cluster.until(() => cluster.primary !== undefined, 'a primary');
  const client = new TestClient(cluster, 1);
  client.register();
  return [cluster, client];
}

test('a disk that fails stops its replica, and no other', () => {
  for (const isLeader of [true, false]) {
    const [cluster, client] = clusterOf();
    const victim = isLeader ? cluster.primary! : (cluster.primary! + 1) % 3;
    cluster.disks[victim]!.isBroken = true;
    const life = cluster.life(victim);
    client.begin(client.build(COUNTER_ADD, u32(1)));
    cluster.until(() => life.halted !== null, 'it halts');
    assert.equal(life.halted?.code, 'storage-failed');
    assert.equal(life.replica.status().role, 'halted');
    cluster.kill(victim);
    cluster.until(() => client.poll(), 'an answer');
    assert.equal(client.add(1), 2);
    cluster.stop();
  }
});

test('a full disk takes no new operations, and goes on when there is room', () => {
  const [cluster, client] = clusterOf({ replicas: 1 });
  const disk = cluster.disks[0]!;
  disk.sizeMax = 0;
  client.begin(client.build(COUNTER_ADD, u32(1)));
  const life = cluster.life(0);
  cluster.until(() => life.replica.status().isReadOnly, 'it notices');
  const other = new TestClient(cluster, 2);
  other.begin(other.build(2, new Uint8Array(256)));
  cluster.sleep(3_000);
  client.poll();
  assert.equal(client.replies.length, 1);
  assert.ok(life.replica.status().dropped['read-only'] > 0);
  assert.equal(life.count('disk-full'), 1);
  disk.sizeMax = Number.POSITIVE_INFINITY;
  cluster.until(() => client.poll(), 'an answer');
  assert.equal(client.add(1), 2);
  assert.equal(life.count('disk-has-room'), 1);
  assert.equal(life.halted, null);
  cluster.stop();
});

test('a replica whose file was made anew is not heard by those that knew it', () => {
  const [cluster, client] = clusterOf();
  const anew = (cluster.primary! + 1) % 3;
  client.add(1);
  cluster.kill(anew);
  cluster.format(anew, 99);
  cluster.start(anew);
  cluster.sleep(1_000);
  for (const replica of [0, 1, 2]) {
    const { strangers, peers } = cluster.life(replica).replica.status();
    assert.deepEqual(strangers, replica === anew ? [] : [anew]);
    if (replica !== anew) assert.ok(!peers.includes(anew));
  }
  assert.equal(client.add(1), 2);
  // It tells the others nothing, so it cannot help them either.
  cluster.kill(cluster.primary!);
  cluster.sleep(3_000);
  assert.equal(cluster.primary, undefined);
  cluster.stop();
});

/** Answers differently on one replica. */
class Wrong extends CounterMachine {
  readonly isWrong: boolean;

  constructor(isWrong: boolean) {
    super();
    this.isWrong = isWrong;
  }

  override apply(context: ApplyContext, operation: number, body: Uint8Array, reply: Uint8Array) {
    const size = super.apply(context, operation, body, reply);
    if (this.isWrong) reply[8] = 0xee;
    return size;
  }
}

test('a replica that executes something else than the leader stops', () => {
  let made = 0;
  const [cluster, client] = clusterOf({ machine: () => new Wrong(made++ === 1) });
  const lives = [0, 1, 2].map((replica) => cluster.life(replica));
  for (let i = 0; i < 5; i++) {
    if (client.poll()) client.begin(client.build(COUNTER_ADD, u32(1)));
    cluster.sleep(20);
  }
  const halted = lives.filter((life) => life.halted?.code === 'diverged');
  const isWrongLeader = (cluster.primary ?? 1) === 1 && halted.every((life) => life !== lives[1]);
  // The leader's word counts, whether it is the one that is wrong or not.
  if (!isWrongLeader) assert.deepEqual(halted, [lives[1]]);
  else assert.ok(halted.length > 0);
  cluster.stop();
});

test('a request that is in the log twice is executed once', () => {
  const parts: ReplicaParts[] = [];
  const [cluster, client] = clusterOf({ onReplicaParts: (one) => parts.push(one) });
  const leader = cluster.primary!;
  const { core, pool } = parts.find(({ head }) => head.replica === leader) as ReplicaParts;
  client.begin(client.build(COUNTER_ADD, u32(5)));
  cluster.until(() => client.poll(), 'an answer');
  const { log } = core.inside;
  const entry = log.at(log.last);
  assert.ok(entry.kind === 'data');
  // As if another leader had put it there again.
  const again = { type: 'propose', command: 0, data: entry.data, size: entry.size } as const;
  core.push({ ...again, eid: 'again', prerequisite: null });
  cluster.until(() => cluster.settled() && log.last > entry.index, 'executed');
  for (const replica of [0, 1, 2]) assert.equal(cluster.life(replica).count('request-known'), 1);
  assert.equal(readSafeU64(client.call(COUNTER_READ), 0), 5);
  assert.equal(pool.leaked() > 0, true);
  cluster.stop();
});

test('a link that is made anew without having been missed loses what was under way', () => {
  const parts: ReplicaParts[] = [];
  const [cluster, client] = clusterOf({ onReplicaParts: (one) => parts.push(one) });
  const leader = cluster.primary!;
  const backup = (leader + 1) % 3;
  const { core, peers } = parts.find(({ head }) => head.replica === leader) as ReplicaParts;
  const { sessions, leader: leading } = core.inside;
  for (let i = 0; i < 3; i++) {
    cluster.greetAgain(leader, backup);
    assert.ok(peers.isUp(backup) && sessions.isConnected(String(backup)));
    assert.equal(leading.peers.get(String(backup))?.state, 'probing');
    assert.equal(client.add(1), i + 1);
    cluster.until(() => cluster.settled(), 'all have it');
  }
  cluster.kill(backup);
  cluster.sleep(1);
  assert.ok(!sessions.isConnected(String(backup)), 'counted once');
  cluster.stop();
});

test('a replica that executes too slowly takes no more, and gets it later', () => {
  let slow = -1;
  const onReplicaParts = ({ applier, head }: ReplicaParts): void => {
    Object.defineProperty(applier, 'isFull', { get: () => head.replica === slow });
  };
  const [cluster, client] = clusterOf({ onReplicaParts });
  client.add(1);
  cluster.until(() => cluster.settled(), 'all have executed all');
  const leader = cluster.life(cluster.primary!).replica;
  slow = (cluster.primary! + 1) % 3;
  for (let i = 0; i < 20; i++) client.add(1);
  cluster.sleep(2_000);
  const life = cluster.life(slow);
  const { op, role } = life.replica.status();
  assert.equal(role, 'backup', 'it hears its leader');
  assert.ok(op <= leader.status().op - 20);
  assert.ok(life.count('backlog-full') > 0);
  slow = -1;
  cluster.until(() => cluster.settled(), 'it has all');
  assert.equal(leader.status().role, 'primary');
  cluster.stop();
});

test('a snapshot in the file that is none stops the replica', () => {
  for (const isForm of [true, false]) {
    const [cluster, client] = clusterOf({ replicas: 1, snapshotBytesMin: 1_000 });
    for (let i = 0; i < 20; i++) client.add(1);
    cluster.sleep(100);
    const spoil = ({ applier, pool }: ReplicaParts): void => {
      const onSnapshot = applier.onSnapshot.bind(applier);
      applier.onSnapshot = (snapshot) => {
        const data = snapshot.data?.slice() ?? new Uint8Array(0);
        assert.ok(data.length > 100);
        // Its form, or what is in it.
        data[isForm ? 4 : 96]! ^= 1;
        onSnapshot({ ...snapshot, data });
        assert.ok(pool.leaked() >= 0);
      };
    };
    cluster.kill(0);
    (cluster.options as { onReplicaParts?: (parts: ReplicaParts) => void }).onReplicaParts = spoil;
    cluster.start(0);
    cluster.sleep(10);
    assert.equal(cluster.life(0).halted?.code, 'storage-corrupt');
    assert.match(cluster.life(0).halted!.reason, isForm ? /malformed/ : /block .* is damaged/);
    cluster.stop();
  }
});

test('one client too many takes the place of the one that was silent longest', () => {
  const [cluster, first] = clusterOf();
  for (let i = 2; i <= CLIENTS_MAX + 1; i++) new TestClient(cluster, i).register();
  first.begin(first.build(COUNTER_READ));
  cluster.sleep(50);
  first.poll();
  assert.equal(first.evictions, 1);
  const eviction = cluster.sent.findLast(({ bytes }) => readCommand(bytes) === Command.eviction);
  assert.equal(eviction?.bytes[EvictionOffset.reason], 1);
  cluster.sleep(100);
  assert.ok(cluster.settled());
  cluster.stop();
});
