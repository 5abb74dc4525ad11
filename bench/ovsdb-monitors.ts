/**
 * What monitors cost in memory, without sockets: initial replies, commits under 500 monitors of one
 * shape, of 500 conditions, and readers that are behind; and conditions of thousands of clauses.
 *
 * The machine may be busy: the best of several runs is shown.
 *
 * node bench/ovsdb-monitors.ts [rows]        default: 50000
 */
import {
  Database,
  DatabaseMonitors,
  execute,
  isError,
  type Json,
  type Monitor,
  parseSchema,
  precommit,
  serialize,
  uuidsFromPrng,
} from '../src/ovsdb/index.ts';
import { Prng } from '../src/stdx/index.ts';

const ROWS = Number(process.argv[2] ?? 50_000);
const MONITORS = 500;
const COMMITS = 100;

const schemaJson = {
  name: 'D',
  version: '1.0.0',
  tables: {
    Port: {
      columns: {
        name: { type: 'string' },
        group: { type: 'integer' },
        tag: { type: { key: 'integer', min: 0 } },
        up: { type: 'boolean' },
        addresses: { type: { key: 'string', min: 0, max: 'unlimited' } },
        options: { type: { key: 'string', value: 'string', min: 0, max: 'unlimited' } },
        external_ids: { type: { key: 'string', value: 'string', min: 0, max: 'unlimited' } },
      },
    },
  },
};

class Bench {
  readonly uuids = uuidsFromPrng(new Prng(1));
  readonly database: Database;
  readonly monitors: DatabaseMonitors;
  readonly rows: string[] = [];

  constructor() {
    const schema = parseSchema(schemaJson as unknown as Json);
    if (isError(schema)) throw new Error(String(schema));
    this.database = new Database(schema);
    this.monitors = new DatabaseMonitors(this.database);
    for (let i = 0; i < ROWS; i += 1000) this.#fill(i, Math.min(ROWS, i + 1000));
  }

  #fill(from: number, to: number): void {
    const operations: Json[] = [];
    for (let i = from; i < to; i++) {
      const uuid = this.uuids();
      this.rows.push(uuid);
      const row = {
        name: `port-${i}`,
        group: i % 5000,
        addresses: ['set', [`0a:00:00:00:00:${i % 97} 10.0.0.${i % 251}`]],
        options: ['map', [['requested-chassis', `chassis-${i % 500}`]]],
        external_ids: [
          'map',
          [
            ['pod', `true`],
            ['namespace', `namespace-${i % 300}`],
          ],
        ],
      };
      operations.push({ op: 'insert', table: 'Port', uuid, row });
    }
    this.transact(operations);
  }

  transact(operations: readonly Json[]): void {
    const outcome = execute(this.database, ['D', ...operations], {
      uuids: this.uuids,
      ownsLock: () => false,
      readOnly: false,
      client: null,
      elapsedMs: 0,
    });
    if (outcome.kind !== 'composed') throw new Error(JSON.stringify(outcome));
    const changes = precommit(outcome.draft);
    if (isError(changes) || changes === null) throw new Error(String(changes));
    this.database.apply(changes);
    this.monitors.committed(changes, this.uuids());
  }

  bump(i: number): void {
    const where = [['_uuid', '==', ['uuid', this.rows[i % this.rows.length]]]];
    const row = { tag: i + 1 };
    this.transact([{ op: 'update', table: 'Port', where, row }]);
  }

  open(where: Json = [], id: Json = 'm'): { monitor: Monitor; length: number } {
    const opened = this.monitors.open('monitor_cond', ['D', id, { Port: [{ where }] }]);
    if (isError(opened)) throw new Error(String(opened));
    return { monitor: opened.monitor, length: serialize(opened.reply).length };
  }
}

function milliseconds(work: () => void): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

function best(runs: number, work: () => void): string {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < runs; i++) least = Math.min(least, milliseconds(work));
  return least.toFixed(least < 10 ? 2 : 0);
}

function line(name: string, value: string): void {
  console.log(`${name.padEnd(64)} ${value}`);
}

const bench = new Bench();
const first = milliseconds(() => void bench.open());
const megabytes = (bench.open().length / 2 ** 20).toFixed(0);
line(`first initial reply, ${ROWS} rows, ${megabytes} MB`, `${first.toFixed(0)} ms`);
line('the next one', `${best(5, () => void bench.open())} ms`);
bench.bump(0);
bench.open();
let next = 1;
const afterCommit = best(5, () => {
  bench.bump(next++);
  bench.open();
});
line('the next one after a commit', `${afterCommit} ms`);

for (const monitor of bench.monitors.pending()) bench.monitors.close(monitor);
const alike = Array.from({ length: MONITORS }, () => bench.open().monitor);
const fanOut = best(5, () => {
  for (let i = 0; i < COMMITS; i++) {
    bench.bump(next++);
    for (const monitor of bench.monitors.pending()) bench.monitors.flush(monitor);
  }
});
line(`${COMMITS} commits to ${MONITORS} monitors of one shape`, `${fanOut} ms`);
for (const monitor of alike) bench.monitors.close(monitor);

const different = Array.from(
  { length: MONITORS },
  (_, i) =>
    bench.open([['options', 'includes', ['map', [['requested-chassis', `chassis-${i}`]]]]], i)
      .monitor,
);
const conditional = best(5, () => {
  for (let i = 0; i < COMMITS; i++) {
    bench.bump(next++);
    for (const monitor of bench.monitors.pending()) bench.monitors.flush(monitor);
  }
});
line(`${COMMITS} commits to ${MONITORS} monitors of as many conditions`, `${conditional} ms`);

const lagging = best(3, () => {
  for (const monitor of different) {
    bench.bump(next++);
    bench.monitors.flush(monitor);
  }
  for (const monitor of bench.monitors.pending()) bench.monitors.flush(monitor);
});
line(`${MONITORS} monitors, each a commit behind the next, all told`, `${lagging} ms`);

const clauses = (from: number): Json =>
  Array.from({ length: 3000 }, (_, i) => ['group', '==', from + (i % 2500)]);
const { monitor } = bench.open(clauses(0));
let shift = 0;
const change = best(6, () => {
  shift = (shift + 50) % 2000;
  const changed = bench.monitors.change(monitor, ['m', 'm', { Port: [{ where: clauses(shift) }] }]);
  if (isError(changed) || changed.update === null) throw new Error('nothing changed');
});
line(`monitor_cond_change, 3000 clauses, ${ROWS} rows`, `${change} ms`);
