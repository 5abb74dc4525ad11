/**
 * What a recording looks like: a file of everything that an engine was told, in order, and of short
 * marks of what it answered. Fed to a new engine of the same kind, the events must bring the same
 * answers, for an engine knows nothing else.
 *
 * ```
 * magic 8 | u32 version | u32 zero | records
 * record: u32 size of the payload | u32 checksum of the payload | payload
 * payload: u8 kind, then
 *   life    JSON of a LifeRecord
 *   step    u32 size of the event, event | u16 count, pool notes u32 | u16 count, marks
 *   end     u8 reason
 * event:   u8 type, f64 monotonic ns, u32 × 2 wall clock, fields of the type
 * mark:    u8 effect type, u32 hash; THREW instead of the count: the engine threw, text
 * ```
 *
 * The one thing besides events that an engine sees of the world is whether its pool has a free
 * message, which depends on how fast others give theirs back. Hence pool notes: answers of
 * `available` as they are, and for each `acquire` that found nothing its number within the step,
 * counted from 0, with the highest bit set.
 */
import type { Event, Instant, StorageError, TimerName } from '../../engine/index.ts';
import { readU32 } from '../../stdx/index.ts';
import {
  type Checksum,
  HEADER_SIZE,
  type Message,
  type MessagePool,
  type PoolOptions,
  readSize,
  type SlotClass,
} from '../../wire/index.ts';
import type { BytesReader } from './bytes-reader.ts';
import type { BytesWriter } from './bytes-writer.ts';

export const MAGIC: Uint8Array = new TextEncoder().encode('RNDLYREC');
export const VERSION = 1;
/** Bytes before the first record. */
export const FILE_HEAD_SIZE = 16;
/** Bytes before a record's payload. */
export const RECORD_HEAD_SIZE = 8;
/** A recording ends when it would grow beyond this, bytes. */
export const RECORDING_SIZE_MAX = 1_073_741_824;
/** Bytes; no event is larger by far, so a size above is damage. */
export const PAYLOAD_SIZE_MAX = 67_108_864;

export const RecordKind = { life: 1, step: 2, end: 3 } as const;

/** Why there is no more: the server was closed, or the recording had its full size. */
export const EndReason = { closed: 1, full: 2 } as const;

/** In place of a number of effects. */
export const THREW = 0xffff;
/** In a pool note: it is the number of an `acquire` that found nothing. */
export const NOTE_ACQUIRE = 0x8000_0000;

/** How an engine was made: another like it can be made from that. */
export interface LifeRecord {
  readonly engine: 'vsr' | 'raft';
  /** Name of the machine. */
  readonly machine: string;
  /** Of the program that recorded. */
  readonly release: number;
  readonly pool: PoolOptions;
  /** What the host had read of the data file before the engine was made. */
  readonly head: unknown;
  /** What else the engine was given: its seed above all. */
  readonly options: { readonly [name: string]: unknown };
}

const EVENT_TYPES: readonly Event['type'][] = [
  'open',
  'message',
  'oversize',
  'disconnected',
  'peer-up',
  'peer-down',
  'peer-message',
  'timer',
  'written',
  'read',
  'flushed',
];
const TIMERS: readonly TimerName[] = ['wake', 'commit'];
const SLOT_CLASSES: readonly SlotClass[] = ['request', 'reply', 'small'];
const ERRORS: readonly (StorageError | null)[] = [null, 'no-space', 'io'];

export function writeEvent(writer: BytesWriter, event: Event, now: Instant): void {
  writer.u8(EVENT_TYPES.indexOf(event.type));
  writer.f64(now.monoNs);
  writer.u32(now.wall.lo);
  writer.u32(now.wall.hi);
  switch (event.type) {
    case 'open':
      return;
    case 'message':
      writer.u32(event.connection);
      writeMessage(writer, event.message, readSize(event.message.bytes));
      return;
    case 'oversize':
      writer.u32(event.connection);
      writeMessage(writer, event.message, HEADER_SIZE);
      return;
    case 'disconnected':
      writer.u32(event.connection);
      return;
    case 'peer-up':
      writer.u32(event.replica);
      writer.bytes(event.replicaId);
      writer.u8(event.isRecovered ? 1 : 0);
      return;
    case 'peer-down':
      writer.u32(event.replica);
      return;
    case 'peer-message':
      writer.u32(event.replica);
      writeMessage(writer, event.message, readSize(event.message.bytes));
      return;
    case 'timer':
      writer.u8(TIMERS.indexOf(event.timer));
      return;
    case 'read':
      writer.f64(event.token);
      writer.u8(ERRORS.indexOf(event.error));
      writer.u32(event.bytes.length);
      writer.bytes(event.bytes);
      return;
    case 'written':
    case 'flushed':
      writer.f64(event.token);
      writer.u8(ERRORS.indexOf(event.error));
      return;
  }
}

