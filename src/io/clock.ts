/**
 * The one place that reads time. Both clocks of an {@link Instant} are read here, once per event.
 *
 * The wall clock of JavaScript has milliseconds only. Timestamps of a ledger are nanoseconds and
 * must increase with every event, so equal milliseconds would push them ahead of real time. We fill
 * in the part below a millisecond with the monotonic time since this millisecond was first seen:
 * never more than 999,999 ns, and never ahead of the wall clock, because a millisecond is first
 * seen after it began.
 */
import type { Instant } from '../engine/index.ts';
import { assert } from '../stdx/index.ts';

const NS_PER_MS = 1_000_000;
const LIMB = 0x1_0000_0000;

/** The readings a clock is made of; tests hand in their own. */
export interface ClockSource {
  /** Milliseconds since 1970, an integer; may step in any direction. */
  wallMs(): number;
  /** Monotonic seconds and nanoseconds, as `process.hrtime` gives them. */
  mono(): [seconds: number, nanoseconds: number];
}

const systemSource: ClockSource = {
  wallMs: () => Date.now(),
  mono: () => process.hrtime(),
};

export class Clock {
  readonly #source: ClockSource;
  /** Monotonic time counts from here: a double of nanoseconds since boot would lose precision. */
  readonly #startSeconds: number;
  #wallMsLast: number = -1;
  #wallMsSeenNs: number = 0;

  constructor(source: ClockSource = systemSource) {
    this.#source = source;
    this.#startSeconds = source.mono()[0];
  }

  /** Reads both clocks. */
  now(): Instant {
    const monoNs = this.monoNs();
    const wallMs = this.#source.wallMs();
    assert(wallMs >= 0, 'Clock: the wall clock is before 1970');
    if (wallMs !== this.#wallMsLast) {
      this.#wallMsLast = wallMs;
      this.#wallMsSeenNs = monoNs;
    }
    const belowMs = Math.min(monoNs - this.#wallMsSeenNs, NS_PER_MS - 1);
    return { monoNs, wall: nanoseconds(wallMs, belowMs) };
  }

  /** Monotonic nanoseconds since about the creation of this clock. */
  monoNs(): number {
    const [seconds, ns] = this.#source.mono();
    return (seconds - this.#startSeconds) * 1_000_000_000 + ns;
  }
}

/**
 * `wallMs · 10^6 + belowMs` as two limbs; the product needs 61 bits, so it is made of two halves.
 */
function nanoseconds(wallMs: number, belowMs: number): { hi: number; lo: number } {
  const upper = Math.floor(wallMs / 0x1_0000) * NS_PER_MS;
  const lower = (wallMs % 0x1_0000) * NS_PER_MS + belowMs;
  const low = (upper % 0x1_0000) * 0x1_0000 + lower;
  const hi = Math.floor(upper / 0x1_0000) + Math.floor(low / LIMB);
  assert(hi < 0x8000_0000, 'Clock: the wall clock is beyond 2262');
  return { hi, lo: low % LIMB };
}
