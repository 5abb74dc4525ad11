/**
 * The audit of a finished run's order: operations, registrations and what else took a place in the
 * log form one row without a hole, with rising timestamps, and nobody lost a session but whoever
 * had to.
 */
import { CLIENTS_MAX } from '../../engine/index.ts';
import { type U64, u64Compare } from '../../stdx/index.ts';
import { check } from '../world/failure.ts';
import type { ClientName, SessionModel } from './session-model.ts';

/** An operation or a registration, in the one order of all. */
export interface Entry {
  readonly op: number;
  readonly timestamp: U64;
  readonly client: ClientName | null;
  readonly kind: 'operation' | 'register' | 'noop';
}

/** Places in the log that no entry is known of. */
export interface Holes {
  /** What replicas have come to, maybe beyond the last entry. */
  readonly opExecuted: number;
  readonly explains: (op: number) => Explanation | null;
}

/**
 * What the log itself says of a place: nothing was done (its engine's own business, a request once
 * more), or somebody was registered who also was at another time.
 */
export type Explanation = 'nothing' | 'registered-again';

export class OrderAudit {
  readonly #sessions: SessionModel;
  readonly #entries: Entry[];
  /** Registrations whose first attempt has an unknown fate, by client. */
  readonly #resends: Map<ClientName, number>;
  readonly #holes: Holes;

  constructor(
    sessions: SessionModel,
    entries: readonly Entry[],
    resends: ReadonlyMap<ClientName, number>,
    holes: Holes = { opExecuted: 0, explains: () => null },
  ) {
    this.#sessions = sessions;
    this.#entries = [...entries].sort((a, b) => a.op - b.op);
    this.#resends = new Map(resends);
    this.#holes = holes;
  }

  check(): void {
    let previous: Entry | null = null;
    for (const entry of this.#entries) {
      const { op, timestamp, client, kind } = entry;
      if (previous !== null) {
        for (let hole = previous.op + 1; hole < op; hole++) this.#explainHole(hole);
        const isLater = u64Compare(timestamp, previous.timestamp) > 0;
        check(isLater, 'order', () => `timestamp of op ${op} is not above that of the one before`);
      }
      previous = entry;
      if (client === null) continue;
      if (kind === 'register') this.#sessions.onRegister(client, op);
      else this.#sessions.onCommit(client, op);
    }
    const last = previous?.op ?? 0;
    for (let hole = last + 1; hole <= this.#holes.opExecuted; hole++) this.#explainHole(hole);
    this.#sessions.finish();
  }

  /**
   * An operation that nobody knows of, and that does not explain itself, can only be a
   * registration. Either its reply was lost, its session was forgotten for others, and its client
   * has registered once more since. Or it came twice, the second time so late that the session of
   * the first was forgotten already.
   */
  #explainHole(hole: number): void {
    const explanation = this.#holes.explains(hole);
    if (explanation === 'nothing') return;
    const registers = this.#entries.filter(({ kind }) => kind === 'register');
    const candidates: ClientName[] = [];
    for (const { op, client } of registers) {
      if (client === null) continue;
      const isRepeated = op > hole && (this.#resends.get(client) ?? 0) > 0;
      const isLate = op < hole && this.#sessions.hasDropped(client);
      if (isRepeated || isLate) candidates.push(client);
    }
    const [client] = candidates;
    if (client === undefined && explanation === 'registered-again') {
      // Somebody was, and the log does not say under which name we know them.
      this.#sessions.disable();
      return;
    }
    const isPossible = registers.length >= CLIENTS_MAX && client !== undefined;
    check(isPossible, 'order', () => `nothing is known of op ${hole}`);
    this.#resends.set(client, (this.#resends.get(client) ?? 0) - 1);
    // Whose it was decides which session is forgotten next.
    if (candidates.length > 1) this.#sessions.disable();
    this.#sessions.onRegister(client, hole);
  }
}
