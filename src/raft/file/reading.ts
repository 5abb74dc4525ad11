/**
 * From a file to what it says: the head, then frame after frame along the chain, until one does not
 * fit. That is where the log ends, torn or never written, unless something says that more was
 * durable once: then the file is damaged, and taking what is left would forget what was promised.
 * What says so: the head, which counts the frames its generation began with; and any later frame
 * that can be read, by what it calls durable, or by a head newer than the one that was found.
 *
 * What cannot be told from a torn end is damage to the newest frames, those that no later one calls
 * durable: `APPEND_FRAMES_MAX` at most.
 *
 * It is a generator of reads, so that the same serves a replica, whose reads take time, and
 * checkers that look at a file as it is.
 */
import { SECTOR_SIZE } from '../../engine/index.ts';
import { assert, bytesEqual } from '../../stdx/index.ts';
import { CHECKSUM_SIZE, type Checksum } from '../../wire/index.ts';
import type { FileHeader, LogRecord } from '../entry.ts';
import type { ChainEnd } from './chain.ts';
import {
  FRAME_HEADER_SIZE,
  type FrameHeader,
  frameChecksum,
  frameSize,
  isBodyWhole,
  readFrameHeader,
} from './frame.ts';
import { type RaftHead, type RaftHeadError, readRaftHead } from './head-codec.ts';
import { EXTENTS_MAX, extentOffset, RAFT_HEAD_SIZE } from './layout.ts';
import { StreamReader } from './stream-reader.ts';

export interface FileRequest {
  readonly offset: number;
  readonly length: number;
}

export interface FileContent {
  readonly head: RaftHead;
  /** Copies of the head that cannot be read. */
  readonly damaged: readonly number[];
  readonly header: FileHeader<Uint8Array>;
  readonly records: readonly LogRecord<Uint8Array>[];
  readonly end: ChainEnd;
  /** A frame that was begun lies behind the end: its write was cut short, or an older life's. */
  readonly isTorn: boolean;
}

export type FileRead =
  | { readonly ok: true; readonly content: FileContent }
  | { readonly ok: false; readonly error: RaftHeadError };

/** Takes the bytes of each request, fewer at the end of the file; they are not kept. */
export type FileReading = Generator<FileRequest, FileRead, Uint8Array>;

export function* readRaftFile(checksum: Checksum): FileReading {
  const bytes = yield { offset: 0, length: RAFT_HEAD_SIZE };
  const read = readRaftHead(bytes, checksum);
  if (!read.ok) return read;
  const { head, damaged } = read;
  const chain = new ChainReader(head, checksum);
  let extent: number | null = head.firstExtent;
  while (extent !== null) {
    const length = head.geometry.extentSize;
    extent = chain.onExtent(yield { offset: extentOffset(head.geometry, extent), length });
  }
  for (let other = 0; other < EXTENTS_MAX && chain.problem === null; other++) {
    if (chain.hasRead(other)) continue;
    const sector = yield { offset: extentOffset(head.geometry, other), length: SECTOR_SIZE };
    if (sector.length < SECTOR_SIZE) break;
    chain.onBystander(sector, 0);
  }
  const { problem, header, records } = chain;
  if (problem !== null || header === null) return corrupt(problem ?? 'the log has no header');
  const { isTorn } = chain;
  return { ok: true, content: { head, damaged, header, records, end: chain.end(), isTorn } };
}

class ChainReader {
  readonly #head: RaftHead;
  readonly #checksum: Checksum;
  readonly #stream: StreamReader = new StreamReader();
  /** Of the generation, in order; the last is not read yet, or is the one that is being read. */
  readonly #extents: Set<number>;
  #readCount: number = 0;
  #extent: number;
  #position: number = 0;
  #next: number | null = null;
  #number: number = 0;
  #previous: Uint8Array = new Uint8Array(CHECKSUM_SIZE);
  #problem: string | null = null;
  #isTorn: boolean = false;

  constructor(head: RaftHead, checksum: Checksum) {
    this.#head = head;
    this.#checksum = checksum;
    this.#extent = head.firstExtent;
    this.#extents = new Set([head.firstExtent]);
  }

