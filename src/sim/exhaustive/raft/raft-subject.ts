/**
 * A small Raft cluster, and what must hold in it: one leader in a term, logs that agree before any
 * entry that they share, committed entries that stay what they are and are in the log of every
 * later leader, machines that are given the same, commands acknowledged that are done.
 */
import type { Parts } from '../../../raft/index.ts';
import type { Subject } from '../subject.ts';
import { nameOf, type RaftFact, RaftLive } from './raft-live.ts';
import { budgetsOf, RAFT_SCOPE, RaftBudget, type RaftScope } from './raft-scope.ts';
import type { RaftSummary } from './raft-state.ts';
import { describeLetter, letterText, type Payload, type RaftLetter } from './raft-text.ts';

/** What has been seen of all servers so far, by somebody who forgets nothing. */
export interface RaftWitness {
  /** Term → who leads it. */
  readonly leaders: ReadonlyMap<number, number>;
  /** Entries as first committed, from index 2 on, and in which term that was known. */
  readonly committed: readonly { readonly entry: string; readonly term: number }[];
}

export type RaftSubject = Subject<RaftLetter, RaftFact, RaftSummary, RaftWitness>;

export interface RaftSubjectOptions extends Partial<RaftScope> {
  /** A planted bug, in every server. */
  readonly onParts?: (parts: Parts<Payload>) => void;
}

export function raftSubject(options: RaftSubjectOptions = {}): RaftSubject {
  const { onParts = null, ...chosen } = options;
  const scope: RaftScope = { ...RAFT_SCOPE, ...chosen };
  const members = Array.from({ length: scope.servers }, (_, i) => nameOf(i));
  return {
    members,
    budgets: budgetsOf(scope),
    duplicates: RaftBudget.duplicates,
    slowLinks: scope.slowLinks === null ? -1 : RaftBudget.slowLinks,
    isSymmetric: scope.candidates === null && scope.apart.length === 0,
    isOrdered: scope.network === 'streams',
    isEnd: ({ type }) => type === 'session-lost',
    create: (member) => new RaftLive({ member, scope, onParts }),
    isDead: (server, _, letter) => isDead(server, letter, scope),
    messageText: letterText,
    describe: describeLetter,
    describeMember,
    factText: (fact) => JSON.stringify(fact),
    witness: { leaders: new Map(), committed: [] },
    witnessText: ({ leaders, committed }) =>
      JSON.stringify([[...leaders].sort((a, b) => a[0] - b[0]), committed]),
    testify: (witness, member, facts) => testify(members, witness, member, facts),
    agreeKey: ({ start, startTerm, log }) => `${start} ${startTerm} ${log.join('|')}`,
    agree: logsAgree,
  };
}

/**
 * Terms and votes that are durable do not go back, so what is of an older term is not looked at any
 * more, but for appends, which are answered; and who has lost its candidacy in a term, or does not
 * lead it, will never again be a candidate in it or lead it.
 */
function isDead(server: RaftSummary, letter: RaftLetter, { copies }: RaftScope): boolean {
  // Who does not lead learns nothing from a lost session.
  if (letter.type === 'session-lost') return !server.isLeader;
  if (!('term' in letter)) return letter.type === 'execute-command-reply';
  if (letter.term > server.termDurable) return false;
  const isOld = letter.term < server.termDurable;
  const isOpen = server.term === letter.term && (server.isCandidate || server.isLeader);
  switch (letter.type) {
    case 'vote-reply':
      if (letter.isPreVote) return isOld;
      return isOld || !isOpen || server.isLeader || letter.vote !== server.id;
    case 'append-reply':
      return isOld || !(isOpen || copies);
    case 'install-snapshot-reply':
      return isOld || !isOpen;
    case 'vote-request':
    case 'install-snapshot-request':
      return isOld;
    default:
      return false;
  }
}

function describeMember(server: RaftSummary): string {
  const { role, term, vote, commitIndex, start, startTerm, log } = server;
  const entries = log.map((entry, i) => `${start + i}: ${entry}`).join('; ');
  const head = `${role} in term ${term}, vote ${vote ?? 'none'}, commit ${commitIndex}`;
  return `${head}, log after ${start - 1}@${startTerm} [${entries}]`;
}

function testify(
  members: readonly string[],
  witness: RaftWitness,
  member: number,
  facts: readonly RaftFact[],
): RaftWitness | string {
  const leaders = new Map(witness.leaders);
  const committed = [...witness.committed];
  const name = members[member];
  for (const fact of facts) {
    if (fact.type === 'leads') {
      const other = leaders.get(fact.term) ?? member;
      if (other !== member)
        return `two leaders in term ${fact.term}: ${members[other]} and ${name}`;
      leaders.set(fact.term, member);
      const problem = completeness(committed, fact);
      if (problem !== null) return `${name} ${problem}`;
    } else if (fact.type === 'committed') {
      const { index, entry, term } = fact;
      const known = committed[index - 2];
      if (known !== undefined && known.entry !== entry) {
        return `${name} applies "${entry}" at ${index}, where "${known.entry}" is committed`;
      }
      if (known === undefined && index - 2 !== committed.length) return `${name} commits a gap`;
      if (known === undefined) committed.push({ entry, term });
    } else if (fact.type === 'restored') {
      const before = committed.slice(0, fact.index - 1).map(({ entry }) => entry.split(' ')[1]);
      const names = before.filter((word) => word.startsWith('c'));
      const isSame = before.length === fact.index - 1 && names.join() === fact.names.join();
      if (!isSame) return `${name} takes a snapshot to ${fact.index} that nobody committed`;
    } else {
      const done = committed
        .slice(0, fact.index - 1)
        .some(({ entry }) => entry.endsWith(fact.name));
      if (!done) return `${name} acknowledges ${fact.name}, which is not committed`;
    }
  }
  return { leaders, committed };
}

/** Everything that was committed in an older term is in a leader's log. */
function completeness(
  committed: RaftWitness['committed'],
  { term, start, log }: RaftFact & { readonly type: 'leads' },
): string | null {
  for (let i = 0; i < committed.length; i++) {
    const index = i + 2;
    if (committed[i].term >= term || index < start) continue;
    const found = log[index - start] ?? 'nothing';
    if (found === committed[i].entry) continue;
    return `leads term ${term} with ${found} at ${index}, where "${committed[i].entry}" is committed`;
  }
  return null;
}

/** Where two logs have an entry of the same term at an index, all before is the same. */
export function logsAgree(a: RaftSummary, b: RaftSummary): string | null {
  const low = Math.max(a.start, b.start);
  const high = Math.min(a.start + a.log.length, b.start + b.log.length) - 1;
  let isShared = false;
  for (let index = high; index >= low; index--) {
    const [one, other] = [a.log[index - a.start], b.log[index - b.start]];
    isShared ||= one.split(' ')[0] === other.split(' ')[0];
    if (isShared && one !== other) {
      return `${a.id} has "${one}" at ${index}, ${b.id} has "${other}", and they agree later`;
    }
  }
  return null;
}
