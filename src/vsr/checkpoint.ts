/**
 * Checkpoints: every I operations the whole state goes to disk, so that the log may forget. Nothing
 * pauses for it. At operation C the cut only notes what the checkpoint will hold; execution goes
 * on, and the blocks are made and written a few at a time, at the ends of steps. What is complete
 * long before C, and that is most of it, is written before the cut.
 *
 * Operations beyond C are let through as the blocks make progress, B at most until the superblock
 * names C; so a very large checkpoint slows many operations a little instead of stopping one.
 *
 * The order is what makes a crash harmless: changed blocks to new places, the manifest that lists
 * them, flush; then the superblock, copy by copy. Only then are the places of the old blocks free.
 * Blocks that no manifest lists, such as those written ahead of a cut that did not come, are free
 * space after a crash.
 *
 * While the disk is full the replica takes no new operations.
 */
import {
  BLOCK_KIND_ENGINE_MIN,
  BLOCK_SIZE_MAX,
  type Block,
  CHECKPOINT_SLACK_OPS,
  SessionBlocks,
  type StorageError,
} from '../engine/index.ts';
import { assert, type U64, writeSafeU64, writeU64 } from '../stdx/index.ts';
import type { MessagePool } from '../wire/index.ts';
import { BlockWriter } from './checkpoint/block-writer.ts';
import { BlockStore } from './file/blocks.ts';
import { checkpointAfter, fixedSize, type Geometry, prepareMax } from './file/geometry.ts';
import type { ChunkReference } from './file/superblock-codec.ts';
import type { Outbox } from './outbox.ts';
import type { ReplicatedState } from './state.ts';
import type { SuperblockStore } from './superblock.ts';

const NS_PER_MS = 1_000_000;
/** Bytes of blocks made in a step: half a millisecond, of copying and hashing for the most part. */
const STEP_BYTES_MAX: number = 2 * BLOCK_SIZE_MAX;
/** What a small block counts as. */
const BLOCK_BYTES_MIN: number = BLOCK_SIZE_MAX / 16;
/** Operations beyond a cut that are let through before the first of its blocks is made. */
const FREE_OPS = 4;

export interface CheckpointsOptions {
  readonly geometry: Geometry;
  readonly pool: MessagePool;
  readonly outbox: Outbox;
  readonly superblock: SuperblockStore;
  readonly state: ReplicatedState;
}

/** `idle`: between two checkpoints, blocks are written ahead. Then in this order. */
type Phase = 'idle' | 'blocks' | 'manifest' | 'flush' | 'superblock';

/** What is noted at the cut. */
interface Cut {
  readonly op: number;
  readonly timestamp: U64;
  readonly prepareChecksum: Uint8Array;
  readonly digest: Uint8Array;
  readonly sessionsRoot: Uint8Array;
  /** About how many blocks it has. */
  readonly blocks: number;
  readonly startNs: number;
}

export class Checkpoints {
  readonly blocks: BlockStore;
  readonly sessionBlocks: SessionBlocks;
  readonly #options: CheckpointsOptions;
  readonly #writer: BlockWriter;
  #phase: Phase = 'idle';
  #cut: Cut | null = null;
  /** The state is complete: operations were executed on it. */
  #isOpen: boolean = false;
  /** Somebody else works on the file: nothing is written ahead. */
  #isHeld: boolean = false;
  /** Blocks of the cut that were made. */
  #blocksMade: number = 0;
  #isMachineDone: boolean = false;
  /** The machine's root at the cut, once all of its blocks are made. */
  #root: Uint8Array = new Uint8Array(16);
  #chunkCount: number = 0;
  readonly #chunks: ChunkReference[] = [];

  constructor(options: CheckpointsOptions) {
    const { geometry, superblock, state, pool, outbox } = options;
    this.#options = options;
    this.#writer = new BlockWriter(pool, outbox);
    this.blocks = new BlockStore(fixedSize(geometry), superblock.current.fileSize);
    this.sessionBlocks = new SessionBlocks(state.sessions, pool);
  }

  /** A checkpoint is under way: it was cut, and the superblock does not name it yet. */
  get isBusy(): boolean {
    return this.#phase !== 'idle';
  }

  /** The disk is full. */
  get isReadOnly(): boolean {
    return this.#writer.isFull;
  }

  /**
   * Whether one more operation may be executed now. When it may not, a write of the checkpoint is
   * under way, or waits for room on the disk.
   */
  get mayCommit(): boolean {
    return this.#cut === null || this.#options.state.commitMin < this.#opMax(this.#cut);
  }

