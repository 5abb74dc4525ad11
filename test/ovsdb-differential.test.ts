/**
 * The same transactions to the real ovsdb-server and to ours: the same replies. What may differ is
 * listed in `allowance`, with its reason; everything else is a failure.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  compareText,
  Database,
  decodeUtf8,
  encodeUtf8,
  execute,
  isArray,
  isError,
  isObject,
  type Json,
  JsonFramer,
  type JsonObject,
  type Outcome,
  parseJson,
  parseSchema,
  precommit,
  serialize,
  serializeSorted,
  uuidsFromPrng,
} from '../src/ovsdb/index.ts';
import { UuidNames } from '../src/ovsdb/transact/transact-test-helper.ts';
import {
  play,
  transcriptFolder,
  transcriptNames,
} from '../src/ovsdb/transact/transcript-test-helper.ts';
import { Workload, workloadSchema } from '../src/ovsdb/transact/workload-test-helper.ts';
import { Prng } from '../src/stdx/index.ts';
import { Peer, peerMissing } from './ovsdb-peer/peer.ts';

const skip = peerMissing();
const TRANSACTIONS = Number(process.env['OVSDB_TRANSACTIONS'] ?? 4000);
const SEED = Number(process.env['OVSDB_SEED'] ?? 1);

class Ours {
  readonly database: Database;
  /** The last transaction deleted rows. */
  deleted: boolean = false;
  readonly #uuids = uuidsFromPrng(new Prng(77));

  constructor(schemaText: string) {
    const json = parseJson(schemaText);
    assert.ok(json.ok);
    const schema = parseSchema(json.value);
    assert.ok(!isError(schema), String(schema));
    this.database = new Database(schema);
  }

  /** What becomes of it up to the commit, which does not happen. */
  execute(params: Json): Outcome {
    const context = {
      uuids: this.#uuids,
      ownsLock: () => false,
      readOnly: false,
      client: null,
      elapsedMs: 0,
    };
    return execute(this.database, params, context);
  }

  transact(params: Json): Json {
    this.deleted = false;
    const outcome = this.execute(params);
    if (outcome.kind === 'waiting') return 'waiting';
    if (outcome.kind === 'failed') return outcome.result;
    const before = new Map([...this.database.tables].map(([name, table]) => [name, table.size]));
    const changes = precommit(outcome.draft);
    if (isError(changes)) {
      for (const [name, table] of this.database.tables) assert.equal(table.size, before.get(name));
      return [...outcome.results, changes.toJson()];
    }
    if (changes !== null) {
      this.database.apply(changes);
      this.deleted = changes.tables.some(({ rows }) => rows.some(({ after }) => after === null));
    }
    return outcome.results;
  }
}

/** As it would arrive: written and read. */
function reread(json: Json): Json {
  const result = parseJson(serialize([json]));
  assert.ok(result.ok);
  return (result.value as readonly Json[])[0] as Json;
}

/** Rows in the order of their text, and every random UUID alike. */
function normal(json: Json): Json {
  if (isArray(json)) {
    const [kind, elements] = json;
    const collection = json.length === 2 && (kind === 'set' || kind === 'map');
    if (collection && isArray(elements)) return [kind, ordered(elements.map(normal))];
    return json.map(normal);
  }
  if (typeof json === 'string') return withoutRandom(json);
  if (!isObject(json)) return json;
  const members = Object.entries(json).map(([name, value]): [string, Json] => {
    const inner = normal(value);
    if (name !== 'rows' || !isArray(inner)) return [name, inner];
    return [name, [...inner].sort((a, b) => (serializeSorted(a) < serializeSorted(b) ? -1 : 1))];
  });
  return Object.fromEntries(members);
}

