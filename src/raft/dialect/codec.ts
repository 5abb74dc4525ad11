/**
 * What a log is made of as bytes: entries, records of a file, the header of a file, snapshots. The
 * same form on the wire and on disk. All is compact and little-endian (see `cursor`); there are no
 * checksums here, those belong to the frames around it.
 *
 * | what | form |
 * |---|---|
 * | entry | u8 kind, u64 term, u64 index, body |
 * | body noop | |
 * | body data | string eid, u32 size, data |
 * | body config | servers (at least one) |
 * | body timer | u32 ms |
 * | servers | u8 count, each: string id, string address |
 * | snapshot | u64 term, u64 index, string eid or none, servers, u32 ms, u8 has data, as above |
 * | record | u8 type, its fields in the order in which the type names them |
 * | header | u8 type, then u8 count and addresses, or a snapshot |
 *
 * Reading never throws: whatever is malformed is `null`. What has been read may be views of the
 * input: `data` of an entry and of a snapshot are, so whoever goes on using the input's memory
 * copies first. `size` of what was read is the size of its data, whatever it was when written.
 */
import { assert, unreachable } from '../../stdx/index.ts';
import type { Entry, FileHeader, LogRecord, Note, Servers, Snapshot } from '../entry.ts';
import {
  ELECTION_TIMER_MAX_MS,
  ELECTION_TIMER_MIN_MS,
  REMOTES_MAX,
  SERVERS_MAX,
} from '../options.ts';
import { NUMBER_SIZE, Reader, stringSize, Writer } from './cursor.ts';
import { ADDRESS_SIZE_MAX, EID_SIZE_MAX, SERVER_ID_SIZE_MAX, SNAPSHOT_SIZE_MAX } from './limits.ts';

type Bytes = Uint8Array;

/** Of an entry whatever it says, bytes; so of a list of entries and its count. */
const ENTRY_HEAD_SIZE: number = 1 + 2 * NUMBER_SIZE;
export const ENTRIES_HEAD_SIZE = 4;

const KINDS = ['noop', 'data', 'config', 'timer'] as const;
const RECORDS = ['term', 'vote', 'leader', 'entry', 'commit', 'note'] as const;
const NOTES: readonly Note[] = ['left', 'transfer leadership'];
const HEADERS = ['joining', 'snapshot'] as const;

/** Bytes of one record. */
export function recordSize(record: LogRecord<Bytes>): number {
  switch (record.type) {
    case 'term':
    case 'commit':
      return 1 + NUMBER_SIZE;
    case 'vote':
      return 1 + NUMBER_SIZE + stringSize(record.vote);
    case 'leader':
      return 1 + NUMBER_SIZE + stringSize(record.leader);
    case 'entry':
      return 1 + entrySize(record.entry);
    case 'note':
      return 2;
    default:
      return unreachable(record);
  }
}

/** Writes one record; returns the offset behind it. */
export function writeRecord(record: LogRecord<Bytes>, bytes: Bytes, offset: number): number {
  const writer = new Writer(bytes, offset);
  writer.u8(RECORDS.indexOf(record.type));
  switch (record.type) {
    case 'term':
      writer.number(record.term);
      break;
    case 'vote':
      writer.number(record.term);
      writer.string(record.vote, SERVER_ID_SIZE_MAX);
      break;
    case 'leader':
      writer.number(record.term);
      writer.string(record.leader, SERVER_ID_SIZE_MAX);
      break;
    case 'entry':
      putEntry(writer, record.entry);
      break;
    case 'commit':
      writer.number(record.index);
      break;
    case 'note':
      writer.u8(NOTES.indexOf(record.note));
      break;
    default:
      unreachable(record);
  }
  return writer.offset;
}

/** The record at `offset` and where the next one begins; `null`: malformed, or beyond `end`. */
export function readRecord(
  bytes: Bytes,
  offset: number,
  end: number,
): { readonly record: LogRecord<Bytes>; readonly next: number } | null {
  const reader = new Reader(bytes, offset, end);
  const record = takeRecord(reader);
  return record === null || reader.failed ? null : { record, next: reader.offset };
}

/** Bytes of the header of a file. */
export function headerSize(header: FileHeader<Bytes>): number {
  if (header.type === 'joining') return 1 + addressesSize(header.remotes);
  return 1 + snapshotSize(header.snapshot);
}

/** Writes a header; returns the offset behind it. */
export function writeHeader(header: FileHeader<Bytes>, bytes: Bytes, offset: number): number {
  const writer = new Writer(bytes, offset);
  writer.u8(HEADERS.indexOf(header.type));
  if (header.type === 'joining') putAddresses(writer, header.remotes);
  else putSnapshot(writer, header.snapshot);
  return writer.offset;
}

