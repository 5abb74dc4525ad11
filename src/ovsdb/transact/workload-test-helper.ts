/**
 * Random transactions over a schema that has everything: mostly valid, often on the edge, now and
 * then nonsense. Rows get explicit UUIDs, so that two servers agree about them.
 */

import { Prng } from '../../stdx/index.ts';
import type { Json, JsonObject } from '../json/value.ts';

export const workloadSchema = `{"name":"D","version":"1.0.0","tables":{
"R":{"isRoot":true,"indexes":[["name"],["int","bool"]],"maxRows":12,"columns":{
 "name":{"type":"string"},
 "int":{"type":"integer"},
 "real":{"type":"real"},
 "bool":{"type":"boolean"},
 "fixed":{"type":"integer","mutable":false},
 "opt":{"type":{"key":"integer","min":0}},
 "optReal":{"type":{"key":"real","min":0}},
 "ints":{"type":{"key":"integer","min":0,"max":"unlimited"}},
 "reals":{"type":{"key":"real","min":0,"max":3}},
 "few":{"type":{"key":{"type":"integer","minInteger":-2,"maxInteger":20},"min":1,"max":4}},
 "word":{"type":{"key":{"type":"string","enum":["set",["red","green","blue","a b"]]},
  "min":0,"max":2}},
 "len":{"type":{"key":{"type":"string","minLength":1,"maxLength":3},"min":0,"max":2}},
 "map":{"type":{"key":"string","value":"integer","min":0,"max":4}},
 "flags":{"type":{"key":"integer","value":"boolean","min":0,"max":"unlimited"}},
 "uuids":{"type":{"key":"uuid","min":0,"max":3}},
 "strong":{"type":{"key":{"type":"uuid","refTable":"N"},"min":0,"max":"unlimited"}},
 "weak":{"type":{"key":{"type":"uuid","refTable":"N","refType":"weak"},"min":0,"max":"unlimited"}},
 "refs":{"type":{"key":"string","value":{"type":"uuid","refTable":"N"},"min":0,"max":"unlimited"}},
 "peers":{"type":{"key":{"type":"uuid","refTable":"R","refType":"weak"},"value":"string",
  "min":0,"max":"unlimited"}}}},
"N":{"columns":{
 "tag":{"type":"string"},
 "next":{"type":{"key":{"type":"uuid","refTable":"N"},"min":0}},
 "root":{"type":{"key":{"type":"uuid","refTable":"R"},"min":0}},
 "seen":{"type":{"key":{"type":"uuid","refTable":"R","refType":"weak"},"min":0,"max":2}}}},
"M":{"isRoot":true,"columns":{
 "must":{"type":{"key":{"type":"uuid","refTable":"N","refType":"weak"},"max":2}},
 "note":{"type":{"key":"string","min":0},"ephemeral":true}}}}}`;

const ROWS = 30;

/** UUID number `i` of a table. */
function uuidOf(table: string, i: number): string {
  return `${table === 'R' ? 'a' : table === 'N' ? 'b' : 'c'}0000000-0000-4000-8000-0000000000${String(i).padStart(2, '0')}`;
}

const functions = ['==', '!=', '<', '<=', '>', '>=', 'includes', 'excludes'];

type Draw = (x: Workload) => Json;

const INTEGERS: readonly Json[] = [
  0,
  1,
  2,
  -1,
  -2,
  3,
  7,
  20,
  21,
  100,
  9223372036854775807n,
  -9223372036854775808n,
  9007199254740993n,
  4611686018427387904n,
  -3,
];
const REALS: readonly Json[] = [0, 1, 0.5, -2.25, 1e300, 0.1, 1e-5, 123456789.125, 1e20, 7];
const STRINGS: readonly Json[] = [
  '',
  'a',
  'b',
  'abc',
  'abcd',
  'red',
  'green',
  'a b',
  'é',
  '😀',
  '\ue000',
  'x"y\\',
  'line\nbreak',
  'true',
  '1',
];

export class Workload {
  readonly prng: Prng;

