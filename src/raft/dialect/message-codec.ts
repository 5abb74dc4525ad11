/**
 * Messages between servers as bytes: u8 type, then the fields in the order in which the type names
 * them. Numbers, strings and lists are those of `cursor` and `codec`. What is prose (`comment`) is
 * left out, and so is `size`: it is that of the data.
 *
 * Reading never throws; what is malformed, has bytes left over or contradicts itself is `null`.
 * Data of what was read are views of the input.
 */
import { unreachable } from '../../stdx/index.ts';
import type {
  AddServerReply,
  AppendRequest,
  AppendResult,
  CommandStatus,
  ExecuteCommandReply,
  ExecuteCommandRequest,
  Msg,
  ReadIndexReply,
  ReadIndexRequest,
  RemoveServerReply,
  RemoveServerRequest,
} from '../message.ts';
import {
  addressesSize,
  entriesSize,
  putAddresses,
  putEntries,
  putSnapshot,
  snapshotSize,
  takeAddresses,
  takeEntries,
  takeSnapshot,
} from './codec.ts';
import { NUMBER_SIZE, Reader, stringSize, Writer } from './cursor.ts';
import {
  ADDRESS_SIZE_MAX,
  EID_SIZE_MAX,
  RAFT_MESSAGE_SIZE_MAX,
  SERVER_ID_SIZE_MAX,
} from './limits.ts';

type Message = Msg<Uint8Array>;

/** Bytes of an append before its list of entries. */
export const APPEND_HEAD_SIZE: number = 1 + 5 * NUMBER_SIZE;

/** The order is the wire's. */
const TYPES = [
  'hello-request',
  'append-request',
  'append-reply',
  'vote-request',
  'vote-reply',
  'add-server-request',
  'add-server-reply',
  'remove-server-request',
  'remove-server-reply',
  'install-snapshot-request',
  'install-snapshot-reply',
  'become-leader',
  'execute-command-request',
  'execute-command-reply',
  'read-index-request',
  'read-index-reply',
  'ack-copies-request',
] as const satisfies readonly Message['type'][];

const RESULTS: readonly AppendResult[] = ['ok', 'inconsistency', 'io-error'];
const STATUSES: readonly CommandStatus[] = [
  'in-progress',
  'success',
  'not-leader',
  'prerequisite-failed',
  'lost-leadership',
  'shutdown',
  'io-error',
  'timeout',
  'busy',
];

/** Bytes of a message. */
export function messageSize(message: Message): number {
  switch (message.type) {
    case 'hello-request':
    case 'add-server-request':
      return 1 + stringSize(message.address);
    case 'append-request':
      return APPEND_HEAD_SIZE + entriesSize(message.entries);
    case 'append-reply':
      return 2 + 6 * NUMBER_SIZE;
    case 'vote-request':
      return 3 + 3 * NUMBER_SIZE;
    case 'vote-reply':
      return 2 + NUMBER_SIZE + stringSize(message.vote);
    case 'add-server-reply':
      return 2 + addressesSize(message.remotes);
    case 'remove-server-request':
      return 1 + stringSize(message.server);
    case 'remove-server-reply':
      return 2 + stringSize(message.target);
    case 'install-snapshot-request':
      return 1 + NUMBER_SIZE + snapshotSize(message.snapshot);
    case 'install-snapshot-reply':
      return 1 + 3 * NUMBER_SIZE;
    case 'become-leader':
    case 'ack-copies-request':
    case 'read-index-request':
      return 1 + NUMBER_SIZE;
    case 'execute-command-request':
      return 1 + executeSize(message);
    case 'execute-command-reply':
      return 2 + stringSize(message.eid) + NUMBER_SIZE;
    case 'read-index-reply':
      return 2 + 2 * NUMBER_SIZE;
    default:
      return unreachable(message);
  }
}

