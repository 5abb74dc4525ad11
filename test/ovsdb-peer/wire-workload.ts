/**
 * Random lives of a few sessions on one server: transactions, monitors of all kinds, conditions
 * that change, locks, waits that are cancelled, nonsense. The transactions and their schema are
 * those of the transaction engine's own workload.
 */
import {
  encodeUtf8,
  isObject,
  type Json,
  type JsonObject,
  parseJson,
  serialize,
  UUID_ZERO,
} from '../../src/ovsdb/index.ts';
import { Workload, workloadSchema } from '../../src/ovsdb/transact/workload-test-helper.ts';
import { malformedMessages } from './malformed.ts';
import { notification, request, type Step } from './wire-player.ts';

const SESSIONS = ['s1', 's2', 's3', 's4'];
const WAITS_MAX = 3;

/** Table → its columns. */
const columns: ReadonlyMap<string, readonly string[]> = (() => {
  const parsed = parseJson(workloadSchema);
  if (!parsed.ok || !isObject(parsed.value)) throw new Error('no schema');
  const tables = Object.entries(parsed.value['tables'] as JsonObject);
  return new Map(
    tables.map(([name, table]) => [
      name,
      Object.keys((table as JsonObject)['columns'] as JsonObject),
    ]),
  );
})();

const serverColumns = ['name', 'model', 'connected', 'leader', 'schema', 'cid', 'sid', 'index'];

interface Monitor {
  readonly id: Json;
  readonly isConditional: boolean;
}

interface SessionState {
  readonly monitors: Monitor[];
  readonly waits: Json[];
}

export class WireWorkload {
  readonly #random: Workload;
  readonly #sessions: Map<string, SessionState> = new Map();
  #id: number = 0;

  constructor(seed: number) {
    this.#random = new Workload(seed);
  }

  /** The next one, when these sessions are open. */
  next(isOpen: (session: string) => boolean): Step {
    const session = this.#random.pick(SESSIONS);
    if (!isOpen(session)) return this.#open(session);
    const state = this.#sessions.get(session) as SessionState;
    const kind = this.#random.prng.below(100);
    if (kind < 58) return this.#transact(session);
    if (kind < 68) return this.#monitor(session, state);
    if (kind < 74) return this.#change(session, state);
    if (kind < 78) return this.#cancelMonitor(session, state);
    if (kind < 84) return this.#lock(session);
    if (kind < 88) return this.#wait(session, state);
    if (kind < 91) return this.#cancel(session, state);
    if (kind < 95) return this.#question(session);
    if (kind < 97) return this.#nonsense(session);
    if (kind < 99) return { kind: 'finish', session };
    const bytes = this.#random.pick(malformedMessages);
    return { kind: 'send', session, bytes: encodeUtf8(bytes) };
  }