/** The header at `offset` and where the records begin; `null`: malformed, or beyond `end`. */
export function readHeader(
  bytes: Bytes,
  offset: number,
  end: number,
): { readonly header: FileHeader<Bytes>; readonly next: number } | null {
  const reader = new Reader(bytes, offset, end);
  const type = HEADERS[reader.u8()];
  let header: FileHeader<Bytes> | null = null;
  if (type === 'joining') header = { type, remotes: takeAddresses(reader) };
  else if (type === 'snapshot') header = { type, snapshot: takeSnapshot(reader) };
  return header === null || reader.failed ? null : { header, next: reader.offset };
}

/** Bytes of a list of entries, its count included. */
export function entriesSize(entries: readonly Entry<Bytes>[]): number {
  let size = ENTRIES_HEAD_SIZE;
  for (const entry of entries) size += entrySize(entry);
  return size;
}

/** A list of entries as bytes of its own. */
export function encodeEntries(entries: readonly Entry<Bytes>[]): Bytes {
  const writer = new Writer(new Uint8Array(entriesSize(entries)), 0);
  putEntries(writer, entries);
  assert(writer.offset === writer.bytes.length, 'encodeEntries: wrong size');
  return writer.bytes;
}

/** What {@link encodeEntries} has made; `null`: anything else. */
export function decodeEntries(bytes: Bytes): readonly Entry<Bytes>[] | null {
  const reader = new Reader(bytes, 0, bytes.length);
  const entries = takeEntries(reader);
  return reader.isDone ? entries : null;
}

/** One record as bytes of its own. */
export function encodeRecord(record: LogRecord<Bytes>): Bytes {
  const bytes = new Uint8Array(recordSize(record));
  const end = writeRecord(record, bytes, 0);
  assert(end === bytes.length, 'encodeRecord: wrong size');
  return bytes;
}

/** What {@link encodeRecord} has made; `null`: anything else. */
export function decodeRecord(bytes: Bytes): LogRecord<Bytes> | null {
  const read = readRecord(bytes, 0, bytes.length);
  return read !== null && read.next === bytes.length ? read.record : null;
}

/** Bytes of one entry. */
export function entrySize(entry: Entry<Bytes>): number {
  switch (entry.kind) {
    case 'noop':
      return ENTRY_HEAD_SIZE;
    case 'data':
      return ENTRY_HEAD_SIZE + stringSize(entry.eid) + 4 + entry.data.length;
    case 'config':
      return ENTRY_HEAD_SIZE + serversSize(entry.servers);
    case 'timer':
      return ENTRY_HEAD_SIZE + 4;
    default:
      return unreachable(entry);
  }
}

export function putEntries(writer: Writer, entries: readonly Entry<Bytes>[]): void {
  writer.u32(entries.length);
  for (const entry of entries) putEntry(writer, entry);
}

/** Consecutive, in terms that never go back; otherwise the reader has failed. */
export function takeEntries(reader: Reader): readonly Entry<Bytes>[] {
  const count = reader.u32();
  const entries: Entry<Bytes>[] = [];
  for (let i = 0; i < count && !reader.failed; i++) {
    const entry = takeEntry(reader);
    const last = entries.at(-1);
    const follows =
      last === undefined || (entry?.index === last.index + 1 && entry.term >= last.term);
    if (entry === null || !follows) reader.fail();
    else entries.push(entry);
  }
  return reader.failed ? [] : entries;
}

export function snapshotSize(snapshot: Snapshot<Bytes>): number {
  const { eid, servers, data } = snapshot;
  const fixed = 2 * NUMBER_SIZE + stringSize(eid) + serversSize(servers) + 4 + 1;
  return fixed + (data === null ? 0 : 4 + data.length);
}

export function putSnapshot(writer: Writer, snapshot: Snapshot<Bytes>): void {
  const { data } = snapshot;
  assert((data?.length ?? 0) <= SNAPSHOT_SIZE_MAX, 'putSnapshot: too large');
  writer.number(snapshot.term);
  writer.number(snapshot.index);
  writer.string(snapshot.eid, EID_SIZE_MAX);
  putServers(writer, snapshot.servers);
  writer.u32(snapshot.electionTimerMs);
  writer.bool(data !== null);
  if (data !== null) writer.blob(data);
}

