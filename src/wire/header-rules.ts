/**
 * The field rules of what clients send: a message that passed the framer but breaks one of these is
 * dropped without an answer, as the protocol wants it. Each check returns a short constant text for
 * counters and logs, or `null` when nothing is wrong.
 */
import { assert, isZero, readU32 } from '../stdx/index.ts';
import {
  Command,
  HEADER_SIZE,
  Offset,
  PingClientOffset,
  RequestOffset,
  readCommand,
  readProtocol,
  readRelease,
  readReplica,
  readSize,
  readView,
} from './header.ts';

/** Operations that clients may ask of the engine itself; all others below 128 are invalid. */
export const OPERATION_REGISTER = 2;
export const OPERATION_RECONFIGURE = 3;
export const OPERATION_NOOP = 6;
const OPERATION_MACHINE_MIN = 128;

/** Body of register and reconfigure requests, bytes. */
const REGISTER_BODY_SIZE = 256;

/** What is wrong with the fields of a request, if anything. */
export function requestProblem(bytes: Uint8Array): string | null {
  assert(bytes.length >= HEADER_SIZE, 'requestProblem: no header');
  assert(readCommand(bytes) === Command.request, 'requestProblem: not a request');
  const common = commonProblem(bytes);
  if (common !== null) return common;
  if (isZero(bytes, RequestOffset.client, 16)) return 'client is zero';
  if (!isZero(bytes, RequestOffset.parentPadding, 16)) return 'parent padding is not zero';
  if (!isZero(bytes, RequestOffset.timestamp, 8)) return 'timestamp is not zero';
  if (!isZero(bytes, RequestOffset.padding, 3)) return 'padding is not zero';
  if (!isZero(bytes, RequestOffset.reserved, HEADER_SIZE - RequestOffset.reserved)) {
    return 'reserved bytes are not zero';
  }
  return bytes[RequestOffset.operation] === OPERATION_REGISTER
    ? registerProblem(bytes)
    : operationProblem(bytes);
}

/** What is wrong with the fields of a client's ping, if anything. */
export function pingClientProblem(bytes: Uint8Array): string | null {
  assert(bytes.length >= HEADER_SIZE, 'pingClientProblem: no header');
  assert(readCommand(bytes) === Command.pingClient, 'pingClientProblem: not a client ping');
  const common = commonProblem(bytes);
  if (common !== null) return common;
  if (readSize(bytes) !== HEADER_SIZE) return 'size is not that of a header';
  if (readView(bytes) !== 0) return 'view is not zero';
  if (isZero(bytes, PingClientOffset.client, 16)) return 'client is zero';
  if (!isZero(bytes, PingClientOffset.reserved, HEADER_SIZE - PingClientOffset.reserved)) {
    return 'reserved bytes are not zero';
  }
  return null;
}

/** What every message from a client has to fulfil. */
function commonProblem(bytes: Uint8Array): string | null {
  if (!isZero(bytes, Offset.checksumPadding, 16)) return 'checksum padding is not zero';
  if (!isZero(bytes, Offset.checksumBodyPadding, 16)) return 'body checksum padding is not zero';
  if (!isZero(bytes, Offset.nonceReserved, 16)) return 'nonce is not zero';
  if (readU32(bytes, Offset.epoch) !== 0) return 'epoch is not zero';
  if (readProtocol(bytes) !== 0) return 'protocol is not zero';
  if (readRelease(bytes) === 0) return 'release is zero';
  if (readReplica(bytes) !== 0) return 'replica is not zero';
  if (!isZero(bytes, Offset.reservedFrame, 12)) return 'reserved frame bytes are not zero';
  return null;
}

function registerProblem(bytes: Uint8Array): string | null {
  if (!isZero(bytes, RequestOffset.parent, 16)) return 'register: parent is not zero';
  if (!isZero(bytes, RequestOffset.session, 8)) return 'register: session is not zero';
  if (readU32(bytes, RequestOffset.request) !== 0) return 'register: request number is not zero';
  // Without a body it comes from an ancient client, which the server wants to evict by name.
  const size = readSize(bytes);
  return size === HEADER_SIZE || size === HEADER_SIZE + REGISTER_BODY_SIZE
    ? null
    : 'register: wrong size';
}

function operationProblem(bytes: Uint8Array): string | null {
  if (isZero(bytes, RequestOffset.session, 8)) return 'session is zero';
  if (readU32(bytes, RequestOffset.request) === 0) return 'request number is zero';
  const operation = bytes[RequestOffset.operation];
  const size = readSize(bytes);
  if (operation >= OPERATION_MACHINE_MIN) return null;
  if (operation === OPERATION_RECONFIGURE) {
    return size === HEADER_SIZE + REGISTER_BODY_SIZE ? null : 'reconfigure: wrong size';
  }
  if (operation === OPERATION_NOOP) return size === HEADER_SIZE ? null : 'noop: wrong size';
  return 'operation is reserved';
}
