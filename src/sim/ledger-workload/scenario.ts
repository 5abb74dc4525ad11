/**
 * The worlds that the workload plays in. A world's seed decides what kind it is, so that any run
 * over a few neighbouring seeds meets all kinds; everything else is chance within the world.
 *
 * And its clock: the wall clock that moves between requests, and the rule by which a primary turns
 * it into strictly increasing timestamps.
 */
import { assert, type Prng } from '../../stdx/index.ts';
import { type LedgerState, PULSE_EXPIRIES_MAX, TIMESTAMP_MAX } from '../ledger-model/index.ts';

export type ScenarioKind = 'ordinary' | 'small-bodies' | 'full-batches' | 'far-clock';

export interface Scenario {
  readonly kind: ScenarioKind;
  /** Largest request body, bytes. */
  readonly bodySizeMax: number;
  /** Wall clock at the start, nanoseconds. */
  readonly wallStart: bigint;
}

const SECOND = 1_000_000_000n;
/** A moment in 2025. */
const WALL_ORDINARY = 1_750_000_000n * SECOND;
/** So near to the end of time that most timeouts reach beyond it. */
const WALL_FAR = TIMESTAMP_MAX - 40_000n * SECOND;

export function scenarioOf(seed: number): Scenario {
  assert(Number.isSafeInteger(seed) && seed >= 0, 'scenarioOf: bad seed');
  switch (seed % 8) {
    case 3:
      return { kind: 'small-bodies', bodySizeMax: 4096, wallStart: WALL_ORDINARY };
    case 5:
      return { kind: 'full-batches', bodySizeMax: 1_048_320, wallStart: WALL_ORDINARY };
    case 7:
      return { kind: 'far-clock', bodySizeMax: 1_048_320, wallStart: WALL_FAR };
    default:
      return { kind: 'ordinary', bodySizeMax: 1_048_320, wallStart: WALL_ORDINARY };
  }
}

/** Nanoseconds that the far clock never goes beyond, so that requests still have timestamps. */
const WALL_MAX = TIMESTAMP_MAX - 1000n * SECOND;

export class Clock {
  wall: bigint;
  /** The last timestamp that was given away. */
  #last: bigint = 0n;

  constructor(wall: bigint) {
    this.wall = wall;
  }

  /** What the next request's timestamps start from. */
  base(): bigint {
    return this.wall > this.#last ? this.wall : this.#last + 1n;
  }

  /** Gives away `count` timestamps and returns the highest. */
  take(count: number): bigint {
    this.#last = this.base() + BigInt(count);
    assert(this.#last <= TIMESTAMP_MAX, 'Clock: the end of time');
    return this.#last;
  }

  /** Moves the wall clock; it may step back, timestamps do not. */
  moveTo(wall: bigint): void {
    if (wall > 0n && wall <= WALL_MAX) this.wall = wall;
  }
}

/**
 * Where the wall clock goes next: mostly a little further, sometimes to the very nanosecond at
 * which something expires or just beside it, now and then backwards.
 */
export function nextWall(prng: Prng, clock: Clock, state: LedgerState): bigint {
  const expiryMin = state.expiryMin();
  // More than one pulse can take: let most of them come due at once.
  const isCrowd = state.expiresAt.size > PULSE_EXPIRIES_MAX + 30;
  if (isCrowd && expiryMin !== null && prng.chance(1, 10)) return expiryMin + 2n * SECOND;
  // Full seconds before the end of time, so that a timeout can reach it to the nanosecond.
  const isNear = TIMESTAMP_MAX - clock.wall < 100_000n * SECOND;
  if (prng.chance(1, isNear ? 6 : 50)) {
    const aligned = clock.wall + SECOND - ((clock.wall + SECOND - TIMESTAMP_MAX) % SECOND);
    return aligned - BigInt(prng.between(1, 30));
  }
  if (expiryMin !== null && prng.chance(1, 30)) {
    const wall = pulseEdge(state, expiryMin);
    if (wall !== null && wall > clock.base() && wall < clock.wall + 5n * SECOND) return wall;
  }
  const choice = prng.below(100);
  if (choice < 35) return clock.wall;
  if (choice < 50) return clock.wall + BigInt(prng.below(1000));
  if (choice < 70) return clock.wall + BigInt(prng.below(50_000_000));
  if (choice < 80) return clock.wall + BigInt(prng.below(1_200_000_000));
  if (choice < 83) return clock.wall - BigInt(prng.below(2_000_000_000));
  if (expiryMin === null || choice >= 94) return clock.wall + SECOND;
  // A batch that starts a few nanoseconds early crosses the expiry in its middle.
  const distance = expiryMin - clock.base();
  if (distance > 20n * SECOND) return clock.wall;
  return prng.chance(1, 2)
    ? expiryMin + BigInt(prng.between(0, 4)) - 2n
    : expiryMin - BigInt(prng.below(40));
}

/** When a pulse would be due whose own timestamp is exactly that of a later expiry. */
function pulseEdge(state: LedgerState, expiryMin: bigint): bigint | null {
  const span = BigInt(PULSE_EXPIRIES_MAX);
  for (const at of state.expiresAt.values()) {
    if (at - span >= expiryMin) return at - span;
  }
  return null;
}