export function takeSnapshot(reader: Reader): Snapshot<Bytes> {
  const term = reader.number();
  const index = reader.number();
  const eid = reader.stringOrNull(0, EID_SIZE_MAX);
  const servers = takeServers(reader);
  const electionTimerMs = takeTimer(reader);
  const data = reader.bool() ? reader.blob(SNAPSHOT_SIZE_MAX) : null;
  return { term, index, eid, servers, electionTimerMs, data, size: data?.length ?? 0 };
}

export function addressesSize(addresses: readonly string[]): number {
  let size = 1;
  for (const address of addresses) size += stringSize(address);
  return size;
}

export function putAddresses(writer: Writer, addresses: readonly string[]): void {
  assert(addresses.length <= REMOTES_MAX, 'putAddresses: too many');
  writer.u8(addresses.length);
  for (const address of addresses) writer.string(address, ADDRESS_SIZE_MAX);
}

export function takeAddresses(reader: Reader): readonly string[] {
  const count = reader.u8();
  const addresses: string[] = [];
  for (let i = 0; i < count && !reader.failed; i++) {
    addresses.push(reader.string(0, ADDRESS_SIZE_MAX));
  }
  return addresses;
}

function putEntry(writer: Writer, entry: Entry<Bytes>): void {
  assert(entry.index >= 1 && entry.term >= 1, 'putEntry: no place');
  writer.u8(KINDS.indexOf(entry.kind));
  writer.number(entry.term);
  writer.number(entry.index);
  switch (entry.kind) {
    case 'noop':
      break;
    case 'data':
      writer.string(entry.eid, EID_SIZE_MAX);
      writer.blob(entry.data);
      break;
    case 'config':
      assert(entry.servers.size > 0, 'putEntry: a configuration of nobody');
      putServers(writer, entry.servers);
      break;
    case 'timer':
      writer.u32(entry.electionTimerMs);
      break;
    default:
      unreachable(entry);
  }
}

function takeEntry(reader: Reader): Entry<Bytes> | null {
  const kind = KINDS[reader.u8()];
  const term = reader.number(1);
  const index = reader.number(1);
  switch (kind) {
    case 'noop':
      return { term, index, kind };
    case 'data': {
      const eid = reader.string(0, EID_SIZE_MAX);
      const data = reader.blob(0xffff_ffff);
      return { term, index, kind, eid, data, size: data.length };
    }
    case 'config': {
      const servers = takeServers(reader);
      return servers.size === 0 ? null : { term, index, kind, servers };
    }
    case 'timer':
      return { term, index, kind, electionTimerMs: takeTimer(reader) };
    default:
      return null;
  }
}

function takeRecord(reader: Reader): LogRecord<Bytes> | null {
  const type = RECORDS[reader.u8()];
  switch (type) {
    case 'term':
      return { type, term: reader.number() };
    case 'vote': {
      const term = reader.number();
      return { type, term, vote: reader.string(1, SERVER_ID_SIZE_MAX) };
    }
    case 'leader': {
      const term = reader.number();
      return { type, term, leader: reader.string(1, SERVER_ID_SIZE_MAX) };
    }
    case 'entry': {
      const entry = takeEntry(reader);
      return entry === null ? null : { type, entry };
    }
    case 'commit':
      return { type, index: reader.number() };
    case 'note': {
      const note = NOTES[reader.u8()];
      return note === undefined ? null : { type, note };
    }
    default:
      return null;
  }
}

function serversSize(servers: Servers): number {
  let size = 1;
  for (const [id, address] of servers) size += stringSize(id) + stringSize(address);
  return size;
}

function putServers(writer: Writer, servers: Servers): void {
  assert(servers.size <= SERVERS_MAX, 'putServers: too many');
  writer.u8(servers.size);
  for (const [id, address] of servers) {
    assert(id !== '', 'putServers: a server without a name');
    writer.string(id, SERVER_ID_SIZE_MAX);
    writer.string(address, ADDRESS_SIZE_MAX);
  }
}

function takeServers(reader: Reader): Servers {
  const count = reader.u8();
  const servers = new Map<string, string>();
  for (let i = 0; i < count && !reader.failed; i++) {
    const id = reader.string(1, SERVER_ID_SIZE_MAX);
    servers.set(id, reader.string(0, ADDRESS_SIZE_MAX));
  }
  if (servers.size !== count) reader.fail();
  return servers;
}

function takeTimer(reader: Reader): number {
  const timerMs = reader.u32();
  if (timerMs < ELECTION_TIMER_MIN_MS || timerMs > ELECTION_TIMER_MAX_MS) reader.fail();
  return timerMs;
}
