/**
 * Who gives way when there is not enough for everybody. The protocol knows no authentication, so
 * strangers cannot be kept out; but whoever has sent a whole valid message is worth more than one
 * who merely connected, or sends a message byte by byte. Strangers never get the last half of the
 * slots, are cut first when others wait, and make room when there are too many connections.
 */
import { assert } from '../stdx/index.ts';
import type { MessagePool, SlotClass } from '../wire/index.ts';

/** What is known of a connection when somebody has to give way. */
export interface Guest {
  /** It has sent a whole valid message. */
  readonly isProven: boolean;
  /** How long nothing has arrived, ms. */
  idleMs(nowMs: number): number;
  /** How long the message that is half here has been arriving, ms; 0 when there is none. */
  receivingMs(nowMs: number): number;
}

export interface CrowdLimits {
  /** While others wait: a half-received message may take this long altogether, ms. */
  readonly receiveTimeoutMs: number;
  /** While others wait: a half-received message may pause this long, ms. */
  readonly receivePauseMs: number;
  /** The same for a connection that has not sent a whole message yet, ms. */
  readonly strangerPauseMs: number;
  /** When there are too many: a stranger that has been silent for this long may be cut, ms. */
  readonly strangerIdleMs: number;
  /** The same for the others, ms. Official clients ping every 30 s. */
  readonly idleMs: number;
}

export const crowdLimits: CrowdLimits = {
  receiveTimeoutMs: 5_000,
  receivePauseMs: 2_000,
  strangerPauseMs: 500,
  strangerIdleMs: 1_000,
  idleMs: 65_000,
};

/** Slots that no client may take, so that other replicas are always heard. */
export type SlotReserve = { readonly [slotClass in SlotClass]: number };

export const noReserve: SlotReserve = { request: 0, small: 0, reply: 0 };

/** Whether a message of this guest may take a slot now, if one is free. */
export function mayTake(
  pool: MessagePool,
  slotClass: SlotClass,
  isProven: boolean,
  reserve: SlotReserve = noReserve,
): boolean {
  const available = pool.available(slotClass) - reserve[slotClass];
  if (isProven) return available > 0;
  return available > Math.floor((pool.capacity(slotClass) - reserve[slotClass]) / 2);
}

/** Whether a guest holds a slot that others wait for, and does too little to fill it. */
export function isStalled(guest: Guest, nowMs: number, limits: CrowdLimits): boolean {
  const receivingMs = guest.receivingMs(nowMs);
  if (receivingMs === 0) return false;
  if (receivingMs > limits.receiveTimeoutMs) return true;
  const pauseMs = guest.isProven ? limits.receivePauseMs : limits.strangerPauseMs;
  return guest.idleMs(nowMs) > pauseMs;
}

/** The guest that is cut so that a new one can be let in; `null`: the new one is refused. */
export function whoLeaves<T extends Guest>(
  guests: Iterable<T>,
  nowMs: number,
  limits: CrowdLimits,
): T | null {
  let stranger: T | null = null;
  let proven: T | null = null;
  for (const guest of guests) {
    const idleMs = guest.idleMs(nowMs);
    assert(idleMs >= 0, 'whoLeaves: idle since the future');
    if (guest.isProven) {
      if (idleMs <= limits.idleMs) continue;
      if (proven === null || idleMs > proven.idleMs(nowMs)) proven = guest;
    } else if (idleMs > limits.strangerIdleMs) {
      if (stranger === null || idleMs > stranger.idleMs(nowMs)) stranger = guest;
    }
  }
  return stranger ?? proven;
}
