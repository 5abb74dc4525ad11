/**
 * How many messages a replica and its driver can hold at once: the sum of the declared holders.
 * Slots are only touched when used, so a generous number costs address space, not memory.
 */
import { CLIENTS_MAX, PIPELINE_MAX, REQUEST_QUEUE_MAX } from '../engine/index.ts';
import { assert } from '../stdx/index.ts';
import { type Geometry, geometryProblem } from './file/geometry.ts';

/** Replies that hold the blocks of a checkpoint on their way to disk. */
export const STAGING_SLOTS = 2;
/** Connections whose next request is being received; others wait with full sockets. */
const RECEIVING = 64;
/** Replies that a newer one has replaced in its session while they were still being sent. */
const REPLIES_LEAVING = 16;
/** Pongs, evictions and status answers on their way. */
const SMALL_LEAVING = 64;

export interface PoolSizes {
  /** Bytes. */
  readonly requestSlotSize: number;
  readonly requestSlots: number;
  readonly replySlots: number;
  readonly smallSlots: number;
}

/** The options of the pool that a replica with this geometry needs. */
export function poolSizes(geometry: Geometry): PoolSizes {
  assert(geometryProblem(geometry) === null, 'poolSizes: bad geometry');
  const requests = PIPELINE_MAX + REQUEST_QUEUE_MAX + RECEIVING;
  return {
    requestSlotSize: geometry.slotSize,
    requestSlots: requests,
    // One per session, the one being made, those that leave, those that stage blocks.
    replySlots: CLIENTS_MAX + 1 + REPLIES_LEAVING + STAGING_SLOTS,
    // Requests that fit are received in small slots; pulses are prepared in them.
    smallSlots: requests + PIPELINE_MAX + SMALL_LEAVING,
  };
}
