import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytesEqual, Prng } from '../../stdx/index.ts';
import { HEADER_SIZE, PrepareOffset, readView } from '../../wire/index.ts';
import type { Log } from './log.ts';
import { fillPrepare, makeLog, makePool } from './log-test-helper.ts';

const pool = makePool();

function header(op: number, view: number = 1, above: Uint8Array | null = null): Uint8Array {
  const bytes = new Uint8Array(HEADER_SIZE);
  fillPrepare(bytes, { op, view, ...(above === null ? {} : { parent: above.slice(0, 16) }) }, pool);
  return bytes;
}

/** Headers of ops 0 … count − 1, each the parent of the next. */
function chain(count: number, view: number = 1): Uint8Array[] {
  const headers: Uint8Array[] = [];
  for (let op = 0; op < count; op++) headers.push(header(op, view, headers.at(-1) ?? null));
  return headers;
}

/** Everything appended and durable. */
function filled(log: Log, headers: readonly Uint8Array[]): void {
  headers.forEach((one, op) => {
    if (op === 0) log.set(one);
    else log.append(one);
    log.markClean(op);
  });
}

test('what is appended is there, dirty until it is durable', () => {
  const { log } = makeLog(40);
  const headers = chain(4);
  filled(log, headers.slice(0, 3));
  log.append(headers[3]);
  assert.equal(log.head, 3);
  assert.equal(log.chainLow, 0);
  assert.ok(log.has(3, headers[3], 0) && !log.has(2, headers[3], 0));
  assert.ok(log.isClean(2) && !log.isClean(3) && !log.isFaulty(3));
  log.markClean(3);
  assert.ok(log.isClean(3));
  assert.equal(log.header(4), null);
});

test('the same header again leaves a place as it is; another one has to be written', () => {
  const { log } = makeLog(40);
  const headers = chain(3);
  filled(log, headers);
  log.set(headers[2]);
  assert.ok(log.isClean(2));
  log.set(header(2, 2, headers[1]));
  assert.ok(!log.isClean(2) && !log.isFaulty(2));
});

test('damage is remembered until the place is written, whatever header comes back', () => {
  const { log } = makeLog(40);
  const headers = chain(4);
  log.restore(0, headers[0], false);
  log.restore(1, headers[1], false);
  log.restore(2, null, true);
  log.restore(3, null, true);
  log.open(3);
  assert.ok(log.isFaulty(2) && log.isFaulty(3) && !log.isFaulty(1));
  log.set(headers[2]);
  assert.ok(log.isFaulty(2), 'it may be exactly what was lost');
  assert.ok(!log.isClean(2));
  log.markClean(2);
  assert.ok(log.isClean(2) && !log.isFaulty(2));
  log.markFaulty(2);
  assert.ok(!log.isClean(2) && log.isFaulty(2));
  // Something else in its place: what was lost there has been cut off.
  log.set(header(2, 2, headers[1]));
  assert.ok(!log.isClean(2) && !log.isFaulty(2));
});

test('behind a gap nothing below it counts until it is closed', () => {
  const { log } = makeLog(40);
  const headers = chain(6);
  filled(log, headers.slice(0, 2));
  log.append(headers[5]);
  assert.equal(log.head, 5);
  assert.equal(log.chainLow, 5);
  assert.deepEqual(
    [2, 3, 4].map((op) => log.header(op)),
    [null, null, null],
  );
  log.set(headers[4]);
  assert.equal(log.chainLow, 4);
  log.set(headers[2]);
  assert.equal(log.chainLow, 4);
  log.set(headers[3]);
  assert.equal(log.chainLow, 0);
});

test('a left-over of an older view is no part of the chain and not canonical', () => {
  const { log, member } = makeLog(40, 1);
  const old = chain(4, 1);
  filled(log, old);
  member.logView = 2;
  const others = [old[0], old[1]];
  for (let op = 2; op < 6; op++) others.push(header(op, 2, others[op - 1]));
  log.append(others[5]);
  log.set(others[4]);
  assert.equal(log.chainLow, 4);
  assert.ok(log.isCanonical(4) && !log.isCanonical(3) && !log.isCanonical(2));
  assert.ok(!log.accepts(old[2]), 'whatever another left-over names');
  log.set(others[3]);
  assert.ok(log.isCanonical(3) && !log.isCanonical(2));
  log.set(others[2]);
  assert.equal(log.chainLow, 0);
  assert.ok(log.isCanonical(0) && log.isClean(1) && !log.isClean(2));
});

test('it accepts headers of its view and those that the operation above names', () => {
  const { log } = makeLog(40, 2);
  const headers = chain(6, 1);
  const ours = header(5, 2, headers[4]);
  log.set(headers[0]);
  log.append(ours);
  assert.ok(log.accepts(headers[4]), 'named by the one above');
  assert.ok(!log.accepts(headers[3]), 'nobody names it yet');
  assert.ok(!log.accepts(header(4, 1)), 'another one at the same place');
  assert.ok(log.accepts(header(3, 2)), 'of the view of the log');
  assert.ok(!log.accepts(header(6, 2, ours)), 'never a new head');
  log.set(headers[4]);
  assert.ok(log.accepts(headers[3]));
});

