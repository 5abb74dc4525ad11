/**
 * Calls that wait to be sent, in order. Neighbours that may share a request go out together, as
 * many as fit: so whoever asks for many things at once does not wait for them one by one.
 */
import { COMMAND_HEAD_SIZE, COMMANDS_MAX } from '../engine/index.ts';
import { assert } from '../stdx/index.ts';

/** Calls that may wait in one client. */
export const CALLS_WAITING_MAX = 100_000;

/** Somebody waits for this. */
export interface Call {
  readonly operation: number;
  /** A command if it is shared, else the whole body of a request. */
  readonly bytes: Uint8Array;
  /** Commands of one request have one operation and lie in its body one after another. */
  readonly isShared: boolean;
  /** Milliseconds of the client's clock; infinity: it waits for ever. */
  readonly deadlineMs: number;
  /** Somebody has been told how it ended. */
  isSettled: boolean;
  /**
   * Takes its part of a reply, the outcome of a command or a whole body; borrowed. `false`: it was
   * not executed and has to be sent again.
   */
  take(part: Uint8Array, op: number, timestamp: bigint): boolean;
  fail(error: Error): void;
}

export class CallQueue {
  #calls: Call[] = [];
  /** Nobody's deadline is before this. */
  #deadlineMinMs: number = Number.POSITIVE_INFINITY;

  get length(): number {
    return this.#calls.length;
  }

  /** `false`: too many wait already. */
  push(call: Call): boolean {
    if (this.#calls.length >= CALLS_WAITING_MAX) return false;
    this.#calls.push(call);
    this.#deadlineMinMs = Math.min(this.#deadlineMinMs, call.deadlineMs);
    return true;
  }

  /** Puts back what was taken and not executed, in front of what came later. */
  putBack(calls: readonly Call[]): void {
    this.#calls.unshift(...calls);
    for (const call of calls) this.#deadlineMinMs = Math.min(this.#deadlineMinMs, call.deadlineMs);
  }

  /** What goes into the next request, in order; empty when nothing waits. */
  take(bodySizeMax: number): Call[] {
    const [first] = this.#calls;
    if (first === undefined) return [];
    let count = 1;
    let size = COMMAND_HEAD_SIZE + first.bytes.length;
    while (first.isShared && count < Math.min(COMMANDS_MAX, this.#calls.length)) {
      const next = this.#calls[count];
      size += COMMAND_HEAD_SIZE + next.bytes.length;
      const isLike = next.isShared && next.operation === first.operation;
      if (!isLike || size > bodySizeMax) break;
      count += 1;
    }
    const taken = this.#calls.splice(0, count);
    assert(taken.length === count, 'CallQueue: took less than there is');
    return taken;
  }

  /** Takes out the calls whose time is over. */
  takeOverdue(nowMs: number): Call[] {
    if (nowMs < this.#deadlineMinMs) return [];
    const overdue: Call[] = [];
    const rest: Call[] = [];
    for (const call of this.#calls) (call.deadlineMs <= nowMs ? overdue : rest).push(call);
    this.#calls = rest;
    this.#deadlineMinMs = Number.POSITIVE_INFINITY;
    for (const call of rest) this.#deadlineMinMs = Math.min(this.#deadlineMinMs, call.deadlineMs);
    return overdue;
  }

  /** Takes out everything. */
  takeAll(): Call[] {
    this.#deadlineMinMs = Number.POSITIVE_INFINITY;
    return this.#calls.splice(0);
  }
}
