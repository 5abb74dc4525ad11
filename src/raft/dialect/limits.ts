/**
 * Every limit of our own binary dialect, in one place, with its unit. Those that the protocol has
 * whatever the dialect are in `raft/options`.
 */
import { assert } from '../../stdx/index.ts';
import { MESSAGE_SIZE_MAX } from '../../wire/index.ts';

/** Name of a server as UTF-8, bytes. Ours are the decimal digits of an index. */
export const SERVER_ID_SIZE_MAX = 64;
/** Address of a server as UTF-8, bytes. */
export const ADDRESS_SIZE_MAX = 512;
/** Name of an entry as UTF-8, bytes. */
export const EID_SIZE_MAX = 64;
/** A message that is no snapshot, encoded, bytes: the largest request and what is around it. */
export const RAFT_MESSAGE_SIZE_MAX: number = 2 * MESSAGE_SIZE_MAX;
/**
 * State of a machine in a snapshot, bytes. A server holds its own, and another while it receives.
 */
export const SNAPSHOT_SIZE_MAX = 0x4000_0000;
/** Least size of the parts of a message and of the pieces of a snapshot, but the last, bytes. */
export const UNIT_MIN = 2048;
/** Pieces of a snapshot that are asked for and have not come. */
export const PIECES_INFLIGHT_MAX = 4;
/** Large slots that the pieces of snapshots leave for appends. */
export const PIECE_SLOTS_RESERVE = 2;
/**
 * A piece that does not come is asked for again after twice the time that the last one took, at
 * least this, ms; doubled each time, up to the maximum.
 */
export const PIECE_RETRY_MS_MIN = 250;
export const PIECE_RETRY_MS_MAX = 2_000;
/** An offer that nothing follows is made again after this, ms; doubled each time, up to that. */
export const OFFER_RETRY_MS_MIN = 250;
export const OFFER_RETRY_MS_MAX = 2_000;
/** What was received of a snapshot is given up when no more has come for this long, ms. */
export const TRANSFER_SILENCE_MS = 20_000;
/** A snapshot that has been received is remembered for this long, ms: its answer may be lost. */
export const COMPLETED_MS = 5_000;

assert(EID_SIZE_MAX < 0xffff && ADDRESS_SIZE_MAX < 0xffff, 'limits: longer than a string can be');
assert(TRANSFER_SILENCE_MS > 4 * PIECE_RETRY_MS_MAX, 'limits: gives up before it has tried');
assert(COMPLETED_MS > 2 * OFFER_RETRY_MS_MAX, 'limits: forgets before it is asked again');
