import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OUTCOMES } from './file-disk-test-helper.ts';
import { FileRig } from './file-rig-test-helper.ts';
import { runByChance, runOpenings, runScript, runTwice } from './file-runs-test-helper.ts';
import { APPEND_FRAMES_MAX, extentOffset, RAFT_HEAD_SIZE } from './index.ts';

test('a fresh file opens with the snapshot that every log begins with', () => {
  const rig = new FileRig(1, 8192).open();
  const state = rig.look();
  assert.ok(state.ok);
  assert.equal(state.records.length, 0);
  assert.ok(state.header.type === 'snapshot');
  const { index, term, servers, data } = state.header.snapshot;
  assert.deepEqual([index, term, [...servers], data], [1, 1, [['0', '']], null]);
  assert.equal(rig.file.wasTorn, false);
  rig.close();
});

test('lives by chance lose nothing that was durable, and invent nothing', () => {
  for (let seed = 0; seed < 300; seed++) {
    try {
      runByChance(seed);
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    }
  }
});

test('the power is cut at every write, and the file opens', () => {
  for (const outcome of OUTCOMES) {
    let writes = 3;
    while (!runScript(writes, outcome, writes).isOver) writes++;
    assert.ok(writes > 25, `${writes} writes`);
  }
});

test('lives that end while they open leave a head', () => {
  for (let seed = 0; seed < 50; seed++) runOpenings(seed);
});

test('a frame that an earlier life left behind does not follow its like', () => runTwice());

test('what is appended in a step is one frame, and what comes meanwhile shares the next', () => {
  const rig = new FileRig(1, 65_536).open();
  const before = rig.disk.writesIssued;
  for (let i = 0; i < 10; i++) rig.append([50]);
  rig.requestSync();
  rig.advance();
  assert.equal(rig.disk.writesIssued, before + 1);
  for (let i = 0; i < 20; i++) {
    rig.append([50]);
    rig.requestSync();
    rig.advance();
  }
  assert.equal(rig.disk.pending.length, APPEND_FRAMES_MAX);
  rig.settle();
  assert.equal(rig.disk.writesIssued, before + 3);
  assert.equal(rig.synced, 30);
  rig.close();
});

test('a frame counts when those before it do', () => {
  const rig = new FileRig(1, 65_536).open();
  for (let i = 0; i < 2; i++) {
    rig.append([50]);
    rig.requestSync();
    rig.advance();
  }
  rig.complete(1);
  assert.equal(rig.synced, 0);
  rig.complete(0);
  assert.equal(rig.synced, 2);
  rig.close();
});

test('records that nobody wants durable wait for those that somebody does', () => {
  const rig = new FileRig(1, 65_536).open();
  const before = rig.disk.writesIssued;
  rig.note();
  rig.advance();
  assert.equal(rig.disk.writesIssued, before);
  rig.append([5]);
  rig.requestSync();
  rig.note();
  rig.settle();
  assert.equal(rig.disk.writesIssued, before + 1);
  assert.equal(rig.synced, 2);
  const state = rig.look();
  assert.ok(state.ok);
  assert.deepEqual(
    state.records.map(({ type }) => type),
    ['commit', 'entry'],
  );
  rig.close();
});

test('while a log is compacted, appends are durable as ever', () => {
  const rig = new FileRig(1, 16_384).open();
  rig.replace(1_000_000, [], true);
  rig.advance();
  let rounds = 0;
  while (rig.file.isReplacing) {
    rig.append([100]);
    rig.requestSync();
    const { requested } = rig;
    rig.advance();
    for (let i = 0; i < 8 && rig.synced < requested && !rig.isIdle; i++) {
      rig.complete();
      rig.advance();
    }
    // At its end appends are held, while the last of it is flushed and the head is written.
    if (rig.file.isReplacing && rig.synced === requested) rounds++;
  }
  assert.ok(rounds > 20, `${rounds} appends meanwhile`);
  rig.settle().crash('old').open();
  assert.equal(rig.corrupt, null);
  rig.close();
});

test('what follows a snapshot of another history waits for it', () => {
  const rig = new FileRig(1, 16_384).open();
  rig.replace(1_000_000, [], false);
  rig.append([100]);
  rig.requestSync();
  rig.advance();
  while (rig.file.isReplacing) {
    assert.equal(rig.synced, 0);
    rig.complete();
    rig.advance();
  }
  rig.settle();
  assert.equal(rig.synced, 2);
  rig.close();
});

test('extents of what was replaced are used again', () => {
  const rig = new FileRig(3, 16_384).open();
  for (let i = 0; i < 20; i++) {
    rig.replace(100_000, [5000], i % 2 === 0);
    rig.settle();
    rig.append([20_000]);
    rig.requestSync();
    rig.settle();
  }
  assert.ok(rig.disk.size < RAFT_HEAD_SIZE + 30 * 16_384, `${rig.disk.size} bytes`);
  assert.ok(rig.file.extentCount < 12, `${rig.file.extentCount} extents`);
  rig.close();
});

test('a full disk loses nothing, and what found no room is written when there is some', () => {
  const rig = new FileRig(4, 8192).open();
  rig.append([100]);
  rig.requestSync();
  rig.settle();
  rig.disk.sizeMax = rig.disk.size;
  for (let i = 0; i < 5; i++) {
    rig.append([9000]);
    rig.requestSync();
    rig.settle();
  }
  assert.equal(rig.synced, 1);
  assert.deepEqual(new Set(rig.failures), new Set(['no-space']));
  rig.file.retry();
  rig.settle();
  assert.equal(rig.synced, 1);
  rig.disk.sizeMax = Number.POSITIVE_INFINITY;
  rig.file.retry();
  rig.settle();
  assert.equal(rig.synced, 6);
  rig.crash('old').open();
  rig.close();
});

test('a file that was replaced under an open one, or lacks its head, is refused', () => {
  const rig = new FileRig(5, 8192).open();
  rig.close();
  assert.equal(rig.disk.read(extentOffset(rig.geometry, 0), 4096).length, 4096);
  rig.disk.install(0, new Uint8Array(RAFT_HEAD_SIZE));
  const state = rig.look();
  assert.ok(!state.ok);
  assert.equal(state.error.kind, 'not-a-data-file');
});
