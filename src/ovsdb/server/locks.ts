/**
 * Locks of RFC 7047 §4.1.8: names that one session owns at a time, others waiting in order. They
 * belong to the server, not to a database, and nobody but their users knows what they protect.
 */
import { assert } from '../../stdx/index.ts';

/** `steal`: becomes the owner at once, and is out when the lock is stolen from it. */
export type LockMode = 'wait' | 'steal';

interface Waiter<S> {
  readonly session: S;
  readonly mode: LockMode;
  /** No longer: the lock was stolen, but the session has not said "unlock" yet. */
  inLine: boolean;
}

/** Names of locks, in the order in which they were asked for. */
export interface LockStates {
  readonly held: readonly string[];
  readonly waiting: readonly string[];
  readonly lost: readonly string[];
}

export class Locks<S> {
  /** Of each lock: the owner, then those who wait. */
  readonly #lines: Map<string, Waiter<S>[]> = new Map();
  readonly #ofSession: Map<S, Map<string, Waiter<S>>> = new Map();

  /** Locks that somebody owns. */
  get size(): number {
    return this.#lines.size;
  }

  /** Locks that the session has asked for and not given back. */
  count(session: S): number {
    return this.#ofSession.get(session)?.size ?? 0;
  }

  has(session: S, name: string): boolean {
    return this.#ofSession.get(session)?.has(name) === true;
  }

  owns(session: S, name: string): boolean {
    return this.#lines.get(name)?.[0]?.session === session;
  }

  /** `victim`: the owner until now, from whom the lock was stolen. */
  acquire(session: S, name: string, mode: LockMode): { locked: boolean; victim: S | null } {
    assert(!this.has(session, name), 'Locks.acquire: asked for already');
    const waiter: Waiter<S> = { session, mode, inLine: true };
    const own = this.#ofSession.get(session) ?? new Map<string, Waiter<S>>();
    this.#ofSession.set(session, own.set(name, waiter));
    const line = this.#lines.get(name) ?? [];
    this.#lines.set(name, line);
    if (mode === 'wait') {
      line.push(waiter);
      return { locked: line.length === 1, victim: null };
    }
    const victim = line[0];
    line.unshift(waiter);
    if (victim?.mode === 'steal') {
      line.splice(1, 1);
      victim.inLine = false;
    }
    return { locked: true, victim: victim?.session ?? null };
  }

  /**
   * Gives back what {@link acquire} asked for. Returns who owns the lock now, to be told so, even
   * when it owned it before: the original tells it then, too.
   */
  release(session: S, name: string): S | null {
    const own = this.#ofSession.get(session);
    const waiter = own?.get(name);
    assert(own !== undefined && waiter !== undefined, 'Locks.release: not asked for');
    own.delete(name);
    if (own.size === 0) this.#ofSession.delete(session);
    if (!waiter.inLine) return null;
    const line = this.#lines.get(name);
    assert(line?.includes(waiter) === true, 'Locks.release: not in line');
    line.splice(line.indexOf(waiter), 1);
    if (line.length > 0) return line[0].session;
    this.#lines.delete(name);
    return null;
  }

  /** Everything of the session; who owns each lock now, as {@link release} says. */
  releaseAll(session: S): { name: string; owner: S }[] {
    const told: { name: string; owner: S }[] = [];
    for (const name of [...(this.#ofSession.get(session)?.keys() ?? [])]) {
      const owner = this.release(session, name);
      if (owner !== null) told.push({ name, owner });
    }
    return told;
  }

  states(session: S): LockStates {
    const held: string[] = [];
    const waiting: string[] = [];
    const lost: string[] = [];
    for (const [name, { mode }] of this.#ofSession.get(session) ?? []) {
      if (this.owns(session, name)) held.push(name);
      else if (mode === 'wait') waiting.push(name);
      else lost.push(name);
    }
    return { held, waiting, lost };
  }
}