  #open(session: string): Step {
    this.#sessions.set(session, { monitors: [], waits: [] });
    return { kind: 'open', session };
  }

  #request(session: string, method: string, params: Json): Step {
    return request(session, ++this.#id, method, params);
  }

  #transact(session: string): Step {
    return this.#request(session, 'transact', ['D', ...this.#random.transaction()]);
  }

  #monitor(session: string, state: SessionState): Step {
    const random = this.#random;
    const version = random.pick([1, 2, 3]);
    const database = random.chance(8) ? random.pick(['_Server', '_Server', 'none']) : 'D';
    // Now and then one that exists already.
    const known: readonly Json[] = state.monitors.map((monitor) => monitor.id);
    const id =
      known.length > 0 && random.chance(12)
        ? random.pick(known)
        : random.pick<Json>([`m${++this.#id}`, ++this.#id, ['m', ++this.#id], { m: ++this.#id }]);
    const requests = this.#requests(database, version > 1);
    const params: Json[] = [database, id, requests];
    // 3.1.0 does not survive that `_Server` is asked for what came after something.
    if (version === 3) params.push(database === '_Server' ? UUID_ZERO : this.#lastId());
    if (random.chance(40)) params.push(random.junk());
    if (!state.monitors.some((monitor) => serialize(monitor.id) === serialize(id))) {
      state.monitors.push({ id, isConditional: version > 1 });
    }
    const method = ['monitor', 'monitor_cond', 'monitor_cond_since'][version - 1] as string;
    return this.#request(session, method, params);
  }

  #lastId(): Json {
    if (this.#random.chance(12)) return this.#random.junk();
    return this.#random.pick([UUID_ZERO, 'a0000000-0000-4000-8000-000000000001']);
  }

  #requests(database: string, isConditional: boolean): Json {
    const random = this.#random;
    const tables = database === '_Server' ? ['Database'] : ['R', 'R', 'N', 'M'];
    const requests: { [table: string]: Json } = {};
    for (let i = 1 + random.prng.below(3); i > 0; i--) {
      const table = random.chance(60) ? 'Q' : random.pick(tables);
      const several = random.chance(4);
      // 3.1.0 does not survive a change to a table of which nothing was requested.
      requests[table] = several
        ? Array.from({ length: 1 + random.prng.below(2) }, () => this.#one(table, isConditional))
        : this.#one(table, isConditional);
    }
    return random.chance(60) ? random.junk() : requests;
  }

  #one(table: string, isConditional: boolean): Json {
    const random = this.#random;
    const wanted: { [member: string]: Json } = {};
    if (!random.chance(3)) wanted['columns'] = this.#columns(table);
    if (random.chance(4)) {
      wanted['select'] = Object.fromEntries(
        ['initial', 'insert', 'delete', 'modify']
          .filter(() => random.chance(2))
          .map((flag) => [flag, random.chance(20) ? random.junk() : random.chance(2)]),
      );
    }
    if (isConditional && !random.chance(3)) wanted['where'] = this.#where(table);
    if (random.chance(50)) wanted[random.pick(['where', 'more', 'select'])] = random.junk();
    return random.chance(50) ? random.junk() : wanted;
  }

  #columns(table: string): Json {
    const names = columns.get(table) ?? serverColumns;
    const chosen = names.filter(() => this.#random.chance(3));
    if (this.#random.chance(8)) chosen.push(this.#random.pick(['_uuid', '_version']));
    if (this.#random.chance(30)) chosen.push(this.#random.pick([...names, 'nothing']));
    return chosen;
  }

  #where(table: string): Json {
    const random = this.#random;
    if (!columns.has(table)) return [['name', '==', 'D']];
    if (random.chance(5)) return [random.chance(2)];
    return Array.from({ length: random.prng.below(4) }, () => random.clause(table));
  }

  #change(session: string, state: SessionState): Step {
    const random = this.#random;
    const known = state.monitors.filter(({ isConditional }) => isConditional || random.chance(9));
    const id: Json = known.length > 0 && !random.chance(12) ? random.pick(known).id : 'none';
    const next: Json = random.chance(4) ? `c${++this.#id}` : id;
    const table = random.pick(['R', 'R', 'N', 'M']);
    const wanted: { [member: string]: Json } = { where: this.#where(table) };
    if (random.chance(20)) wanted['columns'] = this.#columns(table);
    // One table: of several the original changes some even when it refuses another.
    const requests = { [table]: random.chance(20) ? random.junk() : [wanted] };
    const at = state.monitors.findIndex((monitor) => serialize(monitor.id) === serialize(id));
    if (at >= 0) state.monitors[at] = { id: next, isConditional: true };
    const params: Json[] = [id, next, random.chance(40) ? random.junk() : requests];
    if (random.chance(40)) params.pop();
    return this.#request(session, 'monitor_cond_change', params);
  }

  #cancelMonitor(session: string, state: SessionState): Step {
    const random = this.#random;
    if (state.monitors.length === 0 || random.chance(9)) {
      return this.#request(session, 'monitor_cancel', random.chance(2) ? ['none'] : ['a', 'b']);
    }
    const [monitor] = state.monitors.splice(random.prng.below(state.monitors.length), 1);
    return this.#request(session, 'monitor_cancel', [(monitor as Monitor).id]);
  }

  #lock(session: string): Step {
    const random = this.#random;
    const method = random.pick(['lock', 'lock', 'steal', 'unlock', 'unlock']);
    const name = random.chance(12) ? random.junk() : random.pick(['l', 'l', 'k']);
    return this.#request(session, method, random.chance(20) ? [] : [name]);
  }

  /** Waits for ever, then reads: what it sets off touches no row. */
  #wait(session: string, state: SessionState): Step {
    if (state.waits.length >= WAITS_MAX) return this.#cancel(session, state);
    const { timeout: _, ...wait } = this.#random.wait(this.#random.pick(['R', 'N', 'M']));
    const id = ++this.#id;
    state.waits.push(id);
    return request(session, id, 'transact', ['D', wait, { op: 'comment', comment: 'over' }]);
  }

  #cancel(session: string, state: SessionState): Step {
    const [id] = state.waits.splice(0, 1);
    if (id === undefined || this.#random.chance(6)) {
      return notification(session, this.#random.pick(['cancel', 'other']), [this.#random.junk()]);
    }
    return notification(session, 'cancel', [id]);
  }

  #question(session: string): Step {
    const database = this.#random.pick(['D', 'D', '_Server', 'none']);
    const [method, params] = this.#random.pick<[string, Json]>([
      ['list_dbs', []],
      ['get_schema', [database]],
      ['get_server_id', []],
      ['echo', [database, 1.5, { a: [] }]],
      ['set_db_change_aware', [this.#random.chance(2)]],
      ['transact', [database, { op: 'select', table: 'Database', where: [] }]],
      ['transact', ['_Server', { op: 'insert', table: 'Database', row: {} }]],
    ]);
    return this.#request(session, method, params);
  }

  #nonsense(session: string): Step {
    const random = this.#random;
    const method = random.pick([
      'list_dbs',
      'get_schema',
      'transact',
      'monitor',
      'monitor_cond',
      'monitor_cond_since',
      'monitor_cond_change',
      'monitor_cancel',
      'lock',
      'steal',
      'unlock',
      'set_db_change_aware',
      'nothing',
    ]);
    const params = Array.from({ length: random.prng.below(5) }, () =>
      random.pick<Json>(['D', 'm', random.junk(), {}, []]),
    );
    return this.#request(session, method, params);
  }
}
