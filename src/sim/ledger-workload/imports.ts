/**
 * Timestamps for imported events. An imported batch mostly carries times that grow from the
 * highest stored one towards now; sometimes a time that is exactly, or one beside, one that
 * matters: of an account, of a transfer, of the batch itself, of the ends of time.
 */
import type { Prng } from '../../stdx/index.ts';
import { type LedgerState, TIMESTAMP_MAX } from '../ledger-model/index.ts';

export class ImportTimes {
  readonly #prng: Prng;
  readonly #state: LedgerState;
  /** The timestamp of the batch's last event; imported times must be below. */
  readonly #batchMax: bigint;
  #cursor: bigint;
  readonly #gap: number;

  /** `after` is the highest stored timestamp of the kind of object that is imported. */
  constructor(options: {
    prng: Prng;
    state: LedgerState;
    batchMax: bigint;
    after: bigint;
    count: number;
  }) {
    const { prng, state, batchMax, after, count } = options;
    this.#prng = prng;
    this.#state = state;
    this.#batchMax = batchMax;
    this.#cursor = after > 0n ? after : batchMax - 1_000_000_000n;
    const room = batchMax - this.#cursor;
    const gap = room / BigInt(4 * count + 1);
    this.#gap = gap > 1_000_000n ? 1_000_000 : Number(gap);
  }

  /** A time that should be accepted, as far as there is room. */
  next(): bigint {
    this.#cursor += BigInt(1 + (this.#gap > 1 ? this.#prng.below(this.#gap) : 0));
    return this.#cursor;
  }

  /** A time at the edge of some rule. */
  edge(debitTimestamp: bigint, creditTimestamp: bigint): bigint {
    const prng = this.#prng;
    const point = prng.pick([
      debitTimestamp,
      creditTimestamp,
      this.#state.accountTimestampMax(),
      this.#state.transferTimestampMax(),
      this.#batchMax,
      this.#cursor,
      this.#expiryTimestamp(),
      prng.pick([0n, 1n, TIMESTAMP_MAX, (1n << 64n) - 2n]),
    ]);
    const time = point + BigInt(prng.between(0, 2)) - 1n;
    return time < 0n ? 0n : time;
  }

  /** When one of the last expiries was recorded: no object has that time, so it is free to take. */
  #expiryTimestamp(): bigint {
    const { events } = this.#state;
    for (let i = 1; i <= 20; i++) {
      const event = events.at(-i);
      if (event?.kind === 'expired' && this.#prng.chance(1, 2)) return event.timestamp;
    }
    return this.#cursor;
  }
}
