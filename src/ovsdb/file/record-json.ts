/** Records as JSON, and the first of a standalone log as a schema. */
import { isError, type OvsdbError, plainError } from '../data/error.ts';
import { JsonFramer } from '../json/framer.ts';
import { parseJson } from '../json/parse.ts';
import { decodeUtf8 } from '../json/utf8.ts';
import { isObject, type Json } from '../json/value.ts';
import { parseSchema, type Schema } from '../schema/schema.ts';
import type { LogReader, LogRecord } from './log-reader.ts';

/** The schema that a standalone log begins with. */
export function readSchema(reader: LogReader): Schema | OvsdbError {
  const record = reader.next();
  if (record === null) return plainError('unexpected end of file reading schema');
  if (isError(record)) return record;
  const json = parseBody(reader, record);
  return isError(json) ? json : parseSchema(json);
}

/** The JSON object of a record. */
export function parseBody(reader: LogReader, record: LogRecord): Json | OvsdbError {
  const [framed] = new JsonFramer().push(record.body);
  // What the framer waits for will not come: the parser says where it ends.
  const result = framed ?? parseJson(decodeUtf8(record.body));
  if (!result.ok) return reader.badBody(record, `are not valid JSON (${result.error})`);
  if (!isObject(result.value)) return reader.badBody(record, 'are not a JSON object');
  return result.value;
}
