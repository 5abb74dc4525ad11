/**
 * The data file of a replica, and the writes that are on their way to it. All writes of one slot,
 * or of the superblock, belong together and are done together.
 */
import { SECTOR_SIZE } from '../../../engine/index.ts';
import { assert } from '../../../stdx/index.ts';
import {
  fixedSize,
  formatWrites,
  type Geometry,
  prepareOffset,
  RELEASE,
  readSuperblock,
  SUPERBLOCK_AREA_SIZE,
  type SuperblockRead,
} from '../../../vsr/index.ts';
import type { Checksum } from '../../../wire/index.ts';

/** The smallest: a checkpoint every eight operations, which no scope comes to. */
export const GEOMETRY: Geometry = { slots: 40, slotSize: 4096, requestSizeMax: 4096 };
export const CLUSTER: Uint8Array = new Uint8Array(16).fill(0x51);
export const replicaIdOf = (replica: number): Uint8Array => new Uint8Array(16).fill(7 + replica);

/** The group of the superblock; that of a slot is its number. */
export const SUPERBLOCK_GROUP: number = GEOMETRY.slots;

export interface Write {
  readonly token: number;
  readonly offset: number;
  readonly bytes: Uint8Array;
  readonly group: number;
}

export class VsrDisk {
  readonly #bytes: Uint8Array;
  readonly #checksum: Checksum;
  /** As last looked at; null: it was written since. */
  #superblock: SuperblockRead | null = null;
  /** In the order in which they were asked for. */
  #writes: Write[] = [];

  constructor(replica: number, replicaCount: number, checksum: Checksum) {
    this.#bytes = formatted(replica, replicaCount, checksum).slice();
    this.#checksum = checksum;
  }

  get writes(): readonly Write[] {
    return this.#writes;
  }

  /** Groups that are being written, ascending. */
  groups(): number[] {
    const groups = new Set(this.#writes.map(({ group }) => group));
    return [...groups].sort((a, b) => a - b);
  }

  /** Borrowed until something is written. */
  read(offset: number, length: number): Uint8Array {
    return this.#bytes.subarray(offset, offset + length);
  }

  /** What a replica would find that opens the file now. */
  get superblock(): SuperblockRead {
    const area = this.read(0, SUPERBLOCK_AREA_SIZE);
    this.#superblock ??= readSuperblock(area, this.#checksum);
    return this.#superblock;
  }

  write(token: number, offset: number, bytes: Uint8Array): void {
    assert(offset + bytes.length <= this.#bytes.length, 'VsrDisk: a checkpoint is written');
    this.#writes.push({ token, offset, bytes: bytes.slice(), group: groupOf(offset) });
  }

  /** The oldest write of this group is done; −1: of any. `null`: there is none. */
  finish(group: number): Write | null {
    const at = this.#writes.findIndex((write) => group < 0 || write.group === group);
    if (at < 0) return null;
    const [write] = this.#writes.splice(at, 1);
    this.#bytes.set(write.bytes, write.offset);
    if (write.group === SUPERBLOCK_GROUP) this.#superblock = null;
    return write;
  }

  /** Of what is being written these prepares get there: bit i ↔ the i-th slot of {@link groups}. */
  crash(kept: number): void {
    const slots = this.groups().filter((group) => group !== SUPERBLOCK_GROUP);
    slots.forEach((slot, i) => {
      if ((kept & (1 << i)) !== 0) this.finish(slot);
    });
    this.#writes = [];
  }
}

function groupOf(offset: number): number {
  if (offset < SUPERBLOCK_AREA_SIZE) return SUPERBLOCK_GROUP;
  const start = prepareOffset(GEOMETRY, 0);
  if (offset >= start) return Math.floor((offset - start) / GEOMETRY.slotSize);
  return Math.floor((offset - SUPERBLOCK_AREA_SIZE) / SECTOR_SIZE);
}

const files: Map<string, Uint8Array> = new Map();

function formatted(replica: number, replicaCount: number, checksum: Checksum): Uint8Array {
  const key = `${replica} ${replicaCount}`;
  const known = files.get(key);
  if (known !== undefined) return known;
  const bytes = new Uint8Array(fixedSize(GEOMETRY));
  const fields = { cluster: CLUSTER, replica, replicaCount, replicaId: replicaIdOf(replica) };
  const options = { ...fields, geometry: GEOMETRY, release: RELEASE };
  for (const write of formatWrites(options, checksum)) bytes.set(write.bytes, write.offset);
  files.set(key, bytes);
  return bytes;
}
