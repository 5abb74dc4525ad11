/**
 * What replicas say to each other besides prepares: built and read field by field, over the one
 * layout that all these commands share (`wire/peer-header`).
 */
import {
  assert,
  readSafeU64,
  readU32,
  type U64,
  writeSafeU64,
  writeU32,
  writeU64,
} from '../stdx/index.ts';
import {
  CHECKSUM_EMPTY,
  type Checksum,
  Command,
  HEADER_SIZE,
  headerValid,
  initHeader,
  Offset,
  PeerOffset,
  PrepareOffset,
  readCommand,
  readSize,
  SMALL_SLOT_SIZE,
  sealBody,
  sealHeader,
} from '../wire/index.ts';
import type { Author } from './message.ts';

/** Headers that fit behind the header of one such message. */
export const HEADERS_PER_MESSAGE_MAX: number = SMALL_SLOT_SIZE / HEADER_SIZE - 1;

/** What is not given stays zero. Byte strings have 16 bytes unless said otherwise. */
export interface PeerFields {
  readonly op?: number;
  readonly commitMax?: number;
  readonly commitMin?: number;
  readonly checkpointOp?: number;
  readonly logView?: number;
  readonly monotonic?: number;
  readonly wall?: U64;
  readonly opHead?: number;
  readonly bits?: number;
  readonly bits2?: number;
  readonly checksum?: Uint8Array;
  readonly nonce?: Uint8Array;
  readonly digest?: Uint8Array;
  /** 8 bytes. */
  readonly route?: Uint8Array;
}

/** Fills and seals a message; `headers` (256 bytes each) become its body. */
export function buildPeerMessage(
  bytes: Uint8Array,
  command: Command,
  author: Author,
  fields: PeerFields,
  checksum: Checksum,
  headers: readonly Uint8Array[] = [],
): void {
  assert(headers.length <= HEADERS_PER_MESSAGE_MAX, 'buildPeerMessage: too many headers');
  initHeader(bytes, { ...author, command, size: HEADER_SIZE * (1 + headers.length) });
  if (fields.op !== undefined) writeSafeU64(bytes, PeerOffset.op, fields.op);
  if (fields.commitMax !== undefined) writeSafeU64(bytes, PeerOffset.commitMax, fields.commitMax);
  if (fields.commitMin !== undefined) writeSafeU64(bytes, PeerOffset.commitMin, fields.commitMin);
  if (fields.checkpointOp !== undefined) {
    writeSafeU64(bytes, PeerOffset.checkpointOp, fields.checkpointOp);
  }
  if (fields.logView !== undefined) writeSafeU64(bytes, PeerOffset.logView, fields.logView);
  if (fields.monotonic !== undefined) writeSafeU64(bytes, PeerOffset.monotonic, fields.monotonic);
  if (fields.wall !== undefined) writeU64(bytes, PeerOffset.wall, fields.wall);
  if (fields.opHead !== undefined) writeSafeU64(bytes, PeerOffset.opHead, fields.opHead);
  if (fields.bits !== undefined) writeU32(bytes, PeerOffset.bits, fields.bits >>> 0);
  if (fields.bits2 !== undefined) writeU32(bytes, PeerOffset.bits2, fields.bits2 >>> 0);
  if (fields.checksum !== undefined) bytes.set(fields.checksum, PeerOffset.checksum);
  if (fields.nonce !== undefined) bytes.set(fields.nonce, PeerOffset.nonce);
  if (fields.digest !== undefined) bytes.set(fields.digest, PeerOffset.digest);
  if (fields.route !== undefined) bytes.set(fields.route, PeerOffset.route);
  for (let i = 0; i < headers.length; i++) bytes.set(headers[i], HEADER_SIZE * (i + 1));
  if (headers.length === 0) bytes.set(CHECKSUM_EMPTY, Offset.checksumBody);
  else sealBody(bytes, checksum);
  sealHeader(bytes, checksum);
}

/** A 64-bit field of a message from a replica of this cluster; asserts that it is one of ours. */
export function peerNumber(bytes: Uint8Array, offset: number): number {
  const value = readSafeU64(bytes, offset);
  assert(value !== null, 'peerNumber: not a number of ours');
  return value;
}

export function peerBits(bytes: Uint8Array, offset: number): number {
  return readU32(bytes, offset);
}

/** The headers behind the header, borrowed; `null` when the size is not that of whole headers. */
export function peerHeaders(bytes: Uint8Array): Uint8Array[] | null {
  const size = readSize(bytes);
  if (size % HEADER_SIZE !== 0) return null;
  const headers: Uint8Array[] = [];
  for (let at = HEADER_SIZE; at < size; at += HEADER_SIZE) {
    headers.push(bytes.subarray(at, at + HEADER_SIZE));
  }
  return headers;
}

/** Whether bytes from another replica are a prepare's header; nothing more is taken on trust. */
export function isPrepareHeader(header: Uint8Array, checksum: Checksum): boolean {
  if (!headerValid(header, checksum) || readCommand(header) !== Command.prepare) return false;
  return readSafeU64(header, PrepareOffset.op) !== null;
}

/** The replicas whose bits are set, ascending. */
export function* peersOf(mask: number): Generator<number, void, void> {
  for (let replica = 0; mask >>> replica !== 0; replica++) {
    if ((mask & (1 << replica)) !== 0) yield replica;
  }
}
