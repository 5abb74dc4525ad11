/**
 * The log in memory: the headers of the operations that should be in it, one place per slot, and of
 * each whether its prepare is durable here. What really is on disk is the journal's affair.
 *
 * - A place is *clean* when header and prepare are durable, *dirty* when they are yet to be
 * written.
 * - A place is *faulty* when something was there before a crash and cannot be read: whoever had
 *   acknowledged it must not deny having had it. Until the slot is written again.
 *
 * The head is the last operation. Below it headers may be missing (a gap) or left over from an
 * older view: only the chain of checksums down from the head, or the view in which this replica
 * got the header, tells which ones count. Those are called canonical here.
 */
import { assert, bytesEqual, readSafeU64 } from '../../stdx/index.ts';
import { Command, HEADER_SIZE, PrepareOffset, readCommand, readView } from '../../wire/index.ts';
import type { Member } from '../member.ts';

export class Log {
  readonly #slots: number;
  readonly #member: Member;
  readonly #headers: Uint8Array;
  readonly #views: readonly Uint8Array[];
  /** Op of each place; −1: none. */
  readonly #ops: Float64Array;
  readonly #dirty: Uint8Array;
  readonly #faulty: Uint8Array;
  #head: number = 0;
  /** Every header from here to the head is there and chained; cached, see {@link chainLow}. */
  #chainLow: number = 0;

