/**
 * Small scopes of the real Raft, searched to the end with every run, and bugs planted in it that
 * the search must find. How many worlds there are is part of the test: if that changes, either the
 * engine says something else or the search looks somewhere else, and somebody should know why.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PLANTS, type PlantName } from '../../../raft/plants-test-helper.ts';
import { type Exploration, explore } from '../explore.ts';
import { Members } from '../members.ts';
import { type RaftSubjectOptions, raftSubject } from './raft-subject.ts';

function run(options: RaftSubjectOptions, doubts: boolean = false): Exploration {
  return explore(new Members(raftSubject(options), { doubts }));
}

type PlantOf = NonNullable<RaftSubjectOptions['onParts']>;

function checkClean(found: Exploration): void {
  assert.equal(found.violation, null, found.violation?.schedule.join('\n'));
  assert(found.isExhausted);
}

/** Scope, different worlds, the longest of the shortest ways. */
const scopes: readonly (readonly [string, RaftSubjectOptions, number, number])[] = [
  ['one election, a command, a crash', { elections: 1, crashes: 1 }, 98_163, 37],
  ['two elections, a slow link', { slowDisks: 0, slowLinks: 1 }, 18_196, 35],
  [
    'two elections, a command, a crash and a loss',
    { crashes: 1, losses: 1, slowDisks: 0, slowLinks: 0 },
    686_737,
    45,
  ],
  [
    'two elections, a crash, a slow disk',
    { commands: 0, crashes: 1, slowDisks: 1, slowLinks: 0 },
    41_061,
    33,
  ],
  ['pre-votes', { preVote: 'on', slowDisks: 0, slowLinks: 1, losses: 1, commands: 0 }, 40_590, 36],
  ['a snapshot', { snapshots: 1, losses: 1, slowDisks: 0, slowLinks: 0 }, 145_699, 41],
  [
    'acknowledgements for all, a crash',
    { copies: true, crashes: 1, slowDisks: 0, slowLinks: 0 },
    46_759,
    48,
  ],
  [
    'acknowledgements for all, a crash, a slow disk',
    { copies: true, commands: 0, crashes: 1, slowDisks: 1, slowLinks: 0 },
    66_574,
    37,
  ],
  [
    'datagrams, one of them twice',
    { elections: 1, commands: 0, network: 'datagrams', duplicates: 1, slowDisks: 0 },
    1_294,
    14,
  ],
];

for (const [name, options, distinct, depth] of scopes) {
  test(`Raft, exhaustively: ${name}`, () => {
    const found = run(options);
    checkClean(found);
    assert.deepEqual([found.distinct, found.depth], [distinct, depth]);
  });
}

test('Raft, exhaustively: servers that are taken for the same do the same', () => {
  const all = { commands: 1, losses: 1, heartbeats: 1, checksQuorum: true, preVote: 'on' } as const;
  const found = run({ ...all, slowDisks: 0, slowLinks: 0 }, true);
  checkClean(found);
  const more = run({ crashes: 1, snapshots: 1, slowDisks: 1, slowLinks: 0, elections: 1 }, true);
  checkClean(more);
  const copies = run({ copies: true, crashes: 1, elections: 1, slowDisks: 0, slowLinks: 0 }, true);
  checkClean(copies);
  for (const { doubted } of [found, more, copies]) assert(doubted > 1000, `${doubted} doubted`);
});

/** A scope in which the bug shows, how soon, and what is said of it. */
const plants: readonly (readonly [PlantName, RaftSubjectOptions, number, RegExp])[] = [
  [
    'vote forgotten',
    { commands: 0, crashes: 1, slowDisks: 0, slowLinks: 1 },
    10,
    /two leaders in term 1/,
  ],
  ['two votes in a term', { commands: 0, slowDisks: 0, slowLinks: 0 }, 3, /second-vote-in-term/],
  [
    "an older term's entry is committed by counting",
    {
      elections: 5,
      commands: 0,
      batchEntriesMax: 1,
      candidates: [0, 1],
      apart: [[0, 1]],
      slowDisks: 0,
    },
    22,
    /where "1 noop" is committed/,
  ],
  [
    'acknowledgement before the sync',
    { commands: 0, crashes: 1, slowDisks: 1, slowLinks: 0 },
    17,
    /where "1 noop" is committed/,
  ],
  [
    'snapshot and log of different histories',
    { elections: 3, snapshots: 1, commands: 0, slowDisks: 0, slowLinks: 1 },
    21,
    /where "2 noop" is committed/,
  ],
];

test('Raft, exhaustively: a bug is found: a follower takes what it has for committed', () => {
  const onParts: PlantOf = ({ ackCopies, log }) => {
    const original = ackCopies.matches.bind(ackCopies);
    ackCopies.matches = () => original().map(() => log.last);
  };
  const { violation } = run({ copies: true, crashes: 1, slowDisks: 1, slowLinks: 0, onParts });
  assert(violation !== null, 'nothing was found');
  assert.match(violation.problem, /where "1 c1" is committed/);
});

for (const [name, options, moves, problem] of plants) {
  test(`Raft, exhaustively: a bug is found: ${name}`, () => {
    checkClean({ ...run({ ...options, elections: 1 }) });
    const { violation } = run({ ...options, onParts: PLANTS[name] });
    assert(violation !== null, 'nothing was found');
    assert.match(violation.problem, problem);
    assert.equal(violation.schedule.length, moves, violation.schedule.join('\n'));
    assert.match(violation.schedule[0], /^1\. n1: /);
  });
}

test('Raft, exhaustively: a server of which too little is told is doubted', () => {
  const subject = raftSubject({ elections: 2, losses: 1, slowDisks: 0, slowLinks: 0 });
  const members = new Members(
    {
      ...subject,
      create: (member) => {
        const live = subject.create(member);
        return {
          move: (move) => live.move(move),
          // Without what a leader knows of its peers.
          text: () => live.text().split('|').toSpliced(-5, 1).join('|'),
          choices: () => live.choices(),
          summary: () => live.summary(),
          close: () => live.close(),
        };
      },
    },
    { doubts: true },
  );
  assert.throws(() => explore(members), /alike by their texts are not/);
});
