/**
 * Builders of the messages around a client's request, the same for every engine: its prepare, its
 * reply, pongs, evictions. They fill bytes that a pool handed out and seal them; none of them
 * decides anything.
 *
 * A request becomes the prepare of its operation in place: the body and its checksum stay where
 * they are, only the header is rewritten. So a request of 1 MiB is never copied and its body is
 * never checksummed a second time.
 */
import {
  assert,
  isZero,
  readU32,
  type U64,
  writeSafeU64,
  writeU32,
  writeU64,
} from '../../stdx/index.ts';
import {
  CHECKSUM_EMPTY,
  type Checksum,
  Command,
  EvictionOffset,
  type EvictionReason,
  HEADER_SIZE,
  initHeader,
  Offset,
  PingClientOffset,
  PongClientOffset,
  PrepareOffset,
  ReplyOffset,
  RequestOffset,
  readCommand,
  readRelease,
  readReplica,
  readView,
  sealHeader,
  sealReply,
} from '../../wire/index.ts';

/** What a replica says of itself in every message. */
export interface Author {
  /** 16 bytes. */
  readonly cluster: Uint8Array;
  readonly view: number;
  readonly replica: number;
  readonly release: number;
}

/** Where an operation goes in the log. */
export interface Position {
  readonly op: number;
  /** 16 bytes: checksum of the prepare before. */
  readonly parent: Uint8Array;
  /** 16 bytes. */
  readonly checkpointId: Uint8Array;
  /** Highest committed op that the author knew. */
  readonly commit: number;
  readonly timestamp: U64;
}

/** Turns a verified request into the prepare at `position`, in place. */
export function prepareFromRequest(
  bytes: Uint8Array,
  author: Author,
  position: Position,
  checksum: Checksum,
): void {
  assert(readCommand(bytes) === Command.request, 'prepareFromRequest: not a request');
  assert(!isZero(bytes, RequestOffset.client, 16), 'prepareFromRequest: no client');
  // Everything that is needed of the request's header is read before the first byte is written.
  requestChecksum.set(bytes.subarray(Offset.checksum, Offset.checksum + 16));
  client.set(bytes.subarray(RequestOffset.client, RequestOffset.client + 16));
  const sessionLow = readU32(bytes, RequestOffset.session);
  const sessionHigh = readU32(bytes, RequestOffset.session + 4);
  const request = readU32(bytes, RequestOffset.request);
  const operation = bytes[RequestOffset.operation];
  bytes.fill(0, Offset.fields, HEADER_SIZE);
  writeU32(bytes, Offset.view, author.view);
  bytes[Offset.command] = Command.prepare;
  bytes[Offset.replica] = author.replica;
  bytes.set(requestChecksum, PrepareOffset.requestChecksum);
  bytes.set(client, PrepareOffset.client);
  writeU32(bytes, PrepareOffset.session, sessionLow);
  writeU32(bytes, PrepareOffset.session + 4, sessionHigh);
  writeU32(bytes, PrepareOffset.request, request);
  bytes[PrepareOffset.operation] = operation;
  writePosition(bytes, position);
  sealHeader(bytes, checksum);
}

/** A prepare without a body that nobody requested: `client` stays 0. */
export function buildPrepare(
  bytes: Uint8Array,
  operation: number,
  author: Author,
  position: Position,
  checksum: Checksum,
): void {
  initHeader(bytes, { ...author, command: Command.prepare, size: HEADER_SIZE });
  bytes.set(CHECKSUM_EMPTY, Offset.checksumBody);
  bytes[PrepareOffset.operation] = operation;
  writePosition(bytes, position);
  sealHeader(bytes, checksum);
}

/**
 * The reply to `prepare`, around a body of `bodySize` bytes that is already in place. It says
 * nothing that is not in the prepare, so every replica that executes it makes the same bytes.
 */
