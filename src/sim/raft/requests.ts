/**
 * The naive model of what a committed log does: entry by entry, which requests take effect and
 * which are only there a second time, or from a client that has no session any more. It knows of
 * sessions what the protocol says of them, and is held against what machines were seen to do.
 */
import { CLIENTS_MAX, OPERATION_MACHINE_MIN, OPERATION_PULSE } from '../../engine/index.ts';
import { isZero, readSafeU64, readU32, toHex } from '../../stdx/index.ts';
import { HEADER_SIZE, OPERATION_REGISTER, PrepareOffset, readSize } from '../../wire/index.ts';
import { type History, requestFingerprint } from '../checks/history.ts';
import { check } from '../world/failure.ts';
import { type Committed, INDEX_FIRST } from './committed.ts';
import type { SeenEntry } from './seen.ts';

/** What an entry does when its turn comes. */
export type Effect = 'applied' | 'registered' | 'nothing';

interface Session {
  readonly number: number;
  request: number;
  lastOp: number;
}

export class Requests {
  readonly #committed: Committed;
  readonly #sessions: Map<string, Session> = new Map();
  /** How often each client was registered. */
  readonly #registrations: Map<string, number> = new Map();
  /** By index, from {@link INDEX_FIRST} + 1 on. */
  readonly #effects: Effect[] = [];

  constructor(committed: Committed) {
    this.#committed = committed;
  }

  /** What the entry at `index` does; `null`: it is not committed. */
  effect(index: number): Effect | null {
    this.#goOn();
    return this.#effects[index - INDEX_FIRST - 1] ?? null;
  }

  /** Whether the registration at `index` is not the only one of its client. */
  isRegisteredAgain(index: number): boolean {
    if (this.effect(index) !== 'registered') return false;
    const data = this.#committed.entry(index)?.data ?? null;
    return data !== null && (this.#registrations.get(clientOf(data)) ?? 0) > 1;
  }

  /** Machines were seen to do just what the log says, and for nobody twice. */
  check(history: History): void {
    this.#goOn();
    this.#effects.forEach((effect, i) => {
      const index = INDEX_FIRST + 1 + i;
      const commit = history.commitAt(index);
      const isApplied = effect === 'applied';
      check(isApplied === (commit !== null), 'double-apply', () => {
        return `entry ${index} is ${effect}, and a machine ${commit === null ? 'never' : 'once'} saw it`;
      });
      const data = this.#committed.entry(index)?.data ?? null;
      if (commit === null || data === null) return;
      const operation = data[PrepareOffset.operation] as number;
      const body = data.subarray(HEADER_SIZE, readSize(data));
      check(commit.request === requestFingerprint(operation, body), 'divergence', () => {
        return `entry ${index} of the log is not what was executed`;
      });
    });
  }

  #goOn(): void {
    for (let i = this.#effects.length; i < this.#committed.max - INDEX_FIRST; i++) {
      const index = INDEX_FIRST + 1 + i;
      const entry = this.#committed.entry(index);
      check(entry !== null, 'fork', () => `entry ${index} was committed, and never told`);
      this.#effects.push(this.#take(index, entry));
    }
  }

  #take(index: number, { data }: SeenEntry): Effect {
    if (data === null) return 'nothing';
    const operation = data[PrepareOffset.operation] as number;
    if (operation === OPERATION_PULSE) return 'applied';
    if (isZero(data, PrepareOffset.client, 16)) return 'nothing';
    const client = clientOf(data);
    const session = this.#sessions.get(client);
    if (operation === OPERATION_REGISTER) {
      if (session !== undefined) return 'nothing';
      this.#makeRoom();
      this.#registrations.set(client, (this.#registrations.get(client) ?? 0) + 1);
      this.#sessions.set(client, { number: index, request: 0, lastOp: index });
      return 'registered';
    }
    const number = readSafeU64(data, PrepareOffset.session);
    const request = readU32(data, PrepareOffset.request);
    if (session === undefined || number !== session.number) return 'nothing';
    if (request !== session.request + 1) return 'nothing';
    session.request = request;
    session.lastOp = index;
    return operation >= OPERATION_MACHINE_MIN ? 'applied' : 'nothing';
  }

  /** Whoever committed least recently is forgotten. */
  #makeRoom(): void {
    if (this.#sessions.size < CLIENTS_MAX) return;
    let oldest: string | null = null;
    let oldestOp = Number.POSITIVE_INFINITY;
    for (const [client, { lastOp }] of this.#sessions) {
      if (lastOp >= oldestOp) continue;
      oldest = client;
      oldestOp = lastOp;
    }
    if (oldest !== null) this.#sessions.delete(oldest);
  }
}

/** Who asks, hexadecimal. */
function clientOf(data: Uint8Array): string {
  return toHex(data.subarray(PrepareOffset.client, PrepareOffset.client + 16));
}
