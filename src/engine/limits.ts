/**
 * Every limit of the engine room, in one place, with its unit.
 */
import { assert } from '../stdx/index.ts';
import { HEADER_SIZE, MESSAGE_SIZE_MAX } from '../wire/index.ts';

/** Largest reply body, bytes: bounded by the message, not by the request limit. */
export const REPLY_BODY_SIZE_MAX: number = MESSAGE_SIZE_MAX - HEADER_SIZE;
/** Unit of disk writes and alignment, bytes. */
export const SECTOR_SIZE = 4096;
/** Largest block of a checkpoint, bytes; also the unit in which a data file grows. */
export const BLOCK_SIZE_MAX = 262_144;
/** Client sessions a cluster remembers. The least recently committed one makes room. */
export const CLIENTS_MAX = 64;
/** Replicas of a cluster of Viewstamped Replication. */
export const REPLICAS_MAX = 6;
/** Members of a Raft cluster whose file knows them from the beginning. */
export const RAFT_REPLICAS_MAX = 7;
/** P: operations prepared and not yet committed. */
export const PIPELINE_MAX = 8;
/** Requests waiting behind the pipeline; a client has at most one request in either. */
export const REQUEST_QUEUE_MAX: number = CLIENTS_MAX + 1 - PIPELINE_MAX;
/** B: operations that may commit before the superblock must name a due checkpoint. */
export const CHECKPOINT_SLACK_OPS = 16;
/** How often an idle primary asks its machine whether something is due, nanoseconds. */
export const PULSE_INTERVAL_NS = 100_000_000;
/** A request that came to a backup goes to the primary if no prepare of it is seen by then, ns. */
export const HOLD_MIN_NS = 2_000_000;
/** A prepare that takes longer than this is not what usually happens, nanoseconds. */
export const HOLD_DELAY_MAX_NS = 100_000_000;
/** A request that was forwarded is kept for the next primary this long, nanoseconds. */
export const HOLD_MAX_NS = 2_000_000_000;
/** Ops and views are numbers; asserted below this. */
export const OP_MAX: number = Number.MAX_SAFE_INTEGER;

assert(REPLY_BODY_SIZE_MAX === 1_048_320);
assert(REQUEST_QUEUE_MAX === 57);
assert(BLOCK_SIZE_MAX % SECTOR_SIZE === 0);
