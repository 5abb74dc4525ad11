/**
 * The head of a Raft data file: who it belongs to and where its newest generation begins. There are
 * four copies in two pairs; the head of sequence s goes to pair s mod 2, one copy after the other,
 * the damaged one first. So a crash leaves each pair with at least one copy that can be read, and
 * a pair without any is damage: the newer head may have been there, and the older one names
 * extents that have been used again since. Such a file is refused.
 *
 * The sequence also separates lives: every open writes a head, and frames say under which head they
 * were written.
 */
import { RAFT_REPLICAS_MAX } from '../../engine/index.ts';
import {
  assert,
  bytesEqual,
  isZero,
  readSafeU64,
  readU32,
  writeSafeU64,
  writeU32,
} from '../../stdx/index.ts';
import { CHECKSUM_SIZE, type Checksum } from '../../wire/index.ts';
import {
  EXTENTS_MAX,
  RAFT_HEAD_COPIES,
  RAFT_HEAD_COPY_SIZE,
  type RaftGeometry,
  raftGeometryProblem,
} from './layout.ts';

/** Format of heads and frames that this program reads and writes. */
export const RAFT_FORMAT_VERSION = 1;

export interface RaftHead {
  /** Grows with every head that is written; even ones lie in the first pair. */
  readonly sequence: number;
  readonly release: number;
  /** 16 bytes, like `replicaId`: made at format, so that a re-formatted replica is noticed. */
  readonly cluster: Uint8Array;
  readonly replicaId: Uint8Array;
  readonly replica: number;
  readonly replicaCount: number;
  readonly geometry: RaftGeometry;
  /** Sequence of the head under which the generation was begun: no two have the same. */
  readonly generation: number;
  readonly firstExtent: number;
  /** Frames that were durable before this head was written; all of them must be there. */
  readonly frames: number;
}

export type RaftHeadError =
  | { readonly kind: 'not-a-data-file' }
  | { readonly kind: 'format-version'; readonly found: number; readonly supported: number }
  | { readonly kind: 'corrupt'; readonly reason: string };

export type RaftHeadRead =
  | {
      readonly ok: true;
      readonly head: RaftHead;
      /** Copies (0 … 3) that cannot be read: the first to be written in their pair. */
      readonly damaged: readonly number[];
    }
  | { readonly ok: false; readonly error: RaftHeadError };

const MAGIC: Uint8Array = Uint8Array.from('roundelay raft\x1a\0', (c) => c.charCodeAt(0));

const At = {
  checksum: 0,
  magic: 16,
  formatVersion: 32,
  release: 36,
  sequence: 40,
  cluster: 48,
  replicaId: 64,
  replica: 80,
  replicaCount: 81,
  extentSize: 84,
  requestSizeMax: 88,
  firstExtent: 92,
  generation: 96,
  frames: 104,
} as const;
assert(MAGIC.length === 16, 'head: magic has 16 bytes');

/** The two copies of a head of this sequence. */
export function copiesOf(sequence: number): readonly [number, number] {
  return sequence % 2 === 0 ? [0, 1] : [2, 3];
}

/** Writes one copy. */
export function encodeRaftHead(head: RaftHead, target: Uint8Array, checksum: Checksum): void {
  assert(target.length === RAFT_HEAD_COPY_SIZE, 'encodeRaftHead: wrong size');
  assert(headProblem(head) === null, 'encodeRaftHead: inconsistent');
  target.fill(0);
  target.set(MAGIC, At.magic);
  writeU32(target, At.formatVersion, RAFT_FORMAT_VERSION);
  writeU32(target, At.release, head.release);
  writeSafeU64(target, At.sequence, head.sequence);
  target.set(head.cluster, At.cluster);
  target.set(head.replicaId, At.replicaId);
  target[At.replica] = head.replica;
  target[At.replicaCount] = head.replicaCount;
  writeU32(target, At.extentSize, head.geometry.extentSize);
  writeU32(target, At.requestSizeMax, head.geometry.requestSizeMax);
  writeU32(target, At.firstExtent, head.firstExtent);
  writeSafeU64(target, At.generation, head.generation);
  writeSafeU64(target, At.frames, head.frames);
  checksum.digest(target, At.magic, RAFT_HEAD_COPY_SIZE - At.magic, target, At.checksum);
}

