/**
 * The log in memory: a snapshot and the entries after it. Besides the entries it knows, for each,
 * which write to the file brought it there; what is durable is asked by that number and never by
 * index, since an index may be cut off and written again.
 *
 * Of several entries of the same index only the last counts; nothing committed is ever cut off, but
 * that is for the caller to see to.
 */
import { assert } from '../../stdx/index.ts';
import type { Entry, Servers, Snapshot } from '../entry.ts';
import { RECENT_EIDS_MAX } from '../options.ts';

export class Log<T> {
  #snapshot: Snapshot<T>;
  /** Number of the write after whose sync the snapshot is durable. */
  #snapshotSeq: number = 0;
  #entries: Entry<T>[] = [];
  /** Per entry: number of the write that holds it. Never falls along the log. */
  #seqs: number[] = [];
  /** Indexes of configuration entries, ascending. */
  #configs: number[] = [];
  /** Name of the newest data entry. */
  #eid: string | null;
  readonly #indexByEid: Map<string, number> = new Map();
  /** Names of entries that went into the snapshot lately, and in which order, as a ring. */
  readonly #recentEids: Set<string> = new Set();
  readonly #recentRing: string[] = [];
  #recentNext: number = 0;

  constructor(snapshot: Snapshot<T>) {
    this.#snapshot = snapshot;
    this.#eid = snapshot.eid;
  }

  get snapshot(): Snapshot<T> {
    return this.#snapshot;
  }

  /** First index that may be an entry. */
  get start(): number {
    return this.#snapshot.index + 1;
  }

  /** One beyond the last. */
  get end(): number {
    return this.start + this.#entries.length;
  }

  get last(): number {
    return this.end - 1;
  }

  get lastTerm(): number {
    return this.termAt(this.last);
  }

  /** Name of the newest data entry, committed or not; what a prerequisite is compared with. */
  get eid(): string | null {
    return this.#eid;
  }

  /** The configuration in force: the newest, committed or not. */
  get servers(): Servers {
    return this.serversAt(this.last);
  }

  /** Where the configuration in force is; the snapshot's index if it came with it. */
  get configIndex(): number {
    return this.#configs.at(-1) ?? this.#snapshot.index;
  }

  /** Knows the term at `index`: that of the snapshot, or of an entry. */
  has(index: number): boolean {
    return index >= this.#snapshot.index && index < this.end;
  }

