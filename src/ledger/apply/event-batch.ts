/**
 * What creating accounts and creating transfers have in common: one loop over the events of a
 * batch, timestamps, the rules of imported batches, linked chains and results.
 *
 * The checks of one event happen in the order of the protocol; the order decides which status a
 * client sees, so it must not be "tidied". A chain is broken by anything but `created`, `exists`
 * included, and its culprit is the only member that keeps its own status.
 */
import { assert } from '../../stdx/index.ts';
import { AccountFlags, RECORD_WORDS, TransferWord } from '../format/constants.ts';
import { STATUS_CREATED } from '../format/status.ts';
import type { LedgerState } from '../store/state.ts';
import { add64, copy64, isBefore64, isZero64, time64 } from '../store/u64.ts';

/** Constants of this module, which V8 knows; see `plain-transfers`. */
/** −1: a small integer for V8, and 2^32 − 1 again in a reply. */
const CREATED = STATUS_CREATED | 0;
const CODE_FLAGS = TransferWord.codeFlags;
const TIMESTAMP = TransferWord.timestamp;
const WORDS = RECORD_WORDS;

/** Statuses that both operations share. */
const LINKED_EVENT_FAILED = 1;
const LINKED_EVENT_CHAIN_OPEN = 2;
const TIMESTAMP_MUST_BE_ZERO = 3;

/** Words of a result: timestamp, status, zero. */
const RESULT_WORDS = 4;
const RESULT_STATUS = 2;

/** Same bit in both kinds of flags. */
const LINKED = AccountFlags.linked;

/** Where a batch stands, and where its results go. Offsets in words. */
export interface BatchPlace {
  readonly words: Uint32Array;
  readonly offset: number;
  readonly count: number;
  readonly reply: Uint32Array;
  readonly replyOffset: number;
}

export abstract class EventBatch {
  protected readonly state: LedgerState;
  /** The events, and where the event at hand begins. */
  protected words: Uint32Array = new Uint32Array(0);
  protected offset: number = 0;
  /** The timestamp to be stored: the event's own, or the one that an imported event brings. */
  protected readonly time: Uint32Array = time64();
  /** The timestamp to be reported, if it is not the event's own. */
  protected readonly resultTime: Uint32Array = time64();
  protected batchOffset: number = 0;
  protected count: number = 0;
  protected reply: Uint32Array = this.words;
  protected replyOffset: number = 0;
  /** Timestamp of the first event; the i-th has i nanoseconds more. */
  protected readonly firstTime: Uint32Array = time64();
  /** The event's own timestamp, assigned by the cluster. */
  protected readonly assignedTime: Uint32Array = time64();
  /** Whether the first event is imported, as all others must be. */
  protected imported: boolean = false;
  /** First event of the open chain, or −1. */
  protected chainStart: number = -1;

  readonly #lastTime: Uint32Array = time64();
  readonly #importedFlag: number;
  /** The first of four statuses: expected, not expected, out of range, must not advance. */
  readonly #importedStatus: number;
  #chainBroken: boolean = false;

  constructor(state: LedgerState, options: { importedFlag: number; importedStatus: number }) {
    this.state = state;
    this.#importedFlag = options.importedFlag;
    this.#importedStatus = options.importedStatus;
  }

  /**
   * Decides and executes the event at `this.offset`, with `this.time` as its timestamp. Returns its
   * status, `created` as −1; for `exists`, `this.resultTime` becomes the timestamp of what exists.
   */
  protected abstract create(index: number): number;

  /** Executes a batch whose first event has timestamp `firstTime`. Writes all results. */
  execute(place: BatchPlace, firstTime: Uint32Array): void {
    assert(this.chainStart < 0, 'EventBatch: chain left open');
    this.words = place.words;
    this.batchOffset = place.offset;
    this.count = place.count;
    this.reply = place.reply;
    this.replyOffset = place.replyOffset;
    if (this.count === 0) return;
    copy64(this.firstTime, firstTime, 0);
    add64(this.#lastTime, firstTime, this.count - 1);
    const flags = this.words[this.batchOffset + CODE_FLAGS] >>> 16;
    this.imported = (flags & this.#importedFlag) !== 0;
    this.executeEvents();
    assert(this.chainStart < 0, 'EventBatch: chain outlives its batch');
  }

  /** The loop; replaced where there is something faster than `step` for common events. */
  protected executeEvents(): void {
    for (let index = 0; index < this.count; index++) this.step(index);
  }

  /** Executes one event of any kind. */
  protected step(index: number): void {
    this.offset = this.batchOffset + index * WORDS;
    add64(this.assignedTime, this.firstTime, index);
    copy64(this.resultTime, this.assignedTime, 0);
    const flags = this.words[this.offset + CODE_FLAGS] >>> 16;
    const linked = (flags & LINKED) !== 0;
    if (linked && this.chainStart < 0) {
      this.chainStart = index;
      this.state.beginChain();
    }
    const open = linked && index === this.count - 1;
    let status = LINKED_EVENT_CHAIN_OPEN;
    if (!open) status = this.#chainBroken ? LINKED_EVENT_FAILED : this.#judge(index, flags);
    if (status === CREATED) copy64(this.resultTime, this.time, 0);
    else if (this.chainStart >= 0 && !this.#chainBroken) this.#breakChain(index);
    this.writeResult(index, this.resultTime, status);
    if (this.chainStart >= 0 && (!linked || open)) this.#closeChain();
  }

  /** What the flags and the timestamp allow, before anything else is looked at. */
  #judge(index: number, flags: number): number {
    const imported = (flags & this.#importedFlag) !== 0;
    if (imported !== this.imported) return this.#importedStatus + (imported ? 1 : 0);
    const timestamp = this.offset + TIMESTAMP;
    if (!imported) {
      if (!isZero64(this.words, timestamp)) return TIMESTAMP_MUST_BE_ZERO;
      copy64(this.time, this.assignedTime, 0);
    } else {
      const valid = !isZero64(this.words, timestamp) && this.words[timestamp + 1] < 0x8000_0000;
      if (!valid) return this.#importedStatus + 2;
      if (!isBefore64(this.words, timestamp, this.#lastTime)) return this.#importedStatus + 3;
      copy64(this.time, this.words, timestamp);
    }
    return this.create(index);
  }

  /** Members before the culprit fail with it; they keep the timestamps that they were given. */
  #breakChain(culprit: number): void {
    this.#chainBroken = true;
    this.state.rollbackChain();
    for (let index = this.chainStart; index < culprit; index++) {
      this.reply[this.replyOffset + index * RESULT_WORDS + RESULT_STATUS] = LINKED_EVENT_FAILED;
    }
  }

  #closeChain(): void {
    if (!this.#chainBroken) this.state.commitChain();
    this.#chainBroken = false;
    this.chainStart = -1;
  }

  protected writeResult(index: number, time: Uint32Array, status: number): void {
    const at = this.replyOffset + index * RESULT_WORDS;
    this.reply[at] = time[0];
    this.reply[at + 1] = time[1];
    this.reply[at + RESULT_STATUS] = status;
    this.reply[at + RESULT_STATUS + 1] = 0;
  }
}
