/**
 * An OVSDB server inside this process, for tests of programs that talk to one: in memory unless a
 * file is given, on a free port of the loopback interface unless remotes are.
 *
 *     await using ovsdb = await startOvsdb({ schema });
 *     await ovsdb.transact([{ op: 'insert', table: 'Bridge', row: { name: 'br0' } }]);
 *     await connect(ovsdb.address);            // "tcp:127.0.0.1:40123"
 *     ovsdb.rows('Bridge');                    // [{ _uuid: […], name: 'br0', … }]
 */
import fs from 'node:fs';
import { hostText, parseTarget, RoundelayError } from '../../io/streams/index.ts';
import {
  Database,
  isError,
  isObject,
  type Json,
  type JsonObject,
  parseJson,
  parseSchema,
  rowToJson,
  type Schema,
  serialize,
} from '../../ovsdb/index.ts';
import { defaultRemoteOptions } from './options.ts';
import { OvsdbServer } from './ovsdb-server.ts';
import { createOvsdbFile } from './storage/index.ts';

export interface StartOvsdbOptions {
  /** An object as in RFC 7047 §3.2, or its text. Not needed for a file that exists. */
  readonly schema?: Json | string;
  /** Keeps the database in this file, which is made if it does not exist. */
  readonly file?: string;
  /** Targets to listen on; defaults to `ptcp:0:127.0.0.1`. */
  readonly remotes?: readonly string[];
  /** Rows to begin with, by table, as "insert" takes them; `uuid-name` names a row for others. */
  readonly data?: { readonly [table: string]: readonly JsonObject[] };
  /** Ends the server. */
  readonly signal?: AbortSignal;
}

export interface StartedOvsdb {
  /** Of the database. */
  readonly name: string;
  /** Of the first remote, as clients write it: `tcp:127.0.0.1:40123`, `unix:/tmp/s`. */
  readonly address: string;
  /** Everything else that can be done with it. */
  readonly server: OvsdbServer;
  /**
   * Executes operations, all or none; resolves with their results, one each.
   * @throws OvsdbStartError when one of them, or the commit, fails
   */
  transact(operations: readonly Json[]): Promise<JsonObject[]>;
  /** All rows of a table as "select" gives them, with `_uuid` and `_version`. */
  rows(table: string): JsonObject[];
  /** Cuts off everybody, as a server that restarts does. */
  disconnectClients(): void;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The server cannot be had as it is wanted, or what it was asked to do failed. */
export class OvsdbStartError extends RoundelayError {
  override readonly name: string = 'OvsdbStartError';

  constructor(message: string) {
    super('ERR_OVSDB_START', message);
  }
}

/** @throws OvsdbStartError, or OvsdbFileError when the file cannot be used */
export async function startOvsdb(options: StartOvsdbOptions): Promise<StartedOvsdb> {
  const { file, remotes = ['ptcp:0:127.0.0.1'], data = {}, signal } = options;
  signal?.throwIfAborted();
  const problems: string[] = [];
  const server = new OvsdbServer({
    runDirectory: process.cwd(),
    log: (_, level, text) => {
      if (level === 'ERR') problems.push(text);
    },
  });
  try {
    const name = await addDatabase(server, options.schema, file);
    await server.setRemotes(new Map(remotes.map((target) => [target, defaultRemoteOptions])));
    const address = addressOf(server, remotes[0] ?? '');
    if (address === null) {
      throw new OvsdbStartError(problems.at(-1) ?? 'there is no remote to listen on');
    }
    const started = new Started(server, name, address);
    await started.insert(data);
    signal?.throwIfAborted();
    signal?.addEventListener('abort', () => void started.close(), { once: true });
    return started;
  } catch (error) {
    await server.close();
    throw error;
  }
}

async function addDatabase(
  server: OvsdbServer,
  schema: StartOvsdbOptions['schema'],
  file: string | undefined,
): Promise<string> {
  if (file !== undefined && fs.existsSync(file)) return await server.addDatabaseFile(file);
  if (schema === undefined) throw new OvsdbStartError('there is no schema, and no file with one');
  const parsed = schemaOf(schema);
  if (file === undefined) {
    server.addDatabase(new Database(parsed));
    return parsed.name;
  }
  await createOvsdbFile(file, parsed);
  return await server.addDatabaseFile(file);
}

function schemaOf(given: Json | string): Schema {
  let json: Json = given;
  if (typeof given === 'string') {
    const result = parseJson(given);
    if (!result.ok) throw new OvsdbStartError(`the schema is not JSON: ${result.error}`);
    json = result.value;
  }
  const schema = parseSchema(json);
  if (isError(schema)) throw new OvsdbStartError(`the schema cannot be used: ${schema}`);
  return schema;
}

/** `null`: nobody listens there. */
function addressOf(server: OvsdbServer, remote: string): string | null {
  const status = server.remoteStatus(remote);
  if (status === null || !/^p(?:tcp|ssl|unix):/.test(remote)) {
    if (remote === '') return null;
    throw new OvsdbStartError(`cannot listen on ${remote}: give ptcp:, pssl: or punix: first`);
  }
  const target = parseTarget(remote);
  if (!('port' in target)) return `unix:${target.path}`;
  const host = target.host === '0.0.0.0' ? '127.0.0.1' : target.host;
  return `${target.kind.slice(1)}:${hostText(host)}:${status.boundPort}`;
}

class Started implements StartedOvsdb {
  readonly name: string;
  readonly address: string;
  readonly server: OvsdbServer;
  #closing: Promise<void> | null = null;

  constructor(server: OvsdbServer, name: string, address: string) {
    this.server = server;
    this.name = name;
    this.address = address;
  }

  async insert(data: { readonly [table: string]: readonly JsonObject[] }): Promise<void> {
    const operations = Object.entries(data).flatMap(([table, rows]) =>
      rows.map(({ 'uuid-name': name, ...row }) => {
        return { op: 'insert', table, row, ...(name === undefined ? {} : { 'uuid-name': name }) };
      }),
    );
    if (operations.length > 0) await this.transact(operations);
  }

  async transact(operations: readonly Json[]): Promise<JsonObject[]> {
    if (this.#closing !== null) throw new OvsdbStartError('the server is closed');
    const results = await this.server.transact(this.name, operations);
    const failed = results.find((result) => isObject(result) && Object.hasOwn(result, 'error'));
    if (failed !== undefined) throw new OvsdbStartError(serialize(failed));
    return results as JsonObject[];
  }

  rows(table: string): JsonObject[] {
    const found = this.server.databases().find(({ name }) => name === this.name);
    const rows = found?.database?.tables.get(table);
    if (rows === undefined) throw new OvsdbStartError(`there is no table ${table}`);
    return [...rows.rows()].map((row) => rowToJson(row, rows.schema.columns));
  }

  disconnectClients(): void {
    this.server.reconnect(true, 'disconnected by its owner');
  }

  close(): Promise<void> {
    this.#closing ??= this.server.close();
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
