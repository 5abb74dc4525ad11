/**
 * The bytes of a fresh data file, as a sequence of writes. The whole fixed part is written, zeros
 * included, so that no later write of the log has to grow the file; the superblock comes last, so
 * that a file whose format was cut short is not a data file.
 */
import { SECTOR_SIZE } from '../../engine/index.ts';
import { assert, isZero, readU32, U64_ZERO, writeU32 } from '../../stdx/index.ts';
import { type Checksum, createMemory, HEADER_SIZE } from '../../wire/index.ts';
import { buildReserved, buildRoot } from '../message.ts';
import {
  fixedSize,
  type Geometry,
  geometryProblem,
  headerOffset,
  prepareOffset,
  SUPERBLOCK_COPIES,
  SUPERBLOCK_COPY_SIZE,
} from './geometry.ts';
import { encodeSuperblock, MEMBERS_SIZE, type Superblock } from './superblock-codec.ts';

export interface FormatOptions {
  /** 16 bytes; zero is allowed. */
  readonly cluster: Uint8Array;
  readonly replica: number;
  readonly replicaCount: number;
  /** 16 random bytes, not zero: a file made again for the same index is another replica. */
  readonly replicaId: Uint8Array;
  readonly geometry: Geometry;
  readonly release: number;
  /** The file replaces one that was lost: the replica has no vote until it has caught up. */
  readonly isRecovered?: boolean;
  /** View to begin with, above every one that the lost file may have taken part in; default 0. */
  readonly view?: number;
}

/** One write of a fresh file; both numbers are multiples of 4096. */
export interface FormatWrite {
  readonly offset: number;
  /** Valid until the next write is asked for. */
  readonly bytes: Uint8Array;
}

/**
 * Yields the writes of a fresh file, in the order in which they should be made; what is not written
 * need not exist. The caller syncs the file before the first superblock copy and at the end, or
 * once at the end when nothing else relies on the file until then.
 */
export function* formatWrites(
  options: FormatOptions,
  checksum: Checksum,
): Generator<FormatWrite, void, void> {
  const { geometry, cluster } = options;
  assert(geometryProblem(geometry) === null, 'formatWrites: bad geometry');
  assert(!isZero(options.replicaId, 0, 16), 'formatWrites: replica id is zero');
  const isRecovered = options.isRecovered ?? false;
  assert(isRecovered || (options.view ?? 0) === 0, 'formatWrites: a new cluster has seen no view');
  assert(!isRecovered || options.replicaCount > 1, 'formatWrites: nobody to recover from');
  const headers = aligned(geometry.slots * SECTOR_SIZE);
  for (let slot = 0; slot < geometry.slots; slot++) {
    buildSlot(headers.subarray(slot * SECTOR_SIZE, slot * SECTOR_SIZE + HEADER_SIZE), slot);
  }
  yield { offset: headerOffset(geometry, 0), bytes: headers };
  const body = aligned(geometry.slotSize);
  for (let slot = 0; slot < geometry.slots; slot++) {
    buildSlot(body.subarray(0, HEADER_SIZE), slot);
    yield { offset: prepareOffset(geometry, slot), bytes: body };
  }
  const copy = aligned(SUPERBLOCK_COPY_SIZE);
  encodeSuperblock(freshSuperblock(options, checksum), copy, checksum);
  for (let i = 0; i < SUPERBLOCK_COPIES; i++) {
    yield { offset: i * SUPERBLOCK_COPY_SIZE, bytes: copy };
  }

  function buildSlot(bytes: Uint8Array, slot: number): void {
    if (slot === 0) buildRoot(bytes, cluster, checksum);
    else buildReserved(bytes, cluster, slot, checksum);
  }
}

/** The superblock of a file that has seen nothing: its checkpoint is the root operation. */
function freshSuperblock(options: FormatOptions, checksum: Checksum): Superblock {
  const root = new Uint8Array(HEADER_SIZE);
  buildRoot(root, options.cluster, checksum);
  const prepareChecksum = root.slice(0, 16);
  const zero = new Uint8Array(16);
  const members = new Uint8Array(MEMBERS_SIZE);
  const replicaId = stampedId(options.replicaId, options.view ?? 0);
  members.set(replicaId, 16 * options.replica);
  return {
    release: options.release,
    sequence: 1,
    parent: zero,
    checksum: zero,
    cluster: options.cluster,
    replicaId,
    replica: options.replica,
    replicaCount: options.replicaCount,
    geometry: options.geometry,
    view: options.view ?? 0,
    logView: 0,
    commitMax: 0,
    fileSize: fixedSize(options.geometry),
    checkpoint: {
      op: 0,
      timestamp: U64_ZERO,
      prepareChecksum,
      digest: prepareChecksum,
      root: zero,
      id: prepareChecksum,
      idParent: zero,
      blockCount: 0,
      manifest: [],
    },
    members,
    isRecovered: options.isRecovered ?? false,
    viewHeaders: [],
  };
}

/**
 * The id of a file: random, but for its first four bytes, which tell in which view `recover` made
 * it (0: formatted). Of two files for one index the later one is the legitimate one.
 */
function stampedId(random: Uint8Array, view: number): Uint8Array {
  const id = random.slice();
  writeU32(id, 0, view);
  return id;
}

/** The view in which `recover` made the file with this id; 0 when it was formatted. */
export function recoveredViewOf(id: Uint8Array, offset: number = 0): number {
  return readU32(id, offset);
}

/** Zeroed bytes at an address that direct I/O accepts. */
function aligned(size: number): Uint8Array {
  return new Uint8Array(createMemory(size).buffer, 0, size);
}
