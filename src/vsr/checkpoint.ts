/**
 * Checkpoints: every I operations the whole state goes to disk, so that the log may forget. This
 * first version is a pause: at operation C nothing more is executed until the superblock names the
 * new checkpoint, while requests are still received and written to the log. How long that took goes
 * into a trace.
 *
 * The order is what makes a crash harmless: changed blocks to new places, flush; the manifest that
 * lists them, flush; the superblock, copy by copy. Only then are the places of the old blocks free.
 *
 * A full disk is not an error of the disk: the writes that found no room are tried again every
 * second, and meanwhile the replica takes no new operations.
 */
import {
  BLOCK_KIND_ENGINE_MIN,
  BLOCK_SIZE_MAX,
  type Block,
  SessionBlocks,
  type StorageError,
} from '../engine/index.ts';
import { assert, writeSafeU64, writeU64 } from '../stdx/index.ts';
import type { Message, MessagePool } from '../wire/index.ts';
import { BlockStore } from './file/blocks.ts';
import {
  checkpointAfter,
  fixedSize,
  type Geometry,
  prepareMax,
  sectorCeil,
} from './file/geometry.ts';
import type { CheckpointReference, ChunkReference } from './file/superblock-codec.ts';
import { type Outbox, Part } from './outbox.ts';
import { STAGING_SLOTS } from './pool-sizes.ts';
import type { ReplicatedState } from './state.ts';
import type { SuperblockStore } from './superblock.ts';

const RETRY_INTERVAL_NS = 1_000_000_000;
const NS_PER_MS = 1_000_000;

export interface CheckpointsOptions {
  readonly geometry: Geometry;
  readonly pool: MessagePool;
  readonly outbox: Outbox;
  readonly superblock: SuperblockStore;
  readonly state: ReplicatedState;
}

type Phase = 'idle' | 'waiting' | 'blocks' | 'manifest' | 'superblock';

interface StagedWrite {
  readonly buffer: Uint8Array;
  readonly offset: number;
  readonly length: number;
}

export class Checkpoints {
  readonly blocks: BlockStore;
  readonly sessionBlocks: SessionBlocks;
  readonly #options: CheckpointsOptions;
  #phase: Phase = 'idle';
  #reference: CheckpointReference | null = null;
  #startNs: number = 0;
  #blocksWritten: number = 0;
  #bytesWritten: number = 0;
  /** All blocks (or manifest pieces) have been handed to the disk. */
  #isSourceDone: boolean = false;
  #isMachineDone: boolean = false;
  #isFlushing: boolean = false;
  #chunkCount: number = 0;
  readonly #chunks: ChunkReference[] = [];
  /** Reply slots whose memory holds blocks on their way, and the buffers in them that are free. */
  readonly #staging: Message[] = [];
  readonly #buffers: Uint8Array[] = [];
  readonly #writes: Map<number, StagedWrite> = new Map();
  /** Writes that found the disk full, and since when the next attempt waits. */
  readonly #failed: StagedWrite[] = [];
  /** The disk is full and the log says so; once is enough. */
  #isFullTold: boolean = false;
  #failedNs: number = 0;

  constructor(options: CheckpointsOptions) {
    const { geometry, superblock, state, pool } = options;
    this.#options = options;
    this.blocks = new BlockStore(fixedSize(geometry), superblock.current.fileSize);
    this.sessionBlocks = new SessionBlocks(state.sessions, pool);
  }

  /** While this holds nothing is executed. */
  get isBusy(): boolean {
    return this.#phase !== 'idle';
  }

  /** Whether one more operation may be executed now. */
  get mayCommit(): boolean {
    return !this.isBusy;
  }

