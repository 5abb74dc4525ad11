/** Snapshots: the log forgets, files get short, and who was away for long catches up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { createChecksum } from '../../wire/index.ts';
import { BlockMap } from './block-map.ts';
import { TestClient } from './client-test-helper.ts';
import { TestCluster } from './cluster-test-helper.ts';
import { Blocks } from './machines-test-helper.ts';
import { readSnapshotData } from './snapshot-data.ts';

const checksum = createChecksum();

function clusterOf(replicas: number, snapshotBytesMin: number): TestCluster {
  const machine = (): Blocks => new Blocks(20);
  const cluster = new TestCluster({ replicas, snapshotBytesMin, machine }).startAll();
  cluster.until(() => cluster.primary !== undefined, 'a primary');
  return cluster;
}

/** Changes some blocks; what they hold afterwards. */
function change(client: TestClient, prng: Prng, count: number): void {
  for (let i = 0; i < count; i++) {
    client.call(128, Uint8Array.of(prng.below(20), prng.below(256)));
  }
}

const rootsOf = (cluster: TestCluster): Set<string> =>
  new Set(cluster.lives.flatMap((life) => (life === null ? [] : [life.machine.root().join()])));

test('the log is cut, and a restart begins with the snapshot', () => {
  for (const replicas of [1, 3]) {
    const cluster = clusterOf(replicas, 20_000);
    const client = new TestClient(cluster, 1);
    const prng = new Prng(5);
    client.register();
    const snapshotOps = [1, 1, 1];
    for (let round = 0; round < 4; round++) {
      change(client, prng, 600);
      cluster.until(() => cluster.settled(), 'all have executed all');
      cluster.sleep(200);
      const [root] = rootsOf(cluster);
      for (const replica of cluster.lives.keys()) {
        const { replica: engine } = cluster.kill(replica);
        const { checkpointOp } = engine.status();
        assert.ok(checkpointOp > snapshotOps[replica]!, 'the log was cut');
        snapshotOps[replica] = checkpointOp;
      }
      cluster.startAll();
      cluster.until(() => cluster.primary !== undefined && cluster.settled(), 'all are back');
      assert.deepEqual([...rootsOf(cluster)], [root]);
    }
    change(client, prng, 1);
    cluster.stop();
  }
});

test('who was away while the log was cut gets a snapshot, and lives on from it', () => {
  const cluster = clusterOf(3, 20_000);
  const client = new TestClient(cluster, 1);
  const prng = new Prng(6);
  client.register();
  change(client, prng, 10);
  for (let round = 0; round < 3; round++) {
    const away = (cluster.primary! + 1) % 3;
    cluster.kill(away);
    change(client, prng, 900);
    const { restarts } = cluster;
    cluster.start(away);
    cluster.until(() => cluster.restarts > restarts, 'a snapshot came');
    change(client, prng, 3);
    cluster.until(() => cluster.settled(), 'it has all');
    assert.equal(rootsOf(cluster).size, 1);
  }
  cluster.stop();
});

test('operations go on while a snapshot is made', () => {
  const cluster = clusterOf(3, 1_000);
  const clients = Array.from({ length: 20 }, (_, i) => new TestClient(cluster, i + 1));
  const prng = new Prng(7);
  for (const client of clients) client.register();
  for (let round = 0; round < 60; round++) {
    for (const client of clients) {
      client.begin(client.build(128, Uint8Array.of(prng.below(20), prng.below(256))));
    }
    cluster.until(() => clients.every((client) => client.poll()), 'answers');
  }
  const traces = cluster.life(cluster.primary!).traces;
  const made = traces.filter(({ event }) => event === 'snapshot');
  assert.ok(made.length > 1);
  assert.ok(made.some(({ fields }) => (fields.operationsMeanwhile as number) > 20));
  cluster.until(() => cluster.settled(), 'all have executed all');
  const [root] = rootsOf(cluster);
  for (const replica of [0, 1, 2]) cluster.kill(replica);
  cluster.startAll();
  cluster.until(() => cluster.settled(), 'all are back');
  assert.deepEqual([...rootsOf(cluster)], [root]);
  cluster.stop();
});

test('blocks of many cuts: what is put together is what there is', () => {
  const prng = new Prng(8);
  const blocks = new BlockMap(checksum);
  const model = new Map<string, Uint8Array>();
  let opened: BlockMap | null = null;
  for (let op = 1; op <= 200; op++) {
    for (let i = prng.below(6); i > 0; i--) {
      const [kind, index] = [prng.pick([1, 2, 0x8001]), prng.below(12)];
      const bytes = new Uint8Array(prng.chance(1, 4) ? 0 : 1 + prng.below(3000));
      prng.fill(bytes);
      for (const map of [blocks, opened]) map?.put({ kind, index, bytes });
      if (bytes.length === 0) model.delete(`${kind} ${index}`);
      else model.set(`${kind} ${index}`, bytes);
    }
    if (prng.chance(1, 2)) continue;
    const point = { op, timestamp: { hi: op, lo: 7 }, digest: new Uint8Array(16).fill(op) };
    const whole = assemble(blocks, point, prng);
    if (opened !== null) assert.deepEqual(assemble(opened, point, prng), whole);
    const data = readSnapshotData(whole);
    assert.ok(data !== null && data.op === op && data.timestamp.hi === op);
    const found = data.blocks.map(({ kind, index, bytes }) => [`${kind} ${index}`, bytes.slice()]);
    assert.deepEqual(new Map(found as [string, Uint8Array][]), model);
    if (prng.chance(1, 5)) {
      opened = new BlockMap(checksum);
      opened.adopt(data);
    }
  }
});

function assemble(
  blocks: BlockMap,
  point: Parameters<BlockMap['assemble']>[0],
  prng: Prng,
): Uint8Array {
  const assembly = blocks.assemble(point);
  for (;;) {
    const bytes = assembly.advance(1 + prng.below(5000));
    if (bytes !== null) return bytes;
  }
}

test('bytes that are no snapshot are told apart', () => {
  const blocks = new BlockMap(checksum);
  for (let index = 0; index < 3; index++) {
    blocks.put({ kind: 1, index, bytes: new Uint8Array(100).fill(index) });
  }
  const point = { op: 9, timestamp: { hi: 0, lo: 7 }, digest: new Uint8Array(16) };
  const whole = blocks.assemble(point).advance(1e6) as Uint8Array;
  assert.ok(readSnapshotData(whole) !== null);
  for (let length = 0; length < whole.length; length++) {
    assert.equal(readSnapshotData(whole.subarray(0, length)), null);
  }
  const longer = new Uint8Array(whole.length + 16);
  longer.set(whole);
  assert.equal(readSnapshotData(longer), null);
  const prng = new Prng(3);
  for (let i = 0; i < 3000; i++) {
    const spoilt = whole.slice();
    spoilt[prng.below(spoilt.length)] = prng.below(256);
    readSnapshotData(spoilt);
  }
});
