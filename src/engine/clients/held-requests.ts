/**
 * Requests that came to a backup. Official clients send each to the primary and to one other
 * replica, so mostly the primary has it already, and its prepare shows that soon. Until then the
 * request is held; if no prepare comes it is passed on; if the primary has gone, the next one gets
 * it at once. Who passes a request on also sends the answer: the client's way to the primary may be
 * what is broken.
 */
import { assert, bytesEqual } from '../../stdx/index.ts';
import {
  type Message,
  type MessagePool,
  Offset,
  PrepareOffset,
  RequestOffset,
  readSize,
} from '../../wire/index.ts';
import { CLIENTS_MAX, HOLD_DELAY_MAX_NS, HOLD_MAX_NS, HOLD_MIN_NS } from '../limits.ts';
import type { StepOutbox } from '../step-outbox.ts';
import { clientKey } from './clients.ts';
import type { Counters } from './counters.ts';

/** What holding requests needs of the replica around it, whatever its engine. */
export interface HeldRequestsParts {
  readonly pool: MessagePool;
  readonly outbox: Pick<StepOutbox, 'now' | 'trace' | 'sendPeer'>;
  readonly counters: Counters;
  readonly deadlines: {
    set(name: 'held-requests', atNs: number): void;
    clear(name: 'held-requests'): void;
  };
  readonly member: {
    readonly isNormalPrimary: boolean;
    /** It follows a primary that it knows. */
    readonly isNormalBackup: boolean;
    /** Index of the replica that leads. */
    readonly primary: number;
    /** A request was passed on, and its client waits here: for engines with a quicker way. */
    expedite?(): void;
  };
  readonly peers: { isUp(replica: number): boolean };
  readonly admission: {
    /** Takes over the reference. */
    onForwarded(message: Message): void;
  };
}

/** A client that seems to reach nobody else is held as others are every so many requests. */
const LONELY_TRIAL = 16;
/** And then for longer, in units of the usual patience: it may be that which was too short. */
const TRIAL_PATIENCE = 4;

/** Requests on their way by which a replica still looks for the quickest way to an answer. */
const EXPEDITED_MAX = 4;

interface Held {
  readonly message: Message;
  readonly sinceNs: number;
  /** In units of the usual patience. */
  readonly patience: number;
  /** It was passed on because no prepare came in time. */
  wasLate: boolean;
  isForwarded: boolean;
  /** Once at least, to whichever primary: the message must not change any more. */
  wasSent: boolean;
}

export class HeldRequests {
  readonly #parts: HeldRequestsParts;
  /** By client, which has one request under way at most; oldest first. */
  readonly #held: Map<string, Held> = new Map();
  /** Checksum of the request that was passed on last, by client. */
  readonly #forwarded: Map<string, Uint8Array> = new Map();
  /**
   * Clients whose requests no primary had until they were passed on from here: those that know no
   * other replica, or reach none. How many were passed on at once since somebody last looked.
   */
  readonly #lonely: Map<string, number> = new Map();
  /** How long after a request its prepare comes, usually. */
  #delayNs: number = HOLD_MIN_NS;

  constructor(parts: HeldRequestsParts) {
    this.#parts = parts;
  }

  get count(): number {
    return this.#held.size;
  }

  /** Keeps the request, with a reference of its own. */
  hold(message: Message): void {
    const { pool, outbox, counters } = this.#parts;
    const client = clientKey(message.bytes, RequestOffset.client);
    const before = this.#held.get(client);
    if (before !== undefined && bytesEqual(before.message.bytes, 0, message.bytes, 0, 16)) return;
    if (before === undefined && this.#held.size >= CLIENTS_MAX) {
      counters.drop('queue-full');
      return;
    }
    this.#drop(client);
    pool.retain(message);
    const passedOn = this.#lonely.get(client);
    const isTrial = passedOn !== undefined && passedOn >= LONELY_TRIAL;
    const held: Held = {
      message,
      sinceNs: outbox.now.monoNs,
      patience: isTrial ? TRIAL_PATIENCE : 1,
      wasLate: false,
      isForwarded: false,
      wasSent: false,
    };
    this.#held.set(client, held);
    outbox.trace('debug', 'request-held', {});
    if (passedOn !== undefined) this.#lonely.set(client, isTrial ? 0 : passedOn + 1);
    if (passedOn !== undefined && !isTrial) this.#forward(client, held);
    this.#arm();
  }

