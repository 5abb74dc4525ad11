/**
 * Recovery, third part: executes what the log holds behind the checkpoint. A few prepares are read
 * ahead; each is verified in full and must continue the hash chain. Where a checkpoint falls due it
 * is made, at the same operation as ever, before replay goes on. Nobody is answered: who waits asks
 * again.
 */
import { assert, bytesEqual } from '../../stdx/index.ts';
import {
  HEADER_SIZE,
  headerValid,
  type Message,
  type MessagePool,
  PrepareOffset,
  readSize,
  readView,
} from '../../wire/index.ts';
import type { Checkpoints } from '../checkpoint.ts';
import { prepareOffset, sectorCeil, slotOf } from '../file/geometry.ts';
import type { Superblock } from '../file/superblock-codec.ts';
import type { Outbox } from '../outbox.ts';
import type { ReplicatedState } from '../state.ts';
import { type LogScan, prepareIntact } from './log-scan.ts';
import { type ReadJob, ReadWindow } from './read-window.ts';

const READS_MAX = 4;

interface PrepareJob extends ReadJob {
  readonly op: number;
}

export interface ReplayOptions {
  readonly superblock: Superblock;
  readonly outbox: Outbox;
  readonly pool: MessagePool;
  readonly state: ReplicatedState;
  readonly checkpoints: Checkpoints;
  readonly scan: LogScan;
  /** The last operation to execute. */
  readonly head: number;
}

export class Replay {
  readonly #options: ReplayOptions;
  readonly #reads: ReadWindow<PrepareJob>;
  /** Read and verified, waiting for their turn. */
  readonly #prepares: Map<number, Message> = new Map();
  /** Slots for what is being read. Receiving connections may hold the others meanwhile. */
  readonly #free: Message[] = [];
  #owned: number = 0;
  #problem: string | null = null;

  constructor(options: ReplayOptions) {
    this.#options = options;
    this.#reads = new ReadWindow(options.outbox, this.#jobs(), READS_MAX);
  }

  /** What makes the file unusable, if anything. */
  get problem(): string | null {
    return this.#problem;
  }

  get isDone(): boolean {
    return this.#options.state.commitMin >= this.#options.head;
  }

  onRead(token: number, bytes: Uint8Array): void {
    const { op, offset } = this.#reads.finish(token);
    const { pool, scan, superblock } = this.#options;
    const header = scan.prepareHeader(slotOf(superblock.geometry, op));
    const message = this.#free.pop();
    assert(message !== undefined, 'Replay: a read without a slot');
    message.bytes.set(bytes);
    const isIntact =
      bytes.length === sectorCeil(readSize(header)) &&
      bytesEqual(bytes, 0, header, 0, HEADER_SIZE) &&
      headerValid(message.bytes, pool.checksum) &&
      prepareIntact(message.bytes.subarray(0, bytes.length), pool.checksum);
    if (!isIntact) {
      this.#problem = `operation ${op} at offset ${offset} is damaged`;
      this.#free.push(message);
      return;
    }
    this.#prepares.set(op, message);
  }

  /** Executes what is there, unless a checkpoint has to catch up first; reads on. */
  advance(): void {
    const { pool, state, checkpoints } = this.#options;
    while (checkpoints.mayCommit && this.#problem === null) {
      const op = state.commitMin + 1;
      const prepare = this.#prepares.get(op);
      if (prepare === undefined) break;
      if (!this.#belongs(prepare.bytes, op)) break;
      const reply = pool.acquire('reply');
      if (reply === null) break;
      this.#prepares.delete(op);
      state.apply(prepare, reply);
      pool.release(reply);
      this.#free.push(prepare);
      checkpoints.onCommit();
    }
    if (this.#problem !== null) return;
    if (this.isDone) this.releaseMessages();
    else this.#readOn();
  }

  /** Reads ahead, as far as there are slots. */
  #readOn(): void {
    while (this.#owned < READS_MAX) {
      const message = this.#options.pool.acquire('request');
      if (message === null) break;
      this.#free.push(message);
      this.#owned++;
    }
    this.#reads.pump(this.#prepares.size + READS_MAX - this.#owned);
  }

  /** Gives back every message it holds. */
  releaseMessages(): void {
    for (const message of this.#prepares.values()) this.#options.pool.release(message);
    for (const message of this.#free) this.#options.pool.release(message);
    this.#prepares.clear();
    this.#free.length = 0;
    this.#owned = 0;
  }

  #belongs(prepare: Uint8Array, op: number): boolean {
    const { state, checkpoints, superblock } = this.#options;
    const checkpointId = checkpoints.idFor(op);
    if (!state.follows(prepare)) {
      this.#problem = `operation ${op} does not continue the log`;
    } else if (readView(prepare) > superblock.view) {
      this.#problem = `operation ${op} is of a newer view than the superblock`;
    } else if (!bytesEqual(prepare, PrepareOffset.checkpoint, checkpointId, 0, 16)) {
      this.#problem = `operation ${op} belongs to another checkpoint`;
    }
    return this.#problem === null;
  }

  #jobs(): PrepareJob[] {
    const { superblock, scan, head } = this.#options;
    const { geometry, checkpoint } = superblock;
    const jobs: PrepareJob[] = [];
    for (let op = checkpoint.op + 1; op <= head; op++) {
      const slot = slotOf(geometry, op);
      const length = sectorCeil(readSize(scan.prepareHeader(slot)));
      jobs.push({ op, offset: prepareOffset(geometry, slot), length });
    }
    return jobs;
  }
}