test('an operation of an earlier round of the slots is never accepted', () => {
  const { log } = makeLog(40, 1);
  const headers = chain(60);
  filled(log, headers);
  assert.ok(log.chainLow <= 20);
  assert.equal(log.header(19), null);
  assert.ok(!log.accepts(headers[19]) && log.accepts(headers[20]));
  assert.throws(() => log.set(headers[19]), /would replace a later operation/);
});

test('what is cut off is gone, its damage with it', () => {
  const { log } = makeLog(40);
  const headers = chain(6);
  filled(log, headers);
  log.markFaulty(4);
  log.truncate(3);
  assert.equal(log.head, 3);
  assert.equal(log.chainLow, 0);
  assert.ok(!log.isFaulty(4));
  for (const op of [4, 5]) assert.ok(log.header(op) === null && !log.isClean(op));
  log.append(headers[4]);
  assert.ok(!log.isClean(4), 'what the disk has there does not count any more');
});

test('a head that is only told of is not there', () => {
  const { log } = makeLog(40);
  const headers = chain(6);
  filled(log, headers.slice(0, 3));
  log.raise(5);
  assert.equal(log.head, 5);
  assert.ok(!log.isCanonical(5) && log.isCanonical(2), 'of the view itself');
  assert.equal(log.chainLow, 6);
  log.set(headers[5]);
  assert.equal(log.chainLow, 5);
});

test('after recovery nothing above the head is left', () => {
  const { log } = makeLog(40);
  const headers = chain(6);
  headers.forEach((one, op) => {
    log.restore(op, one, false);
  });
  log.open(3);
  assert.equal(log.head, 3);
  assert.equal(log.header(4), null);
  assert.equal(log.header(5), null);
  assert.equal(log.chainLow, 0);
});

/** The definition, the long way. */
function chainLowOf(log: Log, slots: number): number {
  let low = log.head + 1;
  while (low > Math.max(0, log.head - slots + 1)) {
    const below = log.header(low - 1);
    const above = low <= log.head ? log.header(low) : null;
    if (below === null) break;
    if (above !== null && !bytesEqual(above, PrepareOffset.parent, below, 0, 16)) break;
    low--;
  }
  return low;
}

test('the chain is what its definition says, after whatever has happened', () => {
  const slots = 12;
  const logs = [chain(40, 1)];
  // Logs of later views: each leaves an earlier one at some point.
  for (const [view, from, at] of [
    [2, 0, 7],
    [3, 0, 15],
    [4, 2, 22],
  ] as const) {
    const fork = (logs[from] as Uint8Array[]).slice(0, at);
    while (fork.length < 40) fork.push(header(fork.length, view, fork.at(-1) ?? null));
    logs.push(fork);
  }
  const prng = new Prng(5);
  const seen = { gap: 0, fork: 0, whole: 0 };
  for (let run = 0; run < 200; run++) {
    const { log, member } = makeLog(slots, 1);
    log.set((logs[0] as Uint8Array[])[0] as Uint8Array);
    for (let step = 0; step < 60; step++) {
      act(log, member, logs, prng, slots);
      const expected = chainLowOf(log, slots);
      // What the slots have forgotten does not count.
      const low = Math.max(0, log.head - slots + 1);
      assert.equal(Math.max(log.chainLow, low), expected);
      log.invariants();
      for (let op = Math.max(0, log.head - slots); op <= log.head + 1; op++) {
        const one = log.header(op);
        const isOurs = one !== null && (op >= expected || readView(one) === member.logView);
        assert.equal(log.isCanonical(op), isOurs && op <= log.head);
      }
      if (expected === low) seen.whole++;
      else if (log.header(expected - 1) === null) seen.gap++;
      else seen.fork++;
    }
  }
  for (const count of Object.values(seen)) assert.ok(count > 200, JSON.stringify(seen));
});

function act(
  log: Log,
  member: { logView: number },
  logs: readonly (readonly Uint8Array[])[],
  prng: Prng,
  slots: number,
): void {
  const one = (op: number): Uint8Array => prng.pick(logs)[op] as Uint8Array;
  switch (prng.below(8)) {
    case 0:
    case 1:
    case 2: {
      const op = log.head + prng.pick([1, 1, 1, 2, 3]);
      if (op >= 40) return;
      const next = one(op);
      const head = op === log.head + 1 ? log.header(log.head) : null;
      // A backup stops when its primary does not continue the log of the view.
      if (head !== null && !bytesEqual(next, PrepareOffset.parent, head, 0, 16)) return;
      log.append(next);
      return;
    }
    case 3:
      log.truncate(Math.max(0, log.head - prng.below(4)));
      return;
    case 4:
      if (log.head < 38) log.raise(log.head + prng.below(3));
      return;
    case 5:
      member.logView = prng.between(1, 4);
      return;
    default: {
      const op = Math.max(0, log.head - prng.below(slots));
      log.set(one(op));
    }
  }
}
