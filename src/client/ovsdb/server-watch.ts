/**
 * What a server says of its database in `_Server`, and whether such a server will do: clusters have
 * members that are cut off, that are not the leader, or that are behind what we have seen already.
 */
import {
  isArray,
  isObject,
  type Json,
  type JsonObject,
  memberOf,
  UUID_ZERO,
} from '../../ovsdb/index.ts';

export interface ServerStatus {
  readonly model: string;
  readonly connected: boolean;
  readonly leader: boolean;
  /** Of the last entry that is applied; `null`: the database is no cluster's. */
  readonly index: number | bigint | null;
  /** JSON text; `null`: not known to the server yet. */
  readonly schema: string | null;
  /** Of the cluster; zero: none. */
  readonly cid: string;
}

/** Columns of `_Server`'s table Database that are watched. */
export const STATUS_COLUMNS: readonly string[] = [
  'name',
  'model',
  'connected',
  'leader',
  'index',
  'schema',
  'cid',
];

/** Rows by UUID as updates of the second kind have made them: member by member. */
export class ServerWatch {
  readonly #database: string;
  readonly #rows: Map<string, JsonObject> = new Map();

  constructor(database: string) {
    this.#database = database;
  }

  update(updates: Json): void {
    const rows = isObject(updates) ? memberOf(updates, 'Database') : undefined;
    if (rows === undefined || !isObject(rows)) return;
    for (const [uuid, update] of Object.entries(rows)) {
      if (!isObject(update)) continue;
      const whole = memberOf(update, 'initial') ?? memberOf(update, 'insert');
      const part = memberOf(update, 'modify');
      if (isObject(whole as Json)) this.#rows.set(uuid, whole as JsonObject);
      else if (isObject(part as Json)) this.#modify(uuid, part as JsonObject);
      else this.#rows.delete(uuid);
    }
  }

  /** `null`: the server has no such database. */
  get status(): ServerStatus | null {
    for (const row of this.#rows.values()) {
      if (memberOf(row, 'name') === this.#database) return statusOf(row);
    }
    return null;
  }

  /** All columns are scalars or optional ones, so a difference is the new value. */
  #modify(uuid: string, part: JsonObject): void {
    this.#rows.set(uuid, { ...this.#rows.get(uuid), ...part });
  }
}

function statusOf(row: JsonObject): ServerStatus {
  const index = memberOf(row, 'index');
  const schema = memberOf(row, 'schema');
  const cid = memberOf(row, 'cid');
  return {
    model: String(memberOf(row, 'model') ?? 'standalone'),
    connected: memberOf(row, 'connected') === true,
    leader: memberOf(row, 'leader') === true,
    index: typeof index === 'number' || typeof index === 'bigint' ? index : null,
    schema: typeof schema === 'string' ? schema : null,
    cid:
      isArray(cid as Json) && (cid as Json[])[0] === 'uuid'
        ? String((cid as Json[])[1])
        : UUID_ZERO,
  };
}

/** Why this server will not do; `null`: it does. `indexMin`: what has been seen elsewhere. */
export function objection(
  status: ServerStatus | null,
  database: string,
  leaderOnly: boolean,
  indexMin: number | bigint,
): string | null {
  if (status === null) return `it has no database ${database}`;
  if (status.schema === null) return 'it does not know the schema yet';
  if (status.model === 'relay') {
    if (!status.connected) return 'its source is not there';
    return leaderOnly ? 'it is a relay and leads nothing' : null;
  }
  if (status.model !== 'clustered') return null;
  if (!status.connected) return 'it is cut off from its cluster';
  if (leaderOnly && !status.leader) return 'it is not the leader of its cluster';
  if (status.index === null || status.index >= indexMin) return null;
  return `its data is of ${status.index}, and ${indexMin} has been seen`;
}
