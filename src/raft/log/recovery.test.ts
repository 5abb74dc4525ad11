import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Entry, FileHeader, LogRecord, Snapshot } from '../entry.ts';
import { recover } from './recovery.ts';

const servers = (ids: string): ReadonlyMap<string, string> =>
  new Map([...ids].map((id) => [id, `tcp:${id}:1`]));

const snapshot: Snapshot<string> = {
  index: 5,
  term: 3,
  eid: 'e5',
  servers: servers('abc'),
  electionTimerMs: 1000,
  data: '',
  size: 0,
};
const header: FileHeader<string> = { type: 'snapshot', snapshot };

const noop = (index: number, term: number): LogRecord<string> => ({
  type: 'entry',
  entry: { index, term, kind: 'noop' },
});
const config = (index: number, term: number, ids: string): LogRecord<string> => ({
  type: 'entry',
  entry: { index, term, kind: 'config', servers: servers(ids) },
});
const term = (n: number): LogRecord<string> => ({ type: 'term', term: n });
const vote = (n: number, id: string): LogRecord<string> => ({ type: 'vote', term: n, vote: id });
const commit = (index: number): LogRecord<string> => ({ type: 'commit', index });
const left: LogRecord<string> = { type: 'note', note: 'left' };

/** In words: what a server named `self` makes of these records. */
function outcome(
  records: readonly LogRecord<string>[],
  self: string = 'a',
  from: FileHeader<string> = header,
): string {
  const result = recover({ self, header: from, records, electionTimerMs: 1000 });
  if (!result.ok) return result.problem;
  const { state } = result;
  const at = (entry: Entry<string>): string => `${entry.index}/${entry.term}`;
  const parts = [`term ${state.term}`, `vote ${state.vote ?? '-'}`, `commit ${state.commitIndex}`];
  if (state.entries.length > 0) parts.push(state.entries.map(at).join(' '));
  if (state.remotes !== null) parts.push(`joins ${state.remotes.join(' ')}`);
  return parts.join(', ');
}

const cases: readonly (readonly [string, readonly LogRecord<string>[], string])[] = [
  ['nothing but a snapshot, whose term does not count', [], 'term 0, vote -, commit 5'],
  ['a newer term takes the vote away', [vote(4, 'b'), term(6)], 'term 6, vote -, commit 5'],
  ['the term of an entry counts', [noop(6, 7)], 'term 7, vote -, commit 5, 6/7'],
  ['the same vote twice', [vote(4, 'b'), vote(4, 'b')], 'term 4, vote b, commit 5'],
  ['two votes in a term', [vote(4, 'b'), vote(4, 'c')], 'second-vote-in-term'],
  ['a vote of the past', [term(5), vote(4, 'b')], 'vote-in-older-term'],
  [
    'a lower index cuts off what follows',
    [noop(6, 3), noop(7, 3), noop(8, 3), noop(7, 4)],
    'term 4, vote -, commit 5, 6/3 7/4',
  ],
  ['a gap', [noop(7, 3)], 'entry-gap'],
  ['an entry that the snapshot covers', [noop(5, 3)], 'entry-before-commit'],
  [
    'an entry in place of a committed one',
    [noop(6, 3), commit(6), noop(6, 4)],
    'entry-before-commit',
  ],
  ['terms that go back', [noop(6, 4), noop(7, 3)], 'entry-term-goes-back'],
  ['a term before that of the snapshot', [noop(6, 2)], 'entry-term-goes-back'],
  ['committed', [noop(6, 3), commit(6)], 'term 3, vote -, commit 6, 6/3'],
  ['committed beyond the log', [commit(6)], 'commit-beyond-log'],
  ['a commit index that goes back', [noop(6, 3), commit(6), commit(5)], 'commit-goes-back'],
  ['left for ever', [left], 'left-cluster'],
  ['removed by an entry', [config(6, 3, 'bc')], 'not-in-cluster'],
];

for (const [name, records, expected] of cases) {
  test(`recover: ${name}`, () => assert.equal(outcome(records), expected));
}

test('recover: a server that no configuration names goes on joining, with what it has', () => {
  const addresses = 'tcp:a:1 tcp:b:1 tcp:c:1';
  assert.equal(outcome([], 'd'), `term 0, vote -, commit 5, joins ${addresses}`);
  assert.equal(
    outcome([noop(6, 4), vote(4, 'b')], 'd'),
    `term 4, vote b, commit 5, 6/4, joins ${addresses}`,
  );
});

test('recover: a server that was named once and is not any more was removed', () => {
  assert.equal(outcome([config(6, 3, 'abcd'), config(7, 3, 'abc')], 'd'), 'not-in-cluster');
});

test('recover: a configuration that was cut off was only an attempt', () => {
  assert.equal(
    outcome([config(6, 3, 'abcd'), noop(6, 4)], 'd'),
    'term 4, vote -, commit 5, 6/4, joins tcp:a:1 tcp:b:1 tcp:c:1',
  );
});

test('recover: a joining file has addresses, and a term and vote at most', () => {
  const joining: FileHeader<string> = { type: 'joining', remotes: ['tcp:b:1'] };
  assert.equal(outcome([], 'd', joining), 'term 0, vote -, commit 0, joins tcp:b:1');
  assert.equal(outcome([vote(3, 'b')], 'd', joining), 'term 3, vote b, commit 0, joins tcp:b:1');
});
