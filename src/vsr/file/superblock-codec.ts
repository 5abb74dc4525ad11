/**
 * The superblock: one record that says what a data file is and where its newest checkpoint lies.
 * It is written four times, one copy after another, so that a crash in the middle leaves either
 * two copies of the old one or two of the new one; two equal copies are a quorum. All copies are
 * the same bytes, so a copy that lands in the place of another does no harm.
 *
 * Everything here is pure: bytes to record, record to bytes, four copies to a verdict.
 */
import { BLOCK_SIZE_MAX, PIPELINE_MAX, REPLICAS_MAX } from '../../engine/index.ts';
import {
  assert,
  bytesEqual,
  isZero,
  readSafeU64,
  readU32,
  readU64,
  type U64,
  writeSafeU64,
  writeU32,
  writeU64,
} from '../../stdx/index.ts';
import {
  type Checksum,
  Command,
  HEADER_SIZE,
  PrepareOffset,
  readCommand,
  readView,
} from '../../wire/index.ts';
import {
  type Geometry,
  geometryProblem,
  isCheckpoint,
  SUPERBLOCK_COPIES,
  SUPERBLOCK_COPY_SIZE,
} from './geometry.ts';

/** Version of the layout of data files; others are refused. */
export const FORMAT_VERSION = 1;
/** Equal copies that make a superblock. */
export const SUPERBLOCK_QUORUM = 2;
/** Pieces of a manifest that a superblock can name; each lists up to 8192 blocks. */
export const MANIFEST_CHUNKS_MAX = 384;

/** Headers of a view that a superblock can hold: the pipeline and a few above and below it. */
export const VIEW_HEADERS_MAX: number = PIPELINE_MAX + 3;
/** Bytes of the replica ids of a cluster, 16 for each index. */
export const MEMBERS_SIZE: number = 16 * REPLICAS_MAX;

/** One piece of a checkpoint's manifest in the growing area. */
export interface ChunkReference {
  readonly offset: number;
  readonly size: number;
  /** 16 bytes. */
  readonly checksum: Uint8Array;
}

/** The state at a checkpoint that is not in blocks, and where the blocks are listed. */
export interface CheckpointReference {
  readonly op: number;
  /** Timestamp of operation `op`; the next one's is higher. */
  readonly timestamp: U64;
  /** Checksum of the prepare at `op`, the parent of the next one. 16 bytes, like those below. */
  readonly prepareChecksum: Uint8Array;
  readonly digest: Uint8Array;
  /** The machine's root. */
  readonly root: Uint8Array;
  /** Names the whole logical state: machine, sessions and the fields above. */
  readonly id: Uint8Array;
  /** `id` of the checkpoint before this one. */
  readonly idParent: Uint8Array;
  readonly blockCount: number;
  readonly manifest: readonly ChunkReference[];
}

export interface Superblock {
  readonly release: number;
  /** Grows with every update. */
  readonly sequence: number;
  /** Checksum of the superblock that this one replaced. */
  readonly parent: Uint8Array;
  /** Its own checksum. */
  readonly checksum: Uint8Array;
  /** 16 bytes, like `replicaId`: made at format, so that a re-formatted replica is noticed. */
  readonly cluster: Uint8Array;
  readonly replicaId: Uint8Array;
  readonly replica: number;
  readonly replicaCount: number;
  readonly geometry: Geometry;
  readonly view: number;
  readonly logView: number;
  readonly commitMax: number;
  /** Bytes the file has at least; a shorter one has lost something. */
  readonly fileSize: number;
  readonly checkpoint: CheckpointReference;
  /** The replica ids by index, {@link MEMBERS_SIZE} bytes; zero: not met yet. */
  readonly members: Uint8Array;
  /** Made to replace a lost file: has no vote until it has learnt from the others. */
  readonly isRecovered: boolean;
  /**
   * Prepare headers, 256 bytes each, by descending op, at most {@link VIEW_HEADERS_MAX}. With
   * `logView === view`: what the log of that view began with. With `logView < view`: what this
   * replica says of its log in the view change, in which an op without a header is a blank one.
   */
  readonly viewHeaders: readonly Uint8Array[];
}

export type SuperblockError =
  | { readonly kind: 'not-a-data-file' }
  | { readonly kind: 'format-version'; readonly found: number; readonly supported: number }
  | { readonly kind: 'corrupt'; readonly reason: string };

export type SuperblockRead =
  | {
      readonly ok: true;
      readonly superblock: Superblock;
      /** Places (0 … 3) that do not hold the chosen record: to be repaired before any update. */
      readonly stale: readonly number[];
    }
  | { readonly ok: false; readonly error: SuperblockError };

