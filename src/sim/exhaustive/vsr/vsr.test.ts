/**
 * Small scopes of the real VSR, searched to the end with every run, and bugs planted in it that the
 * search must find. How many worlds there are is part of the test: if that changes, either the
 * engine says something else or the search looks somewhere else, and somebody should know why.
 * Larger scopes: `npm run campaign:exhaustive`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Parts } from '../../../vsr/index.ts';
import { type Exploration, explore, type Limits } from '../explore.ts';
import { Members } from '../members.ts';
import {
  acknowledgesBeforeWritten,
  asksNobody,
  choosesTheLongestLog,
  commitsAlone,
  repairsNothing,
  resumesItsView,
} from './vsr-plants-test-helper.ts';
import { type VsrSubjectOptions, vsrSubject } from './vsr-subject.ts';

function run(options: VsrSubjectOptions, limits: Limits = {}, doubts = false): Exploration {
  return explore(new Members(vsrSubject(options), { doubts }), limits);
}

function checkClean(found: Exploration): void {
  const { violation } = found;
  assert.equal(violation, null, `${violation?.problem}\n${violation?.schedule.join('\n')}`);
  assert(found.isExhausted);
}

/** Scope, different worlds, the longest of the shortest ways. */
const scopes: readonly (readonly [string, VsrSubjectOptions, number, number])[] = [
  ['a loss', { losses: 1 }, 271, 12],
  ['a loss, a slow link, a slow disk', { losses: 1, slowLinks: 1, slowDisks: 1 }, 14_085, 16],
  ['a loss and a crash', { losses: 1, crashes: 1 }, 9_552, 37],
  ['two requests, a loss, a slow link', { requests: 2, losses: 1, slowLinks: 1 }, 33_173, 25],
  ['two requests, one of them again, a loss', { requests: 2, repeats: 1, losses: 1 }, 6_565, 24],
  ['two crashes', { crashes: 2 }, 3_922, 33],
  ['a loss and a timer', { losses: 1, timers: 1 }, 7_498, 35],
];

for (const [name, options, distinct, depth] of scopes) {
  test(`VSR, exhaustively: ${name}`, () => {
    const found = run(options, { restEvery: 20 });
    checkClean(found);
    assert.deepEqual([found.distinct, found.depth], [distinct, depth]);
    assert(found.rested > 0);
  });
}

const doubtful: readonly VsrSubjectOptions[] = [
  { losses: 1, slowDisks: 1 },
  { crashes: 1, repeats: 1 },
];

test('VSR, exhaustively: replicas that are taken for the same do the same', () => {
  for (const scope of doubtful) {
    const found = run(scope, {}, true);
    checkClean(found);
    assert(found.doubted > 300, `${found.doubted}`);
  }
});

test('VSR, exhaustively: a replica of which too little is told is doubted', () => {
  const subject = vsrSubject({ losses: 1, slowDisks: 1 });
  const members = new Members(
    {
      ...subject,
      create: (member) => {
        const live = subject.create(member);
        return {
          move: (move) => live.move(move),
          // Without what it has heard and not acted on.
          text: () => live.text().split('|').toSpliced(-3, 1).join('|'),
          choices: () => live.choices(),
          summary: () => live.summary(),
          close: () => live.close(),
        };
      },
      rest: () => null,
    },
    { doubts: true },
  );
  assert.throws(() => explore(members), /alike by their texts are not/);
});

interface Planted {
  readonly plant: (parts: Parts) => void;
  readonly scope: VsrSubjectOptions;
  readonly limits?: Limits;
  readonly problem: RegExp;
  /** On a shortest way to it. */
  readonly moves: number;
}

const plants: { readonly [name: string]: Planted } = {
  'an acknowledgement before the prepare is durable': {
    plant: acknowledgesBeforeWritten,
    scope: { slowDisks: 1 },
    problem: /acknowledges operation 2, which is not on its disk/,
    moves: 2,
  },
  'what was acknowledged too early is lost': {
    plant: acknowledgesBeforeWritten,
    scope: { slowDisks: 1, crashes: 1, losses: 1, isTrusting: true },
    problem: /leads view 2 with nothing where 2@1 .* is committed/,
    moves: 11,
  },
  'a primary that restarts resumes its view': {
    plant: resumesItsView,
    scope: { crashes: 1 },
    problem: /two lives of r0 lead view 0/,
    moves: 1,
  },
  'what a primary that resumes its view says twice': {
    plant: resumesItsView,
    scope: { requests: 2, crashes: 1, slowDisks: 1, isTrusting: true },
    problem: /two prepares of operation 3 in view 0/,
    moves: 15,
  },
  'the longest log wins, whichever view it is of': {
    plant: choosesTheLongestLog,
    scope: { repeats: 1, losses: 3 },
    problem: /two logs of one view/,
    moves: 21,
  },
  'one copy is enough for a commit': {
    plant: commitsAlone,
    scope: { crashes: 1, slowLinks: 1 },
    problem: /leads view 2 with nothing where 2@1 .* is committed/,
    moves: 9,
  },
  'a view needs one vote': {
    plant: asksNobody,
    scope: { losses: 1 },
    problem: /leads view 2 with nothing where 2@1 .* is committed/,
    moves: 4,
  },
  'messages that were lost are never asked for': {
    plant: repairsNothing,
    scope: { losses: 1 },
    limits: { restEvery: 1 },
    problem: /when all is calm they do not come together/,
    moves: 8,
  },
};

for (const [name, { plant, scope, limits, problem, moves }] of Object.entries(plants)) {
  test(`VSR, exhaustively: a bug is found: ${name}`, () => {
    const { violation } = run({ ...scope, onParts: plant }, limits);
    assert(violation !== null, 'nothing was found');
    assert.match(violation.problem, problem, violation.schedule.join('\n'));
    assert.equal(violation.schedule.length, moves, violation.schedule.join('\n'));
  });
}
