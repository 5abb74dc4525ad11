/**
 * A message: bytes in one slot of a pool, parsed once at the edge and then handed around by
 * reference. From the first effect that names it, it never changes.
 */

/** Kinds of slots: `request` for requests and prepares, `reply` for any reply, `small` 4 KiB. */
export type SlotClass = 'request' | 'reply' | 'small';

export interface Message {
  /** The whole slot; `size` of the header says how much of it counts. 4096-aligned. */
  readonly bytes: Uint8Array;
  /** The same memory as 32-bit words (little-endian hosts only, asserted at start). */
  readonly words: Uint32Array;
  readonly slotClass: SlotClass;
  /** Holders; owned by the pool: use `retain` and `release`. */
  references: number;
}