const MAGIC: Uint8Array = Uint8Array.from('roundelay vsr\n\x1a\0', (c) => c.charCodeAt(0));

const At = {
  checksum: 0,
  magic: 16,
  formatVersion: 32,
  release: 36,
  sequence: 40,
  parent: 48,
  cluster: 64,
  replicaId: 80,
  replica: 96,
  replicaCount: 97,
  slots: 100,
  slotSize: 104,
  requestSizeMax: 108,
  extentSize: 112,
  view: 120,
  logView: 128,
  commitMax: 136,
  fileSize: 144,
  checkpointOp: 152,
  checkpointTimestamp: 160,
  prepareChecksum: 168,
  digest: 184,
  root: 200,
  id: 216,
  idParent: 232,
  blockCount: 248,
  chunkCount: 252,
  members: 256,
  isRecovered: 352,
  viewHeaderCount: 353,
  chunks: 512,
  viewHeaders: 12_800,
} as const;
const CHUNK_REFERENCE_SIZE = 32;
const CHUNKS_END: number = At.chunks + MANIFEST_CHUNKS_MAX * CHUNK_REFERENCE_SIZE;
assert(At.members + MEMBERS_SIZE <= At.isRecovered, 'superblock: members overlap');
assert(CHUNKS_END <= At.viewHeaders, 'superblock: the manifest leaves no room for view headers');
const HEADERS_END: number = At.viewHeaders + VIEW_HEADERS_MAX * HEADER_SIZE;
assert(HEADERS_END <= SUPERBLOCK_COPY_SIZE, 'superblock: view headers do not fit');
assert(MAGIC.length === 16, 'superblock: magic has 16 bytes');

/** Writes one copy (16 KiB); returns its checksum, which `superblock.checksum` is not looked at. */
export function encodeSuperblock(
  superblock: Superblock,
  target: Uint8Array,
  checksum: Checksum,
): Uint8Array {
  const { geometry, checkpoint } = superblock;
  assert(target.length === SUPERBLOCK_COPY_SIZE, 'encodeSuperblock: wrong size');
  assert(superblockProblem(superblock) === null, 'encodeSuperblock: inconsistent');
  target.fill(0);
  target.set(MAGIC, At.magic);
  writeU32(target, At.formatVersion, FORMAT_VERSION);
  writeU32(target, At.release, superblock.release);
  writeSafeU64(target, At.sequence, superblock.sequence);
  put16(target, At.parent, superblock.parent);
  put16(target, At.cluster, superblock.cluster);
  put16(target, At.replicaId, superblock.replicaId);
  target[At.replica] = superblock.replica;
  target[At.replicaCount] = superblock.replicaCount;
  writeU32(target, At.slots, geometry.slots);
  writeU32(target, At.slotSize, geometry.slotSize);
  writeU32(target, At.requestSizeMax, geometry.requestSizeMax);
  writeU32(target, At.extentSize, BLOCK_SIZE_MAX);
  writeSafeU64(target, At.view, superblock.view);
  writeSafeU64(target, At.logView, superblock.logView);
  writeSafeU64(target, At.commitMax, superblock.commitMax);
  writeSafeU64(target, At.fileSize, superblock.fileSize);
  writeSafeU64(target, At.checkpointOp, checkpoint.op);
  writeU64(target, At.checkpointTimestamp, checkpoint.timestamp);
  put16(target, At.prepareChecksum, checkpoint.prepareChecksum);
  put16(target, At.digest, checkpoint.digest);
  put16(target, At.root, checkpoint.root);
  put16(target, At.id, checkpoint.id);
  put16(target, At.idParent, checkpoint.idParent);
  writeU32(target, At.blockCount, checkpoint.blockCount);
  writeU32(target, At.chunkCount, checkpoint.manifest.length);
  checkpoint.manifest.forEach((chunk, i) => {
    const offset = At.chunks + i * CHUNK_REFERENCE_SIZE;
    writeSafeU64(target, offset, chunk.offset);
    writeU32(target, offset + 8, chunk.size);
    put16(target, offset + 16, chunk.checksum);
  });
  target.set(superblock.members, At.members);
  target[At.isRecovered] = superblock.isRecovered ? 1 : 0;
  target[At.viewHeaderCount] = superblock.viewHeaders.length;
  superblock.viewHeaders.forEach((header, i) => {
    target.set(header, At.viewHeaders + i * HEADER_SIZE);
  });
  checksum.digest(target, At.magic, SUPERBLOCK_COPY_SIZE - At.magic, target, At.checksum);
  return target.slice(At.checksum, At.checksum + 16);
}

