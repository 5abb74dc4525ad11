/**
 * A simulated disk: the file under one engine. Writes take time drawn from the seed and finish in
 * any order; what a power cut leaves is the business of `sector-store`. It outlives the processes
 * that use it.
 *
 * It also watches its user: two writes in flight over the same sector have no defined outcome on
 * real disks, and a buffer that changes under a running write puts a mixture on them. Both fail
 * the run at once, whatever the outcome would have been.
 */
import { SECTOR_SIZE, type StorageError } from '../../engine/index.ts';
import { assert, type Prng } from '../../stdx/index.ts';
import { check } from '../world/failure.ts';
import type { LatencyRange } from '../world/latency.ts';
import { sameContent } from '../world/same-bytes.ts';
import { Stream, type World } from '../world/world.ts';
import { type CrashOutcome, SectorStore } from './sector-store.ts';

/** One in 64 operations takes ten times as long as it should. */
export interface DiskOptions {
  readonly readLatency: LatencyRange;
  readonly writeLatency: LatencyRange;
  readonly flushLatency: LatencyRange;
  /** Writes that would make the file larger than this find the disk full. */
  readonly sizeMaxBytes: number;
  /** A disk that says "durable" when it has the bytes in its cache: no engine can bear that. */
  readonly isLying: boolean;
}

export const DISK_DEFAULT: DiskOptions = {
  readLatency: { minNs: 20_000, maxNs: 200_000 },
  writeLatency: { minNs: 50_000, maxNs: 500_000 },
  flushLatency: { minNs: 100_000, maxNs: 1_000_000 },
  sizeMaxBytes: Number.MAX_SAFE_INTEGER,
  isLying: false,
};

export type DiskOperation = 'read' | 'write' | 'flush';

export type ReadDone = (bytes: Uint8Array, error: StorageError | null) => void;
export type WriteDone = (error: StorageError | null) => void;

interface Flight {
  readonly offset: number;
  /** The user's buffer, which must not change, and its content when the write was issued. */
  readonly buffer: Uint8Array;
  readonly bytes: Uint8Array;
  readonly durable: boolean;
}

export class Disk {
  readonly #world: World;
  readonly #prng: Prng;
  readonly #options: DiskOptions;
  #store: SectorStore;
  readonly #flights: Set<Flight> = new Set();
  /** Completions of an earlier power cycle never arrive. */
  #cycle: number = 0;
  #writesIssued: number = 0;
  #sizeMaxBytes: number;
  #onWriteIssued: ((count: number) => void) | null = null;
  #errorsReported: number = 0;
  #slowness: number = 1;
  readonly #errorAfter: Map<DiskOperation, number> = new Map();

  constructor(world: World, options: DiskOptions = DISK_DEFAULT, index: number = 0) {
    this.#world = world;
    this.#options = options;
    this.#prng = world.prng(Stream.disk, index);
    this.#store = new SectorStore(world.seed);
    this.#sizeMaxBytes = options.sizeMaxBytes;
  }

  /** Writes issued so far, over all power cycles. */
  get writesIssued(): number {
    return this.#writesIssued;
  }

  /** Nothing is being written. */
  get isIdle(): boolean {
    return this.#flights.size === 0;
  }

  get sizeBytes(): number {
    return this.#store.sizeBytes;
  }

