/** Schemas and databases as commands read them; what is wrong with a file ends the program. */
import { hash } from 'node:crypto';
import fs from 'node:fs';
import { glibcErrorText } from '../../../io/append-file/error-text.ts';
import { FileSource } from '../../../io/append-file/file-source.ts';
import { isError, OvsdbError } from '../../../ovsdb/data/error.ts';
import type { Sha1 } from '../../../ovsdb/file/frame.ts';
import { identifyLog, LogReader } from '../../../ovsdb/file/log-reader.ts';
import { parseBody, readSchema } from '../../../ovsdb/file/record-json.ts';
import { parseJson } from '../../../ovsdb/json/parse.ts';
import { decodeUtf8 } from '../../../ovsdb/json/utf8.ts';
import type { JsonObject } from '../../../ovsdb/json/value.ts';
import { parseSchema, type Schema } from '../../../ovsdb/schema/schema.ts';
import { fatal } from './fatal.ts';

export const sha1: Sha1 = (bytes) => hash('sha1', bytes, 'hex');

/** Of a file, "-" excluded: that is a name as any other. */
export function readSchemaFile(name: string): Schema {
  const problem = (reason: string): never =>
    fatal(`failed to read schema: "${name}" could not be read as JSON (${reason})`);
  let text: string;
  try {
    text = decodeUtf8(fs.readFileSync(name));
  } catch (error) {
    const opened = error instanceof Error && 'syscall' in error && error.syscall !== 'open';
    if (opened) return problem(`error reading JSON stream: ${glibcErrorText(error)}`);
    return problem(`error opening "${name}": ${glibcErrorText(error)}`);
  }
  const json = parseJson(text);
  if (!json.ok) return problem(json.error);
  const schema = parseSchema(json.value);
  if (!isError(schema)) return schema;
  const prefix = schema.syntax === undefined ? '' : `syntax "${schema.syntax}": `;
  return fatal(
    `${prefix}${schema.tag}: failed to parse "${name}" as ovsdb schema: ${schema.details}`,
  );
}

export interface OpenLog {
  readonly fd: number;
  readonly source: FileSource;
  readonly magic: string;
}

/** Opens a log of either kind. */
export function openLog(name: string, flags: 'r' | 'r+' = 'r'): OpenLog {
  let fd: number;
  try {
    fd = fs.openSync(name, flags);
  } catch (error) {
    return fatal(`I/O error: ${name}: open failed (${glibcErrorText(error)})`);
  }
  try {
    const source = new FileSource(fd);
    const magic = identifyLog(source, name);
    if (isError(magic)) return fatal(magic);
    return { fd, source, magic };
  } catch (error) {
    if (!(error instanceof Error) || !('syscall' in error)) throw error;
    return fatal(`I/O error: ${name}: read error (${glibcErrorText(error)})`);
  }
}

export function openStandalone(name: string, flags: 'r' | 'r+' = 'r'): OpenLog {
  const log = openLog(name, flags);
  if (log.magic === 'JSON') return log;
  return fatal(`ovsdb error: ${name}: cannot apply this operation to clustered database file`);
}

export function readerOf({ source, magic }: OpenLog, name: string): LogReader {
  return new LogReader(magic, { source, name, sha1 });
}

/** The schema that a standalone database begins with. */
export function readDatabaseSchema(name: string): Schema {
  const log = openStandalone(name);
  const schema = readSchema(readerOf(log, name));
  fs.closeSync(log.fd);
  return isError(schema) ? fatal(schema) : schema;
}

/** The next record's JSON; `null` at the end. */
export function readJson(reader: LogReader): JsonObject | null {
  const record = reader.next();
  if (record === null) return null;
  if (isError(record)) return fatal(record);
  const json = parseBody(reader, record);
  if (json instanceof OvsdbError) return fatal(json);
  return json as JsonObject;
}