  constructor(seed: number) {
    this.prng = new Prng(seed);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.prng.below(items.length)] as T;
  }

  chance(outOf: number): boolean {
    return this.prng.below(outOf) === 0;
  }

  transaction(): Json[] {
    if (this.chance(4)) return this.family();
    if (this.chance(9)) return this.purge();
    return Array.from({ length: 1 + this.prng.below(3) }, () => this.operation());
  }

  /** Makes room. */
  purge(): Json[] {
    const half = [['int', this.pick(['<', '>']), this.prng.below(99)]];
    return [
      { op: 'delete', table: 'M', where: [] },
      { op: 'delete', table: 'R', where: this.chance(2) ? half : [] },
    ];
  }

  /** Rows that refer to one another, so that strong references are not all to nothing. */
  family(): Json[] {
    const members = [0, 1, 2].slice(0, 1 + this.prng.below(3));
    const named = (i: number): Json => ['named-uuid', `n${i}`];
    const children = members.map((i) => ({
      op: 'insert',
      table: 'N',
      uuid: uuidOf('N', 10 * i + this.prng.below(10)),
      'uuid-name': `n${i}`,
      row: i > 0 && this.chance(2) ? { next: named(i - 1) } : {},
    }));
    const some = (): Json => ['set', members.filter(() => this.chance(2)).map(named)];
    const row = {
      ...(this.row('R', 1) as JsonObject),
      strong: ['set', members.map(named)],
      weak: some(),
      refs: ['map', members.filter(() => this.chance(2)).map((i) => [`k${i}`, named(i)])],
    };
    const parent = { op: 'insert', table: 'R', uuid: uuidOf('R', this.prng.below(ROWS)), row };
    const release = this.on('update', 'R', { row: { strong: ['set', []] } });
    return this.chance(4) ? [...children, parent, release] : [...children, parent];
  }

  operation(): Json {
    const table = this.pick(['R', 'R', 'R', 'N', 'N', 'M']);
    const kind = this.prng.below(16);
    let operation: { [member: string]: Json };
    if (kind < 6) operation = this.insert(table);
    else if (kind < 8) operation = this.on('update', table, { row: this.row(table, 2) });
    else if (kind < 11) {
      const mutations = Array.from({ length: this.prng.below(3) }, () => this.mutation(table));
      operation = this.on('mutate', table, { mutations });
    } else if (kind < 12) operation = this.on('delete', table, {});
    else if (kind < 14) operation = this.select(table);
    else if (kind < 15) operation = this.wait(table);
    else {
      operation = this.pick<{ [member: string]: Json }>([
        { op: 'comment', comment: 'hello' },
        { op: 'commit', durable: false },
        { op: 'abort' },
        { op: 'assert', lock: 'l' },
        { op: 'nonsense' },
        { op: 'commit' },
      ]);
    }
    if (this.chance(60)) operation[this.pick(['extra', 'where', 'row', 'table'])] = this.junk();
    return operation;
  }

  junk(): Json {
    return this.pick<Json>([null, 5, 'x', [], {}, true, ['set', []], 1.5, ['uuid', 'x']]);
  }

  insert(table: string): { [member: string]: Json } {
    const operation: { [member: string]: Json } = { op: 'insert', table, row: this.row(table, 4) };
    operation['uuid'] = this.chance(80) ? 'bad' : uuidOf(table, this.prng.below(ROWS));
    if (this.chance(3)) operation['uuid-name'] = this.pick(['n0', 'n1', 'n2', 'n3', 'n4']);
    return operation;
  }

  on(op: string, table: string, rest: { [member: string]: Json }): { [member: string]: Json } {
    return { op, table, where: this.where(table), ...rest };
  }

  where(table: string): Json {
    if (this.chance(3)) return [['_uuid', '==', this.reference(table)]];
    return Array.from({ length: this.prng.below(3) }, () => this.clause(table));
  }

  clause(table: string): Json {
    if (this.chance(15)) return this.pick<Json>([true, false, 5, [], ['x', '==', 1]]);
    const name = this.pick(this.chance(30) ? ['like'] : functions);
    const [column, draw] = this.pick(columnsOf(table));
    return [column, this.chance(20) ? name : this.pick(['==', 'includes', name]), draw(this)];
  }

  mutation(table: string): Json {
    if (this.chance(20)) return this.junk();
    const [column, draw] = this.pick(columnsOf(table));
    const numeric = ['int', 'real', 'ints', 'reals', 'few', 'opt'].includes(column);
    const mutator = this.pick(
      numeric && !this.chance(4)
        ? ['+=', '-=', '*=', '/=', '%=']
        : ['insert', 'delete', this.chance(9) ? 'add' : this.pick(['insert', 'delete'])],
    );
    const scalar = numeric && mutator !== 'insert' && mutator !== 'delete';
    // The original multiplies other integers wrongly: -1 by 0 ends the process, some products
    // that overflow wrap around, some that fit are refused.
    if (scalar && mutator === '*=') return [column, mutator, this.pick([2, 5])];
    if (scalar) return [column, mutator, this.pick(column.startsWith('real') ? REALS : SMALL)];
    if (mutator === 'delete' && this.chance(2) && (column === 'map' || column === 'refs')) {
      return [column, mutator, ['set', distinct(this, 2, (x) => x.pick(STRINGS))]];
    }
    return [column, mutator, draw(this)];
  }

  select(table: string): { [member: string]: Json } {
    const operation = this.on('select', table, {});
    const columns = columnsOf(table).map(([name]) => name);
    const some = (): Json => [...new Set(Array.from({ length: 3 }, () => this.pick(columns)))];
    operation['columns'] = this.chance(2) ? [...columns, '_uuid'] : some();
    if (this.chance(15)) operation['columns'] = ['nothing'];
    return operation;
  }

  wait(table: string): { [member: string]: Json } {
    const columns = columnsOf(table).map(([name]) => name);
    return this.on('wait', table, {
      timeout: this.chance(20) ? this.pick<Json>([-1, 1.5]) : 0,
      columns: [this.pick(columns)],
      until: this.chance(30) ? '<' : this.pick(['==', '!=', '!=']),
      rows: Array.from({ length: this.prng.below(2) }, () => this.row(table, 1)),
    });
  }

  row(table: string, columnsMax: number): Json {
    const row: { [column: string]: Json } = {};
    // Only one column may be wrong: servers look at columns in orders of their own.
    const count = this.prng.below(columnsMax + 1);
    for (let i = 0; i < count; i++) {
      const [column, draw] = this.pick(columnsOf(table));
      row[column] = draw(this);
    }
    if (table === 'R' && !this.chance(9)) row['name'] = `r${this.prng.below(99)}`;
    if (table === 'R' && !this.chance(9)) row['int'] = this.prng.below(99);
    if (table === 'R' && !this.chance(4)) row['few'] = 1;
    if (table === 'M' && !this.chance(4)) row['must'] = this.reference('N');
    if (this.chance(60)) row['unknown'] = 1;
    return row;
  }

  reference(table: string): Json {
    if (this.chance(4))
      return ['named-uuid', this.pick(this.chance(9) ? ['1x'] : ['n0', 'n1', 'n2', 'n3', 'n4'])];
    if (this.chance(90)) return this.junk();
    return ['uuid', uuidOf(table, this.prng.below(ROWS))];
  }
}

