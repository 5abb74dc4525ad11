/**
 * What the files of a Raft cluster hold, read at any moment: as they are, and as a power cut at
 * this very moment would leave them at the least. What counts is what a server would begin with, so
 * the records are folded as a server folds them when it starts.
 */
import { type Entry, type FileHeader, type LogRecord, recover } from '../../raft/index.ts';
import type { AuditParts } from '../checks/cluster-audit.ts';
import type { ReadFile } from '../engine-setup.ts';
import { check } from '../world/failure.ts';

export interface RaftFileContent {
  readonly header: FileHeader<Uint8Array>;
  readonly records: readonly LogRecord<Uint8Array>[];
}

/** Reads a file without the help of the engine that wrote it; a text: why it cannot be. */
export type ReadContent = (read: ReadFile) => RaftFileContent | string;

export interface RaftFileState {
  readonly term: number;
  /** `null`: nobody has its vote in the term. */
  readonly vote: number | null;
  readonly snapshot: {
    readonly index: number;
    readonly term: number;
    readonly data: Uint8Array | null;
  };
  /** What follows the snapshot, without a gap. */
  readonly entries: readonly Entry<Uint8Array>[];
  readonly commitIndex: number;
}

/** A member of a cluster as files and messages call it: its index. */
export function memberOf(server: string): number {
  return Number(server);
}

export class RaftFiles {
  readonly #parts: AuditParts;
  readonly #readContent: ReadContent;
  /** Of each file: what was durable in it when it was read last. */
  readonly #durable: { version: number; state: RaftFileState }[] = [];

  constructor(parts: AuditParts, readContent: ReadContent) {
    this.#parts = parts;
    this.#readContent = readContent;
  }

  /** What a power cut would leave. */
  durable(replica: number): RaftFileState {
    const version = this.#parts.durableVersion(replica);
    const known = this.#durable[replica];
    if (known !== undefined && known.version === version) return known.state;
    this.#parts.world.coverage.add('durableStatesRead');
    const state = this.#read(replica, this.#parts.durable(replica), 'after a power cut');
    this.#durable[replica] = { version, state };
    return state;
  }

  /** The highest term that was ever found to be durable there: a term never goes back. */
  termKnown(replica: number): number {
    return this.#durable[replica]?.state.term ?? 0;
  }

  /** As it is. */
  now(replica: number): RaftFileState {
    const read = this.#parts.file(replica);
    check(read !== null, 'lost-operation', () => `r${replica} has no file`);
    return this.#read(replica, read, 'as it is');
  }

  #read(replica: number, read: ReadFile, how: string): RaftFileState {
    const what = (): string => `the file of r${replica} ${how}`;
    const content = this.#readContent(read);
    check(typeof content !== 'string', 'lost-operation', () => `${what()}: ${String(content)}`);
    return stateOf(String(replica), content, what);
  }
}

/** `what` is said when a server would not begin with it. */
export function stateOf(
  self: string,
  { header, records }: RaftFileContent,
  what: () => string,
): RaftFileState {
  const result = recover<Uint8Array>({ self, header, records, electionTimerMs: 1000 });
  check(result.ok, 'lost-operation', () => {
    return `${what()}: no server begins with it: ${result.ok ? '' : result.problem}`;
  });
  const { term, vote, snapshot, entries, commitIndex } = result.state;
  const { index, data } = snapshot;
  return {
    term,
    vote: vote === null ? null : memberOf(vote),
    snapshot: { index, term: snapshot.term, data },
    entries,
    commitIndex,
  };
}

/** Term of the entry at `index`; `covered`: it is in the snapshot; `null`: there is none. */
export function termAt(state: RaftFileState, index: number): number | 'covered' | null {
  const { snapshot, entries } = state;
  if (index === snapshot.index) return snapshot.term;
  if (index < snapshot.index) return 'covered';
  return entries[index - snapshot.index - 1]?.term ?? null;
}

/** Index of the last entry. */
export function lastIndex({ snapshot, entries }: RaftFileState): number {
  return snapshot.index + entries.length;
}
