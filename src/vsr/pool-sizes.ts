/**
 * How many messages a replica and its driver can hold at once: the sum of the declared holders.
 * Slots are only touched when used, so a generous number costs address space, not memory.
 */
import {
  CHECKPOINT_SLACK_OPS,
  CLIENTS_MAX,
  PIPELINE_MAX,
  REQUEST_QUEUE_MAX,
} from '../engine/index.ts';
import { assert } from '../stdx/index.ts';
import { type Geometry, geometryProblem } from './file/geometry.ts';
import { JOURNAL_PENDING_MAX, JOURNAL_READS_MAX } from './log/journal.ts';
import { PREPARES_CACHED_MAX } from './log/prepare-cache.ts';

/** Replies that hold blocks of checkpoints on their way to disk. */
export const STAGING_SLOTS = 2;
/** Blocks of a checkpoint that is copied from or to another replica. */
const SYNC_SLOTS = 12;
/** Connections whose next request is being received; others wait with full sockets. */
const RECEIVING = 64;
/** Replies that a newer one has replaced in its session while they were still being sent. */
const REPLIES_LEAVING = 16;
/** Pongs, evictions and status answers on their way. */
const SMALL_LEAVING = 64;
/** Messages without a body that may wait on the way to one other replica, or arrive from it. */
const SMALL_PER_PEER = 320;
/**
 * Prepares arriving from one other replica, or on their way to it although executed: forwarded, or
 * answers to one that lags.
 */
const PREPARES_PER_PEER: number = 1 + 3 * PIPELINE_MAX;

export interface PoolSizes {
  /** Bytes. */
  readonly requestSlotSize: number;
  readonly requestSlots: number;
  readonly replySlots: number;
  readonly smallSlots: number;
}

/** The options of the pool that a replica with this geometry needs in a cluster of that size. */
export function poolSizes(geometry: Geometry, replicaCount: number = 1): PoolSizes {
  assert(geometryProblem(geometry) === null, 'poolSizes: bad geometry');
  const peers = replicaCount - 1;
  const log = peers === 0 ? 0 : PREPARES_CACHED_MAX + JOURNAL_PENDING_MAX + JOURNAL_READS_MAX;
  const requests = PIPELINE_MAX + REQUEST_QUEUE_MAX + RECEIVING + log + peers * PREPARES_PER_PEER;
  // One per session and the one being made; those that leave; those that a checkpoint holds while
  // their sessions have newer ones, and those that stage its blocks.
  const replies = CLIENTS_MAX + 1 + REPLIES_LEAVING + CHECKPOINT_SLACK_OPS + STAGING_SLOTS;
  return {
    requestSlotSize: geometry.slotSize,
    requestSlots: requests,
    replySlots: replies + (peers === 0 ? 0 : SYNC_SLOTS),
    // Requests that fit are received in small slots; pulses are prepared in them.
    smallSlots: requests + PIPELINE_MAX + SMALL_LEAVING + peers * SMALL_PER_PEER,
  };
}
