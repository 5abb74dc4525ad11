/**
 * Builders of the prepares that only this engine has; those around a client's request are shared
 * (see the engine room), and can be had from here as well.
 */
import { type Author, buildPrepare, type Position } from '../engine/index.ts';
import type { Checksum } from '../wire/index.ts';

export {
  type Author,
  buildPrepare,
  buildReply,
  type Position,
  prepareFromRequest,
  refreshReply,
} from '../engine/index.ts';

/** Engine operations besides those that clients may send. */
export const OPERATION_RESERVED = 0;
export const OPERATION_ROOT = 1;

/** What an empty slot holds. Its op is the slot's index, so that a misdirected read shows. */
export function buildReserved(
  bytes: Uint8Array,
  cluster: Uint8Array,
  slot: number,
  checksum: Checksum,
): void {
  const author: Author = { cluster, view: 0, replica: 0, release: 0 };
  buildPrepare(bytes, OPERATION_RESERVED, author, { ...positionZero, op: slot }, checksum);
}

/** Operation 0 of a cluster: the same bytes on every replica, written by format. */
export function buildRoot(bytes: Uint8Array, cluster: Uint8Array, checksum: Checksum): void {
  const author: Author = { cluster, view: 0, replica: 0, release: 0 };
  buildPrepare(bytes, OPERATION_ROOT, author, positionZero, checksum);
}

const zero16 = new Uint8Array(16);
const positionZero: Position = {
  op: 0,
  parent: zero16,
  checkpointId: zero16,
  commit: 0,
  timestamp: { hi: 0, lo: 0 },
};