function writeMessage(writer: BytesWriter, message: Message, size: number): void {
  writer.u8(SLOT_CLASSES.indexOf(message.slotClass));
  writer.u32(size);
  writer.bytes(message.bytes.subarray(0, size));
}

/**
 * An event as it was, its message in a slot of `pool`; `null`: this is none, or no slot is left.
 */
export function readEvent(
  reader: BytesReader,
  pool: MessagePool,
): { readonly event: Event; readonly now: Instant } | null {
  const type = EVENT_TYPES[reader.u8()];
  const monoNs = reader.f64();
  const lo = reader.u32();
  const hi = reader.u32();
  const now: Instant = { monoNs, wall: { lo, hi } };
  if (type === undefined || reader.isShort) return null;
  const event = readFields(reader, type, pool);
  if (event === null) return null;
  if (!reader.isShort && reader.left === 0) return { event, now };
  if ('message' in event) pool.release(event.message);
  return null;
}

function readFields(reader: BytesReader, type: Event['type'], pool: MessagePool): Event | null {
  switch (type) {
    case 'open':
      return { type };
    case 'message':
    case 'oversize': {
      const connection = reader.u32();
      const message = readMessage(reader, pool);
      return message === null ? null : { type, connection, message };
    }
    case 'disconnected':
      return { type, connection: reader.u32() };
    case 'peer-up': {
      const replica = reader.u32();
      const replicaId = reader.bytes(16).slice();
      return { type, replica, replicaId, isRecovered: reader.u8() === 1 };
    }
    case 'peer-down':
      return { type, replica: reader.u32() };
    case 'peer-message': {
      const replica = reader.u32();
      const message = readMessage(reader, pool);
      return message === null ? null : { type, replica, message };
    }
    case 'timer': {
      const timer = TIMERS[reader.u8()];
      return timer === undefined ? null : { type, timer };
    }
    case 'read': {
      const token = reader.f64();
      const error = ERRORS[reader.u8()];
      // A copy, so that it begins where words begin.
      const bytes = reader.bytes(reader.u32()).slice();
      return error === undefined ? null : { type, token, bytes, error };
    }
    case 'written':
    case 'flushed': {
      const token = reader.f64();
      const error = ERRORS[reader.u8()];
      return error === undefined ? null : { type, token, error };
    }
  }
}

function readMessage(reader: BytesReader, pool: MessagePool): Message | null {
  const slotClass = SLOT_CLASSES[reader.u8()];
  const bytes = reader.bytes(reader.u32());
  if (slotClass === undefined || reader.isShort) return null;
  const message = pool.acquire(slotClass);
  if (message === null) return null;
  if (bytes.length <= message.bytes.length) {
    message.bytes.set(bytes);
    return message;
  }
  pool.release(message);
  return null;
}

/** 32 bits over a payload, to tell damage from a difference. */
export function payloadSum(payload: Uint8Array, checksum: Checksum): number {
  checksum.digest(payload, 0, payload.length, mac, 0);
  return readU32(mac, 0);
}

const mac = new Uint8Array(16);

/** JSON that keeps bytes; of plain objects only. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => {
    return inner instanceof Uint8Array ? { [BYTES_KEY]: hex(inner) } : inner;
  });
}

/** @throws SyntaxError */
export function fromJson(text: string): unknown {
  return JSON.parse(text, (_, inner: unknown) => {
    if (typeof inner !== 'object' || inner === null || !(BYTES_KEY in inner)) return inner;
    const bytes = inner[BYTES_KEY];
    return typeof bytes === 'string' ? unhex(bytes) : inner;
  });
}

const BYTES_KEY = '$bytes';

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex');
}

/** Of its own memory, not of a shared one. */
function unhex(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'hex'));
}
