/**
 * From the records of a file to the state that a server begins with: a pure fold, the same for
 * every dialect and for simulated disks. The rules are those of ovsdb-server where files are shared
 * with it: an entry of a lower index replaces all from there on (nothing is erased in a file), the
 * current term is the newest in any record and does not come from the snapshot, committed is what a
 * record says and at least the snapshot.
 *
 * One deviation: a file whose server is in no configuration at all and has never been is that of a
 * joiner which crashed half way. It goes on joining, with its log, term and vote, where the
 * original refuses the file for ever.
 */
import type { Entry, FileHeader, LogRecord, ServerId, Servers, Snapshot } from '../entry.ts';

export type RecoveryProblem =
  | 'entry-before-commit'
  | 'entry-gap'
  | 'entry-term-goes-back'
  | 'vote-in-older-term'
  | 'second-vote-in-term'
  | 'commit-goes-back'
  | 'commit-beyond-log'
  | 'left-cluster'
  | 'not-in-cluster';

export interface RecoveredState<T> {
  /** Addresses to ask for admission; null: a member. */
  readonly remotes: readonly string[] | null;
  readonly term: number;
  readonly vote: ServerId | null;
  readonly snapshot: Snapshot<T>;
  /** What follows the snapshot, without a gap. */
  readonly entries: readonly Entry<T>[];
  readonly commitIndex: number;
}

export type Recovery<T> =
  | { readonly ok: true; readonly state: RecoveredState<T> }
  | { readonly ok: false; readonly problem: RecoveryProblem };

/** What a server holds that has never heard from a cluster. */
export function emptySnapshot<T>(electionTimerMs: number): Snapshot<T> {
  const servers: Servers = new Map();
  return { index: 0, term: 0, eid: null, servers, electionTimerMs, data: null, size: 0 };
}

export interface RecoverOptions<T> {
  readonly self: ServerId;
  readonly header: FileHeader<T>;
  readonly records: readonly LogRecord<T>[];
  /** Where no file says otherwise. */
  readonly electionTimerMs: number;
}

export function recover<T>(options: RecoverOptions<T>): Recovery<T> {
  const { self, header, records, electionTimerMs } = options;
  const isJoining = header.type === 'joining';
  const fold = new Fold(isJoining ? emptySnapshot<T>(electionTimerMs) : header.snapshot);
  for (const record of records) {
    const problem = fold.add(record);
    if (problem !== null) return { ok: false, problem };
  }
  let remotes = isJoining ? header.remotes : null;
  if (!isJoining && !fold.servers.has(self)) {
    if (fold.everNames(self)) return { ok: false, problem: 'not-in-cluster' };
    remotes = [...fold.servers.values()];
  }
  return { ok: true, state: fold.state(remotes) };
}

class Fold<T> {
  readonly #snapshot: Snapshot<T>;
  readonly #entries: Entry<T>[] = [];
  #term: number = 0;
  #vote: ServerId | null = null;
  #commitIndex: number;

  constructor(snapshot: Snapshot<T>) {
    this.#snapshot = snapshot;
    this.#commitIndex = snapshot.index;
  }

  get servers(): Servers {
    const config = this.#entries.findLast((entry) => entry.kind === 'config');
    return config === undefined ? this.#snapshot.servers : config.servers;
  }

  /** In any configuration of the log; one that was cut off was never more than an attempt. */
  everNames(server: ServerId): boolean {
    const { servers } = this.#snapshot;
    const configs = this.#entries.filter((entry) => entry.kind === 'config');
    return servers.has(server) || configs.some((entry) => entry.servers.has(server));
  }

  state(remotes: readonly string[] | null): RecoveredState<T> {
    return {
      remotes,
      term: this.#term,
      vote: this.#vote,
      snapshot: this.#snapshot,
      entries: this.#entries,
      commitIndex: this.#commitIndex,
    };
  }

  add(record: LogRecord<T>): RecoveryProblem | null {
    switch (record.type) {
      case 'term':
      case 'leader':
        this.#raiseTerm(record.term);
        return null;
      case 'vote':
        return this.#addVote(record.term, record.vote);
      case 'entry':
        return this.#addEntry(record.entry);
      case 'commit':
        return this.#addCommit(record.index);
      case 'note':
        return record.note === 'left' ? 'left-cluster' : null;
    }
  }

  #raiseTerm(term: number): void {
    if (term <= this.#term) return;
    this.#term = term;
    this.#vote = null;
  }

  #addVote(term: number, vote: ServerId): RecoveryProblem | null {
    this.#raiseTerm(term);
    if (term < this.#term) return 'vote-in-older-term';
    if (this.#vote !== null && this.#vote !== vote) return 'second-vote-in-term';
    this.#vote = vote;
    return null;
  }

  #addEntry(entry: Entry<T>): RecoveryProblem | null {
    const start = this.#snapshot.index + 1;
    this.#raiseTerm(entry.term);
    if (entry.index <= this.#commitIndex) return 'entry-before-commit';
    if (entry.index > start + this.#entries.length) return 'entry-gap';
    this.#entries.length = entry.index - start;
    const prevTerm = this.#entries.at(-1)?.term ?? this.#snapshot.term;
    if (entry.term < prevTerm) return 'entry-term-goes-back';
    this.#entries.push(entry);
    return null;
  }

  #addCommit(index: number): RecoveryProblem | null {
    if (index < this.#commitIndex) return 'commit-goes-back';
    if (index > this.#snapshot.index + this.#entries.length) return 'commit-beyond-log';
    this.#commitIndex = index;
    return null;
  }
}
