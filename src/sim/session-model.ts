/**
 * The naive model of the session table: at most CLIENTS_MAX sessions; one more registration drops
 * the one that committed least recently. Fed with the finished history, it tells whether every
 * client that was told "no session" had really lost it, and whether nobody committed without one.
 */
import { CLIENTS_MAX } from '../engine/index.ts';
import { check } from './failure.ts';

/** A client as the checkers call it: unique for each session ever made. */
export type ClientName = string;

export class SessionModel {
  readonly #lastCommit: Map<ClientName, number> = new Map();
  readonly #dropped: Set<ClientName> = new Set();
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

  /** Ascending ops. */
  onRegister(client: ClientName, op: number): void {
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
        this.#dropped.add(oldest);
      }
    }
    this.#lastCommit.set(client, op);
  }

  onCommit(client: ClientName, op: number): void {
    check(this.#lastCommit.has(client) || !this.#isEnabled, 'eviction', () => {
      return `op ${op} of ${client} was committed without a session`;
    });
    this.#lastCommit.set(client, op);
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