/** Elements of a set or map that are random stand in random places. */
function ordered(elements: Json[]): Json[] {
  const random = elements.some((element) => /^\[+"uuid","<random>"/.test(serialize(element)));
  return random ? elements.sort((a, b) => (serialize(a) < serialize(b) ? -1 : 1)) : elements;
}

/** Texts that have changed since 3.1.0, the release of Debian 12: newer ones are ours. */
const newerTexts: readonly (readonly [RegExp, string])[] = [
  [
    /within the \\?"\w+\\?" table or deleted from this table within/g,
    'within the table or deleted within',
  ],
];

function withoutRandom(original: string): string {
  const text = newerTexts.reduce((t, [newer, older]) => t.replace(newer, older), original);
  return text.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (uuid) =>
    /^[abc]0000000-0000-4000-8000|^00000000-0000-0000/.test(uuid) ? uuid : '<random>',
  );
}

/** Why two different errors are both right; `null`: they are not. */
function allowance(params: readonly Json[], theirs: Json, mine: Json, ours: Ours): string | null {
  if (!isArray(theirs) || !isArray(mine) || theirs.length !== mine.length) return null;
  const same = (i: number): boolean => serializeSorted(theirs[i]) === serializeSorted(mine[i]);
  const different = [...theirs.keys()].filter((i) => !same(i));
  const [at] = different;
  const [a, b] = [theirs[at] as JsonObject, mine[at] as JsonObject];
  if (different.length !== 1 || a['error'] === undefined || b['error'] === undefined) return null;
  if (at < params.length - 1) {
    return wrongColumn(params, at, a, ours) ?? wrongRow(params, at, a, ours);
  }
  if (a['error'] !== b['error']) return null;
  return 'of several broken constraints the original names the first in its hash table';
}

/** Of several wrong columns any may be named: the one that is must be wrong by itself. */
function wrongColumn(
  params: readonly Json[],
  at: number,
  a: JsonObject,
  ours: Ours,
): string | null {
  const operation = params[at + 1] as { [member: string]: Json };
  const several = operation['rows'];
  const rows = [operation['row'], ...(several !== undefined && isArray(several) ? several : [])];
  for (const [name, value] of rows.flatMap((row) =>
    row !== undefined && isObject(row) ? Object.entries(row) : [],
  )) {
    const single = { [name]: value };
    const changed = { ...operation };
    if (changed['row'] !== undefined) changed['row'] = single;
    if (changed['rows'] !== undefined) changed['rows'] = [single];
    const outcome = ours.execute([...params.slice(0, at + 1), changed]);
    const error = outcome.kind === 'failed' && isArray(outcome.result) && outcome.result[at];
    if (isObject(error as Json) && (error as JsonObject)['details'] === a['details']) {
      return 'of several wrong columns the original names the first in its hash table';
    }
  }
  return null;
}

/** Of several rows that cannot be mutated the first is named, and the order of rows is free. */
function wrongRow(params: readonly Json[], at: number, a: JsonObject, ours: Ours): string | null {
  const operation = params[at + 1] as JsonObject;
  if (operation['op'] !== 'mutate') return null;
  for (const { uuid } of ours.database.table(String(operation['table'])).rows()) {
    const single = { ...operation, where: [['_uuid', '==', ['uuid', uuid]]] };
    const outcome = ours.execute([...params.slice(0, at + 1), single]);
    const error = outcome.kind === 'failed' && isArray(outcome.result) ? outcome.result[at] : null;
    if (isObject(error) && error['details'] === a['details']) {
      return 'of several rows that cannot be mutated the original names the first in its hash table';
    }
  }
  return null;
}

const dumps = ['R', 'N', 'M'].map((table): Json => ({ op: 'select', table, where: [] }));
const purge: readonly Json[] = [
  { op: 'update', table: 'N', where: [], row: { root: ['set', []] } },
  { op: 'delete', table: 'M', where: [] },
  { op: 'delete', table: 'R', where: [] },
];
const weakColumns = ['weak', 'peers', 'seen', 'must'];