/**
 * The verdict on the first 64 KiB of a file (fewer when it is shorter). Takes the newest record of
 * which two copies agree. A single newer copy is an update that a crash cut short, provided that it
 * continues the chosen one; otherwise newer data existed and is lost, and the file is refused.
 */
export function readSuperblock(bytes: Uint8Array, checksum: Checksum): SuperblockRead {
  const versions: number[] = [];
  const valid: Superblock[] = [];
  const places: (Superblock | null)[] = new Array<null>(SUPERBLOCK_COPIES).fill(null);
  for (let copy = 0; copy < SUPERBLOCK_COPIES; copy++) {
    const start = copy * SUPERBLOCK_COPY_SIZE;
    if (start + SUPERBLOCK_COPY_SIZE > bytes.length) break;
    const view = bytes.subarray(start, start + SUPERBLOCK_COPY_SIZE);
    if (!bytesEqual(view, At.magic, MAGIC, 0, MAGIC.length)) continue;
    versions.push(readU32(view, At.formatVersion));
    const superblock = decodeSuperblock(view, checksum);
    places[copy] = superblock;
    if (superblock !== null) valid.push(superblock);
  }
  if (versions.length === 0) return failed({ kind: 'not-a-data-file' });
  for (const found of versions) {
    const agreeing = versions.filter((version) => version === found).length;
    if (found !== FORMAT_VERSION && agreeing >= SUPERBLOCK_QUORUM) {
      return failed({ kind: 'format-version', found, supported: FORMAT_VERSION });
    }
  }
  return choose(valid, places);
}

function choose(
  valid: readonly Superblock[],
  places: readonly (Superblock | null)[],
): SuperblockRead {
  const count = (a: Superblock): number => valid.filter((b) => sameBytes(a, b)).length;
  const quorums = valid.filter((superblock) => count(superblock) >= SUPERBLOCK_QUORUM);
  let chosen: Superblock | null = null;
  for (const superblock of quorums) {
    if (chosen === null || superblock.sequence > chosen.sequence) chosen = superblock;
  }
  if (chosen === null) return corrupt('no two equal superblock copies');
  for (const other of valid) {
    if (sameBytes(other, chosen)) continue;
    if (!bytesEqual(other.cluster, 0, chosen.cluster, 0, 16)) return corrupt('mixed clusters');
    if (other.sequence < chosen.sequence) continue;
    if (count(other) >= SUPERBLOCK_QUORUM) return corrupt('two superblocks of one sequence');
    const continues = bytesEqual(other.parent, 0, chosen.checksum, 0, 16);
    if (!continues) return corrupt('a newer superblock has lost its copies');
  }
  const stale: number[] = [];
  for (let copy = 0; copy < SUPERBLOCK_COPIES; copy++) {
    const place = places[copy];
    if (place === null || !sameBytes(place, chosen)) stale.push(copy);
  }
  return { ok: true, superblock: chosen, stale };
}

/** One copy; `null` when its checksum or its contents are wrong. */
function decodeSuperblock(view: Uint8Array, checksum: Checksum): Superblock | null {
  const computed = new Uint8Array(16);
  checksum.digest(view, At.magic, SUPERBLOCK_COPY_SIZE - At.magic, computed, 0);
  if (!bytesEqual(computed, 0, view, At.checksum, 16)) return null;
  if (readU32(view, At.formatVersion) !== FORMAT_VERSION) return null;
  if (readU32(view, At.extentSize) !== BLOCK_SIZE_MAX) return null;
  if (readU32(view, At.chunkCount) > MANIFEST_CHUNKS_MAX) return null;
  if (view[At.viewHeaderCount] > VIEW_HEADERS_MAX || view[At.isRecovered] > 1) return null;
  const superblock: Superblock = {
    release: readU32(view, At.release),
    sequence: number64(view, At.sequence),
    parent: get16(view, At.parent),
    checksum: computed,
    cluster: get16(view, At.cluster),
    replicaId: get16(view, At.replicaId),
    replica: view[At.replica],
    replicaCount: view[At.replicaCount],
    geometry: {
      slots: readU32(view, At.slots),
      slotSize: readU32(view, At.slotSize),
      requestSizeMax: readU32(view, At.requestSizeMax),
    },
    view: number64(view, At.view),
    logView: number64(view, At.logView),
    commitMax: number64(view, At.commitMax),
    fileSize: number64(view, At.fileSize),
    checkpoint: {
      op: number64(view, At.checkpointOp),
      timestamp: readU64(view, At.checkpointTimestamp),
      prepareChecksum: get16(view, At.prepareChecksum),
      digest: get16(view, At.digest),
      root: get16(view, At.root),
      id: get16(view, At.id),
      idParent: get16(view, At.idParent),
      blockCount: readU32(view, At.blockCount),
      manifest: decodeManifest(view),
    },
    members: view.slice(At.members, At.members + MEMBERS_SIZE),
    isRecovered: view[At.isRecovered] === 1,
    viewHeaders: decodeViewHeaders(view),
  };
  return superblockProblem(superblock) === null ? superblock : null;
}

