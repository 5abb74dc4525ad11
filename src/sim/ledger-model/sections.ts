/**
 * The logical content of a ledger as bytes: five sections of fixed-size records, little-endian.
 *
 *   1 accounts        128 bytes, the wire structure as a lookup returns it now
 *   2 transfers       128 bytes, the wire structure as a lookup returns it
 *   3 pending status  1 byte per transfer: 0 not pending, 1 pending, 2 posted, 3 voided, 4 expired
 *   4 burned ids      16 bytes
 *   5 expiries        32 bytes: u64 timestamp of the expiry, u64 timestamp of the transfer,
 *                     u64 number of account events before it, u64 zero
 *
 * Each is in order of creation. Sections are cut into leaves; the root hashes the leaves' hashes.
 * Two ledgers with the same content have the same root, whatever their files look like. A ledger
 * can be rebuilt from its sections (see `rebuild`): everything else follows from them.
 */
import { assert } from '../../stdx/index.ts';
import type { Checksum } from '../../wire/index.ts';
import { concatenate } from './multi-batch.ts';
import type { LedgerState, PendingStatus } from './state.ts';
import { encodeAccount, encodeId, encodeTransfer, Writer } from './structs.ts';

export const SECTION_COUNT = 5;
/** Bytes of a leaf; the last one of a section may be shorter. */
export const LEAF_SIZE = 262_144;
/** Bytes of a record, section by section. */
export const recordSizes: readonly number[] = [128, 128, 1, 16, 32];
const HASH_SIZE = 16;

/** Index = code. */
export const statusCodes: readonly (PendingStatus | undefined)[] = [
  undefined,
  'pending',
  'posted',
  'voided',
  'expired',
];

/** Sections 1 … 5 at index 0 … 4. */
export function encodeSections(state: LedgerState): Uint8Array[] {
  const statuses = state.transfers.map(({ id }) =>
    statusCodes.indexOf(state.pendingStatus.get(id)),
  );
  const expiries: Uint8Array[] = [];
  state.events.forEach((event, index) => {
    if (event.kind !== 'expired') return;
    expiries.push(
      new Writer(32).u64(event.timestamp).u64(event.transfer.timestamp).u64(BigInt(index)).bytes,
    );
  });
  return [
    concatenate(state.accounts.map(encodeAccount)),
    concatenate(state.transfers.map(encodeTransfer)),
    new Uint8Array(statuses),
    concatenate([...state.burnedIds].map(encodeId)),
    concatenate(expiries),
  ];
}

export function leavesOf(section: Uint8Array): Uint8Array[] {
  const leaves: Uint8Array[] = [];
  for (let at = 0; at < section.length; at += LEAF_SIZE) {
    leaves.push(section.subarray(at, Math.min(at + LEAF_SIZE, section.length)));
  }
  return leaves;
}

/** Hash of, for each section, its number of records and the hash of its leaves' hashes. */
export function rootOf(sections: readonly Uint8Array[], checksum: Checksum): Uint8Array {
  assert(sections.length === SECTION_COUNT, 'rootOf: five sections');
  const parts: Uint8Array[] = [];
  sections.forEach((section, index) => {
    const recordSize = recordSizes[index] as number;
    assert(section.length % recordSize === 0, 'rootOf: partial record');
    const leafHashes = leavesOf(section).map((leaf) => hash(leaf, checksum));
    parts.push(new Writer(8).u64(BigInt(section.length / recordSize)).bytes);
    parts.push(hash(concatenate(leafHashes), checksum));
  });
  return hash(concatenate(parts), checksum);
}

function hash(bytes: Uint8Array, checksum: Checksum): Uint8Array {
  const target = new Uint8Array(HASH_SIZE);
  checksum.digest(bytes, 0, bytes.length, target, 0);
  return target;
}