const SMALL: readonly Json[] = [0, 1, 2, -1, 3, 5, 9223372036854775807n, 4611686018427387904n, 1.5];

function distinct(x: Workload, max: number, draw: Draw): Json[] {
  const elements = Array.from({ length: x.prng.below(max + 1) }, () => draw(x));
  // Some sets hold a duplicate, most do not.
  if (x.chance(10)) return elements;
  const seen = new Set<string>();
  return elements.filter((element) => {
    const key = String(Array.isArray(element) ? element[1] : element);
    return !seen.has(key) && seen.add(key) !== undefined;
  });
}

function setOf(max: number, draw: Draw): Draw {
  return (x) => (x.chance(3) ? draw(x) : ['set', distinct(x, max, draw)]);
}

function mapOf(max: number, key: Draw, value: Draw): Draw {
  return (x) => ['map', distinct(x, max, key).map((k) => [k, value(x)])];
}

const integer: Draw = (x) => (x.chance(90) ? x.junk() : x.pick(INTEGERS));
const real: Draw = (x) => (x.chance(90) ? x.junk() : x.pick(REALS));
const string: Draw = (x) => (x.chance(90) ? x.junk() : x.pick(STRINGS));
const boolean: Draw = (x) => (x.chance(90) ? x.junk() : x.chance(2));
const toN: Draw = (x) => x.reference('N');
const toR: Draw = (x) => x.reference('R');

const columns: { readonly [table: string]: readonly (readonly [string, Draw])[] } = {
  R: [
    ['name', string],
    ['int', integer],
    ['real', real],
    ['bool', boolean],
    ['fixed', integer],
    ['opt', setOf(1, integer)],
    ['optReal', setOf(1, real)],
    ['ints', setOf(4, integer)],
    ['reals', setOf(4, real)],
    ['few', setOf(4, (x) => x.pick<Json>([1, 2, 3, 20, -2, 21, -3]))],
    ['word', setOf(2, (x) => x.pick<Json>(['red', 'green', 'blue', 'a b', 'pink']))],
    ['len', setOf(2, string)],
    ['map', mapOf(4, string, integer)],
    ['flags', mapOf(4, integer, boolean)],
    ['uuids', setOf(3, toN)],
    ['strong', setOf(3, toN)],
    ['weak', setOf(4, toN)],
    ['refs', mapOf(3, string, toN)],
    ['peers', mapOf(3, toR, string)],
  ],
  N: [
    ['tag', string],
    ['next', setOf(1, toN)],
    ['root', setOf(1, toR)],
    ['seen', setOf(2, toR)],
  ],
  M: [
    ['must', setOf(2, toN)],
    ['note', setOf(1, string)],
  ],
};

function columnsOf(table: string): readonly (readonly [string, Draw])[] {
  return columns[table] as readonly (readonly [string, Draw])[];
}