/** The dumps as text, weak references to rows that do not exist left out. */
function withoutDangling(results: Json): string {
  const tables = (results as readonly { rows: JsonObject[] }[]).map(({ rows }) => rows);
  const existing = new Set(tables.flat().map((row) => serialize(row['_uuid'] as Json)));
  const cleaned = tables.map((rows) =>
    rows.map((row) => {
      const weak = weakColumns.map((column) => elementsOf(row[column] ?? ['set', []]));
      const known = weak.map((list) =>
        list.filter((element) => existing.has(serialize(isPair(element) ? element[0] : element))),
      );
      const rest = Object.entries(row).filter(([column]) => !weakColumns.includes(column));
      return [Object.fromEntries(rest), known] as Json;
    }),
  );
  return serializeSorted(cleaned);
}

function elementsOf(json: Json): readonly Json[] {
  assert.ok(isArray(json));
  return json[0] === 'uuid' ? [json] : (json[1] as readonly Json[]);
}

function isPair(json: Json): json is readonly [Json, Json] {
  return isArray(json) && json[0] !== 'uuid';
}

test('random transactions get the replies of the original', { skip }, async (t) => {
  const peer = await Peer.start(workloadSchema);
  t.after(() => peer.stop());
  const ours = new Ours(workloadSchema);
  const workload = new Workload(SEED);
  const allowed = new Map<string, number>();
  const allow = (reason: string | null, shown: string): void => {
    assert.ok(reason !== null, shown);
    allowed.set(reason, (allowed.get(reason) ?? 0) + 1);
  };
  const both = async (operations: readonly Json[]) => {
    const params: readonly Json[] = ['D', ...operations];
    const reply = await peer.request('transact', params);
    const theirs = normal(reply['result'] ?? reply);
    const mine = normal(reread(ours.transact(params)));
    const [a, b] = [serializeSorted(theirs), serializeSorted(mine)];
    const shown = `${serializeSorted(params)}\n theirs ${a}\n ours   ${b}`;
    return { params, theirs, mine, same: a === b, shown };
  };
  let succeeded = 0;
  for (let i = 0; i < TRANSACTIONS; i++) {
    const { params, theirs, mine, same, shown } = await both(workload.transaction());
    if (!same) allow(allowance(params, theirs, mine, ours), `transaction ${i}: ${shown}`);
    else if (isArray(theirs) && theirs.every((r) => r !== null && !(isObject(r) && 'error' in r))) {
      succeeded += 1;
    }
    if (!ours.deleted && i % 20 !== 19) continue;
    const dump = await both(dumps);
    if (dump.same) continue;
    const dangling = withoutDangling(dump.theirs) === withoutDangling(dump.mine);
    const reason = 'a weak reference of the original survives its row';
    allow(dangling ? reason : null, `after transaction ${i}: ${dump.shown}`);
    await both(purge);
    assert.ok((await both(dumps)).same, 'a purge does not make both the same');
  }
  t.diagnostic(`${TRANSACTIONS} transactions, ${succeeded} succeeded`);
  for (const [reason, count] of allowed) t.diagnostic(`${count} × ${reason}`);
  assert.ok(succeeded > TRANSACTIONS / 5, 'the workload hardly ever succeeds');
});

/** 3.1.0 has older texts, and names two rows of one index value in an order that is random. */
function comparable(text: string): string {
  return newerTexts
    .reduce((t, [newer, older]) => t.replaceAll(newer, older), text)
    .replaceAll(/(First row, with .*?) {2}Second( row, with .*?)(?=",")/g, (_, first, second) =>
      [first, `First${second}`].sort(compareText).join('  '),
    );
}

for (const name of transcriptNames()) {
  test(`transcript ${name} is what the original says`, { skip }, async (t) => {
    let peer: Peer | null = null;
    let names = new UuidNames();
    t.after(() => peer?.stop());
    const { text, played } = await play(name, {
      schema: async (schema) => {
        peer?.stop();
        peer = await Peer.start(schema);
        names = new UuidNames();
      },
      transact: async (operations) => {
        assert.ok(peer !== null);
        const params = parseJson(`["D"${operations === '' ? '' : ','}${operations}]`);
        assert.ok(params.ok, operations);
        const reply = await peer.request('transact', params.value);
        return names.replaceIn(serializeSorted(reply['result'] ?? reply));
      },
    });
    if (process.env['REWRITE'] === '1') writeFileSync(join(transcriptFolder, name), played);
    else assert.equal(comparable(played), comparable(text));
  });
}

