/**
 * Where things lie in a data file, and the arithmetic of checkpoints that follows from the number
 * of log slots. Both are fixed when a file is formatted and kept in its superblock.
 *
 * ```
 * superblock 4 × 16 KiB | header ring, slots × 4 KiB | prepare ring, slots × slotSize | growing
 * ```
 *
 * The fixed part is written once, at format, because a write that grows a file costs several times
 * as much as one that does not. The growing area holds blocks of checkpoints in 256 KiB extents.
 *
 * Operation `op` lives in slot `op mod slots`. The checkpoint at op C lets the log forget
 * everything up to C. B operations may commit before the superblock must name C, and twice the
 * pipeline P may be written ahead of that, so the interval between checkpoints is slots − B − 2P.
 */
import { CHECKPOINT_SLACK_OPS, OP_MAX, PIPELINE_MAX, SECTOR_SIZE } from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';
import { HEADER_SIZE, MESSAGE_SIZE_MAX } from '../../wire/index.ts';

/** Copies of the superblock, and bytes of each. */
export const SUPERBLOCK_COPIES = 4;
export const SUPERBLOCK_COPY_SIZE = 16_384;
/** Bytes at the front of a data file that a driver reads to get to know it. */
export const SUPERBLOCK_AREA_SIZE: number = SUPERBLOCK_COPIES * SUPERBLOCK_COPY_SIZE;

export interface Geometry {
  /** Operations the log holds. */
  readonly slots: number;
  /** Bytes of a prepare slot: a multiple of 4096, at most 1 MiB. */
  readonly slotSize: number;
  /** The request limit: largest request, header included, bytes; at most `slotSize`. */
  readonly requestSizeMax: number;
}

export const GEOMETRY_DEFAULT: Geometry = {
  slots: 256,
  slotSize: MESSAGE_SIZE_MAX,
  requestSizeMax: MESSAGE_SIZE_MAX,
};

/** For laptops and tests: a file of 6.4 MiB; requests up to 32 KiB. */
export const GEOMETRY_DEVELOPMENT: Geometry = {
  slots: 96,
  slotSize: 65_536,
  requestSizeMax: 32_768,
};

/** Fewest slots that leave a useful interval between checkpoints. */
const SLOTS_MIN: number = CHECKPOINT_SLACK_OPS + 3 * PIPELINE_MAX;
const SLOTS_MAX = 4096;
/** A register request is 512 bytes. */
const REQUEST_SIZE_MIN: number = 2 * HEADER_SIZE;

/** What is wrong with a geometry, if anything: for command lines and for superblocks read. */
export function geometryProblem(geometry: Geometry): string | null {
  const { slots, slotSize, requestSizeMax } = geometry;
  if (!Number.isInteger(slots) || slots < SLOTS_MIN || slots > SLOTS_MAX) return 'slots';
  if (!Number.isInteger(slotSize) || slotSize % SECTOR_SIZE !== 0) return 'slot size';
  if (slotSize < SECTOR_SIZE || slotSize > MESSAGE_SIZE_MAX) return 'slot size';
  if (!Number.isInteger(requestSizeMax) || requestSizeMax < REQUEST_SIZE_MIN) return 'limit';
  if (requestSizeMax > slotSize) return 'limit';
  return null;
}

export function headerOffset(geometry: Geometry, slot: number): number {
  assert(slot >= 0 && slot < geometry.slots, 'headerOffset: no such slot');
  return SUPERBLOCK_AREA_SIZE + slot * SECTOR_SIZE;
}

export function prepareOffset(geometry: Geometry, slot: number): number {
  assert(slot >= 0 && slot < geometry.slots, 'prepareOffset: no such slot');
  return SUPERBLOCK_AREA_SIZE + geometry.slots * SECTOR_SIZE + slot * geometry.slotSize;
}

/** Bytes of the part that is written at format; the growing area begins here. */
export function fixedSize(geometry: Geometry): number {
  assert(geometryProblem(geometry) === null, 'fixedSize: bad geometry');
  return SUPERBLOCK_AREA_SIZE + geometry.slots * (SECTOR_SIZE + geometry.slotSize);
}

export function slotOf(geometry: Geometry, op: number): number {
  assert(op >= 0 && op <= OP_MAX, 'slotOf: op out of range');
  return op % geometry.slots;
}

/** Operations from one checkpoint to the next. */
export function checkpointInterval(geometry: Geometry): number {
  const interval = geometry.slots - CHECKPOINT_SLACK_OPS - 2 * PIPELINE_MAX;
  assert(interval >= PIPELINE_MAX, 'checkpointInterval: too few slots');
  return interval;
}

/** The op of the checkpoint that follows the one at `checkpoint` (0: the one that format made). */
export function checkpointAfter(geometry: Geometry, checkpoint: number): number {
  assert(isCheckpoint(geometry, checkpoint), 'checkpointAfter: not a checkpoint');
  const interval = checkpointInterval(geometry);
  return checkpoint === 0 ? interval - 1 : checkpoint + interval;
}

/** Whether a checkpoint can be at this op. */
export function isCheckpoint(geometry: Geometry, op: number): boolean {
  return op === 0 || (op + 1) % checkpointInterval(geometry) === 0;
}

/**
 * The highest op that may be written to the log while `checkpoint` is the last one that the
 * superblock names: what it overwrites is at or below that checkpoint.
 */
export function prepareMax(geometry: Geometry, checkpoint: number): number {
  const next = checkpointAfter(geometry, checkpoint);
  const max = next + CHECKPOINT_SLACK_OPS + 2 * PIPELINE_MAX;
  assert(max <= checkpoint + geometry.slots, 'prepareMax: would overwrite what replay needs');
  assert(max >= next + PIPELINE_MAX, 'prepareMax: the pipeline has no room');
  return max;
}

/** `size` rounded up to whole sectors. */
export function sectorCeil(size: number): number {
  return Math.ceil(size / SECTOR_SIZE) * SECTOR_SIZE;
}

for (const geometry of [GEOMETRY_DEFAULT, GEOMETRY_DEVELOPMENT]) {
  assert(geometryProblem(geometry) === null, 'geometry: a built-in one is wrong');
}
