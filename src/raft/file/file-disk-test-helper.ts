/**
 * A disk for one data file, as bad as disks are: what is under way is done in any order, what is
 * done but not durable is lost or kept sector by sector, and a power cut tears what it interrupts.
 * It also watches its user: buffers that change under a write, and writes over one another.
 */
import assert from 'node:assert/strict';
import type { StorageError } from '../../engine/index.ts';
import type { Prng } from '../../stdx/index.ts';
import type { FileSink } from './index.ts';

const SECTOR = 4096;

export type Outcome = 'old' | 'new' | 'mixed' | 'torn';
export const OUTCOMES: readonly Outcome[] = ['old', 'new', 'mixed', 'torn'];

interface Sector {
  durable: Uint8Array;
  /** Newer versions in the drive's cache, oldest first. */
  cached: Uint8Array[];
}

interface PendingWrite {
  readonly type: 'write';
  readonly token: number;
  readonly offset: number;
  readonly buffer: Uint8Array;
  readonly bytes: Uint8Array;
  readonly durable: boolean;
  readonly error: StorageError | null;
}

type Pending =
  | PendingWrite
  | { readonly type: 'flush'; readonly token: number; readonly covers: Map<Sector, Uint8Array> }
  | {
      readonly type: 'read';
      readonly token: number;
      readonly offset: number;
      readonly length: number;
    };

/** Gets the answers of the disk. */
export interface DiskUser {
  onWritten(token: number, error: StorageError | null): void;
  onRead(token: number, bytes: Uint8Array, error: StorageError | null): void;
  onFlushed(token: number, error: StorageError | null): void;
}

export class FileDisk {
  readonly sink: FileSink;
  readonly pending: Pending[] = [];
  writesIssued: number = 0;
  /** After so many writes, those that grow the file find no room. */
  sizeMax: number = Number.POSITIVE_INFINITY;
  #sectors: Sector[] = [];
  #tokens: number = 0;

  constructor() {
    const next = (): number => ++this.#tokens;
    this.sink = {
      write: (offset, buffer, durable) => {
        const token = next();
        this.#checkWrite(offset, buffer);
        this.writesIssued++;
        const isFull = offset + buffer.length > Math.max(this.sizeMax, this.size);
        const error = isFull ? 'no-space' : null;
        const bytes = buffer.slice();
        this.pending.push({ type: 'write', token, offset, buffer, bytes, durable, error });
        return token;
      },
      read: (offset, length) => {
        const token = next();
        this.pending.push({ type: 'read', token, offset, length });
        return token;
      },
      flush: () => {
        const token = next();
        const cached = this.#sectors.filter((sector) => sector.cached.length > 0);
        const covers = new Map(cached.map((sector) => [sector, sector.cached.at(-1)!]));
        this.pending.push({ type: 'flush', token, covers });
        return token;
      },
    };
  }

  get size(): number {
    return this.#sectors.length * SECTOR;
  }

  /** The newest content; short at the end of the file. */
  readonly read = (offset: number, length: number): Uint8Array => {
    const bytes = new Uint8Array(Math.max(0, Math.min(length, this.size - offset)));
    for (let at = 0; at < bytes.length; at += SECTOR) {
      const sector = this.#sectors[(offset + at) / SECTOR]!;
      bytes.set((sector.cached.at(-1) ?? sector.durable).subarray(0, bytes.length - at), at);
    }
    return bytes;
  };

  /** Puts bytes there, durably. */
  install(offset: number, bytes: Uint8Array): void {
    this.#store(offset, bytes, true);
  }

  copy(): FileDisk {
    const copy = new FileDisk();
    copy.install(0, this.read(0, this.size));
    return copy;
  }

  /** Finishes what was asked for as number `index` of what is pending. */
  complete(index: number, user: DiskUser): void {
    const [done] = this.pending.splice(index, 1);
    if (done === undefined) return;
    if (done.type === 'read') user.onRead(done.token, this.read(done.offset, done.length), null);
    else if (done.type === 'flush') {
      for (const [sector, version] of done.covers) {
        const at = sector.cached.indexOf(version);
        if (at < 0) continue;
        sector.durable = version;
        sector.cached.splice(0, at + 1);
      }
      user.onFlushed(done.token, null);
    } else {
      const isSame = Buffer.compare(done.buffer, done.bytes) === 0;
      assert.ok(isSame, 'a buffer changed under its write');
      if (done.error === null) this.#store(done.offset, done.bytes, done.durable);
      user.onWritten(done.token, done.error);
    }
  }

  /** Power cut: decides what each sector holds from now on. */
  crash(outcome: Outcome, prng: Prng): void {
    for (const write of this.pending.splice(0)) {
      if (write.type !== 'write' || write.error !== null) continue;
      const torn = outcome === 'torn' ? prng.below(write.bytes.length / SECTOR) : -1;
      if (outcome === 'old') continue;
      for (let i = 0; i * SECTOR < write.bytes.length; i++) {
        if (outcome !== 'new' && i !== torn && prng.chance(1, 2)) continue;
        const version = write.bytes.slice(i * SECTOR, (i + 1) * SECTOR);
        if (i === torn) tear(version, prng);
        this.#store(write.offset + i * SECTOR, version, i === torn);
      }
    }
    for (const sector of this.#sectors) {
      const versions = [sector.durable, ...sector.cached];
      if (outcome === 'old') sector.durable = versions[0]!;
      else if (outcome === 'new') sector.durable = versions.at(-1)!;
      else sector.durable = prng.pick(versions);
      sector.cached = [];
    }
  }

  /** Bit rot. */
  damage(offset: number, prng: Prng): void {
    const bytes = this.read(offset, SECTOR).slice();
    tear(bytes, prng);
    this.install(offset, bytes);
  }

  #checkWrite(offset: number, buffer: Uint8Array): void {
    assert.ok(offset % SECTOR === 0 && buffer.length % SECTOR === 0 && buffer.length > 0);
    for (const other of this.pending) {
      if (other.type !== 'write') continue;
      const isApart =
        offset + buffer.length <= other.offset || other.offset + other.bytes.length <= offset;
      assert.ok(isApart, 'writes overlap');
    }
  }

  #store(offset: number, bytes: Uint8Array, durable: boolean): void {
    for (let at = 0; at < bytes.length; at += SECTOR) {
      const index = (offset + at) / SECTOR;
      while (this.#sectors.length <= index) {
        this.#sectors.push({ durable: new Uint8Array(SECTOR), cached: [] });
      }
      const sector = this.#sectors[index]!;
      const version = bytes.slice(at, at + SECTOR);
      if (durable) {
        sector.durable = version;
        sector.cached = [];
      } else sector.cached.push(version);
    }
  }
}

/** Where the content is: the rest of a sector is padding, and damage there would show nothing. */
function tear(bytes: Uint8Array, prng: Prng): void {
  const used = Math.max(1, bytes.findLastIndex((byte) => byte !== 0) + 1);
  bytes[prng.below(Math.min(used, 128))]! ^= 1 << prng.below(8);
  if (prng.chance(1, 2)) bytes.fill(0xee, prng.below(used));
}
