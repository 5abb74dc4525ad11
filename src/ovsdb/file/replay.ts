/**
 * A standalone database out of its file: the first record is the schema, every other one a
 * transaction, which passes the same checks as when it was made. Replay stops at the first record
 * that cannot be used and says where, why, and whether valid records follow.
 *
 * A generator, so that a server that serves other databases meanwhile decides how long it works
 * at a time.
 */
import { isError, type OvsdbError } from '../data/error.ts';
import type { UuidSource } from '../data/uuid.ts';
import { draftOfRecord, RecordReader } from '../record/read.ts';
import type { Schema } from '../schema/schema.ts';
import { Database } from '../store/database.ts';
import type { Draft } from '../transact/draft.ts';
import { precommit } from '../transact/precommit.ts';
import { LogReader, type LogReaderOptions, type LogRecord } from './log-reader.ts';
import { parseBody, readSchema } from './record-json.ts';
import { partsOfRecord, type RecordPart, UnusualRecord } from './record-rows.ts';

export interface ReplayOptions extends LogReaderOptions {
  readonly uuids: UuidSource;
  /** Instead of the file's own: what it does not know of the data is left out. */
  readonly schema?: Schema;
}

export interface ReplayProblem {
  /** Of the record that cannot be used, bytes: what precedes it is in the database. */
  readonly offset: number;
  readonly error: OvsdbError;
  /**
   * `frame`: not a whole record. `record`: a record, but nothing that can be read into this
   * database. `commit`: read, and refused by the checks of a commit.
   */
  readonly kind: 'frame' | 'record' | 'commit';
  /** Where a valid record follows; `null`: nothing usable follows, so nothing else is lost. */
  readonly validFrom: number | null;
}

export interface Replayed {
  readonly database: Database;
  /** Those used, the schema's included. */
  readonly records: number;
  /** Behind the last record used, bytes. */
  readonly end: number;
  /** Behind the second record, which a compaction wrote: the size that growth is measured from. */
  readonly baseSize: number;
  readonly problem: ReplayProblem | null;
}

/** Larger records are read row by row where they can be, bytes. */
const WHOLE_SIZE_MAX = 256 * 1024;
/** Rows between two pauses. */
const ROWS_PER_STEP = 500;

/** Reads the whole log; an error when not even its schema can be read. */
export function* replayStandalone(options: ReplayOptions): Generator<void, Replayed | OvsdbError> {
  const reader = new LogReader('JSON', options);
  const own = readSchema(reader);
  if (isError(own)) return own;
  const database = new Database(options.schema ?? own);
  let records = 1;
  let end = reader.offset;
  let baseSize = 0;
  const stopped = (kind: ReplayProblem['kind'], error: OvsdbError): Replayed => {
    const validFrom = reader.findValid(end);
    return { database, records, end, baseSize, problem: { offset: end, error, kind, validFrom } };
  };
  for (;;) {
    const record = reader.next();
    if (record === null) return { database, records, end, baseSize, problem: null };
    if (isError(record)) return stopped('frame', record);
    const recordEnd = record.end;
    const draft = yield* readRecord(reader, record, database, options);
    if (isError(draft)) return stopped('record', draft);
    const changes = precommit(draft);
    if (isError(changes)) return stopped('commit', changes);
    if (changes !== null) database.apply(changes);
    end = recordEnd;
    records += 1;
    if (records === 2) baseSize = end;
    yield;
  }
}

function* readRecord(
  reader: LogReader,
  record: LogRecord,
  database: Database,
  { uuids, schema }: ReplayOptions,
): Generator<void, Draft | OvsdbError> {
  const converting = schema !== undefined;
  // Diffs need what `_is_diff` says before they are read; into an empty database there are none.
  if (record.body.length > WHOLE_SIZE_MAX && database.atoms === 0) {
    try {
      const inRows = new RecordReader(database, { uuids, converting }, false);
      return yield* readRows(inRows, record.body, database);
    } catch (error) {
      if (!(error instanceof UnusualRecord)) throw error;
    }
  }
  const json = parseBody(reader, record);
  return isError(json) ? json : draftOfRecord(database, json, { uuids, converting });
}

function* readRows(
  reader: RecordReader,
  body: Uint8Array,
  database: Database,
): Generator<void, Draft | OvsdbError> {
  let rows = 0;
  for (const part of partsOfRecord(body)) {
    const problem = takePart(reader, part, database);
    if (problem !== null) return problem;
    if (++rows % ROWS_PER_STEP === 0) yield;
  }
  return reader.draft;
}

function takePart(reader: RecordReader, part: RecordPart, database: Database): OvsdbError | null {
  if ('name' in part) {
    const table = database.tables.get(part.name);
    if (table !== undefined) return reader.table(table, part.value);
    return reader.unknown(part.name, part.value);
  }
  const table = database.tables.get(part.table);
  // The member may still be one that is not looked into: a comment, or what is converted away.
  if (table === undefined) return reader.unknown(part.table, {});
  return reader.row(table, part.uuid, part.row);
}
