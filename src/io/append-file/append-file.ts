/**
 * A file that grows at its end, by whole records, written in groups: everything that was appended
 * while a write was under way, or in one turn of the event loop, is one write, and one sync if
 * anything in it has to survive a power cut.
 *
 * What was not written completely is cut off again: the file ends at the last good record, whatever
 * the disk said. After a failure everything appended is refused and forgotten, and the next append
 * tries anew, so a full disk is no end. A failed sync is one: the system may have dropped what it
 * could not write and say "synced" the next time. Then only a new file in its place
 * (`replacement.ts`) is trusted.
 */
import fs from 'node:fs';
import { assert } from '../../stdx/index.ts';

/** The calls that are made, so that a test can let one of them fail. */
export type AppendFileSystem = Pick<
  typeof fs,
  'writeSync' | 'write' | 'fdatasync' | 'ftruncateSync' | 'closeSync'
>;

export interface AppendFileHandler {
  /** Everything with a tag up to this one is in the file, synced where it was asked for. */
  written(tag: number): void;
  /**
   * Nothing from this tag on is in the file, and nothing of it is tried again. Up to `through` it
   * was tried; what was appended behind that was only dropped, since it may rely on the rest.
   */
  failed(tag: number, error: Error, through: number): void;
}

export interface AppendFileOptions {
  readonly fd: number;
  /** Where the good records end, bytes: what is behind is cut off at the first append. */
  readonly size: number;
  readonly handler: AppendFileHandler;
  readonly fileSystem?: AppendFileSystem;
}

interface Waiting {
  readonly tag: number;
  readonly bytes: Uint8Array;
  readonly durable: boolean;
}

/** Groups up to this size go to the page cache in the same turn, bytes. */
const DIRECT_SIZE_MAX = 256 * 1024;
/** A direct write that took longer shows a disk that makes writers wait, ms. */
const SLOW_MS = 20;
/** After one, so many groups are written from a thread. */
const SLOW_GROUPS = 100;
const CLOSE_POLL_MS = 1;

export class AppendFile {
  #fd: number;
  #size: number;
  readonly #handler: AppendFileHandler;
  readonly #fs: AppendFileSystem;
  #waiting: Waiting[] = [];
  #waitingBytes: number = 0;
  /** Of the write under way. */
  #groupBytes: number = 0;
  /** A write or sync is under way, or somebody holds the file. */
  #busy: boolean = false;
  #scheduled: boolean = false;
  /** There may be bytes behind `#size`. */
  #ragged: boolean;
  /** What a sync said; nothing is appended any more. */
  #broken: Error | null = null;
  #slowGroups: number = 0;
  #holders: (() => void)[] = [];
  #closed: boolean = false;

  constructor({ fd, size, handler, fileSystem }: AppendFileOptions) {
    this.#fd = fd;
    this.#size = size;
    this.#handler = handler;
    this.#fs = fileSystem ?? fs;
    this.#ragged = true;
  }

  get fd(): number {
    return this.#fd;
  }

  /** Bytes written for good. */
  get size(): number {
    return this.#size;
  }

  /** What the size will be when everything appended is written. */
  get expectedSize(): number {
    return this.#size + this.#groupBytes + this.#waitingBytes;
  }

  /** Why nothing can be appended until the file is replaced. */
  get broken(): Error | null {
    return this.#broken;
  }

