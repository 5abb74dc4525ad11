/**
 * Every limit of our own binary dialect, in one place, with its unit. Those that the protocol has
 * whatever the dialect are in `raft/options`.
 */
import { assert } from '../../stdx/index.ts';

/** Name of a server as UTF-8, bytes. Ours are the decimal digits of an index. */
export const SERVER_ID_SIZE_MAX = 64;
/** Address of a server as UTF-8, bytes. */
export const ADDRESS_SIZE_MAX = 512;
/** Name of an entry as UTF-8, bytes. */
export const EID_SIZE_MAX = 64;
/** State of a machine in a snapshot, bytes. A server holds one, and one more while it receives. */
export const SNAPSHOT_SIZE_MAX = 0x4000_0000;
/** Offers, requests and pieces of a snapshot that a peer has not answered, at a time. */
export const PIECES_INFLIGHT_MAX = 4;
/** A piece that was asked for and has not come is asked for again after this, ms. */
export const PIECE_RETRY_MS = 250;
/** An offer that nobody has taken up is made again after this, ms. */
export const OFFER_RETRY_MS = 250;
/** A transfer is given up when the other side has been silent for this long, ms. */
export const TRANSFER_SILENCE_MS = 10_000;

assert(EID_SIZE_MAX < 0xffff && ADDRESS_SIZE_MAX < 0xffff, 'limits: longer than a string can be');
assert(TRANSFER_SILENCE_MS > 4 * PIECE_RETRY_MS, 'limits: gives up before it has tried');
