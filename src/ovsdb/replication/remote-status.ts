/** What another server's `_Server` says about one database, and whether it can be used. */
import { isError } from '../data/error.ts';
import type { UuidSource } from '../data/uuid.ts';
import type { Json } from '../json/value.ts';
import { createServerDatabase, SERVER_DATABASE } from '../server/server-database.ts';
import type { Database } from '../store/database.ts';
import type { Row } from '../store/row.ts';
import { precommit } from '../transact/precommit.ts';
import { draftOfUpdates } from './updates.ts';

export class RemoteStatus {
  /** Of the monitor of `_Server`. */
  readonly id: Json = ['monid', SERVER_DATABASE];
  readonly columns: readonly string[] = ['name', 'model', 'connected', 'leader', 'schema', 'index'];
  readonly #name: string;
  readonly #uuids: UuidSource;
  #database: Database = createServerDatabase();
  /** Of the latest entry that any server has shown: who shows less is behind. */
  #indexMin: number = 0;

  constructor(name: string, uuids: UuidSource) {
    this.#name = name;
    this.#uuids = uuids;
  }

  /** Another connection: nothing is known about its server. */
  restart(): void {
    this.#database = createServerDatabase();
  }

  /** Takes an "update2". A problem is one of the other server's. */
  update(updates: Json): string | null {
    const options = { format: 2, whole: null, uuids: this.#uuids } as const;
    const draft = draftOfUpdates(this.#database, updates, options);
    const changes = isError(draft) ? draft : precommit(draft);
    if (isError(changes)) return String(changes);
    if (changes !== null) this.#database.apply(changes);
    return null;
  }

  /** Why the server cannot be used; `null`: it can. */
  whyNot(): string | null {
    const row = this.#row();
    if (row === null) return `server does not have ${this.#name} database`;
    const [model, connected] = [this.#value(row, 'model'), this.#value(row, 'connected')];
    const kind = model === 'relay' ? 'relay' : 'clustered';
    if (this.schemaText === '') {
      return model === 'standalone'
        ? 'missing database schema'
        : `${kind} database server has not yet joined or connected`;
    }
    if (model === 'standalone') return null;
    if (connected !== true) return `${kind} database server is disconnected`;
    if (model === 'relay') return null;
    const index = Number(this.#value(row, 'index') ?? 0);
    if (index < this.#indexMin) return 'clustered database server has stale data';
    this.#indexMin = index;
    return null;
  }

  /** JSON; empty: none yet. */
  get schemaText(): string {
    const row = this.#row();
    return row === null ? '' : String(this.#value(row, 'schema') ?? '');
  }

  #row(): Row | null {
    const rows = [...this.#database.table('Database').rows()];
    return rows.find((row) => this.#value(row, 'name') === this.#name) ?? null;
  }

  #value(row: Row, column: string): unknown {
    const { byName } = this.#database.table('Database').schema;
    return row.datum(byName.get(column)?.index ?? 0)[0];
  }
}
