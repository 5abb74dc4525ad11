/** Commands that make the files of cluster members, and take one apart. */
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import { isError } from '../../../ovsdb/data/error.ts';
import { isId } from '../../../ovsdb/data/member-parser.ts';
import { encodeRecord } from '../../../ovsdb/file/frame.ts';
import { captureSnapshot, schemaText, snapshotText } from '../../../ovsdb/file/snapshot.ts';
import { serialize } from '../../../ovsdb/json/serialize.ts';
import { isArray, isObject, type Json, type JsonObject } from '../../../ovsdb/json/value.ts';
import { convertDatabase, draftOfRecord } from '../../../ovsdb/record/read.ts';
import { databaseToRecord } from '../../../ovsdb/record/write.ts';
import {
  parseSchema,
  persistEphemeral,
  type Schema,
  schemaToJson,
} from '../../../ovsdb/schema/schema.ts';
import { Database } from '../../../ovsdb/store/database.ts';
import { precommit } from '../../../ovsdb/transact/precommit.ts';
import { madeBy, type ToolContext } from './context.ts';
import { Fatal, fatal } from './fatal.ts';
import { lockFile } from './lock.ts';
import { readDatabase } from './read-database.ts';
import { openLog, openStandalone, readerOf, readJson, readSchemaFile, sha1 } from './read-file.ts';
import { createFile } from './write-commands.ts';

export async function createCluster(context: ToolContext): Promise<void> {
  const [name, sourceName, local] = context.args;
  const source = readContents(sourceName);
  const { schema, changed } = persistEphemeral(source.schema);
  if (changed.length > 0) {
    const { table, column } = changed[0];
    context.warn(
      'ovsdb',
      `${sourceName}: changed ${changed.length} columns in '${schema.name}' database from ` +
        `ephemeral to persistent, including '${column}' column in '${table}' table, because ` +
        'clusters do not support ephemeral columns',
    );
  }
  checkAddress(context, local);
  const id = randomUUID();
  const header = {
    server_id: id,
    cluster_id: randomUUID(),
    local_address: local,
    name: schema.name,
    prev_servers: { [id]: local },
    prev_index: 1,
    prev_term: 1,
    prev_data: [schemaToJson(schema), source.data],
    prev_eid: randomUUID(),
  };
  const timer = context.electionTimerMs;
  const records = timer === null ? [] : [{ term: 1, index: 2, election_timer: timer }];
  await createClusterFile(context, name, [header, ...records]);
}

/** A schema, or a standalone database with all that is in it. */
function readContents(name: string): { schema: Schema; data: JsonObject } {
  try {
    return { schema: readSchemaFile(name), data: {} };
  } catch (error) {
    if (!(error instanceof Fatal)) throw error;
  }
  const log = openStandalone(name);
  const { database } = readDatabase(log, name);
  fs.closeSync(log.fd);
  const notes = { _comment: `created from ${name}`, _is_diff: true, _date: Date.now() };
  return { schema: database.schema, data: { ...databaseToRecord(database), ...notes } };
}

export async function joinCluster(context: ToolContext): Promise<void> {
  const [name, schemaName, local, ...remotes] = context.args;
  if (!isId(schemaName)) {
    fatal(
      `${schemaName}: not a valid schema name (use "schema-name" command to find the correct name)`,
    );
  }
  checkAddress(context, local);
  for (const remote of remotes) {
    checkAddress(context, remote);
    if (remote === local) {
      fatal('ovsdb error: remote addresses cannot be the same as the local address');
    }
  }
  const header = {
    server_id: randomUUID(),
    ...(context.clusterId === null ? {} : { cluster_id: context.clusterId }),
    local_address: local,
    name: schemaName,
    remote_addresses: [...new Set(remotes)],
  };
  await createClusterFile(context, name, [header]);
}

function checkAddress(context: ToolContext, address: string): void {
  if (address.startsWith('unix:')) return;
  if (!/^(ssl|tcp):/.test(address)) {
    fatal(`ovsdb error: ${address}: expected "tcp" or "ssl" address`);
  }
  const target = address.slice(4);
  const match = /^(?:\[[^\]]*\]|[^:[\]]*)(?::([^:]*))?$/.exec(target);
  const port = Number(match?.[1]);
  if (match !== null && port >= 1 && port <= 65_535) return;
  const missing = match === null || match[1] === undefined;
  const problem = missing ? 'port must be specified' : `bad port number "${match?.[1]}"`;
  context.warn('socket_util', `${target}: ${problem}`, 'ERR');
  fatal(`ovsdb error: ${address}: syntax error in address`);
}

async function createClusterFile(
  context: ToolContext,
  name: string,
  records: readonly Json[],
): Promise<void> {
  const lock = await lockFile(context, name, 'I/O error: ');
  try {
    const texts = records.map((record) => encodeRecord('CLUSTER', serialize(record), sha1));
    createFile(name, new Uint8Array(Buffer.concat(texts)));
  } finally {
    await lock.release();
  }
}

/**
 * What one member's file says the database was, committed or not: for when the cluster is lost.
 * An entry with a schema begins the database anew; without data it converts what there is.
 */
export async function clusterToStandalone(context: ToolContext): Promise<void> {
  const [name, clusterName] = context.args;
  const log = openLog(clusterName);
  const lock = await lockFile(context, name, 'I/O error: ');
  try {
    if (log.magic !== 'CLUSTER') fatal('Database is not clustered db.\n');
    const reader = readerOf(log, clusterName);
    const copy = new StandaloneCopy();
    for (let i = 0; ; i++) {
      const json = readJson(reader);
      if (json === null) break;
      copy.entry(i === 0 ? json['prev_data'] : json['data']);
    }
    createFile(name, copy.bytes());
  } finally {
    fs.closeSync(log.fd);
    await lock.release();
  }
}

class StandaloneCopy {
  #database: Database | null = null;
  #records: string[] = [];

  /** `data`: [schema or null, transaction or null]; absent: no entry of a database. */
  entry(data: Json | undefined): void {
    if (data === undefined || data === null) return;
    if (!isArray(data) || data.length !== 2) fatal('Incorrect raft record array length');
    const [schemaJson, transaction] = data;
    if (schemaJson !== null) this.#begin(schemaJson, transaction === null);
    if (transaction !== null) this.#transaction(transaction);
  }

  #begin(schemaJson: Json, converting: boolean): void {
    const schema = parseSchema(schemaJson);
    if (isError(schema)) fatal(schema);
    if (this.#database === null || !converting) {
      this.#database = new Database(schema);
      this.#records = [schemaText(schema)];
      return;
    }
    const converted = convertDatabase(this.#database, schema, randomUUID);
    if (isError(converted)) fatal(converted);
    this.#database = converted;
    const notes = { comment: `converted by ${madeBy()}`, dateMs: Date.now(), columnDiff: true };
    const content = [...snapshotText(captureSnapshot(converted), notes)].join('');
    this.#records = [schemaText(schema), content];
  }

  #transaction(json: Json): void {
    if (!isObject(json)) fatal('Invalid raft header data');
    if (this.#database === null) fatal('ovsdb error: data without schema');
    const options = { uuids: randomUUID, converting: false };
    const draft = draftOfRecord(this.#database, json, options);
    if (isError(draft)) fatal(draft);
    const changes = precommit(draft);
    if (isError(changes)) fatal(changes);
    if (changes !== null) this.#database.apply(changes);
    this.#records.push(serialize(json));
  }

  bytes(): Uint8Array {
    const records = this.#records.map((text) => encodeRecord('JSON', text, sha1));
    return new Uint8Array(Buffer.concat(records));
  }
}
