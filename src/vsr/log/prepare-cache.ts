/**
 * Prepares in memory: those above what is executed, as far as they matter soon. The primary has its
 * whole pipeline here; a backup what it received and has not executed. What is not here is read
 * from the disk when its turn comes.
 */
import { PIPELINE_MAX } from '../../engine/index.ts';
import { assert, bytesEqual } from '../../stdx/index.ts';
import type { Message, MessagePool } from '../../wire/index.ts';
import { opOf } from './log.ts';

/**
 * Operations above the last executed one that are kept: also how far a replica that lags asks
 * ahead. What it had to read back from its disk before executing it would cost it more than others.
 */
export const PREPARES_CACHED_MAX: number = 4 * PIPELINE_MAX;

export class PrepareCache {
  readonly #pool: MessagePool;
  readonly #prepares: Map<number, Message> = new Map();

  constructor(pool: MessagePool) {
    this.#pool = pool;
  }

  /** The prepare at `op` with the checksum `bytes[offset, +16)`; borrowed. */
  find(op: number, bytes: Uint8Array, offset: number): Message | null {
    const message = this.#prepares.get(op);
    if (message === undefined || !bytesEqual(message.bytes, 0, bytes, offset, 16)) return null;
    return message;
  }

  /** Whatever is kept for `op`; borrowed. */
  at(op: number): Message | null {
    return this.#prepares.get(op) ?? null;
  }

  /** Keeps the prepare (a reference of its own) if it is near enough to `commitMin`. */
  put(message: Message, commitMin: number): void {
    const op = opOf(message.bytes);
    if (op <= commitMin || op > commitMin + PREPARES_CACHED_MAX) return;
    this.drop(op);
    this.#pool.retain(message);
    this.#prepares.set(op, message);
  }

  drop(op: number): void {
    const message = this.#prepares.get(op);
    if (message === undefined) return;
    this.#prepares.delete(op);
    this.#pool.release(message);
  }

  /** Gives back every message it holds. */
  releaseMessages(): void {
    for (const message of this.#prepares.values()) this.#pool.release(message);
    this.#prepares.clear();
  }

  invariants(commitMin: number): void {
    assert(this.#prepares.size <= PREPARES_CACHED_MAX, 'PrepareCache: too many');
    for (const [op, message] of this.#prepares) {
      assert(op > commitMin, 'PrepareCache: an operation that is executed');
      assert(message.references > 0, 'PrepareCache: a message that nobody holds');
    }
  }
}
