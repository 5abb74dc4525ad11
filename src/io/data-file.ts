/**
 * The data file on a disk, through the callback API of node:fs (a promise per write costs more than
 * the write of a header).
 *
 * What has to survive a power cut goes through a descriptor of its own, in the best way that this
 * system has: past the page cache and synchronously (`direct`), synchronously (`dsync`), or as a
 * write followed by fdatasync. Everything else goes through a buffered descriptor and becomes
 * durable when the engine asks for a flush.
 *
 * A failed write or sync is never retried, and nothing succeeds after it: the kernel may have
 * dropped the dirty pages and would report success for data that is gone.
 */
import fs from 'node:fs';
import { SECTOR_SIZE, type StorageError } from '../engine/index.ts';
import { assert } from '../stdx/index.ts';
import type { WasmMemory } from '../wire/index.ts';
import { BouncePool } from './bounce-pool.ts';
import {
  type DurableConstants,
  type DurableMode,
  type FileSystem,
  openDurable,
  platformConstants,
} from './durable-mode.ts';
import { DataFileMissingError, fromSystemError, isNoSpace, systemCode } from './errors.ts';
import { Lanes } from './lanes.ts';
import type { Storage, StorageCounters } from './storage.ts';

export interface DataFileOptions {
  readonly path: string;
  /** Defaults to what this platform has. */
  readonly constants?: DurableConstants;
  readonly fileSystem?: FileSystem;
}

/** Operations handed to the kernel at a time; Node's pool has four threads. */
const IN_FLIGHT_MAX = 4;
/** Of these, writes that nobody waits for: a durable write always finds a free thread. */
const IN_FLIGHT_BULK_MAX = 2;
const CLOSE_TIMEOUT_MS = 1_000;

type Done = (error: StorageError | null) => void;

/**
 * Opens an existing data file for reading and writing and syncs it once: bytes that a dead process
 * left in the page cache must not be acknowledged as durable.
 * @throws DataFileMissingError, ReadOnlyError, StorageFailedError
 */
export async function openDataFile(options: DataFileOptions): Promise<DataFile> {
  const fileSystem = options.fileSystem ?? fs;
  const file = new DataFile(options, fileSystem);
  const error = await new Promise<Error | null>((resolve) => file.syncAtOpen(resolve));
  if (error === null) return file;
  await file.close();
  throw fromSystemError(error, options.path);
}

