/** Commands that make or change database files: create, compact, convert, transact, query. */
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import { dirname } from 'node:path';
import { glibcErrorText } from '../../../io/append-file/error-text.ts';
import { followLinks, isDangling } from '../../../io/append-file/real-path.ts';
import { Replacement } from '../../../io/append-file/replacement.ts';
import { isError, OvsdbError } from '../../../ovsdb/data/error.ts';
import { encodeRecord } from '../../../ovsdb/file/frame.ts';
import { OvsdbIoError } from '../../../ovsdb/file/io-error.ts';
import { captureSnapshot, schemaText, snapshotText } from '../../../ovsdb/file/snapshot.ts';
import { parseJson } from '../../../ovsdb/json/parse.ts';
import { serialize, serializeSorted } from '../../../ovsdb/json/serialize.ts';
import type { Json, JsonArray } from '../../../ovsdb/json/value.ts';
import { changeSetToRecord } from '../../../ovsdb/record/write.ts';
import type { Schema } from '../../../ovsdb/schema/schema.ts';
import type { Database } from '../../../ovsdb/store/database.ts';
import type { Draft } from '../../../ovsdb/transact/draft.ts';
import { execute } from '../../../ovsdb/transact/execute.ts';
import { precommit } from '../../../ovsdb/transact/precommit.ts';
import { defaultDatabase, defaultSchema, madeBy, type ToolContext } from './context.ts';
import { fatal } from './fatal.ts';
import { lockFile } from './lock.ts';
import { readDatabase } from './read-database.ts';
import { type OpenLog, openStandalone, readSchemaFile, sha1 } from './read-file.ts';

const MODE = 0o660;

export async function create(context: ToolContext): Promise<void> {
  const [name = defaultDatabase(), schemaName = defaultSchema()] = context.args;
  const schema = readSchemaFile(schemaName);
  const lock = await lockFile(context, name, 'I/O error: ');
  try {
    createFile(name, encodeRecord('JSON', schemaText(schema), sha1));
  } finally {
    await lock.release();
  }
}

/** All of it or nothing: what cannot be finished is removed again. */
export function createFile(name: string, bytes: Uint8Array): void {
  const path = isDangling(name) ? followLinks(name) : name;
  let fd: number;
  try {
    fd = fs.openSync(path, 'wx', MODE);
  } catch (error) {
    fatal(`I/O error: ${name}: create failed (${glibcErrorText(error)})`);
  }
  try {
    writeAll(fd, bytes, 0);
    fs.fdatasyncSync(fd);
    syncFolder(dirname(path));
  } catch (error) {
    fs.rmSync(path, { force: true });
    fatal(`I/O error: ${name}: write failed (${glibcErrorText(error)})`);
  } finally {
    fs.closeSync(fd);
  }
}

function syncFolder(folder: string): void {
  const fd = fs.openSync(folder, 'r');
  fs.fsyncSync(fd);
  fs.closeSync(fd);
}

function writeAll(fd: number, bytes: Uint8Array, offset: number): void {
  let done = 0;
  while (done < bytes.length) {
    done += fs.writeSync(fd, bytes, done, bytes.length - done, offset + done);
  }
}

export async function compact(context: ToolContext): Promise<void> {
  const [name = defaultDatabase(), target] = context.args;
  await rewrite(context, name, target, undefined, `compacted by ${madeBy()}`);
}

export async function convert(context: ToolContext): Promise<void> {
  const [name = defaultDatabase(), schemaName = defaultSchema(), target] = context.args;
  const schema = readSchemaFile(schemaName);
  await rewrite(context, name, target, schema, `converted by ${madeBy()}`);
}

/** Reads `name` and writes it anew, to `target` or in its own place. */
async function rewrite(
  context: ToolContext,
  name: string,
  target: string | undefined,
  schema: Schema | undefined,
  comment: string,
): Promise<void> {
  const from = followLinks(name);
  const to = target === undefined ? from : followLinks(target);
  const lock = await lockFile(context, to);
  try {
    const log = openStandalone(from);
    const { database } = readDatabase(log, from, schema);
    fs.closeSync(log.fd);
    await writeDatabase(to, database, comment);
  } finally {
    await lock.release();
  }
}

