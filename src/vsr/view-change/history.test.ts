import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { loadMutant } from '../mutant-test-helper.ts';
import { wrongOfAll, wrongOfSome } from './cases-test-helper.ts';
import { BREACHES, type Breach, History, type Select } from './history-test-helper.ts';
import { selectLog } from './log-selection.ts';

/** Replicas of the cluster, voters, open operations. */
const EVERY: readonly (readonly [number, number, number])[] = [
  [2, 2, 3],
  [3, 2, 2],
  [3, 3, 2],
  [4, 3, 2],
  [4, 4, 2],
  [5, 3, 2],
  [5, 4, 1],
  [5, 5, 1],
  [6, 4, 1],
  [6, 5, 1],
  [6, 6, 1],
];

for (const [replicaCount, count, open] of EVERY) {
  test(`every case of ${count} votes of ${replicaCount}, ${open} open operations`, () => {
    const { problem, cases } = wrongOfAll(selectLog, replicaCount, count, open);
    assert.equal(problem, null);
    assert.ok(cases > 100, String(cases));
  });
}

test('some cases of many operations', () => {
  assert.equal(wrongOfSome(selectLog, new Prng(4), 30_000), null);
});

/** What goes wrong first in histories of clusters of `replicaCount`. */
function firstProblem(
  select: Select,
  replicaCount: number,
  rounds: number,
  breach: Breach | null = null,
) {
  let committed = 0;
  const counts = { views: 0, cut: 0, undecided: 0, decided: 0 };
  for (let seed = 0; seed < rounds; seed++) {
    const history = new History(replicaCount, new Prng(seed, replicaCount), select, breach);
    try {
      for (let step = 0; step < 600; step++) history.step();
    } catch (error) {
      return { problem: `seed ${seed}: ${String(error)}`, committed, counts };
    }
    committed += history.committed;
    for (const key of Object.keys(counts) as (keyof typeof counts)[]) {
      counts[key] += history.counts[key];
    }
  }
  return { problem: null, committed, counts };
}

for (const replicaCount of [2, 3, 4, 5, 6]) {
  test(`${replicaCount} replicas never lose what was committed, and decide what they can`, () => {
    const { problem, committed, counts } = firstProblem(selectLog, replicaCount, 100);
    assert.equal(problem, null);
    assert.ok(committed > 100 && counts.views > 100 && counts.cut > 100);
    assert.ok(counts.decided > 50 * counts.undecided);
  });
}

/** What is found first, in cases and in histories apart. */
function problems(select: Select): { cases: string | null; histories: string | null } {
  const found = (search: () => string | null): string | null => {
    try {
      return search();
    } catch (error) {
      return String(error);
    }
  };
  return {
    cases: found(() => {
      for (const [replicaCount, count, open] of EVERY.slice(0, 4)) {
        const { problem } = wrongOfAll(select, replicaCount, count, open);
        if (problem !== null) return problem;
      }
      return wrongOfSome(select, new Prng(4), 5000);
    }),
    histories: found(() => {
      for (const replicaCount of [2, 3, 4, 5]) {
        const { problem } = firstProblem(select, replicaCount, 100);
        if (problem !== null) return problem;
      }
      return null;
    }),
  };
}

test('nothing is found where nothing is planted', () => {
  assert.deepEqual(problems(selectLog), { cases: null, histories: null });
});

const PLANTED: readonly (readonly [string, string, string])[] = [
  [
    'a break below ends the log',
    "=== 'gone') break",
    "=== 'gone' || log[opMax - op].header === null) break",
  ],
  [
    'a header where none is known is no nack',
    'header !== null && isOther',
    'checksum !== null && header !== null && isOther',
  ],
  ['another header is no nack', '(header !== null && isOther) ||', ''],
  ['a log that ends before is no nack', 'bit < 0 ||', ''],
  [
    'who does not nack has it',
    '(vote.present >>> bit) & 1) !== 0',
    '(vote.nack >>> bit) & 1) === 0',
  ],
  ['one nack too few', 'nacks >= quorums.nack', 'nacks >= quorums.nack - 1'],
  ['one nack too many', 'nacks >= quorums.nack', 'nacks > quorums.nack'],
  ['any vote speaks for the log', 'vote.logView === logView', 'vote.logView <= logView'],
  ['one vote is enough', 'votes.length < quorums.viewChange', 'votes.length < 1'],
  [
    'what is unclear is cut',
    "if (fate === 'undecided') return undecided(op + 1);",
    "if (fate === 'undecided') break;",
  ],
  ['nobody need have it', "copies > 0 ? 'stays' : 'undecided'", "'stays'"],
  ['what was nacked does not end the log', "if (fate === 'gone') break;", ''],
  [
    'a header is not known by the one behind it',
    'checksum = header === null ? null : parentOf(header);',
    'checksum = null;',
  ],
];

for (const [what, from, to] of PLANTED) {
  test(`planted: ${what}`, async () => {
    const url = new URL('./log-selection.ts', import.meta.url);
    const mutant = await loadMutant<{ selectLog: Select }>(url, from, to);
    const { cases, histories } = problems(mutant.selectLog);
    assert.notEqual(cases ?? histories, null);
  });
}

test('planted: two replicas have to nack of two', () => {
  const mutant: Select = (votes, quorums, count) =>
    selectLog(votes, { ...quorums, nack: count === 2 ? 2 : quorums.nack }, count);
  const { cases, histories } = problems(mutant);
  assert.notEqual(cases, null);
  assert.match(String(histories), /nothing is decided/);
});

for (const breach of BREACHES) {
  test(`planted: ${breach}`, () => {
    let found: string | null = null;
    for (const replicaCount of [3, 4, 5]) {
      found ??= firstProblem(selectLog, replicaCount, 800, breach).problem;
    }
    assert.notEqual(found, null);
  });
}