export class DataFile implements Storage {
  readonly path: string;
  /** Size when it was opened, bytes. */
  readonly sizeAtOpen: number;
  readonly #fs: FileSystem;
  readonly #fdBuffered: number;
  readonly #fdDurable: number | null;
  readonly #lanes: Lanes = new Lanes(IN_FLIGHT_MAX, IN_FLIGHT_BULK_MAX);
  readonly #bounce: BouncePool = new BouncePool(IN_FLIGHT_MAX);
  readonly #readBuffers: Uint8Array[] = [];
  #mode: DurableMode;
  #alignedMemory: WasmMemory | null = null;
  #failed: boolean = false;
  #closed: boolean = false;
  readonly #counters: { -readonly [K in keyof StorageCounters]: StorageCounters[K] } = {
    reads: 0,
    readBytes: 0,
    writes: 0,
    writeBytes: 0,
    durableWrites: 0,
    flushes: 0,
    errors: 0,
  };

  /** Use {@link openDataFile}. */
  constructor(options: DataFileOptions, fileSystem: FileSystem) {
    this.path = options.path;
    this.#fs = fileSystem;
    try {
      this.#fdBuffered = fileSystem.openSync(options.path, fs.constants.O_RDWR);
    } catch (error) {
      if (systemCode(error) === 'ENOENT') throw new DataFileMissingError(options.path);
      throw fromSystemError(error, options.path);
    }
    this.sizeAtOpen = fileSystem.fstatSync(this.#fdBuffered).size;
    const durable = openDurable(
      fileSystem,
      options.path,
      options.constants ?? platformConstants(),
      this.#bounce,
    );
    this.#mode = durable.mode;
    this.#fdDurable = durable.fd;
  }

  /** How durable writes are made durable here. */
  get mode(): DurableMode {
    return this.#mode;
  }

  /**
   * Names the memory of the message pool: it is page aligned, so its slots can be written as is.
   */
  setAlignedMemory(memory: WasmMemory): void {
    this.#alignedMemory = memory;
  }

  /** @internal */
  syncAtOpen(done: (error: Error | null) => void): void {
    this.#fs.fdatasync(this.#fdBuffered, done);
  }

  write(offset: number, bytes: Uint8Array, durable: boolean, done: Done): void {
    assert(Number.isSafeInteger(offset) && offset >= 0, 'DataFile: offset out of range');
    assert(offset % SECTOR_SIZE === 0, 'DataFile: offset is not sector aligned');
    assert(bytes.length > 0, 'DataFile: nothing to write');
    assert(bytes.length % SECTOR_SIZE === 0, 'DataFile: length is not sector aligned');
    assert(!this.#closed, 'DataFile: closed');
    this.#counters.writes += 1;
    this.#counters.writeBytes += bytes.length;
    if (durable) this.#counters.durableWrites += 1;
    this.#lanes.run(durable ? 'urgent' : 'bulk', (release) => {
      const finish = (error: StorageError | null): void => this.#finish(error, done, release);
      if (this.#failed) queueMicrotask(() => finish('io'));
      else if (durable) this.#writeDurable(offset, bytes, finish);
      else this.#writeAll(this.#fdBuffered, bytes, offset, 0, finish);
    });
  }

  read(
    offset: number,
    length: number,
    done: (bytes: Uint8Array, error: StorageError | null) => void,
  ): void {
    assert(Number.isSafeInteger(offset) && offset >= 0, 'DataFile: offset out of range');
    assert(length > 0, 'DataFile: nothing to read');
    assert(!this.#closed, 'DataFile: closed');
    this.#counters.reads += 1;
    this.#lanes.run('urgent', (release) => {
      const buffer = this.#takeReadBuffer(length);
      this.#readAll(buffer, offset, length, 0, (read, error) => {
        this.#counters.readBytes += read;
        this.#finish(error, (result) => done(buffer.subarray(0, read), result), release);
        this.#readBuffers.push(buffer);
      });
    });
  }

  flush(done: Done): void {
    assert(!this.#closed, 'DataFile: closed');
    this.#counters.flushes += 1;
    this.#lanes.run('urgent', (release) => {
      const finish = (error: StorageError | null): void => this.#finish(error, done, release);
      if (this.#failed) queueMicrotask(() => finish('io'));
      else this.#sync(finish);
    });
  }

  counters(): StorageCounters {
    return { ...this.#counters };
  }

  /** Descriptors of operations that hang in the kernel are left to the end of the process. */
  async close(timeoutMs: number = CLOSE_TIMEOUT_MS): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const idle = await this.#lanes.close(timeoutMs);
    if (!idle) return;
    for (const fd of [this.#fdBuffered, this.#fdDurable]) {
      if (fd !== null) await new Promise<void>((resolve) => this.#fs.close(fd, () => resolve()));
    }
  }

  #finish(error: StorageError | null, done: Done, release: () => void): void {
    if (error !== null) {
      this.#counters.errors += 1;
      if (error === 'io') this.#failed = true;
    }
    release();
    if (!this.#closed) done(error);
  }

  #writeDurable(offset: number, bytes: Uint8Array, finish: Done): void {
    if (this.#fdDurable === null || this.#mode === 'fdatasync') {
      this.#writeThenSync(offset, bytes, finish);
    } else if (this.#mode === 'dsync' || this.#isAligned(bytes)) {
      this.#writeSynchronously(this.#fdDurable, offset, bytes, finish);
    } else {
      // The page cache is coherent with direct writes, so either way below is correct.
      const bounced = this.#bounce.copy(bytes);
      if (bounced === null) {
        this.#writeThenSync(offset, bytes, finish);
      } else {
        this.#writeSynchronously(this.#fdDurable, offset, bounced, (error) => {
          this.#bounce.free(bounced);
          finish(error);
        });
      }
    }
  }

  #writeSynchronously(fd: number, offset: number, bytes: Uint8Array, finish: Done): void {
    if (this.#mode === 'dsync') {
      this.#writeAll(fd, bytes, offset, 0, finish);
      return;
    }
    this.#writeAll(fd, bytes, offset, 0, finish, () => {
      // A file system that reads past the cache but does not write so: no failure of the disk.
      this.#mode = 'fdatasync';
      this.#writeThenSync(offset, bytes, finish);
    });
  }

  #writeThenSync(offset: number, bytes: Uint8Array, finish: Done): void {
    this.#writeAll(this.#fdBuffered, bytes, offset, 0, (error) => {
      if (error === null) this.#sync(finish);
      else finish(error);
    });
  }

  #sync(finish: Done): void {
    this.#fs.fdatasync(this.#fdBuffered, (error) => finish(storageError(error)));
  }

  #writeAll(
    fd: number,
    bytes: Uint8Array,
    offset: number,
    written: number,
    finish: Done,
    onInvalid?: () => void,
  ): void {
    const length = bytes.length - written;
    this.#fs.write(fd, bytes, written, length, offset + written, (error, count) => {
      if (error !== null) {
        if (onInvalid !== undefined && systemCode(error) === 'EINVAL') onInvalid();
        else finish(storageError(error));
      } else if (count === length) {
        finish(null);
      } else if (count === 0) {
        finish('io');
      } else {
        // Short: the disk is nearly full, or a signal came. The next write says which.
        this.#writeAll(fd, bytes, offset, written + count, finish, onInvalid);
      }
    });
  }

  #readAll(
    buffer: Uint8Array,
    offset: number,
    length: number,
    read: number,
    finish: (read: number, error: StorageError | null) => void,
  ): void {
    const position = offset + read;
    this.#fs.read(this.#fdBuffered, buffer, read, length - read, position, (error, count) => {
      if (error !== null) finish(read, 'io');
      else if (count === 0 || read + count === length) finish(read + count, null);
      else this.#readAll(buffer, offset, length, read + count, finish);
    });
  }

  #isAligned(bytes: Uint8Array): boolean {
    if (this.#alignedMemory === null) return false;
    return bytes.buffer === this.#alignedMemory.buffer && bytes.byteOffset % SECTOR_SIZE === 0;
  }

  /** A plain array, not a Buffer: the `slice` of a Buffer would share what we use again. */
  #takeReadBuffer(length: number): Uint8Array {
    const buffer = this.#readBuffers.pop();
    return buffer !== undefined && buffer.length >= length ? buffer : new Uint8Array(length);
  }
}

function storageError(error: Error | null): StorageError | null {
  if (error === null) return null;
  return isNoSpace(error) ? 'no-space' : 'io';
}
