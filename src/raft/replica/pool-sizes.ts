/**
 * How many messages a Raft replica and its driver can hold at once: the sum of the declared
 * holders. Slots are only touched when used, so a generous number costs address space, not memory.
 * The log is not among them: its entries have memory of their own.
 */
import { CLIENTS_MAX, PIPELINE_MAX, REQUEST_QUEUE_MAX } from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';
import { type PoolOptions, SLOT_ALIGNMENT } from '../../wire/index.ts';
import {
  RAFT_FILE_REPLY_SLOTS,
  RAFT_FILE_SMALL_SLOTS,
  type RaftGeometry,
  raftGeometryProblem,
} from '../file/index.ts';

/** Connections whose next request is being received; others wait with full sockets. */
const RECEIVING = 64;
/** Replies that a newer one has replaced in its session while they were still being sent. */
const REPLIES_LEAVING = 16;
/** Pongs, evictions and status answers on their way. */
const SMALL_LEAVING = 64;
/** Small messages that may wait on the way to one other replica, or arrive from it. */
const SMALL_PER_PEER = 320;
/** Large ones: appends, requests passed on, pieces of a snapshot; and one that is received. */
const LARGE_PER_PEER: number = 1 + 4 * PIPELINE_MAX;

/** The options of the pool that a replica with this geometry needs in a cluster of that size. */
export function raftPoolSizes(geometry: RaftGeometry, replicaCount: number): PoolOptions {
  assert(raftGeometryProblem(geometry) === null, 'raftPoolSizes: bad geometry');
  const peers = replicaCount - 1;
  const held = peers === 0 ? 0 : CLIENTS_MAX;
  const requests = REQUEST_QUEUE_MAX + held + RECEIVING + peers * LARGE_PER_PEER;
  // One per session and the one being made, those that leave, and those that a snapshot holds
  // while their sessions have newer ones.
  const replies = 2 * CLIENTS_MAX + 1 + REPLIES_LEAVING;
  return {
    requestSlotSize: Math.ceil(geometry.requestSizeMax / SLOT_ALIGNMENT) * SLOT_ALIGNMENT,
    requestSlots: requests,
    replySlots: replies + RAFT_FILE_REPLY_SLOTS,
    smallSlots: requests + SMALL_LEAVING + RAFT_FILE_SMALL_SLOTS + peers * SMALL_PER_PEER,
  };
}