/** Writes a message; returns the offset behind it. */
export function writeMessage(message: Message, bytes: Uint8Array, offset: number): number {
  const writer = new Writer(bytes, offset);
  writer.u8(TYPES.indexOf(message.type));
  putFields(writer, message);
  return writer.offset;
}

/** The message that fills `bytes[offset, end)`; `null`: there is none. */
export function readMessage(bytes: Uint8Array, offset: number, end: number): Message | null {
  const reader = new Reader(bytes, offset, end);
  const message = takeMessage(reader, TYPES[reader.u8()]);
  return reader.isDone ? message : null;
}

function executeSize(request: ExecuteCommandRequest<Uint8Array>): number {
  const { eid, prerequisite, data } = request;
  return stringSize(eid) + stringSize(prerequisite) + 4 + data.length;
}

function putFields(writer: Writer, message: Message): void {
  switch (message.type) {
    case 'hello-request':
    case 'add-server-request':
      writer.string(message.address, ADDRESS_SIZE_MAX);
      break;
    case 'append-request':
      for (const field of appendFields(message)) writer.number(field);
      putEntries(writer, message.entries);
      break;
    case 'append-reply':
      writer.number(message.term);
      writer.number(message.logEnd);
      writer.number(message.prevIndex);
      writer.number(message.prevTerm);
      writer.number(message.entryCount);
      writer.number(message.round);
      writer.u8(RESULTS.indexOf(message.result));
      break;
    case 'vote-request':
      writer.number(message.term);
      writer.number(message.lastIndex);
      writer.number(message.lastTerm);
      writer.bool(message.isTransfer);
      writer.bool(message.isPreVote);
      break;
    case 'vote-reply':
      writer.number(message.term);
      writer.string(message.vote, SERVER_ID_SIZE_MAX);
      writer.bool(message.isPreVote);
      break;
    case 'install-snapshot-request':
      writer.number(message.term);
      putSnapshot(writer, message.snapshot);
      break;
    case 'install-snapshot-reply':
      writer.number(message.term);
      writer.number(message.lastIndex);
      writer.number(message.lastTerm);
      break;
    case 'become-leader':
    case 'ack-copies-request':
      writer.number(message.term);
      break;
    default:
      putOthers(writer, message);
  }
}

/** What is no part of replication and elections. */
type Other =
  | AddServerReply
  | RemoveServerRequest
  | RemoveServerReply
  | ExecuteCommandRequest<Uint8Array>
  | ExecuteCommandReply
  | ReadIndexRequest
  | ReadIndexReply;

function putOthers(writer: Writer, message: Other): void {
  switch (message.type) {
    case 'add-server-reply':
      writer.bool(message.success);
      putAddresses(writer, message.remotes);
      break;
    case 'remove-server-request':
      writer.string(message.server, SERVER_ID_SIZE_MAX);
      break;
    case 'remove-server-reply':
      writer.bool(message.success);
      writer.string(message.target, SERVER_ID_SIZE_MAX);
      break;
    case 'execute-command-request':
      writer.string(message.eid, EID_SIZE_MAX);
      writer.string(message.prerequisite, EID_SIZE_MAX);
      writer.blob(message.data);
      break;
    case 'execute-command-reply':
      writer.string(message.eid, EID_SIZE_MAX);
      writer.u8(STATUSES.indexOf(message.status));
      writer.number(message.commitIndex);
      break;
    case 'read-index-request':
      writer.number(message.read);
      break;
    case 'read-index-reply':
      writer.number(message.read);
      writer.bool(message.success);
      writer.number(message.index);
      break;
    default:
      unreachable(message);
  }
}

function appendFields(request: AppendRequest<Uint8Array>): readonly number[] {
  const { term, prevIndex, prevTerm, leaderCommit, round } = request;
  return [term, prevIndex, prevTerm, leaderCommit, round];
}