  /**
   * Appends bytes, which must not change any more. Tags ascend. The handler is told later, never
   * from within the call.
   */
  append(tag: number, bytes: Uint8Array, durable: boolean): void {
    assert(!this.#closed, 'AppendFile.append: closed');
    this.#waiting.push({ tag, bytes, durable });
    this.#waitingBytes += bytes.length;
    this.#schedule();
  }

  /** Writes what was appended without waiting for the end of the turn: no more comes in it. */
  flush(): void {
    if (!this.#scheduled) return;
    this.#scheduled = false;
    this.#next();
  }

  /** Waits until nothing is under way; from then on nothing is written until `release`. */
  hold(): Promise<void> {
    return new Promise((resolve) => {
      this.#holders.push(resolve);
      this.#next();
    });
  }

  /** Waits until everything appended is written or refused. Meanwhile nothing may be appended. */
  async drained(): Promise<void> {
    for (;;) {
      await this.hold();
      this.#busy = false;
      if (this.#waiting.length === 0) break;
      this.#writeGroup();
    }
    this.#next();
  }

  release(): void {
    assert(this.#busy, 'AppendFile.release: not held');
    this.#busy = false;
    this.#next();
  }

  /** Goes on in another file, which has taken the place of this one; held. */
  replaceWith(fd: number, size: number): void {
    assert(this.#busy, 'AppendFile.replaceWith: not held');
    const old = this.#fd;
    this.#fd = fd;
    this.#size = size;
    this.#ragged = false;
    this.#broken = null;
    this.#fs.closeSync(old);
  }

  /** Writes what is waiting, then closes; whoever holds the file is waited for. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    while (this.#waiting.length > 0 || this.#busy) {
      await new Promise((resolve) => setTimeout(resolve, CLOSE_POLL_MS));
    }
    this.#fs.closeSync(this.#fd);
  }

  #schedule(): void {
    if (this.#scheduled || this.#busy) return;
    this.#scheduled = true;
    setImmediate(() => this.flush());
  }

  #next(): void {
    if (this.#busy) return;
    const holder = this.#holders.shift();
    if (holder !== undefined) {
      this.#busy = true;
      holder();
      return;
    }
    if (this.#waiting.length > 0 && !this.#scheduled) this.#writeGroup();
  }

  #writeGroup(): void {
    const group = this.#waiting;
    const size = this.#waitingBytes;
    const bytes = group.length === 1 ? group[0].bytes : Buffer.concat(group.map((w) => w.bytes));
    const durable = group.some((waiting) => waiting.durable);
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#groupBytes = size;
    this.#busy = true;
    if (!this.#prepare(group)) return;
    if (size <= DIRECT_SIZE_MAX && this.#slowGroups === 0) this.#writeNow(group, bytes, durable);
    else this.#writeInThread(group, bytes, durable, 0);
  }

  /** Makes the file end where it should. */
  #prepare(group: readonly Waiting[]): boolean {
    if (this.#broken !== null) {
      this.#fail(group, this.#broken);
      return false;
    }
    if (!this.#ragged) return true;
    try {
      this.#fs.ftruncateSync(this.#fd, this.#size);
      this.#ragged = false;
      return true;
    } catch (error) {
      this.#fail(group, error as Error);
      return false;
    }
  }

  #writeNow(group: readonly Waiting[], bytes: Uint8Array, durable: boolean): void {
    const startMs = performance.now();
    let done = 0;
    try {
      while (done < bytes.length) {
        const rest = bytes.length - done;
        done += this.#fs.writeSync(this.#fd, bytes, done, rest, this.#size + done);
      }
    } catch (error) {
      this.#fail(group, error as Error);
      return;
    }
    if (performance.now() - startMs > SLOW_MS) this.#slowGroups = SLOW_GROUPS;
    this.#written(group, durable);
  }

  #writeInThread(
    group: readonly Waiting[],
    bytes: Uint8Array,
    durable: boolean,
    done: number,
  ): void {
    if (done === bytes.length) {
      if (this.#slowGroups > 0) this.#slowGroups -= 1;
      this.#written(group, durable);
      return;
    }
    const rest = bytes.length - done;
    this.#fs.write(this.#fd, bytes, done, rest, this.#size + done, (error, count) => {
      if (error !== null) this.#fail(group, error);
      else this.#writeInThread(group, bytes, durable, done + count);
    });
  }

  #written(group: readonly Waiting[], durable: boolean): void {
    if (!durable) {
      this.#succeed(group);
      return;
    }
    this.#fs.fdatasync(this.#fd, (error) => {
      if (error === null) {
        this.#succeed(group);
        return;
      }
      this.#broken = error;
      this.#fail(group, error);
    });
  }

  #succeed(group: readonly Waiting[]): void {
    this.#size += this.#groupBytes;
    this.#groupBytes = 0;
    this.#busy = false;
    this.#handler.written((group.at(-1) as Waiting).tag);
    // What the handler appended has until the end of this turn to gather company.
    if (this.#holders.length > 0) this.#next();
    else if (this.#waiting.length > 0) this.#schedule();
  }

  #fail(group: readonly Waiting[], error: Error): void {
    this.#groupBytes = 0;
    this.#ragged = true;
    try {
      this.#fs.ftruncateSync(this.#fd, this.#size);
      this.#ragged = false;
    } catch {
      // Tried again before the next write.
    }
    // A turn later: whoever appended may still be in the middle of something. What comes until
    // then was made before its maker heard of the failure, so it goes the same way.
    setImmediate(() => {
      this.#waiting = [];
      this.#waitingBytes = 0;
      this.#busy = false;
      this.#handler.failed(group[0].tag, error, (group.at(-1) as Waiting).tag);
      if (this.#holders.length > 0) this.#next();
      else if (this.#waiting.length > 0) this.#schedule();
    });
  }
}
