/** A database that executes and commits at once: what a server does, without a server. */
import assert from 'node:assert/strict';
import { Prng } from '../../stdx/index.ts';
import { isError } from '../data/error.ts';
import { type UuidSource, uuidsFromPrng } from '../data/uuid.ts';
import { parseJson } from '../json/parse.ts';
import { compareText, serialize, serializeSorted } from '../json/serialize.ts';
import type { Json } from '../json/value.ts';
import { parseSchema, type Schema } from '../schema/schema.ts';
import type { ChangeSet } from '../store/change-set.ts';
import { Database } from '../store/database.ts';
import { execute } from './execute.ts';
import type { Client } from './permissions.ts';
import { precommit } from './precommit.ts';

export function jsonOf(text: string): Json {
  const result = parseJson(`[${text}]`);
  assert.ok(result.ok, result.ok ? '' : `${text}: ${result.error}`);
  return (result.value as readonly Json[])[0];
}

export function schemaOf(text: string): Schema {
  const schema = parseSchema(jsonOf(text));
  assert.ok(!isError(schema), String(schema));
  return schema;
}

/** `{tables}` as a schema of name D. */
export function tablesOf(tables: string): Schema {
  return schemaOf(`{"name":"D","version":"1.0.0","tables":${tables}}`);
}

export class TestDatabase {
  readonly database: Database;
  readonly uuids: UuidSource;
  readonly history: ChangeSet[] = [];
  readonly locks: Set<string> = new Set();
  readOnly: boolean = false;
  client: Client | null = null;
  elapsedMs: number = 0;
  durable: boolean = false;

  constructor(schema: Schema, seed: number = 1) {
    this.database = new Database(schema);
    this.uuids = uuidsFromPrng(new Prng(seed));
  }

  /** The reply's result, or "waiting N". */
  transact(operations: readonly Json[]): Json {
    const outcome = execute(this.database, [this.database.name, ...operations], {
      uuids: this.uuids,
      ownsLock: (lock) => this.locks.has(lock),
      readOnly: this.readOnly,
      client: this.client,
      elapsedMs: this.elapsedMs,
    });
    if (outcome.kind === 'waiting') return `waiting ${outcome.timeoutMs}`;
    if (outcome.kind === 'failed') return outcome.result;
    this.durable = outcome.durable;
    const changes = precommit(outcome.draft);
    if (isError(changes)) return [...outcome.results, changes.toJson()];
    if (changes !== null) {
      this.database.apply(changes);
      this.history.push(changes);
    }
    return outcome.results;
  }

  /** Operations as text, separated by commas; the result as text with UUIDs numbered. */
  run(operations: string): string {
    const result = this.transact(jsonOf(`[${operations}]`) as Json[]);
    // As a client would have it: written and read.
    return this.names.replaceIn(serializeSorted(jsonOf(serialize(result))));
  }

  /** Numbers of UUIDs, kept over transactions. */
  readonly names: UuidNames = new UuidNames();

  /** The content of a table, sorted, without versions. */
  dump(table: string, columns?: string): string {
    const { schema } = this.database.table(table);
    const names = schema.columns.map(({ name }) => name).filter((name) => name !== '_version');
    const wanted = columns === undefined ? names : columns.split(',');
    const select = { op: 'select', table, where: [], columns: wanted };
    const [{ rows }] = this.transact([select]) as unknown as [{ rows: Json[] }];
    const lines = rows.map((row) => this.names.replaceIn(serializeSorted(jsonOf(serialize(row)))));
    return lines.sort(compareText).join('\n');
  }
}

/** Gives random UUIDs numbers, in the order in which they turn up: "<0>". */
export class UuidNames {
  readonly #names: Map<string, string> = new Map();

  replaceIn(text: string): string {
    return text.replaceAll(
      /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g,
      (uuid) => {
        if (/^([abcd0])0000000-0000/.test(uuid)) return uuid;
        const name = this.#names.get(uuid) ?? `<${this.#names.size}>`;
        this.#names.set(uuid, name);
        return name;
      },
    );
  }
}