function takeMessage(reader: Reader, type: Message['type'] | undefined): Message | null {
  switch (type) {
    case 'hello-request':
    case 'add-server-request':
      return { type, address: reader.string(0, ADDRESS_SIZE_MAX) };
    case 'append-request':
      return takeAppend(reader);
    case 'append-reply':
      return takeAppendReply(reader);
    case 'vote-request': {
      const term = reader.number();
      const lastIndex = reader.number();
      const lastTerm = reader.number();
      const isTransfer = reader.bool();
      return { type, term, lastIndex, lastTerm, isTransfer, isPreVote: reader.bool() };
    }
    case 'vote-reply': {
      const term = reader.number();
      const vote = reader.string(1, SERVER_ID_SIZE_MAX);
      return { type, term, vote, isPreVote: reader.bool() };
    }
    case 'install-snapshot-request': {
      const term = reader.number();
      const snapshot = takeSnapshot(reader);
      return snapshot.term <= term ? { type, term, snapshot } : failed(reader);
    }
    case 'install-snapshot-reply': {
      const term = reader.number();
      const lastIndex = reader.number();
      return { type, term, lastIndex, lastTerm: reader.number() };
    }
    case 'become-leader':
    case 'ack-copies-request':
      return { type, term: reader.number() };
    case undefined:
      return failed(reader);
    default:
      return takeOther(reader, type);
  }
}

function takeOther(reader: Reader, type: Other['type']): Message | null {
  switch (type) {
    case 'add-server-reply': {
      const success = reader.bool();
      return { type, success, remotes: takeAddresses(reader) };
    }
    case 'remove-server-request':
      return { type, server: reader.string(1, SERVER_ID_SIZE_MAX) };
    case 'remove-server-reply': {
      const success = reader.bool();
      return { type, success, target: reader.stringOrNull(1, SERVER_ID_SIZE_MAX) };
    }
    case 'execute-command-request': {
      const eid = reader.string(0, EID_SIZE_MAX);
      const prerequisite = reader.stringOrNull(0, EID_SIZE_MAX);
      const data = reader.blob(RAFT_MESSAGE_SIZE_MAX);
      return { type, eid, data, size: data.length, prerequisite };
    }
    case 'execute-command-reply': {
      const eid = reader.string(0, EID_SIZE_MAX);
      const status = STATUSES[reader.u8()];
      const commitIndex = reader.number();
      return status === undefined ? failed(reader) : { type, eid, status, commitIndex };
    }
    case 'read-index-request':
      return { type, read: reader.number() };
    case 'read-index-reply': {
      const read = reader.number();
      const success = reader.bool();
      return { type, read, success, index: reader.number() };
    }
    default:
      return unreachable(type);
  }
}

/** Entries have to follow the position that is named, and to be no newer than the leader. */
function takeAppend(reader: Reader): Message | null {
  const term = reader.number(1);
  const prevIndex = reader.number();
  const prevTerm = reader.number();
  const leaderCommit = reader.number();
  const round = reader.number();
  const entries = takeEntries(reader);
  const first = entries.at(0);
  const last = entries.at(-1);
  const follows = first === undefined || (first.index === prevIndex + 1 && first.term >= prevTerm);
  if (!follows || prevTerm > term || (last?.term ?? 0) > term) return failed(reader);
  return {
    type: 'append-request',
    term,
    prevIndex,
    prevTerm,
    leaderCommit,
    entries,
    round,
  };
}

function takeAppendReply(reader: Reader): Message | null {
  const term = reader.number();
  const logEnd = reader.number();
  const prevIndex = reader.number();
  const prevTerm = reader.number();
  const entryCount = reader.number();
  const round = reader.number();
  const result = RESULTS[reader.u8()];
  if (result === undefined || !Number.isSafeInteger(prevIndex + entryCount)) return failed(reader);
  return {
    type: 'append-reply',
    term,
    logEnd,
    prevIndex,
    prevTerm,
    entryCount,
    round,
    result,
  };
}

function failed(reader: Reader): null {
  reader.fail();
  return null;
}
