/**
 * A new content for a file, written beside it and put in its place in one step, so that whoever
 * opens the file finds the old or the new one, whole. A symbolic link stays one: what it leads to
 * is replaced. The name beside is that of the original, which also clears away what a crash left.
 */
import fs from 'node:fs';
import { dirname } from 'node:path';
import { assert } from '../../stdx/index.ts';
import { followLinks } from './real-path.ts';

/** A sync in between keeps the last one short, bytes. */
const SYNC_SIZE = 8 * 1024 * 1024;
const COPY_SIZE = 1024 * 1024;

export class Replacement {
  readonly fd: number;
  readonly #target: string;
  readonly #temporary: string;
  #size: number = 0;
  #synced: number = 0;
  #done: boolean = false;

  /** @throws the system's error, naming the path beside */
  static begin(path: string): Replacement {
    const target = followLinks(path);
    const temporary = `${target}.tmp`;
    fs.rmSync(temporary, { force: true });
    const fd = fs.openSync(temporary, 'wx+', 0o660);
    adoptOwner(fd, target);
    return new Replacement(target, temporary, fd);
  }

  private constructor(target: string, temporary: string, fd: number) {
    this.#target = target;
    this.#temporary = temporary;
    this.fd = fd;
  }

  /** Bytes, up to the highest written. */
  get size(): number {
    return this.#size;
  }

  /** Writes all of `bytes`, at the end unless said otherwise. */
  async write(bytes: Uint8Array, offset: number = this.#size): Promise<void> {
    let done = 0;
    while (done < bytes.length) {
      done += await writeSome(this.fd, bytes, done, offset + done);
    }
    this.#size = Math.max(this.#size, offset + bytes.length);
    if (this.#size - this.#synced >= SYNC_SIZE) await this.sync();
  }

  /** Copies the bytes from `from` up to `to` of another file to the end. */
  async copy(fd: number, from: number, to: number): Promise<void> {
    const bytes = new Uint8Array(Math.min(COPY_SIZE, to - from));
    for (let at = from; at < to; ) {
      const count = await readSome(fd, bytes, Math.min(bytes.length, to - at), at);
      assert(count > 0, 'Replacement.copy: the file is shorter than its owner believes');
      await this.write(bytes.subarray(0, count));
      at += count;
    }
  }

  async sync(): Promise<void> {
    this.#synced = this.#size;
    await new Promise<void>((resolve, reject) => {
      fs.fdatasync(this.fd, (error) => (error === null ? resolve() : reject(error)));
    });
  }

  /** Puts the file in its place, for good; its descriptor is the caller's from now on. */
  async commit(): Promise<void> {
    assert(!this.#done, 'Replacement.commit: over');
    await this.sync();
    await new Promise<void>((resolve, reject) => {
      fs.rename(this.#temporary, this.#target, (error) =>
        error === null ? resolve() : reject(error),
      );
    });
    this.#done = true;
    await syncFolder(dirname(this.#target));
  }

  /** Leaves everything as it was; after a commit, nothing to do. */
  abort(): void {
    if (this.#done) return;
    this.#done = true;
    fs.closeSync(this.fd);
    fs.rmSync(this.#temporary, { force: true });
  }
}

/** Whoever may read and write the old file may do so with the new one. */
function adoptOwner(fd: number, target: string): void {
  try {
    const old = fs.statSync(target);
    const own = fs.fstatSync(fd);
    if (old.uid !== own.uid || old.gid !== own.gid) fs.fchownSync(fd, old.uid, old.gid);
    fs.fchmodSync(fd, old.mode & 0o7777);
  } catch {
    // There is no old file, or its owner is not ours to give.
  }
}

/** Makes a name durable, where folders can be synced; elsewhere it is as good as it gets. */
export function syncFolder(folder: string): Promise<void> {
  return new Promise((resolve) => {
    fs.open(folder, 'r', (openError, fd) => {
      if (openError !== null) {
        resolve();
        return;
      }
      fs.fsync(fd, () => {
        fs.closeSync(fd);
        resolve();
      });
    });
  });
}

function writeSome(fd: number, bytes: Uint8Array, from: number, offset: number): Promise<number> {
  return new Promise((resolve, reject) => {
    fs.write(fd, bytes, from, bytes.length - from, offset, (error, count) => {
      if (error === null) resolve(count);
      else reject(error);
    });
  });
}

function readSome(fd: number, bytes: Uint8Array, length: number, offset: number): Promise<number> {
  return new Promise((resolve, reject) => {
    fs.read(fd, bytes, 0, length, offset, (error, count) => {
      if (error === null) resolve(count);
      else reject(error);
    });
  });
}
