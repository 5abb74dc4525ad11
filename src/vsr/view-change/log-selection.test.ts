import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Selection, selectLog, type Vote } from './log-selection.ts';
import { quorumsOf } from './quorums.ts';
import { chain, uniqueHeader, vote } from './vote-test-helper.ts';

const zero = new Uint8Array(16);
/** Operations 10 … 14: 10 is committed, 11 and 12 are of view 1, 13 and 14 of view 2. */
const h10 = uniqueHeader({ op: 10, view: 1, commit: 9, parent: zero });
const [h11, h12] = chain(h10, 11, 2, 1) as [Uint8Array, Uint8Array];
const [h13, h14] = chain(h12, 13, 2, 2) as [Uint8Array, Uint8Array];
/** What another primary put in the same places. */
const [x11, x12] = chain(h10, 11, 2, 0) as [Uint8Array, Uint8Array];

function select(replicaCount: number, votes: readonly Vote[]): Selection {
  return selectLog(votes, quorumsOf(replicaCount), replicaCount);
}

function selected(selection: Selection): { op: number; headers: readonly Uint8Array[] } {
  assert.ok(selection.kind === 'selected', JSON.stringify(selection));
  return selection;
}

const full = { op: 12, commitMax: 10, headers: [h10, h11, h12] };
const short = { op: 10, commitMax: 10, headers: [h10] };

test('one replica has its own log', () => {
  const selection = select(1, [vote({ replica: 0, ...full })]);
  const headers = [h12, h11, h10];
  assert.deepEqual(selection, { kind: 'selected', op: 12, commitMax: 10, headers, logView: 1 });
});

test('fewer votes than a quorum decide nothing', () => {
  assert.deepEqual(select(3, [vote({ replica: 1, ...full })]), { kind: 'wait' });
  assert.equal(
    select(
      3,
      [0, 1].map((replica) => vote({ replica, ...full })),
    ).kind,
    'selected',
  );
  assert.equal(
    select(
      4,
      [0, 1].map((replica) => vote({ replica, ...full })),
    ).kind,
    'wait',
  );
  assert.throws(() => select(3, [vote({ replica: 1, ...full }), vote({ replica: 1, ...full })]));
});

test('only the newest log counts, even if it is shorter', () => {
  const votes = [
    vote({ replica: 0, logView: 2, ...short }),
    vote({ replica: 1, logView: 1, ...full }),
  ];
  assert.equal(selected(select(3, votes)).op, 10);
});

test('an operation that enough replicas deny is cut, and everything behind it', () => {
  const holder = vote({ replica: 0, ...full });
  assert.equal(selected(select(3, [holder, vote({ replica: 1, ...short })])).op, 12);
  const others = [1, 2].map((replica) => vote({ replica, ...short }));
  assert.equal(selected(select(3, [holder, ...others])).op, 10);
  const gap = [1, 2].map((replica) =>
    vote({ replica, ...full, headers: [h10, null, h12], nacks: [11] }),
  );
  assert.equal(selected(select(3, [holder, ...gap])).op, 10);
});

test('two replicas: what one of them denies was not committed', () => {
  const holder = vote({ replica: 0, ...full });
  assert.equal(selected(select(2, [holder, vote({ replica: 1, ...short })])).op, 10);
  const dirty = vote({ replica: 1, ...full, nacks: [12] });
  assert.equal(selected(select(2, [holder, dirty])).op, 11);
  const lost = vote({ replica: 1, ...full, headers: [h10, h11, null] });
  assert.equal(selected(select(2, [holder, lost])).op, 12);
  const both = vote({ replica: 0, ...full, absent: [12] });
  assert.deepEqual(select(2, [both, lost]), { kind: 'stuck', op: 12 });
});

test('who does not deny does not thereby have it', () => {
  const lost = [0, 1].map((replica) => vote({ replica, ...full, absent: [12] }));
  assert.deepEqual(select(3, lost), { kind: 'wait' });
  const third = vote({ replica: 2, ...full });
  assert.equal(selected(select(3, [...lost, third])).op, 12);
  const without = { ...third, present: 0b110 };
  assert.deepEqual(select(3, [...lost, without]), { kind: 'stuck', op: 12 });
});

