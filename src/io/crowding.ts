/**
 * Who gives way when there is not enough for everybody. The protocol knows no authentication, so
 * strangers cannot be kept out; but whoever has sent a whole valid message is worth more than one
 * who merely connected, or sends a message byte by byte. Strangers never get the last half of the
 * slots, and are cut first when others wait.
 *
 * When there are too many connections, messages prove too little: anybody can send a ping. Those
 * that hold a session are kept, and of all others one makes room, so that a newcomer always gets in
 * as long as sessions hold no more than half of the places ({@link Regulars}).
 */
import { assert } from '../stdx/index.ts';
import type { MessagePool, SlotClass } from '../wire/index.ts';

/** What is known of a connection when somebody has to give way. */
export interface Guest {
  /** It has sent a whole valid message. */
  readonly isProven: boolean;
  /** It has been sent the reply of a session, and no other connection has since. */
  readonly hasSession: boolean;
  /** Whence it connected, without the port. */
  readonly host: string;
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
  /** The same for one with a session, ms. Official clients ping every 30 s. */
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

/**
 * The guest that is cut so that a new one can be let in; `null`: the new one is refused. `guests`
 * come in the order in which they connected. The first of these that exists:
 * - of those that never sent a whole message, the one that was silent longest;
 * - of those without a session, the one that connected first of the host that has most of them:
 *   age counts rather than silence, since pings cost nothing;
 * - of those with a session that have gone silent, the one that was silent longest.
 */
export function whoLeaves<T extends Guest>(
  guests: Iterable<T>,
  nowMs: number,
  limits: CrowdLimits,
): T | null {
  let silent: T | null = null;
  let away: T | null = null;
  /** By host: how many have no session, and which of them is the oldest. */
  const hosts = new Map<string, { count: number; readonly oldest: T }>();
  for (const guest of guests) {
    const idleMs = guest.idleMs(nowMs);
    assert(idleMs >= 0, 'whoLeaves: idle since the future');
    if (guest.hasSession) {
      if (idleMs <= limits.idleMs) continue;
      if (away === null || idleMs > away.idleMs(nowMs)) away = guest;
      continue;
    }
    const host = hosts.get(guest.host);
    if (host === undefined) hosts.set(guest.host, { count: 1, oldest: guest });
    else host.count += 1;
    if (guest.isProven || idleMs <= limits.strangerIdleMs) continue;
    if (silent === null || idleMs > silent.idleMs(nowMs)) silent = guest;
  }
  let crowd: { readonly count: number; readonly oldest: T } | null = null;
  for (const host of hosts.values()) {
    if (crowd === null || host.count > crowd.count) crowd = host;
  }
  return silent ?? crowd?.oldest ?? away;
}

/** Somebody who may have a session: `client` is the id of its client, null without one. */
export interface Regular {
  client: string | null;
}

/**
 * Who holds a session. The server knows from what it sends: only a session gets replies. Each
 * client id counts on one connection, the last that was sent a reply of it: a single session could
 * otherwise ask for its reply on a thousand connections. Sessions come and go and are not
 * authenticated either, so no more than `max` connections count; the one that has counted for
 * longest stops to.
 */
export class Regulars<T extends Regular> {
  readonly #max: number;
  readonly #byClient: Map<string, T> = new Map();

  constructor(max: number) {
    assert(max >= 1, 'Regulars: room for nobody');
    this.#max = max;
  }

  /** It was sent a reply of this client's session. */
  onReply(guest: T, client: string): void {
    if (guest.client === client) return;
    this.forget(guest);
    const former = this.#byClient.get(client);
    if (former !== undefined) this.forget(former);
    if (this.#byClient.size === this.#max) {
      const [oldest] = this.#byClient.values();
      assert(oldest !== undefined, 'Regulars: full of nobody');
      this.forget(oldest);
    }
    this.#byClient.set(client, guest);
    guest.client = client;
  }

  /** It has gone, or its session has ended. */
  forget(guest: T): void {
    if (guest.client === null) return;
    assert(this.#byClient.get(guest.client) === guest, 'Regulars: a client on two connections');
    this.#byClient.delete(guest.client);
    guest.client = null;
  }
}
