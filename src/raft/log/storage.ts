/**
 * The file as the engine sees it: every write has a number, a sync makes all up to a number
 * durable. What must be durable before it is said is remembered as such a number: the last term or
 * vote written, and (in the log) the write of each entry. Comparing write numbers instead of log
 * indexes is what makes a cut-off and rewritten log safe: the new entry at an old index has a new
 * number.
 *
 * A message that needs a write to be durable waits here, in order, and is dropped when it comes up
 * in an older term than it was meant for.
 */
import { assert } from '../../stdx/index.ts';
import type { FileHeader, LogRecord, ServerId } from '../entry.ts';
import type { Msg, VoteRequest } from '../message.ts';
import { termOf } from '../message.ts';
import { DELAYED_MAX } from '../options.ts';
import type { Parts } from '../parts.ts';

interface Delayed<T> {
  readonly seq: number;
  readonly peer: ServerId;
  readonly message: Msg<T>;
}

export class Storage<T> {
  readonly #parts: Parts<T>;
  #seq: number = 0;
  #requested: number = 0;
  #synced: number = 0;
  #termSeq: number = 0;
  #isSyncWanted: boolean = false;
  #delayed: Delayed<T>[] = [];

  constructor(parts: Parts<T>) {
    this.#parts = parts;
  }

  /** Everything up to this write is durable. */
  get synced(): number {
    return this.#synced;
  }

  get delayedCount(): number {
    return this.#delayed.length;
  }

  /** The write that the current term and vote need. */
  termSeq(): number {
    return this.#termSeq;
  }

  /** Writes without asking for durability: what is lost is learned again. */
  note(record: LogRecord<T>): void {
    this.#append([record]);
  }

  /** The term, or the vote in it. */
  writeTerm(record: LogRecord<T> & { readonly type: 'term' | 'vote' }): void {
    this.#termSeq = this.#append([record]);
    this.#isSyncWanted = true;
  }

  /** Entries of the log; returns the number of the write. */
  writeEntries(records: readonly LogRecord<T>[]): number {
    assert(records.length > 0, 'Storage: nothing to write');
    this.#isSyncWanted = true;
    return this.#append(records);
  }

  /**
   * A new file for the old one: with the same log, from its snapshot on, or (no continuation) with
   * a snapshot from elsewhere that takes the place of the log.
   */
  replaceFile(
    header: FileHeader<T>,
    records: readonly LogRecord<T>[],
    isContinuation: boolean,
  ): number {
    this.#seq++;
    // The replacement reports its own durability.
    this.#requested = this.#seq;
    this.#isSyncWanted = false;
    const seq = this.#seq;
    this.#parts.outbox.emit({ type: 'replace-file', seq, isContinuation, header, records });
    return seq;
  }

  onSynced(seq: number): void {
    assert(seq <= this.#seq, 'Storage: a write that was never made is durable');
    if (seq <= this.#synced) return;
    this.#synced = seq;
    this.#release();
  }

  /** Sends `message` as soon as write `seq`, and the term it speaks in, are durable. */
  send(peer: ServerId, message: Msg<T>, seq: number = 0): void {
    const needed = termOf(message) === null ? seq : Math.max(seq, this.termSeq());
    if (needed <= this.#synced) this.#parts.outbox.send(peer, message);
    else if (this.#delayed.length < DELAYED_MAX) {
      this.#delayed.push({ seq: needed, peer, message });
    }
  }

  /** At the end of a step: asks for the durability of what it wrote. */
  settle(): void {
    if (!this.#isSyncWanted) return;
    this.#isSyncWanted = false;
    if (this.#seq <= this.#requested) return;
    this.#requested = this.#seq;
    this.#parts.outbox.emit({ type: 'request-sync', seq: this.#seq });
  }

  invariants(): void {
    assert(this.#synced <= this.#requested, 'Storage: durable without having been asked');
    assert(this.#requested <= this.#seq, 'Storage: asked for a write that is still to come');
    assert(this.#termSeq <= this.#seq, 'Storage: term of the future');
  }

  #append(records: readonly LogRecord<T>[]): number {
    this.#seq++;
    this.#parts.outbox.emit({ type: 'append', seq: this.#seq, records });
    return this.#seq;
  }

  /** Who has heard a leader meanwhile wants no votes, and may have lost what it boasted of. */
  #isOutdated({ lastIndex, lastTerm }: VoteRequest): boolean {
    const { member, log } = this.#parts;
    return member.role !== 'candidate' || lastIndex !== log.last || lastTerm !== log.lastTerm;
  }

  #release(): void {
    const { outbox, member } = this.#parts;
    const waiting: Delayed<T>[] = [];
    for (const item of this.#delayed) {
      const term = termOf(item.message);
      if (term !== null && term < member.term) continue;
      if (item.message.type === 'vote-request' && this.#isOutdated(item.message)) continue;
      if (item.seq <= this.#synced) outbox.send(item.peer, item.message);
      else waiting.push(item);
    }
    this.#delayed = waiting;
  }
}
