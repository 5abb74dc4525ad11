/**
 * Recovery, second part: brings back the state at the checkpoint. Reads the manifest, then every
 * block it lists, verifies each and hands it to whom it belongs, in ascending order.
 */
import { BLOCK_KIND_ENGINE_MIN } from '../../engine/index.ts';
import { assert, bytesEqual } from '../../stdx/index.ts';
import type { Checksum } from '../../wire/index.ts';
import type { Checkpoints } from '../checkpoint.ts';
import { sectorCeil } from '../file/geometry.ts';
import { decodeChunk, type ManifestEntry, type Place } from '../file/manifest.ts';
import type { CheckpointReference } from '../file/superblock-codec.ts';
import type { Outbox } from '../outbox.ts';
import type { ReplicatedState } from '../state.ts';
import { type ReadJob, ReadWindow } from './read-window.ts';

const READS_MAX = 8;

interface PlaceJob extends ReadJob {
  /** Position in the list that is read. */
  readonly number: number;
  readonly place: Place;
}

export class Restore {
  readonly #checkpoint: CheckpointReference;
  readonly #outbox: Outbox;
  readonly #checkpoints: Checkpoints;
  readonly #state: ReplicatedState;
  readonly #checksum: Checksum;
  readonly #entries: ManifestEntry[] = [];
  #reads: ReadWindow<PlaceJob>;
  #isManifestRead: boolean = false;
  /** The piece or block whose turn it is. */
  #turn: number = 0;
  /** What came before its turn: copies. */
  readonly #early: Map<number, Uint8Array> = new Map();
  #problem: string | null = null;

  constructor(
    checkpoint: CheckpointReference,
    outbox: Outbox,
    checkpoints: Checkpoints,
    state: ReplicatedState,
    checksum: Checksum,
  ) {
    this.#checkpoint = checkpoint;
    this.#outbox = outbox;
    this.#checkpoints = checkpoints;
    this.#state = state;
    this.#checksum = checksum;
    this.#reads = new ReadWindow(outbox, jobsOf(checkpoint.manifest), READS_MAX);
  }

  /** What makes the file unusable, if anything. */
  get problem(): string | null {
    return this.#problem;
  }

  get isDone(): boolean {
    return this.#isManifestRead && this.#reads.isDone;
  }

  start(): void {
    if (!this.#checkpoints.blocks.restoreChunks(this.#checkpoint.manifest)) {
      this.#problem = 'the manifest overlaps itself';
    }
    this.#next();
  }

  onRead(token: number, bytes: Uint8Array): void {
    const { number, place } = this.#reads.finish(token);
    if (!this.#isIntact(place, bytes)) {
      this.#problem = `checkpoint data at offset ${place.offset} is damaged`;
      return;
    }
    this.#early.set(number, number === this.#turn ? bytes : bytes.slice());
    for (;;) {
      const due = this.#early.get(this.#turn);
      if (due === undefined) break;
      this.#early.delete(this.#turn);
      this.#take(this.#turn, due);
      this.#turn++;
    }
    this.#next();
  }

  #isIntact(place: Place, bytes: Uint8Array): boolean {
    if (bytes.length < place.size) return false;
    const computed = new Uint8Array(16);
    this.#checksum.digest(bytes, 0, place.size, computed, 0);
    return bytesEqual(computed, 0, place.checksum, 0, 16);
  }

  #take(number: number, bytes: Uint8Array): void {
    if (!this.#isManifestRead) {
      const chunk = this.#checkpoint.manifest[number];
      const entries = decodeChunk(bytes.subarray(0, chunk.size));
      if (entries === null) this.#problem = 'the manifest is malformed';
      else for (const entry of entries) this.#takeEntry(entry);
      return;
    }
    const { kind, index, size, checksum } = this.#entries[number];
    const block = { kind, index, bytes: bytes.subarray(0, size), checksum };
    if (kind < BLOCK_KIND_ENGINE_MIN) this.#state.machine.restore(block);
    else this.#checkpoints.sessionBlocks.restore(block);
  }

  #takeEntry(entry: ManifestEntry): void {
    this.#entries.push(entry);
    if (this.#checkpoints.blocks.restore(entry)) return;
    this.#problem = `the manifest lists block ${entry.kind}/${entry.index} wrongly`;
  }

  /** Reads on; after the manifest the blocks, after the blocks there is nothing. */
  #next(): void {
    if (this.#problem !== null) return;
    if (this.#reads.isDone && !this.#isManifestRead) {
      if (this.#entries.length !== this.#checkpoint.blockCount) {
        this.#problem = 'the manifest is incomplete';
        return;
      }
      this.#isManifestRead = true;
      this.#turn = 0;
      this.#reads = new ReadWindow(this.#outbox, jobsOf(this.#entries), READS_MAX);
    }
    this.#reads.pump(this.#early.size);
    if (!this.isDone || this.#checkpoint.op === 0) return;
    assert(this.#early.size === 0, 'Restore: blocks were left out');
    this.#state.machine.restored();
    this.#checkpoints.sessionBlocks.restored();
  }
}

function jobsOf(places: readonly Place[]): PlaceJob[] {
  return places.map((place, number) => ({
    number,
    place,
    offset: place.offset,
    length: sectorCeil(place.size),
  }));
}