  termAt(index: number): number {
    assert(this.has(index), 'Log: no such index');
    if (index === this.#snapshot.index) return this.#snapshot.term;
    return this.#entries[index - this.start].term;
  }

  at(index: number): Entry<T> {
    assert(index >= this.start && index < this.end, 'Log: no such entry');
    return this.#entries[index - this.start];
  }

  /** Number of the write after whose sync everything up to `index` is durable. */
  seqAt(index: number): number {
    assert(this.has(index), 'Log: no such index');
    return index === this.#snapshot.index ? this.#snapshotSeq : this.#seqs[index - this.start];
  }

  /** Largest index up to which all was written by writes up to `seq`. */
  durableIndex(seq: number): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#seqs[middle] <= seq) low = middle + 1;
      else high = middle;
    }
    return this.#snapshot.index + low;
  }

  /** Some entries from `from` on: at least one if there is any, within the limits otherwise. */
  slice(from: number, entriesMax: number, bytesMax: number): readonly Entry<T>[] {
    assert(from >= this.start && from <= this.end, 'Log: slice outside of the log');
    let to = from;
    for (let bytes = 0; to < this.end && to - from < entriesMax; to++) {
      const entry = this.#entries[to - this.start];
      bytes += entry.kind === 'data' ? entry.size : 0;
      if (bytes > bytesMax && to > from) break;
    }
    return this.#entries.slice(from - this.start, to - this.start);
  }

  serversAt(index: number): Servers {
    const config = this.#configs.findLast((at) => at <= index);
    if (config === undefined) return this.#snapshot.servers;
    const entry = this.at(config);
    assert(entry.kind === 'config', 'Log: a configuration is none');
    return entry.servers;
  }

  /** Where the entry of this name is; the snapshot's index if it went into that; null: unknown. */
  indexOf(eid: string): number | null {
    const index = this.#indexByEid.get(eid);
    if (index !== undefined) return index;
    return this.#recentEids.has(eid) || this.#snapshot.eid === eid ? this.#snapshot.index : null;
  }

  /** Whether this position is at least as new as the end of the log. */
  isUpToDate(lastIndex: number, lastTerm: number): boolean {
    return lastTerm > this.lastTerm || (lastTerm === this.lastTerm && lastIndex >= this.last);
  }

  append(entry: Entry<T>, seq: number): void {
    assert(entry.index === this.end, 'Log: a gap');
    assert(entry.term >= this.lastTerm, 'Log: the term goes back');
    assert(this.#seqs.length === 0 || seq >= this.#seqs[this.#seqs.length - 1], 'Log: older write');
    this.#entries.push(entry);
    this.#seqs.push(seq);
    if (entry.kind === 'config') this.#configs.push(entry.index);
    if (entry.kind === 'data') {
      this.#eid = entry.eid;
      this.#indexByEid.set(entry.eid, entry.index);
    }
  }

  /** Cuts off everything from `index` on. True: the configuration in force went with it. */
  truncate(index: number): boolean {
    assert(index >= this.start && index <= this.end, 'Log: truncation outside of the log');
    const configIndex = this.configIndex;
    for (let i = index; i < this.end; i++) {
      const entry = this.at(i);
      if (entry.kind === 'data' && this.#indexByEid.get(entry.eid) === i) {
        this.#indexByEid.delete(entry.eid);
      }
    }
    this.#entries.length = index - this.start;
    this.#seqs.length = this.#entries.length;
    this.#configs = this.#configs.filter((at) => at < index);
    this.#eid = this.#newestEid(this.last);
    return this.configIndex !== configIndex;
  }

  /** A snapshot of something in the log: `index`, and who was configured, follow from the log. */
  describe(index: number, data: T | null, size: number, electionTimerMs: number): Snapshot<T> {
    return {
      index,
      term: this.termAt(index),
      eid: this.#newestEid(index),
      servers: this.serversAt(index),
      electionTimerMs,
      data,
      size,
    };
  }

  /** Lets the snapshot take the place of the entries it covers; the others stay. */
  compact(snapshot: Snapshot<T>): void {
    assert(snapshot.index > this.#snapshot.index, 'Log: snapshot goes back');
    assert(this.termAt(snapshot.index) === snapshot.term, 'Log: snapshot of another history');
    const count = snapshot.index - this.#snapshot.index;
    this.#snapshotSeq = this.seqAt(snapshot.index);
    this.#seqs.splice(0, count);
    for (const entry of this.#entries.splice(0, count)) {
      if (entry.kind !== 'data') continue;
      this.#indexByEid.delete(entry.eid);
      this.#remember(entry.eid);
    }
    this.#configs = this.#configs.filter((at) => at > snapshot.index);
    this.#snapshot = snapshot;
  }

  /** Forgets everything for a snapshot from elsewhere, that write `seq` brought to the file. */
  reset(snapshot: Snapshot<T>, seq: number): void {
    this.#snapshot = snapshot;
    this.#snapshotSeq = seq;
    this.#entries = [];
    this.#seqs = [];
    this.#configs = [];
    this.#eid = snapshot.eid;
    this.#indexByEid.clear();
  }

  invariants(): void {
    assert(this.#seqs.length === this.#entries.length, 'Log: entries without a write');
    assert(this.configIndex < this.end, 'Log: configuration beyond the end');
  }

  #newestEid(index: number): string | null {
    for (let i = index; i >= this.start; i--) {
      const entry = this.at(i);
      if (entry.kind === 'data') return entry.eid;
    }
    return this.#snapshot.eid;
  }

  #remember(eid: string): void {
    const oldest = this.#recentRing[this.#recentNext];
    if (oldest !== undefined) this.#recentEids.delete(oldest);
    this.#recentRing[this.#recentNext] = eid;
    this.#recentNext = (this.#recentNext + 1) % RECENT_EIDS_MAX;
    this.#recentEids.add(eid);
  }
}
