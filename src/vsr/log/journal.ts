/**
 * The log on disk: two rings with one place per slot, prepares and headers. A prepare's body is
 * written first; only when that is durable is its header written to the header ring, in a sector of
 * its own; only when that is durable does the operation count. So a header on disk proves that its
 * body was complete, and a torn write can hit the one or the other, never both. Sectors of slots in
 * a row whose bodies are durable go in one write: disks take few durable writes a second, and a
 * replica that catches up must get by with fewer than those that it has to overtake.
 *
 * A single replica writes strictly one operation after another: its log has no gaps, and after a
 * crash at most one operation can be torn. With more replicas up to P are under way, in any order;
 * in one slot never more than one. What the log in memory has come to think of a slot while it was
 * being written decides whether the write still counts.
 */
import { PIPELINE_MAX, SECTOR_SIZE } from '../../engine/index.ts';
import { assert, bytesEqual } from '../../stdx/index.ts';
import {
  bodyValid,
  Command,
  HEADER_SIZE,
  headerValid,
  type Message,
  type MessagePool,
  readCommand,
  readSize,
} from '../../wire/index.ts';
import {
  type Geometry,
  headerOffset,
  prepareOffset,
  sectorCeil,
  slotOf,
} from '../file/geometry.ts';
import { type Outbox, Part } from '../outbox.ts';
import { type Log, opOf } from './log.ts';

/** Prepares read at once: for commits and for others that ask. */
export const JOURNAL_READS_MAX: number = 2 * PIPELINE_MAX;
/** Prepares handed over and not durable; whoever brings more is asked again later. */
export const JOURNAL_PENDING_MAX: number = 4 * PIPELINE_MAX;

interface Write {
  readonly op: number;
  readonly slot: number;
  /** One reference, the journal's. */
  readonly message: Message;
  /** `written`: its body is durable, its header waits for its turn. */
  phase: 'waiting' | 'body' | 'written' | 'header';
  token: number;
}

interface Read {
  readonly op: number;
  /** Checksum of the prepare that is wanted. */
  readonly checksum: Uint8Array;
  /** Takes over the reference; `null`: it could not be read, or there is no room for it. */
  readonly done: (message: Message | null) => void;
}

export interface JournalOptions {
  readonly geometry: Geometry;
  readonly outbox: Outbox;
  readonly pool: MessagePool;
  readonly log: Log;
  readonly isSolo: boolean;
  /** `slots` sectors at an address that direct I/O accepts. */
  readonly sectors: Uint8Array;
  /** A prepare has become durable. */
  readonly onDurable: (op: number) => void;
  /** A prepare that was durable cannot be read any more. */
  readonly onDamage: (op: number) => void;
}

