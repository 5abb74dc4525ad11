/**
 * A backup of one database of another server ("active-backup replication", ovsdb-server(7)): copies
 * it once as a whole, then follows its changes. What is here stays until the copy is complete, and
 * is exchanged in one transaction; so whoever makes this server the active one in between has what
 * was there before. It refuses to copy from itself.
 */
import { assert } from '../../stdx/index.ts';
import { isError, type OvsdbError } from '../data/error.ts';
import { parseUuid, type UuidSource } from '../data/uuid.ts';
import { serialize } from '../json/serialize.ts';
import { isArray, isObject, type Json, jsonEqual } from '../json/value.ts';
import { parseSchema, type Schema, schemasEqual, schemaToJson } from '../schema/schema.ts';
import type { OvsdbCore } from '../server/core.ts';
import { type Message, readMessage, replyText } from '../server/message.ts';
import type { SourceEffect } from './effects.ts';
import { draftOfUpdates } from './updates.ts';

export type BackupState =
  | 'disconnected'
  | 'server-id'
  | 'databases'
  | 'schema'
  | 'monitor'
  | 'replicating'
  | 'failed';

export interface BackupOptions {
  readonly core: OvsdbCore;
  /** Of the database, here and there. */
  readonly name: string;
  readonly excluded: ReadonlySet<string>;
  readonly uuids: UuidSource;
}

export class Backup {
  readonly #core: OvsdbCore;
  readonly #name: string;
  readonly #excluded: ReadonlySet<string>;
  readonly #uuids: UuidSource;
  #state: BackupState = 'disconnected';
  /** Of the request that waits for its reply; 0: none does. */
  #requestId: number = 0;
  #lastId: number = 0;
  /** Grows with every connection: what an earlier one brought does not count any more. */
  #connection: number = 0;
  #effects: SourceEffect[] = [];

  constructor({ core, name, excluded, uuids }: BackupOptions) {
    this.#core = core;
    this.#name = name;
    this.#excluded = excluded;
    this.#uuids = uuids;
  }

  get state(): BackupState {
    return this.#state;
  }

  takeEffects(): SourceEffect[] {
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }

  /** There is a new connection to the other server. */
  connected(): void {
    if (this.#state === 'failed') return;
    this.#connection += 1;
    this.#request('server-id', 'get_server_id', []);
  }

  disconnected(): void {
    this.#connection += 1;
    this.#requestId = 0;
    if (this.#state !== 'failed') this.#state = 'disconnected';
  }

  /** One message of the other server, parsed. */
  receive(json: Json, nowMs: number): void {
    if (this.#state === 'failed' || this.#state === 'disconnected') return;
    const message = readMessage(json);
    switch (message.kind) {
      case 'request':
        if (message.method === 'echo') this.#send(replyText(message.id, serialize(message.params)));
        break;
      case 'notification':
        if (message.method === 'update') this.#onUpdate(message.params, nowMs);
        break;
      case 'reply':
        this.#onReply(message, nowMs);
        break;
      case 'error':
        if (message.id === this.#requestId) {
          this.#fail(`${this.#name}: ${serialize(message.content)} in reply`);
        }
        break;
      case 'malformed':
        this.#effects.push({ kind: 'reconnect', reason: message.reason });
    }
  }

  #onReply({ id, content }: Message & { kind: 'reply' | 'error' }, nowMs: number): void {
    if (id === 'echo') return;
    if (id !== this.#requestId) {
      this.#log('WARN', 'received unexpected reply.');
      return;
    }
    this.#requestId = 0;
    switch (this.#state) {
      case 'server-id':
        this.#onServerId(content);
        break;
      case 'databases':
        this.#onDatabases(content);
        break;
      case 'schema':
        this.#onSchema(content);
        break;
      default:
        assert(this.#state === 'monitor', 'Backup: a reply to nothing');
        this.#log('INFO', 'Monitor reply received. Resetting the database.');
        this.#state = 'replicating';
        this.#apply(content, true, nowMs);
    }
  }

  #onServerId(content: Json): void {
    const id = typeof content === 'string' ? parseUuid(content) : null;
    if (id === null) this.#fail(`${this.#name}: Server ID is not valid UUID`);
    else if (id === this.#core.serverId) {
      this.#fail(`${this.#name}: Self replicating is not allowed`);
    } else this.#request('databases', 'list_dbs', []);
  }

  #onDatabases(content: Json): void {
    if (!isArray(content)) this.#fail(`${this.#name}: list_dbs response is not array`);
    else if (content.indexOf(this.#name) < 0) {
      this.#fail(`${this.#name}: database name is not in the list`);
    } else this.#request('schema', 'get_schema', [this.#name]);
  }

  #onSchema(content: Json): void {
    const name = this.#name;
    const theirs = parseSchema(content);
    if (isError(theirs)) {
      this.#fail(`${name}: ${theirs}`);
      return;
    }
    if (theirs.name !== name) {
      this.#fail(`${name}: unexpected schema ${theirs.name}.`);
      return;
    }
    const ours = this.#core.database(name)?.schema;
    assert(ours !== undefined, 'Backup: of a database that is not known');
    if (!schemasEqual(ours, theirs)) {
      this.#log(
        'INFO',
        `Schema version mismatch, checking if ${name} can still be replicated or not.`,
      );
      const problem = whyNotReplicable(ours, theirs);
      if (problem !== null) {
        this.#log('INFO', problem);
        this.#fail(`${name} cannot be replicated.`);
        return;
      }
      this.#effects.push({ kind: 'log', level: 'INFO', text: `${name} can be replicated.` });
    }
    const tables = [...theirs.tables.keys()].filter((table) => !this.#excluded.has(table));
    const requests = Object.fromEntries(tables.map((table) => [table, [{}]]));
    this.#request('monitor', 'monitor', [name, name, requests]);
  }

  #onUpdate(params: readonly Json[], nowMs: number): void {
    const [name, updates] = params;
    if (params.length !== 2 || typeof name !== 'string') return;
    if (name !== this.#name) {
      this.#fail(`${this.#name}: received update for unexpected database ${name}`);
    } else if (this.#state === 'replicating') this.#apply(updates, false, nowMs);
  }

  /** `whole`: everything that there is, instead of what was here. */
  #apply(updates: Json, whole: boolean, nowMs: number): void {
    const connection = this.#connection;
    const options = {
      format: 1 as const,
      whole: whole ? (table: string) => !this.#excluded.has(table) : null,
      uuids: this.#uuids,
    };
    this.#core.compose(
      this.#name,
      (database) => draftOfUpdates(database, updates, options),
      nowMs,
      {
        done: (error) => {
          if (error !== null && connection === this.#connection) this.#applyFailed(error);
        },
      },
    );
  }

