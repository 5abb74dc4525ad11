/** A server without a server: a database, its file, transactions confirmed in order. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import {
  type ChangeSet,
  changeSetToRecord,
  type Database,
  databaseToRecord,
  execute,
  isError,
  type Json,
  type OvsdbError,
  parseSchema,
  precommit,
  type Schema,
  serializeSorted,
} from '../../../ovsdb/index.ts';
import { createOvsdbFile } from './create-file.ts';
import { type OpenOptions, type OpenWarning, openOvsdbFile } from './open-file.ts';
import type { OvsdbStorage } from './ovsdb-storage.ts';

export const testSchema: Schema = schemaOf({
  name: 'D',
  version: '1.2.3',
  tables: {
    T: {
      columns: { n: { type: 'integer' }, s: { type: 'string' }, brief: ephemeral() },
      indexes: [['n']],
      isRoot: true,
    },
  },
});

function ephemeral(): Json {
  return { type: 'string', ephemeral: true };
}

export function schemaOf(json: Json): Schema {
  const schema = parseSchema(json);
  assert.ok(!isError(schema), String(schema));
  return schema;
}

export function temporaryFolder(t: TestContext): string {
  const folder = fs.mkdtempSync(join(tmpdir(), 'ovsdb-storage-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  return folder;
}

export async function createFile(t: TestContext, schema: Schema = testSchema): Promise<string> {
  const path = join(temporaryFolder(t), 'db');
  await createOvsdbFile(path, schema);
  return path;
}

export function contentOf(database: Database): string {
  return serializeSorted(databaseToRecord(database));
}

interface Pending {
  readonly number: number;
  readonly changes: ChangeSet;
  readonly done: (error: OvsdbError | null) => void;
}

export class TestServer {
  database: Database;
  readonly storage: OvsdbStorage;
  readonly warnings: readonly OpenWarning[];
  readonly logged: string[] = [];
  readonly confirmed: number[] = [];
  #pending: Pending[] = [];
  #number: number = 0;

  static async open(path: string, options: Partial<OpenOptions> = {}): Promise<TestServer> {
    const opened = await openOvsdbFile({ path, uuids: randomUUID, ...options });
    return new TestServer(opened.database, opened.storage, opened.warnings);
  }

  private constructor(database: Database, storage: OvsdbStorage, warnings: readonly OpenWarning[]) {
    this.database = database;
    this.storage = storage;
    this.warnings = warnings;
    storage.start({
      appended: (number) => this.#appended(number),
      failed: (number, error) => this.#failed(number, error),
      log: (level, text) => this.logged.push(`${level} ${text}`),
    });
  }

  /** Executes at once; the promise is that of the file. Rejects with what the file said. */
  transact(...operations: Json[]): Promise<void> {
    const { number, changes } = this.#execute(operations);
    const durable = operations.some((op) => serializeSorted(op).includes('"durable":true'));
    const record = changeSetToRecord(changes, { dateMs: 1, columnDiff: true });
    const done = this.#wait(number, changes);
    this.storage.append({ number, record, schema: null, durable });
    return done;
  }

  insert(n: number, s: string = ''): Promise<void> {
    return this.transact({ op: 'insert', table: 'T', row: { n, s } });
  }

  #execute(operations: Json[]): { number: number; changes: ChangeSet } {
    const outcome = execute(this.database, [this.database.name, ...operations], {
      uuids: randomUUID,
      ownsLock: () => false,
      readOnly: false,
      client: null,
      elapsedMs: 0,
    });
    assert.ok(outcome.kind === 'composed', serializeSorted(outcome as unknown as Json));
    const changes = precommit(outcome.draft);
    assert.ok(changes !== null && !isError(changes), String(changes));
    this.database.apply(changes);
    this.#number += 1;
    return { number: this.#number, changes };
  }

  #wait(number: number, changes: ChangeSet): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (error: OvsdbError | null): void => (error === null ? resolve() : reject(error));
      this.#pending.push({ number, changes, done });
    });
  }

  #appended(number: number): void {
    assert.ok(number > (this.confirmed.at(-1) ?? 0), 'confirmed twice');
    this.confirmed.push(number);
    while (this.#pending.length > 0 && this.#pending[0].number <= number) {
      this.#pending.shift()?.done(null);
    }
  }

  #failed(number: number, error: OvsdbError): void {
    const kept = this.#pending.filter((pending) => pending.number < number);
    const gone = this.#pending.slice(kept.length);
    this.#pending = kept;
    for (const { changes } of gone.toReversed()) this.database.revert(changes);
    for (const { done } of gone) done(error);
  }
}

/** The content of the file, as somebody who opens it finds it. */
export async function contentOfFile(path: string): Promise<string> {
  const server = await TestServer.open(path);
  assert.deepEqual(server.warnings, []);
  const content = contentOf(server.database);
  await server.storage.close();
  return content;
}