  /** The disk is full. */
  get isReadOnly(): boolean {
    return this.#failed.length > 0;
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
   * lies below `op`. So it does not depend on how quickly a checkpoint is written.
   */
  idFor(op: number): Uint8Array {
    const { geometry, superblock } = this.#options;
    const { checkpoint } = superblock.current;
    assert(op > checkpoint.op, 'Checkpoints: an operation that is behind the checkpoint');
    return op <= checkpointAfter(geometry, checkpoint.op) ? checkpoint.idParent : checkpoint.id;
  }

  /** An operation was executed. */
  onCommit(): void {
    const { geometry, superblock, state, outbox } = this.#options;
    const due = checkpointAfter(geometry, superblock.current.checkpoint.op);
    assert(state.commitMin <= due, 'Checkpoints: one was passed over');
    if (state.commitMin < due) return;
    assert(this.#phase === 'idle', 'Checkpoints: one is being written');
    this.#phase = 'waiting';
    this.#startNs = outbox.now.monoNs;
    this.advance();
  }

  /** Goes on as far as it can; called at the end of every step. */
  advance(): void {
    if (this.#phase === 'waiting' && this.#acquireStaging()) this.#begin();
    if (this.#failed.length > 0) this.#retry();
    if (this.#phase === 'blocks' || this.#phase === 'manifest') this.#pump();
  }

  onWritten(token: number, error: StorageError | null): void {
    const write = this.#writes.get(token);
    assert(write !== undefined, 'Checkpoints: nobody waits for this write');
    this.#writes.delete(token);
    if (error === null) {
      this.#isFullTold = false;
      this.#buffers.push(write.buffer);
      return;
    }
    assert(error === 'no-space', 'Checkpoints: a broken disk is not handled here');
    if (!this.#isFullTold) {
      this.#options.outbox.trace('error', 'disk-full', { offset: write.offset });
    }
    this.#isFullTold = true;
    this.#failed.push(write);
    this.#failedNs = this.#options.outbox.now.monoNs;
  }

  onFlushed(): void {
    assert(this.#isFlushing, 'Checkpoints: nobody waits for a flush');
    this.#isFlushing = false;
    if (this.#phase === 'blocks') {
      this.#phase = 'manifest';
      this.#chunkCount = this.blocks.beginManifest();
      this.#isSourceDone = this.#chunkCount === 0;
      return;
    }
    assert(this.#phase === 'manifest', 'Checkpoints: flushed at the wrong time');
    this.#updateSuperblock();
  }

  /** The superblock names the checkpoint: the log may forget, execution goes on. */
  onSuperblock(): void {
    const { outbox, superblock } = this.#options;
    const isDone = superblock.current.checkpoint.op === this.#reference?.op;
    if (this.#phase !== 'superblock' || !isDone) return;
    this.blocks.commit(superblock.current.checkpoint.manifest);
    this.releaseMessages();
    this.#phase = 'idle';
    this.#reference = null;
    outbox.trace('info', 'checkpoint', {
      op: superblock.current.checkpoint.op,
      durationMs: (outbox.now.monoNs - this.#startNs) / NS_PER_MS,
      blocksWritten: this.#blocksWritten,
      bytesWritten: this.#bytesWritten,
      blocks: this.blocks.count,
      fileSize: this.blocks.fileSize,
    });
  }

  /** Gives back every message it holds. */
  releaseMessages(): void {
    for (const message of this.#staging) this.#options.pool.release(message);
    this.#staging.length = 0;
    this.#buffers.length = 0;
  }

  invariants(): void {
    const { superblock, state } = this.#options;
    const { checkpoint } = superblock.current;
    assert(checkpoint.op <= state.commitMin || !this.isBusy, 'Checkpoints: ahead of the state');
    if (this.isBusy) {
      const due = checkpointAfter(this.#options.geometry, checkpoint.op);
      assert(state.commitMin === due, 'Checkpoints: executed during a checkpoint');
    }
  }

  #acquireStaging(): boolean {
    const { pool } = this.#options;
    while (this.#staging.length < STAGING_SLOTS) {
      const message = pool.acquire('reply');
      if (message === null) return false;
      this.#staging.push(message);
      for (let at = 0; at + BLOCK_SIZE_MAX <= message.bytes.length; at += BLOCK_SIZE_MAX) {
        this.#buffers.push(message.bytes.subarray(at, at + BLOCK_SIZE_MAX));
      }
    }
    return true;
  }

  /** The cut: from here on the checkpoint is what it is. */
  #begin(): void {
    const { state, superblock, pool } = this.#options;
    const { machine, sessions } = state;
    const root = machine.root().slice();
    machine.cut(state.commitMin);
    this.sessionBlocks.cut();
    const input = new Uint8Array(80);
    writeSafeU64(input, 0, state.commitMin);
    writeU64(input, 8, state.timestamp);
    input.set(state.prepareChecksum, 16);
    input.set(state.digest, 32);
    input.set(root, 48);
    input.set(sessions.root(), 64);
    const id = new Uint8Array(16);
    pool.checksum.digest(input, 0, input.length, id, 0);
    this.#reference = {
      op: state.commitMin,
      timestamp: state.timestamp,
      prepareChecksum: state.prepareChecksum,
      digest: state.digest,
      root,
      id,
      idParent: superblock.current.checkpoint.id,
      blockCount: 0,
      manifest: [],
    };
    this.#phase = 'blocks';
    this.#isSourceDone = false;
    this.#isMachineDone = false;
    this.#blocksWritten = 0;
    this.#bytesWritten = 0;
    this.#chunks.length = 0;
  }

  /** Keeps as many writes under way as there are buffers; flushes after the last one. */
  #pump(): void {
    while (!this.#isSourceDone && this.#buffers.length > 0) {
      if (this.#phase === 'blocks') this.#writeNextBlock();
      else this.#writeNextChunk();
    }
    if (!this.#isSourceDone || this.#isFlushing) return;
    if (this.#writes.size > 0 || this.#failed.length > 0) return;
    this.#isFlushing = true;
    this.#options.outbox.flush(Part.checkpoint);
  }

  #writeNextBlock(): void {
    const block = this.#nextBlock();
    if (block === null) {
      this.#isSourceDone = true;
      return;
    }
    const { kind, index, bytes } = block;
    if (bytes.length === 0) {
      this.blocks.delete(kind, index);
      return;
    }
    const buffer = this.#takeBuffer();
    // The machine may change its bytes as soon as it is asked for the next block.
    buffer.set(bytes);
    const checksum = block.checksum?.slice() ?? this.#checksumOf(buffer, bytes.length);
    const offset = this.blocks.replace(kind, index, bytes.length, checksum);
    this.#write(buffer, offset, bytes.length);
    this.#blocksWritten++;
  }

  /** The machine's blocks, then those of the sessions: ascending kinds. */
  #nextBlock(): Block | null {
    if (!this.#isMachineDone) {
      const block = this.#options.state.machine.slice();
      if (block !== null) {
        assert(block.kind < BLOCK_KIND_ENGINE_MIN, 'Checkpoints: kind belongs to the engine');
        assert(block.bytes.length <= BLOCK_SIZE_MAX, 'Checkpoints: block too large');
        return block;
      }
      this.#isMachineDone = true;
    }
    return this.sessionBlocks.slice();
  }

  #writeNextChunk(): void {
    const buffer = this.#takeBuffer();
    const size = this.blocks.encodeChunk(this.#chunks.length, buffer);
    const chunk = this.blocks.placeChunk(size, this.#checksumOf(buffer, size));
    this.#chunks.push(chunk);
    this.#write(buffer, chunk.offset, size);
    this.#isSourceDone = this.#chunks.length === this.#chunkCount;
  }

  #updateSuperblock(): void {
    const { superblock } = this.#options;
    assert(this.#reference !== null, 'Checkpoints: nothing was cut');
    this.#phase = 'superblock';
    const { op } = this.#reference;
    superblock.update({
      commitMax: Math.max(superblock.current.commitMax, op),
      fileSize: this.blocks.fileSize,
      checkpoint: {
        ...this.#reference,
        blockCount: this.blocks.count,
        manifest: [...this.#chunks],
      },
    });
  }

  #retry(): void {
    const { outbox } = this.#options;
    if (outbox.now.monoNs < this.#failedNs + RETRY_INTERVAL_NS) return;
    for (const { buffer, offset, length } of this.#failed.splice(0)) {
      const token = outbox.write(Part.checkpoint, offset, buffer.subarray(0, length), false);
      this.#writes.set(token, { buffer, offset, length });
    }
  }

  #takeBuffer(): Uint8Array {
    const buffer = this.#buffers.pop();
    assert(buffer !== undefined, 'Checkpoints: no buffer');
    return buffer;
  }

  #checksumOf(buffer: Uint8Array, size: number): Uint8Array {
    const checksum = new Uint8Array(16);
    this.#options.pool.checksum.digest(buffer, 0, size, checksum, 0);
    return checksum;
  }

  #write(buffer: Uint8Array, offset: number, size: number): void {
    const length = sectorCeil(size);
    buffer.fill(0, size, length);
    const bytes = buffer.subarray(0, length);
    const token = this.#options.outbox.write(Part.checkpoint, offset, bytes, false);
    this.#writes.set(token, { buffer, offset, length });
    this.#bytesWritten += length;
  }
}