  /** A storage that is full may be no longer: copied anew then. Anything else is for good. */
  #applyFailed(error: OvsdbError): void {
    if (this.#state === 'failed') return;
    if (error.tag === 'I/O error') {
      this.disconnected();
      this.#effects.push({ kind: 'reconnect', reason: String(error) });
    } else this.#fail(`${this.#name}: ${error}`);
  }

  #request(state: BackupState, method: string, params: readonly Json[]): void {
    this.#lastId += 1;
    this.#requestId = this.#lastId;
    this.#state = state;
    this.#send(serialize({ id: this.#requestId, method, params }));
  }

  #send(text: string): void {
    this.#effects.push({ kind: 'send', text });
  }

  #log(level: 'INFO' | 'WARN', text: string): void {
    this.#effects.push({ kind: 'log', level, text: `${this.#name}: ${text}` });
  }

  #fail(reason: string): void {
    this.#state = 'failed';
    this.#requestId = 0;
    this.#effects.push({ kind: 'failed', reason });
  }
}

/** Why the database cannot hold all that another one of that schema may; `null`: it can. */
function whyNotReplicable(ours: Schema, theirs: Schema): string | null {
  const tablesOf = (schema: Schema): Json => (schemaToJson(schema) as { tables: Json }).tables;
  const columnsOf = (tables: Json, table: string): Json | undefined => {
    const json = isObject(tables) ? tables[table] : undefined;
    return json !== undefined && isObject(json) ? json['columns'] : undefined;
  };
  const [mine, others] = [tablesOf(ours), tablesOf(theirs)];
  for (const table of theirs.tables.keys()) {
    const own = columnsOf(mine, table);
    if (own === undefined) return `Table ${table} not present in the local db schema`;
    for (const [column, json] of Object.entries(columnsOf(others, table) ?? {})) {
      const local = (own as { readonly [name: string]: Json })[column];
      if (local === undefined) {
        return `Column ${column} not present in the local db schema table ${table}.`;
      }
      if (!jsonEqual(local, json)) {
        return `Column ${column} mismatch in local db schema table ${table}.`;
      }
    }
  }
  return null;
}

/** The line of the command that asks how replication goes. `alive`: connected, or trying to be. */
export function backupStatus(
  state: BackupState,
  source: string,
  alive: boolean,
  excluded: readonly string[],
): string {
  if (state === 'failed') return `Replication to (${source}) failed`;
  if (!alive) return `not connected to ${source}`;
  if (state !== 'replicating') return `connecting: ${source}`;
  const exclude = excluded.length === 0 ? '' : `exclude: ${excluded.join(',')}`;
  return `replicating: ${source}\n${exclude}`;
}
