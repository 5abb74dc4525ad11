/**
 * The log on disk: two rings with one place per slot, prepares and headers. A prepare's body is
 * written first; only when that is durable is its header written to the header ring, in a sector of
 * its own; only when that is durable does the operation count. So a header on disk proves that its
 * body was complete, and a torn write can hit the one or the other, never both.
 *
 * A single replica writes strictly one operation after another: its log has no gaps, and after a
 * crash at most one operation can be torn. With more replicas up to P may be under way.
 *
 * The journal does not decide what is written, nor what follows from it being durable.
 */
import { PIPELINE_MAX, SECTOR_SIZE } from '../engine/index.ts';
import { assert, readSafeU64 } from '../stdx/index.ts';
import {
  Command,
  HEADER_SIZE,
  type Message,
  PrepareOffset,
  readCommand,
  readSize,
} from '../wire/index.ts';
import { type Geometry, headerOffset, prepareOffset, sectorCeil, slotOf } from './file/geometry.ts';
import { type Outbox, Part } from './outbox.ts';

interface Append {
  readonly op: number;
  readonly message: Message;
  /** Which of the two writes is under way. */
  phase: 'waiting' | 'body' | 'header';
  token: number;
}

export interface JournalOptions {
  readonly geometry: Geometry;
  readonly outbox: Outbox;
  readonly replicaCount: number;
  /** `slots` sectors at an address that direct I/O accepts. */
  readonly sectors: Uint8Array;
}

export class Journal {
  readonly #geometry: Geometry;
  readonly #outbox: Outbox;
  /** Operations that may be under way at once: also the number that a crash can tear. */
  readonly #writesMax: number;
  /** The header ring as it is (or is about to be) on disk: one sector per slot. */
  readonly #sectors: Uint8Array;
  /** In op order; borrowed messages, held by the pipeline until they are executed. */
  readonly #appends: Append[] = [];
  #opDurable: number = 0;

  constructor(options: JournalOptions) {
    const { geometry } = options;
    this.#geometry = geometry;
    this.#outbox = options.outbox;
    this.#writesMax = options.replicaCount === 1 ? 1 : PIPELINE_MAX;
    assert(options.sectors.length === geometry.slots * SECTOR_SIZE, 'Journal: sectors');
    this.#sectors = options.sectors;
  }

  /** Everything up to this op is durable. */
  get opDurable(): number {
    return this.#opDurable;
  }

  /** Operations handed over and not durable yet. */
  get pending(): number {
    return this.#appends.length;
  }

  /** The sector of a slot in the header ring; recovery fills it. */
  sector(slot: number): Uint8Array {
    assert(slot >= 0 && slot < this.#geometry.slots, 'Journal: no such slot');
    return this.#sectors.subarray(slot * SECTOR_SIZE, (slot + 1) * SECTOR_SIZE);
  }

  /** The log is known up to `op`: recovery has read it. */
  open(op: number): void {
    assert(this.#opDurable === 0 && this.#appends.length === 0, 'Journal: opened twice');
    this.#opDurable = op;
  }

  /** Takes the next prepare; {@link pump} writes it when its turn comes. */
  append(message: Message): void {
    assert(readCommand(message.bytes) === Command.prepare, 'Journal: not a prepare');
    const op = readSafeU64(message.bytes, PrepareOffset.op);
    assert(op === this.#opDurable + this.#appends.length + 1, 'Journal: not the next operation');
    assert(readSize(message.bytes) <= this.#geometry.slotSize, 'Journal: larger than a slot');
    this.#appends.push({ op, message, phase: 'waiting', token: 0 });
  }

  /** Begins as many waiting writes as may be under way. */
  pump(): void {
    let writing = 0;
    for (const append of this.#appends) {
      if (writing === this.#writesMax) return;
      writing++;
      if (append.phase === 'waiting') this.#writeBody(append);
    }
  }

  /**
   * A write is durable. Returns whether more operations are durable than before; then the next
   * {@link pump} has something to do.
   */
  onWritten(token: number): boolean {
    const append = this.#appends.find((candidate) => candidate.token === token);
    assert(append !== undefined, 'Journal: nobody waits for this write');
    if (append.phase === 'body') {
      this.#writeHeader(append);
      return false;
    }
    assert(append.phase === 'header', 'Journal: nothing was being written');
    append.token = -1;
    let advanced = false;
    while (this.#appends.length > 0 && this.#appends[0].token === -1) {
      this.#opDurable = this.#appends[0].op;
      this.#appends.shift();
      advanced = true;
    }
    return advanced;
  }

  invariants(): void {
    let op = this.#opDurable;
    for (const append of this.#appends) {
      op++;
      assert(append.op === op, 'Journal: a gap in the log');
      assert(append.message.references > 0, 'Journal: a prepare that nobody holds');
      assert(
        readSafeU64(append.message.bytes, PrepareOffset.op) === op,
        'Journal: a prepare changed while it was written',
      );
    }
    const writing = this.#appends.filter(({ phase }) => phase !== 'waiting').length;
    assert(writing <= this.#writesMax, 'Journal: too many writes');
  }

  #writeBody(append: Append): void {
    const { bytes } = append.message;
    const size = readSize(bytes);
    const length = sectorCeil(size);
    // Whatever the slot held before must not reach the disk: padding is verified when it is read.
    bytes.fill(0, size, length);
    const offset = prepareOffset(this.#geometry, slotOf(this.#geometry, append.op));
    append.phase = 'body';
    append.token = this.#outbox.write(Part.journal, offset, bytes.subarray(0, length), true);
  }

  #writeHeader(append: Append): void {
    const slot = slotOf(this.#geometry, append.op);
    const sector = this.sector(slot);
    sector.set(append.message.bytes.subarray(0, HEADER_SIZE));
    append.phase = 'header';
    const offset = headerOffset(this.#geometry, slot);
    append.token = this.#outbox.write(Part.journal, offset, sector, true);
  }
}