async function writeDatabase(path: string, database: Database, comment: string): Promise<void> {
  let replacement: Replacement | null = null;
  try {
    replacement = Replacement.begin(path);
    await replacement.write(encodeRecord('JSON', schemaText(database.schema), sha1));
    const notes = { comment, dateMs: Date.now(), columnDiff: false };
    const pieces = [...snapshotText(captureSnapshot(database), notes)];
    await replacement.write(encodeRecord('JSON', pieces.join(''), sha1));
    await replacement.commit();
    fs.closeSync(replacement.fd);
  } catch (error) {
    replacement?.abort();
    const file = `${path}.tmp`;
    const action = replacement === null ? 'create failed' : 'write failed';
    fatal(`I/O error: ${file}: ${action} (${glibcErrorText(error)})`);
  }
}

export async function transact(context: ToolContext): Promise<void> {
  const name = context.args.length > 1 ? context.args[0] : defaultDatabase();
  const lock = await lockFile(context, name, 'I/O error: ');
  try {
    run(context, name, openStandalone(name, 'r+'));
  } finally {
    await lock.release();
  }
}

export function query(context: ToolContext): void {
  const name = context.args.length > 1 ? context.args[0] : defaultDatabase();
  run(context, name, openStandalone(name));
}

function run(context: ToolContext, name: string, log: OpenLog): void {
  const { database, end } = readDatabase(log, name);
  const text = context.args.at(-1) as string;
  const request = parseJson(text);
  if (!request.ok) fatal(`"${text}": ${request.error}`);
  const result = executeOnce(context, database, request.value, (record, durable) =>
    append(name, log.fd, end, record, durable),
  );
  fs.closeSync(log.fd);
  // Rows come as text that is ready to be sent, in another order.
  const whole = parseJson(serialize([result]));
  context.print(whole.ok ? serializeSorted((whole.value as JsonArray)[0]) : serialize(result));
}

type Keep = (record: Json, durable: boolean) => OvsdbError | null;

/** Executes a transaction of which nobody waits for anything: here nobody else changes anything. */
function executeOnce(context: ToolContext, database: Database, params: Json, keep: Keep): Json {
  const client = context.rbacRole === null ? null : { role: context.rbacRole, id: null };
  const perform = (request: Json) =>
    execute(database, request, {
      uuids: randomUUID,
      ownsLock: () => false,
      readOnly: false,
      client,
      elapsedMs: 0,
    });
  const outcome = perform(params);
  if (outcome.kind === 'failed') return outcome.result;
  if (outcome.kind === 'waiting') return unsatisfied(params as JsonArray, (n) => perform(n));
  const problem = commit(database, outcome.draft, outcome.durable, keep);
  return problem === null ? outcome.results : [...outcome.results, problem.toJson()];
}

function commit(database: Database, draft: Draft, durable: boolean, keep: Keep): OvsdbError | null {
  const changes = precommit(draft);
  if (isError(changes)) return changes;
  if (changes === null) return null;
  const record = changeSetToRecord(changes, { dateMs: Date.now(), columnDiff: true });
  if (record !== null) {
    const problem = keep(record, durable);
    if (problem !== null) return problem;
  }
  database.apply(changes);
  return null;
}

/** The results of a transaction in which a "wait" would have to wait. */
function unsatisfied(
  params: JsonArray,
  perform: (params: Json) => ReturnType<typeof execute>,
): Json {
  let results: readonly Json[] = [];
  let count = 1;
  for (; count < params.length; count++) {
    const outcome = perform(params.slice(0, count + 1));
    if (outcome.kind !== 'composed') break;
    results = outcome.results;
  }
  const error = new OvsdbError('not supported', 'triggers not supported').toJson();
  const missing = Array.from({ length: params.length - 1 - count }, () => null);
  return [...results, error, ...missing];
}

/** Writes a record behind the last good one; leaves nothing of one that cannot be written. */
function append(
  name: string,
  fd: number,
  offset: number,
  record: Json,
  durable: boolean,
): OvsdbError | null {
  try {
    fs.ftruncateSync(fd, offset);
  } catch (error) {
    const details = `${name}: cannot truncate to length ${offset}`;
    return new OvsdbIoError(details, glibcErrorText(error));
  }
  try {
    writeAll(fd, encodeRecord('JSON', serialize(record), sha1), offset);
  } catch (error) {
    fs.ftruncateSync(fd, offset);
    return new OvsdbIoError(`${name}: write failed`, glibcErrorText(error));
  }
  try {
    if (durable) fs.fdatasyncSync(fd);
    return null;
  } catch (error) {
    return new OvsdbIoError(`${name}: fsync failed`, glibcErrorText(error));
  }
}