test('seen but never durable: denied and still at hand', () => {
  const votes = [0, 1].map((replica) => vote({ replica, ...full, nacks: [12] }));
  assert.equal(selected(select(3, votes)).op, 11);
  const [first] = votes as [Vote, Vote];
  assert.equal(selected(select(3, [first, vote({ replica: 2, ...full, absent: [12] })])).op, 12);
});

test('another header than that of the newest log is a denial', () => {
  const newest = vote({ replica: 0, logView: 2, ...full, absent: [11, 12] });
  const older = [1, 2].map((replica) =>
    vote({ replica, logView: 1, ...full, headers: [h10, x11, x12] }),
  );
  assert.equal(selected(select(3, [newest, ...older])).op, 10);
});

test('a header where the newest log has none is a denial', () => {
  const newest = vote({ replica: 0, logView: 2, op: 11, commitMax: 10, headers: [h10, null] });
  const older = [1, 2].map((replica) => vote({ replica, logView: 1, ...full }));
  assert.equal(selected(select(3, [newest, ...older])).op, 10);
});

test('a header is known by the one behind it, whoever has it', () => {
  const newest = vote({
    replica: 0,
    logView: 2,
    op: 13,
    commitMax: 10,
    headers: [h10, h11, null, h13],
  });
  const older = vote({ replica: 1, logView: 1, ...full });
  const selection = selected(select(3, [newest, older]));
  assert.deepEqual([selection.op, selection.headers], [13, [h13, h12, h11, h10]]);
  // Also if that one is cut.
  const denied = { ...newest, nack: 1, present: 0b1100 };
  const denier = vote({ replica: 2, logView: 1, ...full });
  const cut = selected(select(3, [denied, older, denier]));
  assert.deepEqual([cut.op, cut.headers], [12, [h12, h11, h10]]);
});

test('what is committed is not asked about', () => {
  const lost = { op: 12, headers: [h10, h11, null], nacks: [12] };
  const votes = [0, 1].map((replica) => vote({ replica, commitMax: 10, ...lost }));
  assert.equal(selected(select(3, votes)).op, 11);
  // Somebody knows better: then those who have it must vote.
  const behind = vote({ replica: 1, commitMax: 12, ...lost, headers: [null], nacks: [] });
  assert.deepEqual(select(3, [votes[0]!, behind]), { kind: 'wait' });
  const holder = vote({ replica: 2, ...full, commitMin: 12, headers: [h12] });
  assert.equal(selected(select(3, [votes[0]!, behind, holder])).op, 12);
  const tooShort = vote({ replica: 1, ...short, commitMax: 14 });
  assert.deepEqual(select(2, [vote({ replica: 0, ...full }), tooShort]), { kind: 'stuck', op: 14 });
});

test('the commit number in a header proves as much', () => {
  const h13c = uniqueHeader({ op: 13, view: 1, commit: 12, parent: h12.subarray(0, 16) });
  const first = vote({
    replica: 0,
    op: 13,
    commitMax: 10,
    headers: [h10, h11, h12, h13c],
    nacks: [13],
  });
  const second = vote({ replica: 1, op: 12, commitMax: 12, headers: [h12] });
  const selection = selected(select(3, [first, second]));
  assert.deepEqual([selection.op, selection.headers.length], [12, 3]);
});

test('the chain is given as far as the votes know it, P + 1 at most', () => {
  const long = chain(h10, 11, 12, 1);
  const votes = [0, 1].map((replica) =>
    vote({ replica, op: 22, commitMax: 12 + replica, headers: long.slice(3) }),
  );
  const { op, headers } = selected(select(3, votes));
  assert.deepEqual([op, headers], [22, long.slice(3).reverse()]);
  const ahead = vote({ replica: 1, op: 22, commitMax: 20, headers: long.slice(-3) });
  assert.equal(
    selected(select(3, [ahead, vote({ ...full, replica: 2, logView: 0 })])).headers.length,
    3,
  );
});

test('two logs of one view stop everything', () => {
  const votes = [
    vote({ replica: 0, ...full }),
    vote({ replica: 1, ...full, headers: [h10, x11, x12] }),
  ];
  assert.throws(() => select(3, votes), /two logs/);
  const fork = vote({ replica: 1, op: 14, commitMax: 10, headers: [h10, x11, null, h13, h14] });
  assert.throws(() => select(3, [vote({ replica: 0, ...full }), fork]), /two logs/);
});
