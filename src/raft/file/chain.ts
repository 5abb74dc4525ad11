/**
 * The end of a generation, where its next frame goes. A chain knows its extents, takes the next one
 * when a frame begins it, and names the one that is to follow in every frame.
 */
import { assert, isZero } from '../../stdx/index.ts';
import type { Checksum } from '../../wire/index.ts';
import type { Extents } from './extents.ts';
import { FRAME_HEADER_SIZE, frameSize, sealFrame } from './frame.ts';
import { extentOffset, type RaftGeometry } from './layout.ts';
import type { StreamSource } from './stream-source.ts';

/** Where a generation ends. */
export interface ChainEnd {
  readonly generation: number;
  /** Extents that it uses, in order; the last may be one in which nothing lies yet. */
  readonly extents: readonly number[];
  /** The one to write to, and where in it. */
  readonly extent: number;
  readonly position: number;
  /** The one that follows it; `null`: nothing lies in `extent`, so nobody has said. */
  readonly next: number | null;
  /** Of the last frame; 0: there is none. */
  readonly number: number;
  /** Its header's checksum; zero if there is none. */
  readonly previous: Uint8Array;
}

export interface ChainOptions {
  readonly geometry: RaftGeometry;
  /** The replica id. */
  readonly file: Uint8Array;
  readonly checksum: Checksum;
  readonly extents: Extents;
}

/** A frame that is ready to be written. */
export interface Frame {
  readonly offset: number;
  readonly bytes: Uint8Array;
  readonly number: number;
  /** Writes up to this one are complete with it. */
  readonly seq: number;
}

export class Chain {
  readonly generation: number;
  readonly #options: ChainOptions;
  readonly #extents: number[];
  #extent: number;
  #position: number;
  #next: number | null;
  #number: number;
  #previous: Uint8Array;

  /** The extents of `end` are in use already. */
  constructor(options: ChainOptions, end: ChainEnd) {
    this.#options = options;
    this.generation = end.generation;
    this.#extents = [...end.extents];
    this.#extent = end.extent;
    this.#position = end.position;
    this.#next = end.next;
    this.#number = end.number;
    this.#previous = end.previous;
    assert((end.position === 0) === (end.next === null), 'Chain: an extent without a successor');
    for (const extent of end.extents) assert(options.extents.isUsed(extent), 'Chain: not its own');
  }

  /** A new generation, in a free extent. */
  static begin(options: ChainOptions, generation: number): Chain {
    const extent = options.extents.allocate();
    return new Chain(options, {
      generation,
      extents: [extent],
      extent,
      position: 0,
      next: null,
      number: 0,
      previous: new Uint8Array(16),
    });
  }

  get firstExtent(): number {
    return this.#extents[0];
  }

  /** Number of the last frame that was made. */
  get number(): number {
    return this.#number;
  }

  /** Extents it holds. */
  get extentCount(): number {
    return this.#extents.length;
  }

  /**
   * Makes the next frame of what `source` has of writes up to `seqMax`, in `buffer`; `null`: of
   * nothing. `head`: sequence of the head that is durable. `durable`: all frames up to it are.
   */
  cut(
    source: StreamSource,
    seqMax: number,
    buffer: Uint8Array,
    { head, durable }: { readonly head: number; readonly durable: number },
  ): Frame | null {
    const { geometry, file, checksum } = this.#options;
    const isFull = this.#position === geometry.extentSize;
    const room = isFull ? geometry.extentSize : geometry.extentSize - this.#position;
    const target = buffer.subarray(0, Math.min(room, buffer.length));
    const continues = source.isInside;
    const length = source.fill(target, FRAME_HEADER_SIZE, seqMax) - FRAME_HEADER_SIZE;
    if (length === 0) return null;
    if (isFull) this.#moveOn();
    const next = this.#successor();
    this.#number++;
    const header = {
      previous: this.#previous,
      file,
      generation: this.generation,
      head,
      number: this.#number,
      durable,
      length,
      next,
      continues,
    };
    this.#previous = sealFrame(header, target, checksum);
    const offset = extentOffset(geometry, this.#extent) + this.#position;
    const size = frameSize(length);
    this.#position += size;
    const bytes = target.subarray(0, size);
    return { offset, bytes, number: this.#number, seq: source.seqTaken };
  }

  /** The generation is given up, or another has taken its place. */
  release(): void {
    for (const extent of this.#extents) this.#options.extents.free(extent);
    this.#extents.length = 0;
  }

  invariants(): void {
    const { geometry, extents } = this.#options;
    for (const extent of this.#extents) assert(extents.isUsed(extent), 'Chain: an extent is lost');
    assert(this.#position <= geometry.extentSize, 'Chain: beyond the extent');
    assert((this.#number === 0) === isZero(this.#previous, 0, 16), 'Chain: nothing before');
  }

  #moveOn(): void {
    assert(this.#next !== null, 'Chain: a full extent without a successor');
    this.#extent = this.#next;
    this.#position = 0;
    this.#next = null;
  }

  #successor(): number {
    if (this.#next !== null) return this.#next;
    this.#next = this.#options.extents.allocate();
    this.#extents.push(this.#next);
    return this.#next;
  }
}
