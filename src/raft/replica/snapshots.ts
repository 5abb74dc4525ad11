/**
 * Snapshots of the state, so that the log may forget: cut between two operations, made a bit at a
 * time while operations go on, and handed to Raft as one piece of bytes. One is due when the log
 * behind the last has become long, compared with it.
 */
import {
  BLOCK_KIND_ENGINE_MIN,
  BLOCK_SIZE_MAX,
  type Block,
  SessionBlocks,
} from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';
import { type Assembly, BlockMap } from './block-map.ts';
import {
  APPLY_BYTES_MIN,
  NS_PER_MS,
  SNAPSHOT_BYTES_MIN,
  SNAPSHOT_COPY_BYTES,
  SNAPSHOT_LOG_RATIO,
  SNAPSHOT_STEP_BYTES,
  SNAPSHOT_STEP_NS,
} from './limits.ts';
import type { ReplicaParts } from './parts.ts';
import type { SnapshotData, SnapshotPoint } from './snapshot-data.ts';

export class Snapshots {
  readonly sessionBlocks: SessionBlocks;
  readonly #parts: ReplicaParts;
  readonly #bytesMin: number;
  readonly #blocks: BlockMap;
  /** Where a machine makes its blocks. */
  #buffer: Uint8Array = new Uint8Array(0);
  /** What is being made; `null`: nothing. */
  #cut: SnapshotPoint | null = null;
  #isMachineDone: boolean = false;
  #assembly: Assembly | null = null;
  #startNs: number = 0;
  /** Of the last one: where it ends, and its bytes. */
  #lastOp: number = 0;
  #lastSize: number = 0;
  /** Bytes executed since the last one, and those of them that the one being made covers. */
  #logBytes: number = 0;
  #logBytesCut: number = 0;
  #isWanted: boolean = false;

  constructor(parts: ReplicaParts, bytesMin: number = SNAPSHOT_BYTES_MIN) {
    this.#parts = parts;
    this.#bytesMin = bytesMin;
    this.#blocks = new BlockMap(parts.pool.checksum);
    this.sessionBlocks = new SessionBlocks(parts.state.sessions, parts.pool);
  }

  /** One is being made. */
  get isBusy(): boolean {
    return this.#cut !== null;
  }

  /** The snapshot that the file begins with; `null`: an empty state. */
  open(data: SnapshotData | null, op: number, size: number): void {
    if (data !== null) this.#blocks.adopt(data);
    this.#lastOp = op;
    this.#lastSize = size;
  }

  /** An entry of so many bytes was executed. */
  onApplied(bytes: number): void {
    this.#logBytes += bytes;
  }

  /** Raft asks for one. */
  want(): void {
    this.#isWanted = true;
  }

  /** At the end of a step: begins one if it is due. */
  advance(): void {
    const { member, file, state, outbox } = this.#parts;
    if (this.#cut !== null || member.status !== 'normal' || file.isReplacing) return;
    const limit = Math.max(this.#bytesMin, SNAPSHOT_LOG_RATIO * this.#lastSize);
    if (!this.#isWanted && this.#logBytes < limit) return;
    this.#isWanted = false;
    if (state.commitMin <= this.#lastOp) return;
    const op = state.commitMin;
    this.#cut = { op, timestamp: state.timestamp, digest: state.digest };
    state.machine.cut(op);
    this.sessionBlocks.cut();
    this.#isMachineDone = false;
    this.#logBytesCut = this.#logBytes;
    this.#startNs = outbox.now.monoNs;
    this.#arm();
  }

  /** A bit further. */
  onDeadline(): void {
    assert(this.#cut !== null, 'Snapshots: nothing is being made');
    const assembly = this.#assembly ?? this.#makeBlocks(this.#cut);
    const bytes = assembly?.advance(SNAPSHOT_COPY_BYTES) ?? null;
    if (bytes === null) this.#arm();
    else this.#finish(this.#cut, bytes);
  }

  /** Gives back every message it holds. */
  releaseMessages(): void {
    this.sessionBlocks.releaseMessages();
  }

  /** Some blocks of the cut; what puts them together once all are there. */
  #makeBlocks(cut: SnapshotPoint): Assembly | null {
    if (this.#buffer.length === 0) this.#buffer = new Uint8Array(BLOCK_SIZE_MAX);
    for (let left = SNAPSHOT_STEP_BYTES; left > 0; ) {
      const block = this.#nextBlock();
      if (block === null) {
        this.#assembly = this.#blocks.assemble(cut);
        return this.#assembly;
      }
      assert(block.bytes.length <= BLOCK_SIZE_MAX, 'Snapshots: block too large');
      this.#blocks.put(block);
      left -= Math.max(APPLY_BYTES_MIN, block.bytes.length);
    }
    return null;
  }

  /** The machine's blocks, then those of the sessions. */
  #nextBlock(): Block | null {
    if (this.#isMachineDone) return this.sessionBlocks.slice();
    const block = this.#parts.state.machine.slice(this.#buffer);
    assert((block?.kind ?? 0) < BLOCK_KIND_ENGINE_MIN, 'Snapshots: kind belongs to the engine');
    if (block !== null) return block;
    this.#isMachineDone = true;
    return this.sessionBlocks.slice();
  }

  #finish(cut: SnapshotPoint, bytes: Uint8Array): void {
    const { core, outbox, state } = this.#parts;
    this.#cut = null;
    this.#assembly = null;
    this.#lastOp = cut.op;
    this.#lastSize = bytes.length;
    this.#logBytes -= this.#logBytesCut;
    outbox.trace('info', 'snapshot', {
      op: cut.op,
      bytes: bytes.length,
      blocks: this.#blocks.count,
      durationMs: (outbox.now.monoNs - this.#startNs) / NS_PER_MS,
      operationsMeanwhile: state.commitMin - cut.op,
    });
    const size = bytes.length;
    core.push({ type: 'snapshot-ready', command: 0, index: cut.op, data: bytes, size });
  }

  #arm(): void {
    const { deadlines, outbox } = this.#parts;
    deadlines.set('snapshot', outbox.now.monoNs + SNAPSHOT_STEP_NS);
  }
}
