/**
 * How long a replica waits for what, in one place. Nanoseconds.
 */

const MS = 1_000_000;

/** A primary says at least this often that it is there. */
export const HEARTBEAT_NS: number = 500 * MS;
/**
 * Silence that a primary is granted, in units of what was usual: within these limits. A process on
 * a busy machine stands still for longer than one would think; a killed one shows by its links.
 */
export const DETECTOR_LIMITS: { readonly intervalNsMin: number; readonly intervalNsMax: number } = {
  intervalNsMin: 200 * MS,
  intervalNsMax: 2_000 * MS,
};
/** A prepare without a quorum is sent again after twice the usual time, within these limits. */
export const PREPARE_TIMEOUT_MIN_NS: number = 10 * MS;
export const PREPARE_TIMEOUT_MAX_NS: number = 500 * MS;
/** A primary that gets nothing done for this long gives up. */
export const ABDICATE_NS: number = 10_000 * MS;
/** A primary whose disk is full looks this often whether others have room. */
export const RELIEF_NS: number = 200 * MS;
/** Whoever was not heard for this long is not kept for any more: a checkpoint must help it. */
export const LAGGING_NS: number = 60_000 * MS;
/** A primary that waits for acknowledgements and hears nobody for this long gives up sooner. */
export const DEAF_NS: number = 2_000 * MS;
/** Votes for leaving a view are forgotten after this. */
export const VOTES_EXPIRE_NS: number = 5_000 * MS;
/** What a view change waits for is asked for again. */
export const VIEW_RESEND_NS: number = 100 * MS;
/** A view change that takes longer is given up for the next view; times views tried, to a limit. */
export const VIEW_STATUS_NS: number = 1_000 * MS;
export const VIEW_STATUS_MAX_NS: number = 5_000 * MS;
/** A primary that waits for backups to execute asks how far they are. */
export const LAG_PING_NS: number = 10 * MS;
/** Repairs that were not answered are looked at again; jittered. */
export const REPAIR_RETRY_NS: number = 20 * MS;
/** How long a commit number may run ahead of the log here before a StartView is asked for. */
export const BEHIND_NS: number = 20 * MS;
export const BEHIND_MAX_NS: number = 500 * MS;
/** A copy of a checkpoint that does not get on asks again, perhaps somebody else. */
export const SYNC_RETRY_NS: number = 100 * MS;
export const SYNC_RETRY_MAX_NS: number = 5_000 * MS;
/** Nothing could be executed for this long although more is committed: a checkpoint may help. */
export const SYNC_STUCK_NS: number = 2_000 * MS;
