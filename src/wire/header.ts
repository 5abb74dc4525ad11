/**
 * The 256-byte header that every message starts with: where its fields are, how it is sealed and
 * how it is checked. Headers stay bytes: readers take the few fields they need with these offsets,
 * nobody builds an object of them. Everything is little-endian.
 *
 * Commands keep the names of the papers on Viewstamped Replication; numbers are the wire's.
 */
import { assert, bytesEqual, readU16, readU32, writeU16, writeU32 } from '../stdx/index.ts';
import { CHECKSUM_EMPTY, CHECKSUM_SIZE, type Checksum } from './checksum.ts';

/** Bytes of a header. */
export const HEADER_SIZE = 256;
/** Largest message, header included, bytes: compiled into official clients. */
export const MESSAGE_SIZE_MAX = 1_048_576;

/** What a message is. Numbers 12 and 21–23 were used by old releases, 25–127 never. */
export const Command = {
  reserved: 0,
  ping: 1,
  pong: 2,
  pingClient: 3,
  pongClient: 4,
  request: 5,
  prepare: 6,
  prepareOk: 7,
  reply: 8,
  commit: 9,
  startViewChange: 10,
  doViewChange: 11,
  requestStartView: 13,
  requestHeaders: 14,
  requestPrepare: 15,
  requestReply: 16,
  headers: 17,
  eviction: 18,
  requestBlocks: 19,
  block: 20,
  startView: 24,
  /** Our own: asks a replica for its status, on a client connection. */
  status: 128,
  statusReply: 129,
  /** Our own: who dials, on a connection between replicas; and the answer to it. */
  hello: 130,
  helloOk: 131,
  /** Our own: between replicas of a Raft cluster. */
  raft: 132,
} as const;
export type Command = (typeof Command)[keyof typeof Command];

/** Byte offsets of the fields that every message has. */
export const Offset = {
  checksum: 0,
  checksumPadding: 16,
  checksumBody: 32,
  checksumBodyPadding: 48,
  nonceReserved: 64,
  cluster: 80,
  size: 96,
  epoch: 100,
  view: 104,
  release: 108,
  protocol: 112,
  command: 114,
  replica: 115,
  reservedFrame: 116,
  /** From here on each command has its own fields. */
  fields: 128,
} as const;

export const RequestOffset = {
  parent: 128,
  parentPadding: 144,
  client: 160,
  session: 176,
  timestamp: 184,
  request: 192,
  operation: 196,
  padding: 197,
  /** Microseconds the client's previous request took; information only. */
  previousRequestLatency: 200,
  reserved: 204,
} as const;

export const ReplyOffset = {
  requestChecksum: 128,
  requestChecksumPadding: 144,
  context: 160,
  contextPadding: 176,
  client: 192,
  op: 208,
  commit: 216,
  timestamp: 224,
  request: 232,
  operation: 236,
  reserved: 237,
} as const;

export const PingClientOffset = {
  client: 128,
  pingTimestampMonotonic: 144,
  session: 152,
  reserved: 160,
} as const;

export const PongClientOffset = { pingTimestampMonotonic: 128, reserved: 136 } as const;

export const EvictionOffset = { client: 128, reserved: 144, reason: 255 } as const;

/** A prepare: ours, not the protocol's; only replicas see it, on the wire and in the log. */
export const PrepareOffset = {
  /** Checksum of the previous prepare's header: the hash chain of the log. */
  parent: 128,
  requestChecksum: 144,
  checkpoint: 160,
  client: 176,
  op: 192,
  commit: 200,
  timestamp: 208,
  request: 216,
  operation: 220,
  padding: 221,
  session: 224,
  reserved: 232,
} as const;

/** Why a server ends a session. 0 is invalid on the wire. */
export const EvictionReason = {
  noSession: 1,
  clientReleaseTooLow: 2,
  clientReleaseTooHigh: 3,
  invalidRequestOperation: 4,
  invalidRequestBody: 5,
  invalidRequestBodySize: 6,
  sessionTooLow: 7,
  sessionReleaseMismatch: 8,
} as const;
export type EvictionReason = (typeof EvictionReason)[keyof typeof EvictionReason];

const commandNames: readonly (string | undefined)[] = (() => {
  const names = new Array<string | undefined>(256);
  for (const [name, command] of Object.entries(Command)) names[command] = name;
  return names;
})();

/** Whether a current release uses this command byte; reserved and retired numbers do not count. */
export function isKnownCommand(command: number): boolean {
  return command !== Command.reserved && commandNames[command] !== undefined;
}

/** For logs and counters; `unknown` when {@link isKnownCommand} says no. */
export function commandName(command: number): string {
  return (isKnownCommand(command) ? commandNames[command] : undefined) ?? 'unknown';
}

/** Bytes of the whole message, header included. */
export function readSize(bytes: Uint8Array): number {
  return readU32(bytes, Offset.size);
}

