/**
 * The face that every protocol shows its driver: one function. The same engine object runs under
 * the simulator's virtual disks and under real ones; it cannot tell which.
 */
import type { Effect } from './effect.ts';
import type { Event, Instant } from './event.ts';

export interface Engine {
  /** Handles one event to completion, synchronously. The result is valid until the next step. */
  step(event: Event, now: Instant): readonly Effect[];
  /** Asserts what must hold between steps; the simulator calls it after each. */
  invariants(): void;
}