  /** Highest op that may be written to the log. */
  get prepareMax(): number {
    return prepareMax(this.#options.geometry, this.#options.superblock.current.checkpoint.op);
  }

  /**
   * The highest op that may be prepared here, or judged by the checkpoint it names: with short
   * logs the next but one checkpoint can lie below `prepareMax`, and its successor would have to
   * name one that is not made yet.
   */
  get authorMax(): number {
    const { geometry, superblock } = this.#options;
    const next = checkpointAfter(geometry, superblock.current.checkpoint.op);
    return Math.min(this.prepareMax, checkpointAfter(geometry, next));
  }

  /**
   * The checkpoint that a prepare at `op` names: not the newest, but the one before the newest that
   * lies below `op`. So it does not depend on how quickly a checkpoint is written: up to
   * {@link authorMax} that one is durable here.
   */
  idFor(op: number): Uint8Array {
    const { geometry, superblock } = this.#options;
    const { checkpoint } = superblock.current;
    assert(op > checkpoint.op, 'Checkpoints: an operation that is behind the checkpoint');
    const next = checkpointAfter(geometry, checkpoint.op);
    if (op <= next) return checkpoint.idParent;
    assert(op <= checkpointAfter(geometry, next), 'Checkpoints: names one that is not there yet');
    return checkpoint.id;
  }

  /** An operation was executed. */
  onCommit(): void {
    this.#isOpen = true;
    this.#beginIfDue();
  }

  /** A block or two further; called at the end of every step. */
  advance(): void {
    for (let left = STEP_BYTES_MAX; left > 0; ) {
      const size = this.#makeNext();
      if (size < 0) break;
      // A deletion costs nothing, and nothing would come back from the disk for it.
      if (size > 0) left -= Math.max(size, BLOCK_BYTES_MIN);
    }
    this.#writer.advance();
    if (this.#phase === 'flush' && this.#writer.settle()) this.#updateSuperblock();
  }

  onWritten(token: number, error: StorageError | null): void {
    this.#writer.onWritten(token, error);
  }

  onFlushed(): void {
    this.#writer.onFlushed();
  }

  /**
   * An update of the superblock is durable; whether it names the checkpoint is found out here. If
   * it does, the log may forget.
   */
  onSuperblock(): void {
    const { outbox, superblock, state } = this.#options;
    const { checkpoint } = superblock.current;
    if (this.#phase !== 'superblock' || checkpoint.op !== this.#cut?.op) return;
    this.blocks.commit(checkpoint.manifest);
    const { blocks: blocksWritten, bytes: bytesWritten } = this.#writer.takeCounts();
    outbox.trace('info', 'checkpoint', {
      op: checkpoint.op,
      durationMs: (outbox.now.monoNs - this.#cut.startNs) / NS_PER_MS,
      operationsMeanwhile: state.commitMin - checkpoint.op,
      blocksWritten,
      bytesWritten,
      blocks: this.blocks.count,
      fileSize: this.blocks.fileSize,
    });
    this.#phase = 'idle';
    this.#cut = null;
    // With a short log the next one may be due.
    this.#beginIfDue();
  }

  /**
   * From now on nothing is written ahead. Returns whether everything that was is durable and no
   * checkpoint is under way: then the file is as {@link blocks} describes it, and stays so as long
   * as nothing is executed.
   */
  hold(): boolean {
    this.#isHeld = true;
    return this.#phase === 'idle' && this.#writer.settle();
  }

  /** Takes {@link hold} back. */
  resume(): void {
    this.#isHeld = false;
  }

  /** Gives back every message it holds. */
  releaseMessages(): void {
    this.#writer.releaseMessages();
    this.sessionBlocks.releaseMessages();
  }

  invariants(): void {
    const { geometry, superblock, state } = this.#options;
    const { checkpoint } = superblock.current;
    assert(this.isBusy === (this.#cut !== null), 'Checkpoints: a phase without a cut');
    if (this.#cut === null) return;
    assert(
      this.#cut.op === checkpointAfter(geometry, checkpoint.op),
      'Checkpoints: cut in between',
    );
    assert(state.commitMin >= this.#cut.op, 'Checkpoints: ahead of the state');
    const opMax = Math.min(
      this.#cut.op + CHECKPOINT_SLACK_OPS,
      checkpointAfter(geometry, this.#cut.op),
    );
    assert(state.commitMin <= opMax, 'Checkpoints: executed too far beyond the cut');
  }

  /** The last operation that may be executed now: further and further as blocks are made. */
  #opMax(cut: Cut): number {
    const next = checkpointAfter(this.#options.geometry, cut.op);
    const isMade = this.#phase !== 'blocks';
    const share = isMade ? 1 : Math.min(1, this.#blocksMade / Math.max(1, cut.blocks));
    const slack = FREE_OPS + Math.floor((CHECKPOINT_SLACK_OPS - FREE_OPS) * share);
    return Math.min(cut.op + slack, next);
  }

  #beginIfDue(): void {
    const { geometry, superblock, state } = this.#options;
    if (this.#phase !== 'idle') return;
    const due = checkpointAfter(geometry, superblock.current.checkpoint.op);
    assert(state.commitMin <= due, 'Checkpoints: one was passed over');
    if (state.commitMin === due) this.#begin();
  }

  /** The cut: from here on the checkpoint is what it is. */
  #begin(): void {
    const { state, outbox } = this.#options;
    const op = state.commitMin;
    this.#cut = {
      op,
      timestamp: state.timestamp,
      prepareChecksum: state.prepareChecksum,
      digest: state.digest,
      sessionsRoot: state.sessions.root(),
      blocks: state.machine.cut(op) + this.sessionBlocks.cut(),
      startNs: outbox.now.monoNs,
    };
    this.#phase = 'blocks';
    // Operations are executed: nobody else works on the file.
    this.#isHeld = false;
    this.#blocksMade = 0;
    this.#isMachineDone = false;
    this.#chunks.length = 0;
  }

  /** Makes the next block or piece of the manifest; its size, −1: there is none now, or no room. */
  #makeNext(): number {
    if (this.#phase === 'flush' || this.#phase === 'superblock' || !this.#isOpen) return -1;
    if (this.#phase === 'idle' && this.#isHeld) return -1;
    const buffer = this.#writer.buffer();
    if (buffer === null) return -1;
    if (this.#phase === 'idle') return this.#write(this.#blockAhead(buffer), buffer);
    if (this.#phase === 'blocks') {
      const block = this.#nextBlock(buffer);
      if (block !== null) {
        this.#blocksMade++;
        return this.#write(block, buffer);
      }
      this.#chunkCount = this.blocks.beginManifest();
      this.#phase = 'manifest';
    }
    return this.#writeNextChunk(buffer);
  }

  /** Between two checkpoints: a block that the next one will not have to make. */
  #blockAhead(buffer: Uint8Array): Block | null {
    const block = this.#options.state.machine.sliceAhead(buffer);
    assert((block?.kind ?? 0) < BLOCK_KIND_ENGINE_MIN, 'Checkpoints: kind belongs to the engine');
    return block;
  }

  /** The machine's blocks, then those of the sessions. */
  #nextBlock(buffer: Uint8Array): Block | null {
    if (this.#isMachineDone) return this.sessionBlocks.slice();
    const { machine } = this.#options.state;
    const block = machine.slice(buffer);
    assert((block?.kind ?? 0) < BLOCK_KIND_ENGINE_MIN, 'Checkpoints: kind belongs to the engine');
    if (block !== null) return block;
    this.#root = machine.rootOfCut().slice();
    this.#isMachineDone = true;
    return this.sessionBlocks.slice();
  }

  /** Gives a block a place of its own and hands it to the disk; its size, −1: there is none. */
  #write(block: Block | null, buffer: Uint8Array): number {
    if (block === null) return -1;
    const { kind, index, bytes } = block;
    assert(bytes.length <= BLOCK_SIZE_MAX, 'Checkpoints: block too large');
    if (bytes.length === 0) {
      this.blocks.delete(kind, index);
      return 0;
    }
    const isInPlace = bytes.buffer === buffer.buffer && bytes.byteOffset === buffer.byteOffset;
    if (!isInPlace) buffer.set(bytes);
    const checksum = block.checksum ?? this.#checksumOf(buffer, bytes.length);
    this.#writer.write(this.blocks.replace(kind, index, bytes.length, checksum), bytes.length);
    return bytes.length;
  }

  #writeNextChunk(buffer: Uint8Array): number {
    if (this.#chunks.length === this.#chunkCount) {
      this.#phase = 'flush';
      return -1;
    }
    const size = this.blocks.encodeChunk(this.#chunks.length, buffer);
    const chunk = this.blocks.placeChunk(size, this.#checksumOf(buffer, size));
    this.#chunks.push(chunk);
    this.#writer.write(chunk.offset, size);
    if (this.#chunks.length === this.#chunkCount) this.#phase = 'flush';
    return size;
  }

  #updateSuperblock(): void {
    const { superblock } = this.#options;
    const cut = this.#cut;
    assert(cut !== null, 'Checkpoints: nothing was cut');
    const { op, timestamp, prepareChecksum, digest } = cut;
    this.#phase = 'superblock';
    superblock.update({
      commitMax: Math.max(superblock.newest.commitMax, op),
      fileSize: this.blocks.fileSize,
      checkpoint: {
        op,
        timestamp,
        prepareChecksum,
        digest,
        root: this.#root,
        id: this.#idOf(cut),
        idParent: superblock.current.checkpoint.id,
        blockCount: this.blocks.count,
        manifest: [...this.#chunks],
      },
    });
  }

  /** Names the whole state at the cut. */
  #idOf(cut: Cut): Uint8Array {
    const input = new Uint8Array(80);
    writeSafeU64(input, 0, cut.op);
    writeU64(input, 8, cut.timestamp);
    input.set(cut.prepareChecksum, 16);
    input.set(cut.digest, 32);
    input.set(this.#root, 48);
    input.set(cut.sessionsRoot, 64);
    return this.#checksumOf(input, input.length);
  }

  #checksumOf(bytes: Uint8Array, size: number): Uint8Array {
    const checksum = new Uint8Array(16);
    this.#options.pool.checksum.digest(bytes, 0, size, checksum, 0);
    return checksum;
  }
}
