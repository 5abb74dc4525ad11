/**
 * Where things lie in the data file of a Raft replica.
 *
 * ```
 * head, 4 copies × 4 KiB | extent 0 | extent 1 | …
 * ```
 *
 * The log lives in a *generation*: a stream of bytes (the file's header, then records) cut into
 * *frames* that fill extents one after the other. The head names the first extent; every frame
 * names the extent that follows its own. Replacing the file writes a new generation into free
 * extents, then the head; then the extents of the old one are free. The file grows when no extent
 * is free.
 */
import { SECTOR_SIZE } from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';
import { HEADER_SIZE, REPLY_SLOT_SIZE } from '../../wire/index.ts';

/** Copies of the head: two pairs, written in turn. */
export const RAFT_HEAD_COPIES = 4;
/** Bytes of a copy: one sector, so that a torn write of it is noticed as a whole. */
export const RAFT_HEAD_COPY_SIZE: number = SECTOR_SIZE;
/** Bytes at offset 0 that a driver reads to get to know a file. */
export const RAFT_HEAD_SIZE: number = RAFT_HEAD_COPIES * RAFT_HEAD_COPY_SIZE;

/**
 * Appended frames under way: what a crash can lose of a log that was not yet said to be durable.
 */
export const APPEND_FRAMES_MAX = 2;
/** Frames of a new generation under way. */
export const REPLACE_FRAMES_MAX = 4;
/** Bytes of a new generation that may wait for a flush. */
export const REPLACE_UNFLUSHED_MAX = 8_388_608;
/** Frames of what was appended meanwhile that a new generation takes in before appends wait. */
export const CATCH_UP_FRAMES_MAX = 16;
/** Slots of the message pool that a file holds for its frames, and for its head. */
export const RAFT_FILE_REPLY_SLOTS: number = APPEND_FRAMES_MAX + REPLACE_FRAMES_MAX;
export const RAFT_FILE_SMALL_SLOTS = 1;

/** Extents of a file. With 1 MiB each: 4 TiB. */
export const EXTENTS_MAX = 4_194_304;
/** Largest header of a file, bytes: a snapshot and what surrounds it. */
export const FILE_HEADER_SIZE_MAX = 0x4100_0000;
/** Largest record, bytes: a request, or the names and addresses of a whole configuration. */
export const RECORD_SIZE_MAX = 2_097_152;

export interface RaftGeometry {
  /** Bytes of an extent: a multiple of 4096, at most 1 MiB. */
  readonly extentSize: number;
  /** The request limit: largest request, header included, bytes. */
  readonly requestSizeMax: number;
}

export const RAFT_GEOMETRY_DEFAULT: RaftGeometry = {
  extentSize: REPLY_SLOT_SIZE,
  requestSizeMax: REPLY_SLOT_SIZE,
};

/** For laptops and tests. */
export const RAFT_GEOMETRY_DEVELOPMENT: RaftGeometry = {
  extentSize: 65_536,
  requestSizeMax: 32_768,
};

/** A register request is 512 bytes. */
const REQUEST_SIZE_MIN: number = 2 * HEADER_SIZE;
const EXTENT_SIZE_MIN: number = 2 * SECTOR_SIZE;

/** What is wrong with a geometry, if anything: for command lines and for heads read. */
export function raftGeometryProblem(geometry: RaftGeometry): string | null {
  const { extentSize, requestSizeMax } = geometry;
  if (!Number.isInteger(extentSize) || extentSize % SECTOR_SIZE !== 0) return 'extent size';
  if (extentSize < EXTENT_SIZE_MIN || extentSize > REPLY_SLOT_SIZE) return 'extent size';
  if (!Number.isInteger(requestSizeMax) || requestSizeMax < REQUEST_SIZE_MIN) return 'limit';
  if (requestSizeMax > REPLY_SLOT_SIZE) return 'limit';
  return null;
}

export function extentOffset(geometry: RaftGeometry, extent: number): number {
  assert(extent >= 0 && extent < EXTENTS_MAX, 'extentOffset: no such extent');
  return RAFT_HEAD_SIZE + extent * geometry.extentSize;
}

for (const geometry of [RAFT_GEOMETRY_DEFAULT, RAFT_GEOMETRY_DEVELOPMENT]) {
  assert(raftGeometryProblem(geometry) === null, 'layout: a built-in geometry is wrong');
}