export class Journal {
  readonly #options: JournalOptions;
  /** Prepares that may be under way at once: also the number that a crash can tear. */
  readonly #writesMax: number;
  /** In the order in which they were asked for. */
  readonly #writes: Write[] = [];
  readonly #reads: Map<number, Read> = new Map();
  /** Of the write that makes headers durable, one at a time; −1: there is none. */
  #headersToken: number = -1;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#writesMax = options.isSolo ? 1 : PIPELINE_MAX;
    const { sectors, geometry } = options;
    assert(sectors.length === geometry.slots * SECTOR_SIZE, 'Journal: sectors');
  }

  /** Prepares handed over and not durable yet. */
  get pending(): number {
    return this.#writes.length;
  }

  /** Whether another prepare may be handed over. */
  get canWrite(): boolean {
    return this.room > 0;
  }

  /** How many more prepares may be handed over. */
  get room(): number {
    return JOURNAL_PENDING_MAX - this.#writes.length;
  }

  /** The sector of a slot in the header ring; recovery fills it. */
  sector(slot: number): Uint8Array {
    assert(slot >= 0 && slot < this.#options.geometry.slots, 'Journal: no such slot');
    return this.#options.sectors.subarray(slot * SECTOR_SIZE, (slot + 1) * SECTOR_SIZE);
  }

  /** Whether this very prepare is on its way to disk. */
  isWriting(op: number, bytes: Uint8Array, offset: number): boolean {
    return this.writing(op, bytes, offset) !== null;
  }

  /** The prepare with that checksum, if it is on its way to disk; borrowed. */
  writing(op: number, bytes: Uint8Array, offset: number): Message | null {
    for (const write of this.#writes) {
      if (write.op === op && bytesEqual(write.message.bytes, 0, bytes, offset, 16)) {
        return write.message;
      }
    }
    return null;
  }

  /** Takes (a reference of its own to) a prepare that stands in the log and is dirty there. */
  write(message: Message): void {
    const { pool, geometry, log } = this.#options;
    assert(readCommand(message.bytes) === Command.prepare, 'Journal: not a prepare');
    const op = opOf(message.bytes);
    assert(log.has(op, message.bytes, 0), 'Journal: not what the log says');
    assert(readSize(message.bytes) <= geometry.slotSize, 'Journal: larger than a slot');
    if (this.isWriting(op, message.bytes, 0)) return;
    pool.retain(message);
    const slot = slotOf(geometry, op);
    this.#writes.push({ op, slot, message, phase: 'waiting', token: -1 });
  }

  /** Begins as many waiting writes as may be under way; drops those that nobody wants any more. */
  pump(): void {
    let writing = 0;
    for (let i = 0; i < this.#writes.length; i++) {
      const write = this.#writes[i];
      if (write.phase === 'waiting' && !this.#isWanted(write)) {
        this.#remove(write);
        i--;
        continue;
      }
      if (writing === this.#writesMax) return;
      if (write.phase === 'waiting') {
        if (this.isSlotBusy(write.slot)) continue;
        this.#writeBody(write);
      }
      writing++;
    }
  }

  /** Whether something is being written to the slot. */
  isSlotBusy(slot: number): boolean {
    return this.#writes.some((write) => write.slot === slot && write.phase !== 'waiting');
  }

  onWritten(token: number): void {
    if (token === this.#headersToken) {
      this.#onHeaders();
      return;
    }
    const write = this.#writes.find((candidate) => candidate.token === token);
    assert(write?.phase === 'body', 'Journal: nobody waits for this write');
    write.phase = 'written';
    this.#pumpHeaders();
  }

  get canRead(): boolean {
    return this.#reads.size < JOURNAL_READS_MAX;
  }

  get reading(): number {
    return this.#reads.size;
  }

  /** Reads the clean prepare at `op`; `done` is called in a later step. */
  read(op: number, done: (message: Message | null) => void): void {
    const { geometry, log, outbox } = this.#options;
    const header = log.header(op);
    assert(header !== null && log.isClean(op), 'Journal: nothing durable to read');
    assert(this.canRead, 'Journal: too many reads');
    const offset = prepareOffset(geometry, slotOf(geometry, op));
    const token = outbox.read(Part.journal, offset, sectorCeil(readSize(header)));
    this.#reads.set(token, { op, checksum: header.slice(0, 16), done });
  }

  onRead(token: number, bytes: Uint8Array): void {
    const read = this.#reads.get(token);
    assert(read !== undefined, 'Journal: nobody waits for this read');
    this.#reads.delete(token);
    read.done(this.#copy(read, bytes));
  }

  /** Gives back every message it holds. */
  releaseMessages(): void {
    for (const { message } of this.#writes) this.#options.pool.release(message);
    this.#writes.length = 0;
  }

  invariants(): void {
    let writing = 0;
    for (const { message, phase, op } of this.#writes) {
      assert(message.references > 0, 'Journal: a prepare that nobody holds');
      assert(opOf(message.bytes) === op, 'Journal: a prepare changed while it was written');
      if (phase !== 'waiting') writing++;
    }
    assert(writing <= this.#writesMax, 'Journal: too many writes');
  }

  /** The prepare that was read, in a message; `null` when the slot now holds something else. */
  #copy(read: Read, bytes: Uint8Array): Message | null {
    const { pool, geometry, log } = this.#options;
    // The log has moved on while it was read.
    if (!log.has(read.op, read.checksum, 0) || !log.isClean(read.op)) return null;
    const message = pool.acquire('request');
    if (message === null) return null;
    message.bytes.set(bytes.subarray(0, geometry.slotSize));
    const isSame = bytesEqual(bytes, 0, read.checksum, 0, 16);
    if (isSame && headerValid(message.bytes, pool.checksum)) {
      if (bodyValid(message.bytes, pool.checksum)) return message;
    }
    pool.release(message);
    this.#options.onDamage(read.op);
    return null;
  }

  #isWanted({ op, message }: Write): boolean {
    return this.#options.log.has(op, message.bytes, 0);
  }

  #remove(write: Write): void {
    this.#writes.splice(this.#writes.indexOf(write), 1);
    this.#options.pool.release(write.message);
  }

  #writeBody(write: Write): void {
    const { geometry, outbox } = this.#options;
    const { bytes } = write.message;
    const size = readSize(bytes);
    const length = sectorCeil(size);
    // Whatever the slot held before must not reach the disk: padding is verified when it is read.
    bytes.fill(0, size, length);
    const offset = prepareOffset(geometry, write.slot);
    write.phase = 'body';
    write.token = outbox.write(Part.journal, offset, bytes.subarray(0, length), true);
  }

  #onHeaders(): void {
    this.#headersToken = -1;
    for (const write of this.#writes.filter(({ phase }) => phase === 'header')) {
      const isWanted = this.#isWanted(write);
      this.#remove(write);
      if (!isWanted) continue;
      this.#options.log.markClean(write.op);
      this.#options.onDurable(write.op);
    }
    this.#pumpHeaders();
  }

  /** Writes the header that has waited longest, and with it those of slots in a row with its. */
  #pumpHeaders(): void {
    if (this.#headersToken !== -1) return;
    const ready = new Map<number, Write>();
    for (const write of this.#writes.filter(({ phase }) => phase === 'written')) {
      if (this.#isWanted(write)) ready.set(write.slot, write);
      else this.#remove(write);
    }
    const [first] = ready.keys();
    if (first === undefined) return;
    let low = first;
    let high = first;
    while (ready.has(low - 1)) low--;
    while (ready.has(high + 1)) high++;
    for (let slot = low; slot <= high; slot++) this.#fillHeader(ready.get(slot));
    const { outbox, geometry, sectors } = this.#options;
    const bytes = sectors.subarray(low * SECTOR_SIZE, (high + 1) * SECTOR_SIZE);
    this.#headersToken = outbox.write(Part.journal, headerOffset(geometry, low), bytes, true);
  }

  #fillHeader(write: Write | undefined): void {
    assert(write !== undefined, 'Journal: a gap in a row of headers');
    const sector = this.sector(write.slot);
    sector.fill(0, HEADER_SIZE);
    sector.set(write.message.bytes.subarray(0, HEADER_SIZE));
    write.phase = 'header';
    write.token = -1;
  }
}
