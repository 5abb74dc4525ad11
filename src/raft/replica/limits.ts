/** Every limit of a Raft replica, in one place, with its unit. */
import { BLOCK_SIZE_MAX, CLIENTS_MAX, PIPELINE_MAX } from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';

export const NS_PER_MS = 1_000_000;
/** Requests put into the log in one go, and their bytes unless it is a single one. */
export const GROUP_REQUESTS_MAX: number = CLIENTS_MAX;
export const GROUP_BYTES_MAX = 1_048_576;
/**
 * Groups that are not committed yet: while so many are under way, requests gather for the next.
 * Few, so that groups are large: each costs a write and a message to every other replica.
 */
export const GROUPS_MAX = 2;
/** A request of this size, bytes, is a group of its own: nothing is gained by waiting for more. */
export const LARGE_REQUEST_SIZE = 65_536;
/** Groups that are not committed yet if the next request is a large one. */
export const LARGE_GROUPS_MAX: number = PIPELINE_MAX;
/** Bytes of operations executed in one step; each counts as at least the second. */
export const APPLY_BYTES_MAX = 131_072;
export const APPLY_BYTES_MIN = 4_096;
/** Bytes that wait to be executed; beyond them a replica takes no more entries from its leader. */
export const BACKLOG_BYTES_MAX = 67_108_864;
/** Bytes of blocks put back in one step at open. */
export const RESTORE_BYTES_MAX = 4_194_304;
/** Bytes of a snapshot made, or copied into place, in one step. */
export const SNAPSHOT_STEP_BYTES: number = 2 * BLOCK_SIZE_MAX;
export const SNAPSHOT_COPY_BYTES: number = 8 * BLOCK_SIZE_MAX;
/** Between two such steps, ns. */
export const SNAPSHOT_STEP_NS: number = NS_PER_MS;
/** A snapshot is made when the log behind the last one is this long, bytes, or twice as large. */
export const SNAPSHOT_BYTES_MIN = 16_777_216;
export const SNAPSHOT_LOG_RATIO = 2;
/** What an entry counts as besides its data, bytes. */
export const ENTRY_BYTES_MIN = 64;
/** A write that found the disk full is tried again after this, ns. */
export const DISK_FULL_RETRY_NS: number = 1_000 * NS_PER_MS;
/** An install of a snapshot without an answer is begun again after so many election timers. */
export const SNAPSHOT_RETRY_TIMERS = 4;

assert(GROUP_REQUESTS_MAX * GROUPS_MAX < 256, 'limits: more under way than digests are kept of');
