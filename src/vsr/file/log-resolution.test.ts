import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { checkpointAfter, type Geometry, prepareMax } from './geometry.ts';
import { type LogResolution, opOfSlot, resolveLog, type SlotScan } from './log-resolution.ts';

const geometry: Geometry = { slots: 40, slotSize: 4096, requestSizeMax: 4096 };

/** One place of a ring: an op, 'reserved' or 'bad'. */
type Place = number | 'reserved' | 'bad';

/** A log as a single replica writes it: two rings, one operation after another. */
class ModelLog {
  readonly headers: Place[] = new Array<Place>(geometry.slots).fill('reserved');
  readonly prepares: Place[] = new Array<Place>(geometry.slots).fill('reserved');
  checkpoint = 0;
  head = 0;

  constructor() {
    this.headers[0] = 0;
    this.prepares[0] = 0;
  }

  append(): void {
    this.head++;
    this.prepares[this.head % geometry.slots] = this.head;
    this.headers[this.head % geometry.slots] = this.head;
    if (this.head === checkpointAfter(geometry, this.checkpoint) + 4) {
      this.checkpoint = checkpointAfter(geometry, this.checkpoint);
    }
  }

  resolve(): LogResolution {
    const slots = this.headers.map((header, slot): SlotScan => {
      const prepare = this.prepares[slot]!;
      return {
        header: typeof header === 'number' ? 'valid' : header,
        headerOp: typeof header === 'number' ? header : 0,
        prepare: typeof prepare === 'number' ? 'valid' : prepare,
        prepareOp: typeof prepare === 'number' ? prepare : 0,
        isIdentical: typeof header === 'number' && header === prepare,
      };
    });
    return resolveLog(slots, this.checkpoint, prepareMax(geometry, this.checkpoint));
  }
}

function logOf(operations: number): ModelLog {
  const log = new ModelLog();
  while (log.head < operations) log.append();
  return log;
}

test('opOfSlot: the one op above the checkpoint that lives in the slot', () => {
  for (const checkpoint of [0, 7, 15, 39, 47, 1007]) {
    for (let slot = 0; slot < geometry.slots; slot++) {
      const op = opOfSlot(slot, checkpoint, geometry.slots);
      assert.ok(op > checkpoint && op <= checkpoint + geometry.slots);
      assert.equal(op % geometry.slots, slot);
    }
  }
});

test('a log that was closed properly ends where it ended', () => {
  for (let operations = 0; operations < 200; operations++) {
    const resolution = logOf(operations).resolve();
    assert.deepEqual(resolution, { ok: true, head: operations, fixes: [], repairs: [], torn: -1 });
  }
});

test('every crash while the next operation is written leaves what was acknowledged', () => {
  for (let operations = 0; operations < 200; operations++) {
    const next = (operations + 1) % geometry.slots;
    const crash = (prepare: Place, header?: Place): LogResolution => {
      const log = logOf(operations);
      log.prepares[next] = prepare;
      if (header !== undefined) log.headers[next] = header;
      return log.resolve();
    };
    // The body is torn: whatever the header ring still says of an earlier wrap.
    const tornBody = crash('bad');
    assert.ok(tornBody.ok && tornBody.head === operations && tornBody.torn === next);
    // The body is complete: the operation was not acknowledged, but it may stay.
    for (const header of [undefined, 'bad'] as const) {
      const resolution = crash(operations + 1, header);
      assert.ok(resolution.ok && resolution.head === operations + 1);
      assert.deepEqual(resolution.fixes, [next]);
    }
    // Both bad cannot come from a crash.
    const lost = crash('bad', 'bad');
    assert.deepEqual(lost, { ok: false, slot: next, op: operations + 1, row: 'A' });
  }
});

test('damage: a needed operation is named, a superfluous one is emptied', () => {
  const prng = new Prng(5);
  let refused = 0;
  let repaired = 0;
  for (let round = 0; round < 5000; round++) {
    const log = logOf(prng.below(200));
    const slot = prng.below(geometry.slots);
    const op = opOfSlot(slot, log.checkpoint, geometry.slots);
    const kind = prng.pick(['header', 'prepare', 'both', 'reserved', 'older'] as const);
    if (kind === 'header' || kind === 'both') log.headers[slot] = 'bad';
    if (kind === 'prepare' || kind === 'both') log.prepares[slot] = 'bad';
    if (kind === 'reserved') log.prepares[slot] = 'reserved';
    if (kind === 'older') log.prepares[slot] = Math.max(0, op - geometry.slots);
    const resolution = log.resolve();
    const isNeeded = op <= log.head;
    const isGone = isNeeded && kind !== 'header';
    const isUnclear = op === log.head + 1 && kind === 'both';
    if (isGone || isUnclear) {
      refused++;
      assert.ok(!resolution.ok, `${kind} ${op} of ${log.head}`);
      assert.equal(resolution.op, op);
      assert.equal(resolution.slot, slot);
    } else {
      assert.ok(resolution.ok, `${kind} ${op} of ${log.head}`);
      assert.equal(resolution.head, log.head);
      assert.deepEqual(resolution.fixes, isNeeded ? [slot] : []);
      if (resolution.repairs.length > 0) repaired++;
      assert.ok(resolution.repairs.every((repair) => repair === slot));
    }
  }
  assert.ok(refused > 500 && repaired > 500);
});

test('a log that is ahead of its superblock is refused', () => {
  const log = logOf(100);
  const old = logOf(100);
  old.checkpoint = 7;
  const resolution = old.resolve();
  assert.ok(!resolution.ok);
  assert.equal(log.resolve().ok, true);
});
