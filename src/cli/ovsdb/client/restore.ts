/** What `restore` reads and sends; loaded only for it, since it needs a whole database in memory. */
import { hash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { BaseType } from '../../../ovsdb/data/base-type.ts';
import type { ColumnType } from '../../../ovsdb/data/column-type.ts';
import { type Datum, isDefaultDatum } from '../../../ovsdb/data/datum.ts';
import { atomToJson } from '../../../ovsdb/data/datum-json.ts';
import { isError } from '../../../ovsdb/data/error.ts';
import { rowNameOf } from '../../../ovsdb/data/uuid.ts';
import { identifyLog, type LogSource } from '../../../ovsdb/file/log-reader.ts';
import { replayStandalone } from '../../../ovsdb/file/replay.ts';
import type { Json, JsonObject } from '../../../ovsdb/json/value.ts';
import { STANDARD_COLUMNS, type TableSchema } from '../../../ovsdb/schema/table-schema.ts';
import type { Database } from '../../../ovsdb/store/database.ts';
import type { Row } from '../../../ovsdb/store/row.ts';
import { fatal } from './fatal.ts';

const STDIN = 0;
/** How messages call what is read. */
const NAME = '/dev/stdin';

/** The database on standard input; anything else ends the program. */
export function readBackup(): Database {
  const bytes = new Uint8Array(readFileSync(STDIN));
  const source: LogSource = {
    size: bytes.length,
    read: (offset, length) => bytes.subarray(offset, offset + length),
  };
  const magic = identifyLog(source, NAME);
  if (isError(magic)) return fatal(magic);
  if (magic !== 'JSON') {
    const problem = 'cannot apply this operation to clustered database file';
    return fatal(`ovsdb error: ${NAME}: ${problem}`);
  }
  const sha1 = (piece: Uint8Array): string => hash('sha1', piece, 'hex');
  const steps = replayStandalone({ source, name: NAME, sha1, uuids: randomUUID });
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  if (isError(step.value)) return fatal(step.value);
  const { database, problem } = step.value;
  // What the checks of a commit refuse was never acknowledged: it and the rest are left out.
  if (problem !== null && problem.kind !== 'commit') return fatal(problem.error);
  return database;
}

/** Operations that leave exactly these rows; references go by the rows' names. */
export function* restoreOperations(database: Database): Generator<JsonObject> {
  for (const [table, { schema, rows }] of tablesOf(database)) {
    yield { op: 'delete', table, where: [] };
    for (const row of rows) {
      yield { op: 'insert', table, 'uuid-name': rowNameOf(row.uuid), row: rowJson(row, schema) };
    }
  }
}

function* tablesOf(
  database: Database,
): Generator<[string, { schema: TableSchema; rows: Iterable<Row> }]> {
  for (const [name, table] of database.tables) {
    yield [name, { schema: table.schema, rows: table.rows() }];
  }
}

function rowJson(row: Row, schema: TableSchema): JsonObject {
  const json: { [column: string]: Json } = {};
  for (const { name, index, type, persistent } of schema.columns.slice(STANDARD_COLUMNS)) {
    const datum = row.datum(index);
    if (persistent && !isDefaultDatum(datum, type)) json[name] = namedJson(datum, type);
  }
  return json;
}

function namedJson(datum: Datum, { key, value }: ColumnType): Json {
  const atoms = datum.map((atom, i): Json => {
    const base = value !== null && i % 2 === 1 ? value : key;
    return isReference(base)
      ? ['named-uuid', rowNameOf(atom as string)]
      : atomToJson(atom, base.type);
  });
  if (value === null) return ['set', atoms];
  const pairs = atoms.flatMap((_, i) => (i % 2 === 0 ? [[atoms[i], atoms[i + 1]] as Json[]] : []));
  return ['map', pairs];
}

function isReference({ reference }: BaseType): boolean {
  return reference !== null;
}
