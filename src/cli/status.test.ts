/** What `roundelay status` says of a replica that is not well. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cellsOf } from './status.ts';

const well = {
  role: 'backup',
  replica: 1,
  replicaCount: 3,
  connected: 3,
  quorum: 2,
  isReadOnly: false,
  isDeaf: false,
  strangers: [],
  links: [
    { replica: 0, isUp: true, problem: null },
    { replica: 2, isUp: true, problem: null },
  ],
};

const MS = 1_000_000;
/** Ours is ten minutes behind what the other two agree on. */
const clocks = {
  isSynchronized: true,
  offsetNsMin: 599_999 * MS,
  offsetNsMax: 600_001 * MS,
  sources: [
    { replica: 0, offsetNs: 600_000 * MS, isOutvoted: false },
    { replica: 1, offsetNs: 0, isOutvoted: true },
    { replica: 2, offsetNs: 600_000 * MS, isOutvoted: false },
  ],
};

const cases: readonly (readonly [string, object, string, string])[] = [
  ['it is well', {}, 'waiting for', ''],
  ['its disk is full', { isReadOnly: true }, 'waiting for', 'room on its disk'],
  ['nobody speaks to it', { isDeaf: true }, 'waiting for', 'word from the others'],
  ['too few are there', { connected: 1, isDeaf: true }, 'waiting for', 'quorum, have 1 of 2'],
  ['all are there', {}, 'connected', '0 yes\n2 yes'],
  ['another has a new file', { strangers: [2] }, 'connected', '0 yes\n2 not trusted: another file'],
  ['Raft agrees on no time', { engine: 'raft' }, 'clock', ''],
  ['Raft has terms', { engine: 'raft', term: 4 }, 'term', '4'],
  ['VSR has none', {}, 'term', ''],
  ['its clock is outvoted', { clock: clocks }, 'clock', 'outvoted, off by -600000 ms'],
  [
    'the clock of another is outvoted',
    { clock: clocks, replica: 0 },
    'clock',
    'agreed\nreplica 1 is off by -600000 ms',
  ],
];

for (const [what, change, row, expected] of cases) {
  test(`${what}: ${row}`, () => {
    assert.equal(cellsOf({ ...well, ...change } as never).get(row), expected);
  });
}