  /** A prepare has come: the primary has the request. */
  onPrepared(prepare: Uint8Array): void {
    if (this.#held.size === 0) return;
    const client = clientKey(prepare, PrepareOffset.client);
    const held = this.#held.get(client);
    if (held === undefined) return;
    const at = PrepareOffset.requestChecksum;
    if (!bytesEqual(prepare, at, held.message.bytes, Offset.checksum, 16)) return;
    this.#learn(client, held);
    this.#drop(client);
  }

  /** From what has become of a request: what is usual, and who has nobody else. */
  #learn(client: string, held: Held): void {
    const isLonely = this.#lonely.has(client);
    // Also when it was passed on: or a patience that is too short would never grow. But from those
    // that are always passed on, whose delay is the patience, it would grow for ever.
    if (!isLonely || !held.isForwarded) {
      const delayNs = Math.min(this.#parts.outbox.now.monoNs - held.sinceNs, HOLD_DELAY_MAX_NS);
      this.#delayNs = (4 * this.#delayNs + delayNs) / 5;
    }
    if (!held.isForwarded) {
      this.#lonely.delete(client);
    } else if (held.wasLate && !isLonely) {
      if (this.#lonely.size >= CLIENTS_MAX) this.#lonely.clear();
      this.#lonely.set(client, 0);
    }
  }

  /** Whether this replica answers the request that became this prepare. */
  answers(prepare: Uint8Array): boolean {
    if (this.#forwarded.size === 0) return false;
    const checksum = this.#forwarded.get(clientKey(prepare, PrepareOffset.client));
    if (checksum === undefined) return false;
    return bytesEqual(prepare, PrepareOffset.requestChecksum, checksum, 0, 16);
  }

  /** A prepare was executed. */
  onCommitted(prepare: Uint8Array): void {
    this.onPrepared(prepare);
    if (this.#forwarded.size > 0) this.#forwarded.delete(clientKey(prepare, PrepareOffset.client));
    if (this.#held.size > 0 && this.#parts.member.isNormalPrimary) this.#admitNext(prepare);
  }

  /** At a primary: the client's next request came before this one was executed. */
  #admitNext(prepare: Uint8Array): void {
    const { admission, pool } = this.#parts;
    const client = clientKey(prepare, PrepareOffset.client);
    const held = this.#held.get(client);
    if (held === undefined) return;
    pool.retain(held.message);
    this.#drop(client);
    const own = held.wasSent ? this.#copyOf(held.message) : held.message;
    if (own !== null) admission.onForwarded(own);
  }

  /** Some have been held long enough. */
  onDeadline(): void {
    const nowNs = this.#parts.outbox.now.monoNs;
    for (const [client, held] of [...this.#held]) {
      if (nowNs >= held.sinceNs + HOLD_MAX_NS) this.#drop(client);
      else if (nowNs >= held.sinceNs + this.#patienceNs(held)) {
        held.wasLate = true;
        this.#forward(client, held);
      }
    }
    this.#arm();
  }

  /** This replica leads now: the requests are its own. */
  onOffice(): void {
    const { admission, pool } = this.#parts;
    for (const [client, { message, wasSent }] of [...this.#held]) {
      pool.retain(message);
      this.#drop(client);
      const own = wasSent ? this.#copyOf(message) : message;
      if (own !== null) admission.onForwarded(own);
    }
    this.#forwarded.clear();
  }

  /** Another replica leads now: it gets them at once. */
  onFollow(): void {
    for (const [client, held] of this.#held) {
      held.isForwarded = false;
      this.#forward(client, held);
    }
    this.#arm();
  }

  /** Gives back every message it holds. */
  releaseMessages(): void {
    for (const client of [...this.#held.keys()]) this.#drop(client);
  }

  /** A message that was sent must not become a prepare in place; takes over the reference. */
  #copyOf(message: Message): Message | null {
    const { pool } = this.#parts;
    const copy = pool.acquire('request');
    copy?.bytes.set(message.bytes.subarray(0, readSize(message.bytes)));
    pool.release(message);
    return copy;
  }

  #patienceNs({ patience }: Held): number {
    return patience * Math.max(HOLD_MIN_NS, 2 * this.#delayNs);
  }

  #forward(client: string, held: Held): void {
    const { member, peers, pool, outbox } = this.#parts;
    if (held.isForwarded || !member.isNormalBackup || !peers.isUp(member.primary)) return;
    held.isForwarded = true;
    held.wasSent = true;
    if (this.#forwarded.size >= CLIENTS_MAX) this.#forwarded.clear();
    this.#forwarded.set(client, held.message.bytes.slice(Offset.checksum, Offset.checksum + 16));
    pool.retain(held.message);
    outbox.sendPeer(member.primary, held.message);
    // Where many wait, sooner is dearer than the wait.
    if (this.#forwarded.size <= EXPEDITED_MAX) member.expedite?.();
    outbox.trace('debug', 'request-forwarded', { primary: member.primary });
  }

  #drop(client: string): void {
    const held = this.#held.get(client);
    if (held === undefined) return;
    this.#held.delete(client);
    this.#parts.pool.release(held.message);
  }

  #arm(): void {
    const { deadlines, outbox } = this.#parts;
    let nextNs = Number.POSITIVE_INFINITY;
    const nowNs = outbox.now.monoNs;
    for (const held of this.#held.values()) {
      const { sinceNs, isForwarded } = held;
      const patienceNs = sinceNs + this.#patienceNs(held);
      const isWaiting = !isForwarded && nowNs < patienceNs;
      nextNs = Math.min(nextNs, isWaiting ? patienceNs : sinceNs + HOLD_MAX_NS);
    }
    if (Number.isFinite(nextNs)) deadlines.set('held-requests', nextNs);
    else deadlines.clear('held-requests');
    assert(this.#held.size <= CLIENTS_MAX, 'HeldRequests: too many');
  }
}
