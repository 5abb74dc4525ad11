/** Every limit of the core, with its unit. Nothing that a client sends grows without one. */
import { assert } from '../../stdx/index.ts';

export interface CoreLimits {
  /** Messages of one session that wait to be looked at; the session is dropped beyond. */
  readonly queuedMax: number;
  /** Transactions of one session that wait for a condition or for another server. */
  readonly waitingMax: number;
  /** Monitors of one session. */
  readonly monitorsMax: number;
  /** Locks of one session, held or waited for. */
  readonly locksMax: number;
  /** Entries of one database that are not confirmed; sessions have to wait beyond. */
  readonly unconfirmedMax: number;
  /** Messages that a session with a backlog may be sent before it is dropped. */
  readonly backlogMax: number;
  /** Requests that one tick executes. */
  readonly requestsPerTick: number;
  /** Waiting transactions of one database that one tick tries again. */
  readonly retriesPerTick: number;
  /** Sessions that one call tells about changes; the next tick goes on. */
  readonly flushesPerTick: number;
}

export const defaultLimits: CoreLimits = {
  queuedMax: 65_536,
  waitingMax: 10_000,
  monitorsMax: 10_000,
  locksMax: 10_000,
  unconfirmedMax: 4096,
  backlogMax: 100_000,
  requestsPerTick: 128,
  retriesPerTick: 64,
  flushesPerTick: 512,
};

export function limitsWith(limits: Partial<CoreLimits>): CoreLimits {
  const whole = { ...defaultLimits, ...limits };
  for (const limit of Object.values(whole)) {
    assert(Number.isSafeInteger(limit) && limit > 0, 'CoreLimits: a limit is not positive');
  }
  return whole;
}