/** The verdict on the first `RAFT_HEAD_SIZE` bytes of a file (fewer when it is shorter). */
export function readRaftHead(bytes: Uint8Array, checksum: Checksum): RaftHeadRead {
  const views: Uint8Array[] = [];
  for (let copy = 0; copy < RAFT_HEAD_COPIES; copy++) {
    const start = copy * RAFT_HEAD_COPY_SIZE;
    views.push(bytes.subarray(start, start + RAFT_HEAD_COPY_SIZE));
  }
  const heads = views.map((view) => (hasMagic(view) ? decode(view, checksum) : null));
  const damaged: number[] = [];
  let newest: RaftHead | null = null;
  for (const [copy, head] of heads.entries()) {
    if (head === null || !copiesOf(head.sequence).includes(copy)) damaged.push(copy);
    else if (newest === null || head.sequence > newest.sequence) newest = head;
  }
  for (const pair of [copiesOf(0), copiesOf(1)]) {
    if (pair.every((copy) => damaged.includes(copy))) return failed(errorOf(views, newest));
  }
  assert(newest !== null, 'readRaftHead: no copy, and none is damaged');
  return { ok: true, head: newest, damaged };
}

function errorOf(views: readonly Uint8Array[], readable: RaftHead | null): RaftHeadError {
  const versions = views.filter(hasMagic).map((view) => readU32(view, At.formatVersion));
  if (versions.length === 0) return { kind: 'not-a-data-file' };
  const found = versions.find((version) => version !== RAFT_FORMAT_VERSION);
  if (readable !== null || found === undefined) {
    return { kind: 'corrupt', reason: 'two copies of the head are damaged' };
  }
  return { kind: 'format-version', found, supported: RAFT_FORMAT_VERSION };
}

/** One copy; `null` when its checksum or its contents are wrong. */
function decode(view: Uint8Array, checksum: Checksum): RaftHead | null {
  const computed = new Uint8Array(CHECKSUM_SIZE);
  checksum.digest(view, At.magic, RAFT_HEAD_COPY_SIZE - At.magic, computed, 0);
  if (!bytesEqual(computed, 0, view, At.checksum, CHECKSUM_SIZE)) return null;
  if (readU32(view, At.formatVersion) !== RAFT_FORMAT_VERSION) return null;
  const head: RaftHead = {
    sequence: readSafeU64(view, At.sequence) ?? -1,
    release: readU32(view, At.release),
    cluster: view.slice(At.cluster, At.cluster + 16),
    replicaId: view.slice(At.replicaId, At.replicaId + 16),
    replica: view[At.replica],
    replicaCount: view[At.replicaCount],
    geometry: {
      extentSize: readU32(view, At.extentSize),
      requestSizeMax: readU32(view, At.requestSizeMax),
    },
    generation: readSafeU64(view, At.generation) ?? -1,
    firstExtent: readU32(view, At.firstExtent),
    frames: readSafeU64(view, At.frames) ?? -1,
  };
  return headProblem(head) === null ? head : null;
}

/** What a head must fulfil, asserted before writing and checked after reading. */
function headProblem(head: RaftHead): string | null {
  const { cluster, replicaId, replica, replicaCount, sequence, generation } = head;
  if (raftGeometryProblem(head.geometry) !== null) return 'geometry';
  if (cluster.length !== 16 || replicaId.length !== 16) return 'ids';
  if (isZero(replicaId, 0, 16)) return 'replica id';
  if (replicaCount < 1 || replicaCount > RAFT_REPLICAS_MAX) return 'replica count';
  if (replica < 0 || replica >= replicaCount) return 'replica index';
  if (generation < 1 || sequence < generation) return 'sequence';
  if (head.firstExtent < 0 || head.firstExtent >= EXTENTS_MAX) return 'first extent';
  if (head.frames < 1) return 'frames';
  return null;
}

function hasMagic(view: Uint8Array): boolean {
  const isWhole = view.length === RAFT_HEAD_COPY_SIZE;
  return isWhole && bytesEqual(view, At.magic, MAGIC, 0, MAGIC.length);
}

function failed(error: RaftHeadError): RaftHeadRead {
  return { ok: false, error };
}
