/**
 * Events and effects as one readable line each, for traces: what a person needs to follow a run,
 * in an order that never changes, so that two traces can be compared with `diff`.
 */
import type { Effect, Event } from '../../engine/index.ts';
import { readSafeU64, readU32, toHex } from '../../stdx/index.ts';
import {
  Command,
  commandName,
  EvictionOffset,
  HEADER_SIZE,
  Offset,
  PeerOffset,
  PingClientOffset,
  PrepareOffset,
  ReplyOffset,
  RequestOffset,
  readCommand,
  readReplica,
  readSize,
  readView,
} from '../../wire/index.ts';
import { raftText } from '../raft/message-text.ts';

export function eventText(event: Event): string {
  switch (event.type) {
    case 'open':
      return '';
    case 'message':
    case 'oversize':
      return `c${event.connection} ${messageText(event.message.bytes)}`;
    case 'disconnected':
      return `c${event.connection}`;
    case 'peer-up': {
      const recovered = event.isRecovered ? ' recovered' : '';
      return `r${event.replica} ${hash(event.replicaId, 0)}${recovered}`;
    }
    case 'peer-down':
      return `r${event.replica}`;
    case 'peer-message':
      return `r${event.replica} ${messageText(event.message.bytes)}`;
    case 'timer':
      return event.timer;
    case 'read':
      return `#${event.token} ${event.bytes.length} bytes${errorText(event.error)}`;
    case 'written':
    case 'flushed':
      return `#${event.token}${errorText(event.error)}`;
  }
}

export function effectText(effect: Effect): string {
  switch (effect.type) {
    case 'send':
      return `c${effect.connection} ${messageText(effect.message.bytes)}`;
    case 'send-peer':
      return `r${effect.replica} ${messageText(effect.message.bytes)}`;
    case 'close':
      return `c${effect.connection} ${effect.reason}`;
    case 'write': {
      const durable = effect.durable ? ' durable' : '';
      return `#${effect.token} ${effect.bytes.length} bytes at ${effect.offset}${durable}`;
    }
    case 'read':
      return `#${effect.token} ${effect.length} bytes at ${effect.offset}`;
    case 'flush':
      return `#${effect.token}`;
    case 'timer':
      return effect.afterNs === null
        ? `${effect.timer} off`
        : `${effect.timer} ${effect.afterNs} ns`;
    case 'ready':
    case 'restart':
      return '';
    case 'trace': {
      const fields = Object.entries(effect.fields).map(([name, value]) => `${name}=${value}`);
      return [effect.level, effect.event, ...fields].join(' ');
    }
    case 'halt':
      return `${effect.code} ${effect.reason}`;
  }
}

/** A message's command and the fields by which one recognises it. */
export function messageText(bytes: Uint8Array): string {
  const command = readCommand(bytes);
  const start = `${commandName(command)} view ${readView(bytes)} size ${readSize(bytes)}`;
  switch (command) {
    case Command.request: {
      const number = readU32(bytes, RequestOffset.request);
      const operation = bytes[RequestOffset.operation];
      const session = readSafeU64(bytes, RequestOffset.session);
      return `${start} ${client(bytes, RequestOffset.client)} session ${session} request ${number} operation ${operation}`;
    }
    case Command.reply: {
      const number = readU32(bytes, ReplyOffset.request);
      const op = readSafeU64(bytes, ReplyOffset.op);
      return `${start} ${client(bytes, ReplyOffset.client)} op ${op} request ${number}`;
    }
    case Command.eviction:
      return `${start} ${client(bytes, EvictionOffset.client)} reason ${bytes[EvictionOffset.reason]}`;
    case Command.pingClient:
      return `${start} ${client(bytes, PingClientOffset.client)}`;
    case Command.prepare:
      return `${start} ${prepareText(bytes)}`;
    case Command.raft:
      return raftText(bytes);
    default: {
      const fields = peerFields[command];
      if (fields === undefined) return `${start} ${hash(bytes, Offset.checksum)}`;
      const body = (readSize(bytes) - HEADER_SIZE) / HEADER_SIZE;
      const headers = body > 0 ? ` headers ${body}` : '';
      return `${start} ${fields.map((field) => fieldText(bytes, field)).join(' ')}${headers}`;
    }
  }
}

function prepareText(bytes: Uint8Array): string {
  const op = readSafeU64(bytes, PrepareOffset.op);
  const commit = readSafeU64(bytes, PrepareOffset.commit);
  const operation = bytes[PrepareOffset.operation];
  const author = readReplica(bytes);
  const own = hash(bytes, Offset.checksum);
  const parent = hash(bytes, PrepareOffset.parent);
  return `op ${op} commit ${commit} operation ${operation} by r${author} ${own} after ${parent}`;
}

/** What replicas tell each other, by command; see `peer-header`. */
const peerFields: { readonly [command: number]: readonly (keyof typeof PeerOffset)[] } = {
  [Command.ping]: ['commitMin', 'checkpointOp'],
  [Command.pong]: ['commitMin', 'checkpointOp'],
  [Command.prepareOk]: ['op', 'checksum', 'commitMin', 'opHead', 'bits'],
  [Command.commit]: ['commitMax', 'checksum', 'commitMin', 'checkpointOp'],
  [Command.startViewChange]: [],
  [Command.doViewChange]: [
    'op',
    'logView',
    'commitMin',
    'commitMax',
    'checkpointOp',
    'bits',
    'bits2',
  ],
  [Command.startView]: ['op', 'commitMax', 'checkpointOp', 'nonce'],
  [Command.requestStartView]: ['nonce', 'op', 'commitMin'],
  [Command.requestHeaders]: ['op', 'opHead'],
  [Command.headers]: [],
  [Command.requestPrepare]: ['op', 'checksum'],
};

function fieldText(bytes: Uint8Array, field: keyof typeof PeerOffset): string {
  const offset = PeerOffset[field];
  switch (field) {
    case 'bits':
    case 'bits2':
      return `${field} ${readU32(bytes, offset).toString(2)}`;
    case 'checksum':
    case 'nonce':
    case 'digest':
    case 'route':
      return `${field} ${hash(bytes, offset)}`;
    default:
      return `${field} ${readSafeU64(bytes, offset)}`;
  }
}

function hash(bytes: Uint8Array, offset: number): string {
  return toHex(bytes.subarray(offset, offset + 4));
}

function client(bytes: Uint8Array, offset: number): string {
  return toHex(bytes.subarray(offset, offset + 4));
}

function errorText(error: string | null): string {
  return error === null ? '' : ` ${error}`;
}
