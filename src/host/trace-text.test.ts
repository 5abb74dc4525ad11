import assert from 'node:assert/strict';
import { test } from 'node:test';
import { availableMemory } from './memory.ts';
import { traceText } from './trace-text.ts';

const releases = {
  clientRelease: '0.15.3',
  serverRelease: '0.17.9',
  clientReleaseMin: '0.17.0',
  sessionsMax: 64,
};

const cases: readonly (readonly [
  string,
  { readonly [name: string]: string | number | boolean },
  string,
])[] = [
  [
    'client-evicted',
    { reason: 'client-release-too-low', ...releases },
    'client of release 0.15.3 refused, this server (0.17.9) serves 0.17.0 to 0.17.9',
  ],
  [
    'client-evicted',
    { reason: 'no-session', ...releases },
    'client evicted: it has no session (any more), 64 are kept',
  ],
  [
    'client-evicted',
    { reason: 'invalid-request-body', ...releases },
    'client evicted: invalid request body',
  ],
  ['leads', { term: 3 }, 'this replica was elected in term 3'],
  [
    'replica-replaced',
    { replica: 1 },
    'replica 1 has another data file than before, which was not made by `roundelay recover`: ' +
      'it is not counted',
  ],
  [
    'replica-replaced',
    { replica: 1, engine: 'raft' },
    'replica 1 has another data file than before, so it may have forgotten what it promised: ' +
      'it is not heard, and must be ended until its own file is back',
  ],
  [
    'truncate',
    { index: 5, end: 8 },
    'operations 5 to 7 of this log were never committed, and give way to those of the leader',
  ],
  [
    'clock-outvoted',
    { replica: 2, isOwn: false, offsetMs: 9_000_000 },
    'the clock of replica 2 is 2.5 h ahead of the agreed time: it is not counted until it is ' +
      'set right',
  ],
  [
    'clock-outvoted',
    { replica: 1, isOwn: true, offsetMs: -1_500, reason: 'own' },
    'the clock of this replica (1) is 1.5 s behind the agreed time: it is not counted until ' +
      'it is set right',
  ],
  [
    'clock-agrees',
    { replica: 1, isOwn: true },
    'the clock of this replica (1) agrees with the others again',
  ],
  [
    'clock-unsynchronized',
    { reason: 'disagreement', clocks: 'replica 0 (this one), replica 1 -60.0 s' },
    'the clocks of the replicas do not agree: replica 0 (this one), replica 1 -60.0 s',
  ],
  [
    'clock-unsynchronized',
    { reason: 'silence' },
    'too few clocks of other replicas have been heard: there is no agreed time',
  ],
  [
    'abdicated',
    { view: 3, reason: 'disk-full' },
    'this replica gives up view 3: its disk is full, and others have room',
  ],
  [
    'abdicated',
    { view: 3, reason: 'no-progress' },
    'this replica gives up view 3: too few others answer it, or its clock is off',
  ],
  ['checkpoint', { op: 63 }, 'checkpoint at operation 63 written'],
  ['something-new', {}, 'something new'],
];

for (const [event, fields, text] of cases) {
  test(`the trace ${event} ${fields['reason'] ?? ''} reads as a sentence`, () => {
    assert.equal(traceText(event, fields), text);
  });
}

test('the memory there is: the container’s when it has a limit, else the machine’s', () => {
  const MIB = 1_048_576;
  assert.equal(availableMemory(512 * MIB, 8_192 * MIB), 512 * MIB);
  assert.equal(availableMemory(0, 8_192 * MIB), 8_192 * MIB);
  assert.equal(availableMemory(2 ** 64, 8_192 * MIB), 8_192 * MIB);
});