  /** Another disk in its place, with nothing on it. */
  erase(): void {
    assert(this.#flights.size === 0, 'Disk: erased while in use');
    this.#store = new SectorStore(this.#world.seed);
  }

  /** Damages the sector at `offset` for good: a bit of it, or all, is another one now. */
  corrupt(offset: number): void {
    checkAligned(offset, SECTOR_SIZE);
    this.#world.coverage.add('corruptions');
    this.#store.corrupt(offset / SECTOR_SIZE, this.#prng);
    this.#world.note('disk', 'corrupt', `sector at ${offset}`);
  }

  /**
   * Puts bytes on the disk at once and durably: what a format did before the run began. The bytes
   * belong to the disk from now on and never change.
   */
  install(offset: number, bytes: Uint8Array): void {
    assert(this.#flights.size === 0, 'Disk: install while in use');
    this.#store.write(offset, bytes, true);
  }

  /** One sector of it, borrowed: not to be changed. It must lie within the file. */
  look(offset: number): Uint8Array {
    assert(offset < this.#store.sizeBytes, 'Disk: nothing there');
    return this.#store.sector(offset);
  }

  /** The newest content, without time passing; for checkers. Short at the file's end. */
  peek(offset: number, length: number): Uint8Array {
    const bytes = new Uint8Array(Math.max(0, Math.min(length, this.#store.sizeBytes - offset)));
    this.#store.read(offset, bytes);
    return bytes;
  }

  /**
   * The oldest content that a power cut now may leave in each sector; for checkers. Short at the
   * end of what is durable.
   */
  peekDurable(offset: number, length: number): Uint8Array {
    const { sizeDurableBytes } = this.#store;
    const bytes = new Uint8Array(Math.max(0, Math.min(length, sizeDurableBytes - offset)));
    this.#store.readDurable(offset, bytes);
    return bytes;
  }

  /** Counts what becomes durable, whatever it is. */
  get durableVersion(): number {
    return this.#store.durableVersion;
  }

  /**
   * Calls `listener` with the count of writes issued so far after each new one; `null`: no more.
   */
  onWriteIssued(listener: ((count: number) => void) | null): void {
    this.#onWriteIssued = listener;
  }

  /** Fails the operation after `count` more of its kind with `io`. */
  failAfter(operation: DiskOperation, count: number): void {
    assert(count >= 0, 'Disk: count is negative');
    this.#errorAfter.set(operation, count);
  }

  /** From now on the file cannot grow beyond `sizeMaxBytes`. */
  limit(sizeMaxBytes: number): void {
    this.#sizeMaxBytes = sizeMaxBytes;
  }

  /** From now on everything takes `factor` times as long. */
  slowDown(factor: number): void {
    assert(factor >= 1, 'Disk: slower than by nothing');
    this.#slowness = factor;
  }

  /** Injected errors reported since the last call. */
  takeErrors(): number {
    const count = this.#errorsReported;
    this.#errorsReported = 0;
    return count;
  }

  read(offset: number, length: number, done: ReadDone): void {
    checkAligned(offset, length);
    this.#world.coverage.add('reads');
    const error = this.#injected('read');
    this.#later(this.#options.readLatency, () => {
      const bytes = this.peek(offset, length);
      for (const flight of this.#flights) this.#overlay(offset, bytes, flight);
      done(error === null ? bytes : bytes.subarray(0, 0), error);
    });
  }

  write(offset: number, buffer: Uint8Array, durable: boolean, done: WriteDone): void {
    checkAligned(offset, buffer.length);
    this.#world.coverage.add('writes');
    this.#writesIssued++;
    const end = offset + buffer.length;
    if (end > this.#sizeMaxBytes && end > this.#store.sizeBytes) {
      this.#world.coverage.add('noSpace');
      this.#later(this.#options.writeLatency, () => done('no-space'));
      return;
    }
    for (const other of this.#flights) {
      const isApart = end <= other.offset || other.offset + other.bytes.length <= offset;
      check(isApart, 'disk-misuse', () => `writes overlap in flight at offset ${offset}`);
    }
    const flight: Flight = { offset, buffer, bytes: buffer.slice(), durable };
    this.#flights.add(flight);
    const error = this.#injected('write');
    this.#later(this.#options.writeLatency, () => {
      const isSame = sameContent(buffer, flight.bytes);
      check(isSame, 'disk-misuse', () => `buffer changed under the write at offset ${offset}`);
      if (error !== null) {
        // Nobody knows how far it came. The user stops now, and that decides it like a power cut.
        done(error);
        this.#flights.delete(flight);
        return;
      }
      this.#flights.delete(flight);
      this.#store.write(offset, flight.bytes, durable && !this.#options.isLying);
      done(null);
    });
    this.#onWriteIssued?.(this.#writesIssued);
  }

  flush(done: WriteDone): void {
    this.#world.coverage.add('flushes');
    const error = this.#injected('flush');
    const finish = this.#store.beginFlush();
    this.#later(this.#options.flushLatency, () => {
      if (error === null && !this.#options.isLying) finish();
      done(error);
    });
  }

  /**
   * The process is gone, the machine is not: what was asked for is carried out by the system, and
   * nothing that was asked for before is ever reported.
   */
  settle(): void {
    this.#cycle++;
    for (const { offset, bytes, durable } of this.#flights) {
      this.#store.write(offset, bytes, durable && !this.#options.isLying);
    }
    this.#flights.clear();
    this.#errorAfter.clear();
    this.#world.note('disk', 'settle', '');
  }

  /** Power cut. Nothing that was asked for before is ever reported. */
  crash(outcome: CrashOutcome): void {
    this.#cycle++;
    const coverage = this.#world.coverage;
    if (this.#flights.size > 0) coverage.add('crashesWithWrites');
    const report = this.#store.crash([...this.#flights], outcome, this.#prng);
    this.#flights.clear();
    this.#errorAfter.clear();
    coverage.add('sectorsLost', report.sectorsLost);
    coverage.add('sectorsTorn', report.sectorsTorn);
    this.#world.note(
      'disk',
      'power-cut',
      `${outcome}: ${report.sectorsLost} sectors lost, ${report.sectorsTorn} torn`,
    );
  }

  /** A read that meets a running write finds each sector old or new. */
  #overlay(offset: number, bytes: Uint8Array, flight: Flight): void {
    const end = offset + bytes.length;
    for (let done = 0; done < flight.bytes.length; done += SECTOR_SIZE) {
      const position = flight.offset + done;
      if (position < offset || position >= end) continue;
      if (this.#prng.chance(1, 2)) continue;
      bytes.set(flight.bytes.subarray(done, done + SECTOR_SIZE), position - offset);
    }
  }

  #injected(operation: DiskOperation): StorageError | null {
    const left = this.#errorAfter.get(operation);
    if (left === undefined) return null;
    if (left > 0) {
      this.#errorAfter.set(operation, left - 1);
      return null;
    }
    this.#errorAfter.delete(operation);
    this.#errorsReported++;
    this.#world.coverage.add('ioErrors');
    return 'io';
  }

  #later(latency: LatencyRange, action: () => void): void {
    const cycle = this.#cycle;
    const factor = this.#slowness * (this.#prng.chance(1, 64) ? 10 : 1);
    const delayNs = this.#prng.between(latency.minNs, latency.maxNs) * factor;
    this.#world.after(delayNs, () => {
      if (cycle === this.#cycle) action();
    });
  }
}

function checkAligned(offset: number, length: number): void {
  const isAligned = offset % SECTOR_SIZE === 0 && length % SECTOR_SIZE === 0 && length > 0;
  check(isAligned, 'disk-misuse', () => `access of ${length} bytes at ${offset} is not aligned`);
}
