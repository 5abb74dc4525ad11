/**
 * What is to be written, in order: the header of a generation and the records of one write after
 * the other. It is turned into bytes when a frame is filled, so that whatever waits for the disk
 * shares the next frame. An item is a u32 with its size and its bytes; one that does not fit is cut
 * and goes on in the next frame.
 */
import { assert, writeU32 } from '../../stdx/index.ts';
import { headerSize, recordSize, writeHeader, writeRecord } from '../dialect/codec.ts';
import type { FileHeader, LogRecord } from '../entry.ts';
import { FILE_HEADER_SIZE_MAX, RECORD_SIZE_MAX } from './layout.ts';

type Record = LogRecord<Uint8Array>;

/** Bytes before an item. */
export const ITEM_HEAD_SIZE = 4;

interface Write {
  readonly seq: number;
  /** Bytes that come before the records. */
  readonly pieces: readonly Uint8Array[];
  readonly records: readonly Record[];
}

export class StreamSource {
  readonly #writes: Write[] = [];
  /** Pieces, then records, of the first write that have been taken. */
  #taken: number = 0;
  /** What is left of an item that was cut. */
  #rest: Uint8Array | null = null;
  #seqTaken: number = 0;

  /** All bytes of the writes up to this number have been taken. */
  get seqTaken(): number {
    return this.#seqTaken;
  }

  /** The next byte goes on with an item that was cut. */
  get isInside(): boolean {
    return this.#rest !== null;
  }

  /** Whether there is something of a write up to `seqMax`. */
  has(seqMax: number): boolean {
    return this.#writes.length > 0 && this.#writes[0].seq <= seqMax;
  }

  /** Records belong to the source from now on and do not change. */
  add(seq: number, records: readonly Record[]): void {
    this.#push({ seq, pieces: [], records });
  }

  /** The begin of a generation. */
  addHeader(seq: number, header: FileHeader<Uint8Array>, records: readonly Record[]): void {
    this.#push({ seq, pieces: headerPieces(header), records });
  }

  /** Drops what has not been taken. */
  clear(): void {
    this.#writes.length = 0;
    this.#taken = 0;
    this.#rest = null;
  }

  /**
   * Writes as much as fits of the writes up to `seqMax` to `target` from `offset` on; returns where
   * it ends.
   */
  fill(target: Uint8Array, offset: number, seqMax: number): number {
    let at = offset;
    let done = 0;
    while (done < this.#writes.length && this.#writes[done].seq <= seqMax) {
      const write = this.#writes[done];
      at = this.#fillFrom(write, target, at);
      if (this.#rest !== null || this.#taken < write.pieces.length + write.records.length) break;
      this.#taken = 0;
      this.#seqTaken = write.seq;
      done++;
    }
    this.#writes.splice(0, done);
    return at;
  }

  #push(write: Write): void {
    const last = this.#writes.at(-1)?.seq ?? this.#seqTaken;
    assert(write.seq >= last, 'StreamSource: an older write');
    this.#writes.push(write);
  }

  #fillFrom(write: Write, target: Uint8Array, offset: number): number {
    const { pieces, records } = write;
    let at = this.#rest === null ? offset : this.#fillRest(this.#rest, target, offset);
    while (at < target.length && this.#rest === null) {
      const index = this.#taken - pieces.length;
      if (index === records.length) break;
      this.#taken++;
      if (index < 0) at = this.#fillRest(pieces[this.#taken - 1], target, at);
      else at = this.#fillRecord(records[index], target, at);
    }
    return at;
  }

  #fillRecord(record: Record, target: Uint8Array, offset: number): number {
    const size = recordSize(record);
    assert(size > 0 && size <= RECORD_SIZE_MAX, 'StreamSource: a record that is too large');
    const end = offset + ITEM_HEAD_SIZE + size;
    if (end > target.length) {
      const bytes = new Uint8Array(ITEM_HEAD_SIZE + size);
      writeU32(bytes, 0, size);
      writeRecord(record, bytes, ITEM_HEAD_SIZE);
      return this.#fillRest(bytes, target, offset);
    }
    writeU32(target, offset, size);
    const written = writeRecord(record, target, offset + ITEM_HEAD_SIZE);
    assert(written === end, 'StreamSource: a record of another size');
    return end;
  }

  /** Copies what fits; the rest waits. */
  #fillRest(bytes: Uint8Array, target: Uint8Array, offset: number): number {
    const count = Math.min(bytes.length, target.length - offset);
    target.set(bytes.subarray(0, count), offset);
    this.#rest = count < bytes.length ? bytes.subarray(count) : null;
    return offset + count;
  }
}

/**
 * The header as one item. A snapshot's data is the last of its bytes and by far the most, and is
 * not copied: what is before it is encoded with no data, and the size put right.
 */
function headerPieces(header: FileHeader<Uint8Array>): readonly Uint8Array[] {
  const data = header.type === 'snapshot' ? header.snapshot.data : null;
  const size = headerSize(header);
  assert(size <= FILE_HEADER_SIZE_MAX, 'StreamSource: a header that is too large');
  const front = new Uint8Array(ITEM_HEAD_SIZE + size - (data?.length ?? 0));
  writeU32(front, 0, size);
  if (header.type === 'joining' || data === null) {
    writeHeader(header, front, ITEM_HEAD_SIZE);
    return [front];
  }
  const snapshot = { ...header.snapshot, data: data.subarray(0, 0), size: 0 };
  const end = writeHeader({ type: 'snapshot', snapshot }, front, ITEM_HEAD_SIZE);
  assert(end === front.length, 'StreamSource: the data is not the end of a snapshot');
  writeU32(front, end - 4, data.length);
  return data.length === 0 ? [front] : [front, data];
}
