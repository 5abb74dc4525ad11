/**
 * The naive model of the session table: at most CLIENTS_MAX sessions; one more registration drops
 * the one that committed least recently. Fed with the finished history, it tells whether every
 * client that was told "no session" had really lost it, and whether nobody committed without one.
 */
import { CLIENTS_MAX, PIPELINE_MAX, REQUEST_QUEUE_MAX } from '../../engine/index.ts';
import { check } from '../world/failure.ts';

/** A client as the checkers call it: unique for each session ever made. */
export type ClientName = string;

/** Requests that can be between admission and commit. */
const UNDER_WAY_MAX: number = PIPELINE_MAX + REQUEST_QUEUE_MAX;

export class SessionModel {
  readonly #lastCommit: Map<ClientName, number> = new Map();
  /** Who lost its session, and at which op. */
  readonly #dropped: Map<ClientName, number> = new Map();
  readonly #evicted: ClientName[] = [];
  #isEnabled: boolean = true;

  /** The history does not say who committed what; nothing can be concluded from it. */
  disable(): void {
    this.#isEnabled = false;
  }

  /** The client was told that it has no session. */
  expectEvicted(client: ClientName): void {
    this.#evicted.push(client);
  }

  /** Whether the client has lost its session so far. */
  hasDropped(client: ClientName): boolean {
    return this.#dropped.has(client);
  }

  /** Ascending ops. */
  onRegister(client: ClientName, op: number): void {
    if (!this.#isEnabled) return;
    check(!this.#lastCommit.has(client), 'double-apply', () => `${client} registered twice`);
    if (this.#lastCommit.size === CLIENTS_MAX) {
      let oldest: ClientName | null = null;
      let oldestOp = Number.POSITIVE_INFINITY;
      for (const [name, last] of this.#lastCommit) {
        if (last >= oldestOp) continue;
        oldest = name;
        oldestOp = last;
      }
      if (oldest !== null) {
        this.#lastCommit.delete(oldest);
        this.#dropped.set(oldest, op);
      }
    }
    this.#lastCommit.set(client, op);
  }

  onCommit(client: ClientName, op: number): void {
    if (!this.#isEnabled) return;
    if (this.#lastCommit.has(client)) {
      this.#lastCommit.set(client, op);
      return;
    }
    // It may have been on its way already when a registration before it took its session away.
    const droppedAt = this.#dropped.get(client) ?? Number.NEGATIVE_INFINITY;
    check(op - droppedAt <= UNDER_WAY_MAX, 'eviction', () => {
      return `op ${op} of ${client} was committed without a session`;
    });
  }

  finish(): void {
    if (!this.#isEnabled) return;
    for (const client of this.#evicted) {
      check(
        this.#dropped.has(client),
        'eviction',
        () => `${client} was evicted, its session lived`,
      );
    }
  }
}