  get problem(): string | null {
    return this.#problem;
  }

  get header(): FileHeader<Uint8Array> | null {
    return this.#stream.header;
  }

  get records(): readonly LogRecord<Uint8Array>[] {
    return this.#stream.records;
  }

  get isTorn(): boolean {
    return this.#isTorn;
  }

  /** The extent has been looked at from one end to the other. */
  hasRead(extent: number): boolean {
    if (!this.#extents.has(extent)) return false;
    return this.#extents.size === this.#readCount || extent !== this.#next;
  }

  end(): ChainEnd {
    return {
      generation: this.#head.generation,
      extents: [...this.#extents],
      extent: this.#extent,
      position: this.#position,
      next: this.#next,
      number: this.#number,
      previous: this.#previous,
    };
  }

  /** Takes the next extent of the chain; returns the one after it, `null` at the end. */
  onExtent(bytes: Uint8Array): number | null {
    const { extentSize } = this.#head.geometry;
    this.#position = 0;
    this.#next = null;
    this.#readCount++;
    while (this.#position < extentSize) {
      const frame = this.#frameAt(bytes);
      if (frame === null) {
        this.#onEnd(bytes);
        return null;
      }
      if (!this.#take(bytes, frame)) return null;
    }
    assert(this.#next !== null, 'ChainReader: a full extent without a successor');
    this.#extent = this.#next;
    return this.#next;
  }

  /** Looks at a place that is not of the log: it may know of more than was found. */
  onBystander(bytes: Uint8Array, offset: number): void {
    const frame = readFrameHeader(bytes, offset, this.#checksum);
    if (frame === null || !bytesEqual(frame.file, 0, this.#head.replicaId, 0, 16)) return;
    const isSame = frame.generation === this.#head.generation;
    if (frame.head > this.#head.sequence) this.#fail('the newest head is lost');
    else if (isSame && frame.durable > this.#number) this.#fail('a durable frame is damaged');
  }

  /** The next frame, if it lies here, whole, and follows the one before. */
  #frameAt(bytes: Uint8Array): FrameHeader | null {
    const { generation, replicaId, geometry } = this.#head;
    const frame = readFrameHeader(bytes, this.#position, this.#checksum);
    if (frame === null || frame.generation !== generation) return null;
    if (!bytesEqual(frame.file, 0, replicaId, 0, 16)) return null;
    const isNext = frame.number === this.#number + 1;
    if (!isNext || !bytesEqual(frame.previous, 0, this.#previous, 0, CHECKSUM_SIZE)) return null;
    if (this.#position + frameSize(frame.length) > geometry.extentSize) return null;
    return isBodyWhole(bytes, this.#position, frame.length, this.#checksum) ? frame : null;
  }

  #take(bytes: Uint8Array, frame: FrameHeader): boolean {
    const start = this.#position + FRAME_HEADER_SIZE;
    const isStream = this.#stream.push(bytes.slice(start, start + frame.length), frame.continues);
    if (!isStream) return this.#fail('frames that are whole make no log');
    if (this.#next === null) {
      if (this.#extents.has(frame.next)) return this.#fail('extents form a circle');
      this.#next = frame.next;
      this.#extents.add(frame.next);
    } else if (frame.next !== this.#next) return this.#fail('two successors of an extent');
    this.#previous = frameChecksum(bytes, this.#position);
    this.#number = frame.number;
    this.#position += frameSize(frame.length);
    return true;
  }

  #onEnd(bytes: Uint8Array): void {
    if (this.#number < this.#head.frames) this.#fail('a frame that the head counts is damaged');
    const { generation } = this.#head;
    for (let at = this.#position; at + SECTOR_SIZE <= bytes.length; at += SECTOR_SIZE) {
      const frame = readFrameHeader(bytes, at, this.#checksum);
      if (frame?.generation === generation && frame.number > this.#number) this.#isTorn = true;
      this.onBystander(bytes, at);
    }
  }

  #fail(problem: string): false {
    this.#problem ??= problem;
    return false;
  }
}

function corrupt(reason: string): FileRead {
  return { ok: false, error: { kind: 'corrupt', reason } };
}