  constructor(slots: number, member: Member) {
    this.#slots = slots;
    this.#member = member;
    this.#headers = new Uint8Array(slots * HEADER_SIZE);
    const views: Uint8Array[] = [];
    for (let slot = 0; slot < slots; slot++) {
      views.push(this.#headers.subarray(slot * HEADER_SIZE, (slot + 1) * HEADER_SIZE));
    }
    this.#views = views;
    this.#ops = new Float64Array(slots).fill(-1);
    this.#dirty = new Uint8Array(slots);
    this.#faulty = new Uint8Array(slots);
  }

  /** The last operation. */
  get head(): number {
    return this.#head;
  }

  /** The header at `op`, borrowed; `null` when it is not known. */
  header(op: number): Uint8Array | null {
    const slot = op % this.#slots;
    return this.#ops[slot] === op ? this.#views[slot] : null;
  }

  /** Whether the header at `op` is the one with the checksum `bytes[offset, +16)`. */
  has(op: number, bytes: Uint8Array, offset: number): boolean {
    const header = this.header(op);
    return header !== null && bytesEqual(header, 0, bytes, offset, 16);
  }

  /** Header and prepare are durable here. */
  isClean(op: number): boolean {
    return this.header(op) !== null && this.#dirty[op % this.#slots] === 0;
  }

  /** Something was in the slot of `op` that cannot be read. */
  isFaulty(op: number): boolean {
    return this.#faulty[op % this.#slots] !== 0;
  }

  /** The log as recovery has found it, slot by slot; then {@link open}. */
  restore(slot: number, header: Uint8Array | null, isFaulty: boolean): void {
    assert(slot >= 0 && slot < this.#slots, 'Log: no such slot');
    this.#faulty[slot] = isFaulty ? 1 : 0;
    this.#dirty[slot] = isFaulty ? 1 : 0;
    if (header === null) return;
    this.#place(slot, header);
  }

  open(head: number): void {
    this.#head = head;
    this.#chainLow = head + 1;
    for (let slot = 0; slot < this.#slots; slot++) {
      if (this.#ops[slot] > head) this.#ops[slot] = -1;
    }
  }

  /** A new head, in the view of the log; what lies between it and the old head is a gap. */
  append(header: Uint8Array): void {
    const op = opOf(header);
    assert(op > this.#head, 'Log: not above the head');
    if (op > this.#head + 1) this.#chainLow = op;
    this.#head = op;
    this.#put(op, header);
  }

  /** Puts a header in its place, which will have to be written unless it is the same. */
  set(header: Uint8Array): void {
    assert(readCommand(header) === Command.prepare, 'Log: not a prepare');
    const op = opOf(header);
    assert(op <= this.#head, 'Log: above the head');
    if (!this.#put(op, header)) return;
    // Another header may break the chain.
    if (op >= this.#chainLow) this.#chainLow = op + 1;
  }

  /** Header and prepare of `op` are durable. */
  markClean(op: number): void {
    const slot = op % this.#slots;
    assert(this.#ops[slot] === op, 'Log: not the operation of the slot');
    this.#dirty[slot] = 0;
    this.#faulty[slot] = 0;
  }

  /** The prepare of `op` was durable and cannot be read any more. */
  markFaulty(op: number): void {
    const slot = op % this.#slots;
    assert(this.#ops[slot] === op, 'Log: not the operation of the slot');
    this.#dirty[slot] = 1;
    this.#faulty[slot] = 1;
  }

  /** Forgets everything above `op`. */
  truncate(op: number): void {
    assert(op <= this.#head, 'Log: nothing to truncate');
    const low = Math.max(op + 1, this.#head - this.#slots + 1);
    for (let gone = low; gone <= this.#head; gone++) {
      const slot = gone % this.#slots;
      if (this.#ops[slot] !== gone && this.#ops[slot] !== -1) continue;
      this.#ops[slot] = -1;
      this.#dirty[slot] = 0;
      this.#faulty[slot] = 0;
    }
    this.#head = op;
    this.#chainLow = Math.min(this.#chainLow, op + 1);
  }

  /** The head without its operations: a primary tells of more than this log has. */
  raise(op: number): void {
    assert(op >= this.#head, 'Log: the head goes back');
    if (op > this.#head) this.#chainLow = op + 1;
    this.#head = op;
  }

  /** Lowest op such that it and all above it up to the head are there and chained. */
  get chainLow(): number {
    const bottom = Math.max(0, this.#head - this.#slots + 1);
    this.#chainLow = Math.max(this.#chainLow, bottom);
    while (this.#chainLow > bottom) {
      const below = this.header(this.#chainLow - 1);
      if (below === null) break;
      if (this.#chainLow <= this.#head) {
        const above = this.header(this.#chainLow);
        assert(above !== null, 'Log: a hole in the chain');
        if (!bytesEqual(above, PrepareOffset.parent, below, 0, 16)) break;
      }
      this.#chainLow--;
    }
    return this.#chainLow;
  }

  /** Whether the header at `op` is there and belongs to the log of this view. */
  isCanonical(op: number): boolean {
    const header = this.header(op);
    if (header === null || op > this.#head) return false;
    return op >= this.chainLow || readView(header) === this.#member.logView;
  }

  /**
   * Whether `header`, come from anywhere, belongs into the log: it is of this view, or the
   * operation behind it, which counts itself, names it as its parent.
   */
  accepts(header: Uint8Array): boolean {
    const op = opOf(header);
    if (op > this.#head || op <= this.#head - this.#slots) return false;
    if (readView(header) === this.#member.logView) return true;
    const above = op < this.#head && this.isCanonical(op + 1) ? this.header(op + 1) : null;
    return above !== null && bytesEqual(above, PrepareOffset.parent, header, 0, 16);
  }

  invariants(): void {
    for (let slot = 0; slot < this.#slots; slot++) {
      const op = this.#ops[slot];
      assert(op === -1 || op % this.#slots === slot, 'Log: an operation in the wrong slot');
      assert(op <= this.#head, 'Log: an operation above the head');
      assert(this.#faulty[slot] === 0 || this.#dirty[slot] === 1, 'Log: faulty and clean');
    }
  }

  /** Returns whether that changed anything. */
  #put(op: number, header: Uint8Array): boolean {
    const slot = op % this.#slots;
    if (this.#ops[slot] === op && bytesEqual(this.#views[slot], 0, header, 0, 16)) return false;
    assert(this.#ops[slot] <= op, 'Log: would replace a later operation by an earlier one');
    // An empty place that is faulty may have held exactly this operation.
    if (this.#ops[slot] !== -1) this.#faulty[slot] = 0;
    this.#dirty[slot] = 1;
    this.#place(slot, header);
    return true;
  }

  #place(slot: number, header: Uint8Array): void {
    this.#views[slot].set(header.subarray(0, HEADER_SIZE));
    this.#ops[slot] = opOf(header);
  }
}

/** Position of a prepare, from its header. */
export function opOf(header: Uint8Array): number {
  const op = readSafeU64(header, PrepareOffset.op);
  assert(op !== null, 'opOf: not a position');
  return op;
}