export function readCommand(bytes: Uint8Array): number {
  return bytes[Offset.command];
}

export function readView(bytes: Uint8Array): number {
  return readU32(bytes, Offset.view);
}

export function readRelease(bytes: Uint8Array): number {
  return readU32(bytes, Offset.release);
}

export function readProtocol(bytes: Uint8Array): number {
  return readU16(bytes, Offset.protocol);
}

/** Index of the replica that wrote the message; 0 from clients. */
export function readReplica(bytes: Uint8Array): number {
  return bytes[Offset.replica];
}

export interface HeaderFields {
  readonly command: Command;
  /** Bytes, header included. */
  readonly size: number;
  /** 16 bytes. */
  readonly cluster: Uint8Array;
  readonly view: number;
  readonly release: number;
  readonly replica: number;
}

/** Zeroes the header and writes the common fields; the caller adds its own and then seals. */
export function initHeader(bytes: Uint8Array, fields: HeaderFields): void {
  assert(bytes.length >= HEADER_SIZE, 'initHeader: no room');
  assert(fields.size >= HEADER_SIZE && fields.size <= MESSAGE_SIZE_MAX, 'initHeader: bad size');
  assert(fields.cluster.length === 16, 'initHeader: a cluster id has 16 bytes');
  assert(fields.view >>> 0 === fields.view, 'initHeader: bad view');
  bytes.fill(0, 0, HEADER_SIZE);
  bytes.set(fields.cluster, Offset.cluster);
  writeU32(bytes, Offset.size, fields.size);
  writeU32(bytes, Offset.view, fields.view);
  writeU32(bytes, Offset.release, fields.release);
  writeU16(bytes, Offset.protocol, 0);
  bytes[Offset.command] = fields.command;
  bytes[Offset.replica] = fields.replica;
}

/** Writes `checksum_body` over `bytes[256, size)`. Comes before {@link sealHeader}. */
export function sealBody(bytes: Uint8Array, checksum: Checksum): void {
  const size = readSize(bytes);
  assert(size >= HEADER_SIZE && size <= bytes.length, 'sealBody: bad size');
  checksum.digest(bytes, HEADER_SIZE, size - HEADER_SIZE, bytes, Offset.checksumBody);
}

/** Writes `checksum` over `bytes[16, 256)`: the last thing before a message leaves. */
export function sealHeader(bytes: Uint8Array, checksum: Checksum): void {
  assert(bytes.length >= HEADER_SIZE, 'sealHeader: no header');
  assert(isKnownCommand(readCommand(bytes)), 'sealHeader: unknown command');
  checksum.digest(bytes, 16, HEADER_SIZE - 16, bytes, Offset.checksum);
}

/**
 * Seals a reply: body, then `context` (the header's MAC while `context` is zero), then header. The
 * context stays the same when a reply is sent again in a newer view; only `checksum` changes.
 */
export function sealReply(bytes: Uint8Array, checksum: Checksum): void {
  assert(readCommand(bytes) === Command.reply, 'sealReply: not a reply');
  sealBody(bytes, checksum);
  bytes.fill(0, ReplyOffset.context, ReplyOffset.context + CHECKSUM_SIZE);
  checksum.digest(bytes, 16, HEADER_SIZE - 16, bytes, ReplyOffset.context);
  sealHeader(bytes, checksum);
}

const computed = new Uint8Array(CHECKSUM_SIZE);

/** Whether the header at `offset` carries its right checksum. */
export function headerValid(bytes: Uint8Array, checksum: Checksum, offset: number = 0): boolean {
  assert(bytes.length >= offset + HEADER_SIZE, 'headerValid: no header');
  checksum.digest(bytes, offset + 16, HEADER_SIZE - 16, computed, 0);
  return bytesEqual(computed, 0, bytes, offset + Offset.checksum, CHECKSUM_SIZE);
}

/** Whether the body (`size` of the header, which must be plausible) carries its right checksum. */
export function bodyValid(bytes: Uint8Array, checksum: Checksum): boolean {
  const size = readSize(bytes);
  assert(size >= HEADER_SIZE && size <= bytes.length, 'bodyValid: bad size');
  // Most messages have no body, and its checksum is a constant.
  if (size === HEADER_SIZE) {
    return bytesEqual(CHECKSUM_EMPTY, 0, bytes, Offset.checksumBody, CHECKSUM_SIZE);
  }
  checksum.digest(bytes, HEADER_SIZE, size - HEADER_SIZE, computed, 0);
  return bytesEqual(computed, 0, bytes, Offset.checksumBody, CHECKSUM_SIZE);
}

/** `0x1109` → `0.17.9`. */
export function releaseText(release: number): string {
  return `${release >>> 16}.${(release >>> 8) & 0xff}.${release & 0xff}`;
}