/** Values to be echoed; `\xNN` is a byte. Not here: 2^64, which the original reads as 0. */
const values = [
  '0',
  '-0',
  '1',
  '-1',
  '1.0',
  '1.5',
  '1e3',
  '1E+3',
  '1e-3',
  '100e-2',
  '12345678901234567890',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775808',
  '-9223372036854775809',
  '9007199254740993',
  '9007199254740992',
  '1e15',
  '1e16',
  '1e17',
  '123456789012345678e0',
  '1e400',
  '1e-400',
  '1e308',
  '1.7976931348623157e308',
  '5e-324',
  '0.1',
  '0.3333333333333333',
  '2.5e-5',
  '123456789.123456789',
  '0.0001',
  '0.00001',
  '99999999999999.95',
  '999999999999999.9',
  '01',
  '1.',
  '.5',
  '+1',
  '-',
  '1e',
  '--1',
  '0x1',
  '1e99999999999',
  '0e99999999999',
  '1e2147483639',
  'NaN',
  '18446744073709551615',
  '1000000000000000000000e-3',
  '0.5e1',
  '1.10',
  'null',
  'true',
  'false',
  'True',
  'nul',
  'nulll',
  '""',
  '"a"',
  '"\\u0041"',
  '"\\u00e9"',
  '"é"',
  '"\\ud83d\\ude00"',
  '"😀"',
  '"\\ud83d"',
  '"\\ud83dx"',
  '"\\ud83d\\u0041"',
  '"\\u0000"',
  '"\\x"',
  '"\\/\\b\\f\\n\\r\\t\\"\\\\"',
  '"\\u001f\\u007f"',
  '"\t"',
  '"\n"',
  '"\x7f"',
  '"\\xff"',
  '"\\xc3"',
  '[]',
  '{}',
  '[1,]',
  '{"a":1,}',
  '{"a":1,"a":2}',
  '{"a"}',
  '{1:2}',
  '[1 2]',
  '{"b":1,"a":2}',
  '"\\u00zz"',
  '/**/1',
  "'a'",
  '1,',
  '[1]]',
  '\ufeff1',
  '1\u00a0',
  '"\\ue000"',
  '"\\ufffe"',
];

function echoOf(value: string): Uint8Array {
  const text = `{"id":1,"method":"echo","params":[${value}]}`;
  const bytes: number[] = [];
  for (const part of text.split(/(\\x[0-9a-f]{2})/)) {
    if (/^\\x[0-9a-f]{2}$/.test(part)) bytes.push(Number.parseInt(part.slice(2), 16));
    else bytes.push(...encodeUtf8(part));
  }
  return Uint8Array.from(bytes);
}

/** What our half of a server answers: the value as it is written; `null`: it hangs up. */
function echoed(request: Uint8Array): string | null {
  const [result, ...more] = new JsonFramer().push(request);
  if (result === undefined || !result.ok || more.some((other) => !other.ok)) return null;
  return serialize((result.value as JsonObject)['params'] as Json);
}

test('values are read, refused and written as by the original', {
  skip: peerMissing(),
}, async (t) => {
  const peer = await Peer.start(workloadSchema);
  t.after(() => peer.stop());
  const different: string[] = [];
  const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
  for (const value of [...values, deep(900), deep(998), deep(999)]) {
    const request = echoOf(value);
    const mine = echoed(request);
    const reply = await peer.raw(request);
    const theirs = reply === null ? null : decodeUtf8(reply);
    const written =
      theirs === null ? null : /"result":(.*?)(,"id":1|,"error":null|\})*$/.exec(theirs)?.[1];
    // Members of objects come in any order.
    const unordered = (text: string | null | undefined): string =>
      value.startsWith('{') ? [...String(text)].sort(compareText).join('') : String(text);
    if (unordered(mine) === unordered(written)) continue;
    different.push(`${value.slice(0, 40)}: ${theirs}, ours ${mine?.slice(0, 80)}`);
  }
  assert.deepEqual(different, []);
});
