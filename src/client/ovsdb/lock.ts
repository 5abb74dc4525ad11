/**
 * A lock of the server, as RFC 7047 §4.1.8 has it: asked for again after each reconnect, since a
 * lock lives and dies with its connection, and only in one server. What must not happen without it
 * says so in the transaction: `{ op: 'assert', lock: name }`.
 */
import { isObject, type Json, memberOf } from '../../ovsdb/index.ts';
import { abortError, OvsdbClientError, OvsdbErrorCode } from './errors.ts';
import type { Session } from './session.ts';

/** `lost`: stolen, or the connection ended. */
export type LockEvent = 'acquired' | 'lost';

/** Events that nobody takes, beyond which only the newest counts. */
const EVENTS_MAX = 100;

export class OvsdbLock implements AsyncDisposable {
  readonly name: string;
  readonly #forget: () => void;
  #session: Session | null = null;
  #steal: boolean;
  #held: boolean = false;
  #released: boolean = false;
  #watchers: Set<(event: LockEvent | null) => void> = new Set();

  /** Made by a client. */
  constructor(name: string, steal: boolean, forget: () => void) {
    this.name = name;
    this.#steal = steal;
    this.#forget = forget;
  }

  get held(): boolean {
    return this.#held;
  }

  /** Resolves once the lock is held. */
  acquired(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#held) return resolve();
      const end = (settle: () => void): void => {
        this.#watchers.delete(watcher);
        signal?.removeEventListener('abort', abort);
        settle();
      };
      const watcher = (event: LockEvent | null): void => {
        if (event === 'acquired') end(resolve);
        else if (event === null) end(() => reject(this.#gone()));
      };
      const abort = (): void => {
        const what = `the lock ${this.name} was not acquired in time`;
        end(() => reject(abortError(signal as AbortSignal, OvsdbErrorCode.notSent, what)));
      };
      if (this.#released) return reject(this.#gone());
      if (signal?.aborted === true) return abort();
      signal?.addEventListener('abort', abort, { once: true });
      this.#watchers.add(watcher);
    });
  }

  /** What happens to the lock from now on, until it is released. */
  async *events(): AsyncGenerator<LockEvent, void, void> {
    const events: (LockEvent | null)[] = [];
    let wake: (() => void) | null = null;
    const watcher = (event: LockEvent | null): void => {
      if (events.length >= EVENTS_MAX) events.shift();
      events.push(event);
      wake?.();
    };
    this.#watchers.add(watcher);
    try {
      while (!this.#released || events.length > 0) {
        const event = events.shift();
        if (event === null) return;
        if (event !== undefined) yield event;
        else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      this.#watchers.delete(watcher);
    }
  }

  /** Takes the lock from whoever holds it. */
  async steal(): Promise<void> {
    if (this.#held) return;
    this.#steal = true;
    const session = this.#session;
    if (session === null) return;
    await session.request('unlock', [this.name]);
    await this.#ask(session);
  }

  /** Gives the lock back, or up. */
  async release(): Promise<void> {
    if (this.#released) return;
    this.#released = true;
    this.#held = false;
    this.#forget();
    this.#tell(null);
    await this.#session?.request('unlock', [this.name]).catch(() => {});
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  /** Of the client: there is a connection. */
  attach(session: Session): void {
    if (this.#session === session) return;
    this.#session = session;
    this.#ask(session).catch(() => {});
  }

  /** Of the client: the connection is gone. */
  detach(): void {
    this.#session = null;
    this.#set(false);
  }

  /** Of the client, which is closed. */
  closed(): void {
    this.#released = true;
    this.#set(false);
    this.#tell(null);
  }

  /** Of the client: the server said `locked` or `stolen`. */
  notified(method: 'locked' | 'stolen'): void {
    this.#set(method === 'locked');
  }

  #ask(session: Session): Promise<void> {
    const method = this.#steal ? 'steal' : 'lock';
    this.#steal = false;
    return new Promise((resolve, reject) => {
      const took = (result: Json): void => {
        const locked = isObject(result) && memberOf(result, 'locked') === true;
        if (locked && this.#session === session) this.#set(true);
        resolve();
      };
      session.call(method, [this.name], { resolve: took, reject });
    });
  }

  #set(held: boolean): void {
    if (this.#held === held || (held && this.#released)) return;
    this.#held = held;
    this.#tell(held ? 'acquired' : 'lost');
  }

  #tell(event: LockEvent | null): void {
    for (const watcher of [...this.#watchers]) watcher(event);
  }

  #gone(): OvsdbClientError {
    return new OvsdbClientError(OvsdbErrorCode.closed, `the lock ${this.name} was released`);
  }
}