function decodeManifest(view: Uint8Array): ChunkReference[] {
  const manifest: ChunkReference[] = [];
  for (let i = 0; i < readU32(view, At.chunkCount); i++) {
    const offset = At.chunks + i * CHUNK_REFERENCE_SIZE;
    const size = readU32(view, offset + 8);
    manifest.push({ offset: number64(view, offset), size, checksum: get16(view, offset + 16) });
  }
  return manifest;
}

function decodeViewHeaders(view: Uint8Array): Uint8Array[] {
  const headers: Uint8Array[] = [];
  for (let i = 0; i < view[At.viewHeaderCount]; i++) {
    const offset = At.viewHeaders + i * HEADER_SIZE;
    headers.push(view.slice(offset, offset + HEADER_SIZE));
  }
  return headers;
}

/** What a superblock must fulfil, asserted before writing and checked after reading. */
export function superblockProblem(superblock: Superblock): string | null {
  const { checkpoint, geometry } = superblock;
  if (geometryProblem(geometry) !== null) return 'geometry';
  if (superblock.replicaCount < 1) return 'replica count';
  if (superblock.replicaCount > REPLICAS_MAX) return 'replica count';
  if (superblock.replica >= superblock.replicaCount) return 'replica index';
  if (superblock.sequence < 1 || superblock.logView < 0) return 'sequence';
  if (superblock.view < superblock.logView) return 'view';
  if (checkpoint.op < 0 || !isCheckpoint(geometry, checkpoint.op)) return 'checkpoint';
  if (superblock.commitMax < checkpoint.op) return 'commit';
  if (checkpoint.manifest.length > MANIFEST_CHUNKS_MAX) return 'manifest';
  return membersProblem(superblock) ?? viewHeadersProblem(superblock);
}

function membersProblem(superblock: Superblock): string | null {
  const { members, replica, replicaCount, replicaId } = superblock;
  if (members.length !== MEMBERS_SIZE) return 'members size';
  const end = 16 * replicaCount;
  if (!isZero(members, end, MEMBERS_SIZE - end)) return 'members beyond the count';
  // Files of the first release have no members at all.
  const isUnset = isZero(members, 16 * replica, 16);
  if (!isUnset && !bytesEqual(members, 16 * replica, replicaId, 0, 16)) return 'own member';
  return null;
}

function viewHeadersProblem(superblock: Superblock): string | null {
  const { viewHeaders, logView } = superblock;
  if (viewHeaders.length > VIEW_HEADERS_MAX) return 'too many view headers';
  let above = Number.POSITIVE_INFINITY;
  for (const header of viewHeaders) {
    if (header.length !== HEADER_SIZE) return 'view header size';
    if (readCommand(header) !== Command.prepare) return 'view header command';
    if (readView(header) > logView) return 'view header of a later view';
    const op = readSafeU64(header, PrepareOffset.op);
    if (op === null || op >= above) return 'view header order';
    above = op;
  }
  return null;
}

/** A 64-bit field; −1 when it cannot be ours, which {@link superblockProblem} then rejects. */
function number64(view: Uint8Array, offset: number): number {
  return readSafeU64(view, offset) ?? -1;
}

function get16(view: Uint8Array, offset: number): Uint8Array {
  return view.slice(offset, offset + 16);
}

function put16(target: Uint8Array, offset: number, value: Uint8Array): void {
  assert(value.length === 16, 'superblock: a checksum or id has 16 bytes');
  target.set(value, offset);
}

function sameBytes(a: Superblock, b: Superblock): boolean {
  return bytesEqual(a.checksum, 0, b.checksum, 0, 16);
}

function corrupt(reason: string): SuperblockRead {
  return failed({ kind: 'corrupt', reason });
}

function failed(error: SuperblockError): SuperblockRead {
  return { ok: false, error };
}