export function buildReply(
  reply: Uint8Array,
  prepare: Uint8Array,
  bodySize: number,
  checksum: Checksum,
): void {
  assert(readCommand(prepare) === Command.prepare, 'buildReply: not a prepare');
  assert(bodySize >= 0 && HEADER_SIZE + bodySize <= reply.length, 'buildReply: body too large');
  initHeader(reply, {
    command: Command.reply,
    size: HEADER_SIZE + bodySize,
    cluster: prepare.subarray(Offset.cluster, Offset.cluster + 16),
    view: readView(prepare),
    release: readRelease(prepare),
    replica: readReplica(prepare),
  });
  copy(reply, ReplyOffset.requestChecksum, prepare, PrepareOffset.requestChecksum, 16);
  copy(reply, ReplyOffset.client, prepare, PrepareOffset.client, 16);
  copy(reply, ReplyOffset.op, prepare, PrepareOffset.op, 8);
  copy(reply, ReplyOffset.commit, prepare, PrepareOffset.op, 8);
  copy(reply, ReplyOffset.timestamp, prepare, PrepareOffset.timestamp, 8);
  copy(reply, ReplyOffset.request, prepare, PrepareOffset.request, 4);
  reply[ReplyOffset.operation] = prepare[PrepareOffset.operation];
  sealReply(reply, checksum);
}

/** The same reply in a newer view: `context` and body stay, so the client's next request fits. */
export function refreshReply(reply: Uint8Array, view: number, checksum: Checksum): void {
  assert(readCommand(reply) === Command.reply, 'refreshReply: not a reply');
  assert(readView(reply) < view, 'refreshReply: not a newer view');
  writeU32(reply, Offset.view, view);
  sealHeader(reply, checksum);
}

export function buildPong(
  bytes: Uint8Array,
  ping: Uint8Array,
  author: Author,
  checksum: Checksum,
): void {
  assert(readCommand(ping) === Command.pingClient, 'buildPong: not a ping');
  initHeader(bytes, { ...author, command: Command.pongClient, size: HEADER_SIZE });
  bytes.set(CHECKSUM_EMPTY, Offset.checksumBody);
  const at = PongClientOffset.pingTimestampMonotonic;
  copy(bytes, at, ping, PingClientOffset.pingTimestampMonotonic, 8);
  sealHeader(bytes, checksum);
}

/** A pong that no ping has asked for: its timestamp is the highest there is. */
export function buildPongUnasked(bytes: Uint8Array, author: Author, checksum: Checksum): void {
  initHeader(bytes, { ...author, command: Command.pongClient, size: HEADER_SIZE });
  bytes.set(CHECKSUM_EMPTY, Offset.checksumBody);
  bytes.fill(0xff, PongClientOffset.pingTimestampMonotonic, PongClientOffset.reserved);
  sealHeader(bytes, checksum);
}

/** `source[offset, +16)` is the client that is told to go away. */
export function buildEviction(
  bytes: Uint8Array,
  source: Uint8Array,
  offset: number,
  reason: EvictionReason,
  author: Author,
  checksum: Checksum,
): void {
  assert(!isZero(source, offset, 16), 'buildEviction: no client');
  initHeader(bytes, { ...author, command: Command.eviction, size: HEADER_SIZE });
  bytes.set(CHECKSUM_EMPTY, Offset.checksumBody);
  copy(bytes, EvictionOffset.client, source, offset, 16);
  bytes[EvictionOffset.reason] = reason;
  sealHeader(bytes, checksum);
}

const requestChecksum = new Uint8Array(16);
const client = new Uint8Array(16);

function writePosition(bytes: Uint8Array, position: Position): void {
  assert(position.parent.length === 16, 'writePosition: a parent has 16 bytes');
  assert(position.checkpointId.length === 16, 'writePosition: a checkpoint id has 16 bytes');
  bytes.set(position.parent, PrepareOffset.parent);
  bytes.set(position.checkpointId, PrepareOffset.checkpoint);
  writeSafeU64(bytes, PrepareOffset.op, position.op);
  writeSafeU64(bytes, PrepareOffset.commit, position.commit);
  writeU64(bytes, PrepareOffset.timestamp, position.timestamp);
}

function copy(
  target: Uint8Array,
  targetOffset: number,
  source: Uint8Array,
  sourceOffset: number,
  length: number,
): void {
  for (let i = 0; i < length; i++) target[targetOffset + i] = source[sourceOffset + i];
}
