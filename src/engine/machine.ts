/**
 * The state machine contract: what a database has to be so that an engine can replicate it, keep it
 * on disk and bring it back. The ledger, the key-value store and the counter all implement it; no
 * engine knows which one it runs.
 *
 * A machine is deterministic: same applied operations, same state, same replies, same root. It
 * reads no clock: time comes with the operation. Everything is synchronous and bounded.
 */
import type { U64 } from '../stdx/index.ts';

/** Operations below this number belong to the engine, the rest to the machine. */
export const OPERATION_MACHINE_MIN = 128;

/**
 * The one engine operation that a machine applies: nobody sent it, time has made something due
 * (see {@link Machine.due}). Its body is empty and its reply is dropped.
 */
export const OPERATION_PULSE = 4;

/** What comes with an operation besides its body. */
export interface ApplyContext {
  /** Position in the log; each operation is one more than the last. */
  readonly op: number;
  /** The operation's highest timestamp: its n = reserve() events have t − n + 1 … t. */
  readonly timestamp: U64;
}

/**
 * A named piece of a machine's state: the unit of checkpoints, of files and of state transfer.
 * `kind` (0 … 0x7fff, the machine's own) and `index` name it; writing the same name again replaces
 * it, an empty one deletes it.
 */
export interface Block {
  readonly kind: number;
  readonly index: number;
  /** 1 … BLOCK_SIZE_MAX bytes (0 = delete). Valid and unchanged until the next one is asked for. */
  readonly bytes: Uint8Array;
  /**
   * MAC of `bytes`, 16 bytes. A machine that has computed it (a leaf hash) hands it out, so that it
   * is not computed twice; with blocks restored from a file it always comes.
   */
  readonly checksum?: Uint8Array;
}

/** A verdict on a request, given before it enters the log. */
export type Validity = 'valid' | 'invalid-operation' | 'invalid-body';

/** What a machine would like to have in memory before `apply`; the door to data larger than it. */
export interface ReadRequest {
  readonly kind: number;
  readonly index: number;
}

export interface Machine {
  /**
   * Whether the operation exists (128 …) and the body is well formed for it. Pure; called at
   * admission with bytes from outside, so it accepts anything. `bodySizeMax` is the largest body a
   * request may have in this cluster.
   */
  validate(operation: number, body: Uint8Array, bodySizeMax: number): Validity;
  /** How many nanoseconds of timestamps the operation uses up. Pure: depends on the body alone. */
  reserve(operation: number, body: Uint8Array): number;
  /** What `apply` will want to read; empty when all is in memory. */
  prefetch(operation: number, body: Uint8Array): readonly ReadRequest[];
  /**
   * Executes a valid operation and writes its reply; returns the reply's size in bytes.
   * `body` and `reply` are views of a message pool: their byteOffset is a multiple of 16, and
   * `reply` holds REPLY_BODY_SIZE_MAX bytes of undefined content: write whatever of it counts.
   */
  apply(context: ApplyContext, operation: number, body: Uint8Array, reply: Uint8Array): number;
  /** A read outside the log, on the state as applied so far; same conventions as `apply`. */
  query(operation: number, body: Uint8Array, reply: Uint8Array): number;
  /** Whether a pulse proposed with this timestamp would do something. Called often: O(1). */
  due(timestamp: U64): boolean;

  /**
   * Starts a checkpoint of the state as of now (`op` was the last one applied). Only notes what it
   * needs, so that it takes no longer than an operation; what is applied from here on must not show
   * in the blocks. Only blocks that differ from the previous cut (or from what was restored) are
   * handed out. Returns about how many that will be: engines pace themselves by it.
   */
  cut(op: number): number;
  /**
   * The next changed block of the cut, in any order, or `null` after the last one. `target` has
   * room for one: a machine that makes its blocks makes them there and returns a view of it.
   */
  slice(target: Uint8Array): Block | null;
  /** The {@link root} as of the cut; after its last slice, before anything is sliced ahead. */
  rootOfCut(): Uint8Array;
  /**
   * Between two cuts: a block that the next one would hand out and probably in the same form, as it
   * is complete; `null` when there is none right now. The next cut leaves it out, unless it has
   * changed after all. So most of a checkpoint is written before it falls due.
   */
  sliceAhead(target: Uint8Array): Block | null;
  /** Puts back one block, into a machine that has applied nothing. Ascending (kind, index). */
  restore(block: Block): void;
  /** All blocks are back: rebuild what is derived. Throws nothing: blocks were verified. */
  restored(): void;
  /**
   * 16 bytes over the *logical* content: equal on replicas whatever their files look like. For
   * tests and tools: it may read everything that has changed since the last cut.
   */
  root(): Uint8Array;
}
