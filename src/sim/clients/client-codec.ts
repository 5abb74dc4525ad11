/**
 * What a client writes and how it reads the answers: requests and pings as an official client makes
 * them, and its view of what a lawful answer is. An official client aborts its process on some of
 * these mistakes and ignores others for ever; here each fails the run.
 */
import { RAFT_REPLICAS_MAX } from '../../engine/index.ts';
import { assert, bytesEqual, isZero, readU32, writeSafeU64, writeU32 } from '../../stdx/index.ts';
import {
  bodyValid,
  type Checksum,
  Command,
  EvictionOffset,
  EvictionReason,
  HEADER_SIZE,
  headerValid,
  initHeader,
  MESSAGE_SIZE_MAX,
  Offset,
  PingClientOffset,
  PongClientOffset,
  ReplyOffset,
  RequestOffset,
  readCommand,
  readProtocol,
  readRelease,
  readReplica,
  readSize,
  sealBody,
  sealHeader,
} from '../../wire/index.ts';

export interface RequestFields {
  /** 16 bytes each. */
  readonly cluster: Uint8Array;
  readonly client: Uint8Array;
  readonly parent: Uint8Array;
  readonly view: number;
  readonly release: number;
  readonly session: number;
  readonly request: number;
  readonly operation: number;
  readonly body: Uint8Array;
}

export function buildRequest(fields: RequestFields, checksum: Checksum): Uint8Array {
  const size = HEADER_SIZE + fields.body.length;
  assert(size <= MESSAGE_SIZE_MAX, 'buildRequest: too large for a message');
  const bytes = new Uint8Array(size);
  const { cluster, view, release } = fields;
  initHeader(bytes, { command: Command.request, size, cluster, view, release, replica: 0 });
  bytes.set(fields.parent, RequestOffset.parent);
  bytes.set(fields.client, RequestOffset.client);
  writeSafeU64(bytes, RequestOffset.session, fields.session);
  writeU32(bytes, RequestOffset.request, fields.request);
  bytes[RequestOffset.operation] = fields.operation;
  bytes.set(fields.body, HEADER_SIZE);
  sealBody(bytes, checksum);
  sealHeader(bytes, checksum);
  return bytes;
}

export interface PingFields {
  readonly cluster: Uint8Array;
  readonly client: Uint8Array;
  readonly release: number;
  readonly session: number;
  /** The client's monotonic clock. */
  readonly timestampNs: number;
}

export function buildPing(fields: PingFields, checksum: Checksum): Uint8Array {
  const bytes = new Uint8Array(HEADER_SIZE);
  const { cluster, release } = fields;
  const command = Command.pingClient;
  initHeader(bytes, { command, size: HEADER_SIZE, cluster, view: 0, release, replica: 0 });
  bytes.set(fields.client, PingClientOffset.client);
  writeSafeU64(bytes, PingClientOffset.pingTimestampMonotonic, fields.timestampNs);
  writeSafeU64(bytes, PingClientOffset.session, fields.session);
  sealBody(bytes, checksum);
  sealHeader(bytes, checksum);
  return bytes;
}

/** What every message to a client has to fulfil; `null` when nothing is wrong. */
export function frameProblem(
  bytes: Uint8Array,
  cluster: Uint8Array,
  checksum: Checksum,
): string | null {
  if (bytes.length < HEADER_SIZE || readSize(bytes) !== bytes.length) return 'size';
  if (!headerValid(bytes, checksum)) return 'header checksum';
  if (!bodyValid(bytes, checksum)) return 'body checksum';
  if (!bytesEqual(bytes, Offset.cluster, cluster, 0, 16)) return 'cluster';
  if (!isZero(bytes, Offset.checksumPadding, 16)) return 'checksum padding';
  if (!isZero(bytes, Offset.checksumBodyPadding, 16)) return 'body checksum padding';
  if (!isZero(bytes, Offset.nonceReserved, 16)) return 'nonce';
  if (!isZero(bytes, Offset.reservedFrame, 12)) return 'reserved frame bytes';
  if (readU32(bytes, Offset.epoch) !== 0) return 'epoch';
  if (readProtocol(bytes) !== 0) return 'protocol';
  return null;
}

/** What is wrong with a reply to `request`, whose number it carries; `null`: nothing. */
export function replyProblem(bytes: Uint8Array, request: Uint8Array): string | null {
  assert(readCommand(bytes) === Command.reply, 'replyProblem: not a reply');
  if (readRelease(bytes) !== readRelease(request)) return 'release is not the client’s';
  const isOurs = bytesEqual(bytes, ReplyOffset.requestChecksum, request, Offset.checksum, 16);
  if (!isOurs) return 'request checksum';
  if (!isZero(bytes, ReplyOffset.requestChecksumPadding, 16)) return 'request checksum padding';
  if (!isZero(bytes, ReplyOffset.contextPadding, 16)) return 'context padding';
  if (!bytesEqual(bytes, ReplyOffset.client, request, RequestOffset.client, 16)) return 'client';
  if (isZero(bytes, ReplyOffset.op, 8)) return 'op is zero';
  if (!bytesEqual(bytes, ReplyOffset.op, bytes, ReplyOffset.commit, 8)) return 'commit is not op';
  if (isZero(bytes, ReplyOffset.timestamp, 8)) return 'timestamp is zero';
  if (bytes[ReplyOffset.operation] !== request[RequestOffset.operation]) return 'operation';
  if (!isZero(bytes, ReplyOffset.reserved, HEADER_SIZE - ReplyOffset.reserved)) return 'reserved';
  return null;
}

export function pongProblem(bytes: Uint8Array): string | null {
  if (readSize(bytes) !== HEADER_SIZE) return 'size';
  if (readReplica(bytes) >= RAFT_REPLICAS_MAX) return 'replica';
  if (readRelease(bytes) === 0) return 'release is zero';
  if (!isZero(bytes, PongClientOffset.reserved, HEADER_SIZE - PongClientOffset.reserved)) {
    return 'reserved';
  }
  return null;
}

export function evictionProblem(bytes: Uint8Array): string | null {
  if (readSize(bytes) !== HEADER_SIZE) return 'size';
  if (readRelease(bytes) === 0) return 'release is zero';
  const reason = bytes[EvictionOffset.reason];
  if (reason === 0 || reason > EvictionReason.sessionReleaseMismatch) return 'reason';
  const length = EvictionOffset.reason - EvictionOffset.reserved;
  return isZero(bytes, EvictionOffset.reserved, length) ? null : 'reserved';
}

/**
 * A reply without what may differ when it is sent again: the view of the server that sends it, that
 * server's index, and the checksum over both.
 */
export function replyEssence(bytes: Uint8Array): Uint8Array {
  const essence = bytes.slice();
  essence.fill(0, Offset.checksum, Offset.checksum + 16);
  essence.fill(0, Offset.view, Offset.view + 4);
  essence[Offset.replica] = 0;
  return essence;
}
