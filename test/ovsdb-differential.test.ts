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
  execute,
  isArray,
  isError,
  isObject,
  type Json,
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

const TRANSACTIONS = Number(process.env['OVSDB_TRANSACTIONS'] ?? 4000);
const SEED = Number(process.env['OVSDB_SEED'] ?? 1);

class Ours {
  readonly database: Database;
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
    const context = { uuids: this.#uuids, ownsLock: () => false, readOnly: false, elapsedMs: 0 };
    return execute(this.database, params, context);
  }

  transact(params: Json): Json {
    const outcome = this.execute(params);
    if (outcome.kind === 'waiting') return 'waiting';
    if (outcome.kind === 'failed') return outcome.result;
    const before = new Map([...this.database.tables].map(([name, table]) => [name, table.size]));
    const changes = precommit(outcome.draft);
    if (isError(changes)) {
      for (const [name, table] of this.database.tables) assert.equal(table.size, before.get(name));
      return [...outcome.results, changes.toJson()];
    }
    if (changes !== null) this.database.apply(changes);
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
  return text.replaceAll(
    /(?!([abc])0000000-0000-4000-8000-0000000000\d\d)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g,
    (uuid) => (uuid.startsWith('00000000-0000-0000') ? uuid : '<random>'),
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
  if (at < params.length - 1) return wrongColumn(params, at, a, ours);
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

const dumps = ['R', 'N', 'M'].map((table): Json => ({ op: 'select', table, where: [] }));

test('random transactions get the replies of the original', { skip: peerMissing() }, async (t) => {
  const peer = await Peer.start(workloadSchema);
  t.after(() => peer.stop());
  const ours = new Ours(workloadSchema);
  const workload = new Workload(SEED);
  const allowed = new Map<string, number>();
  let succeeded = 0;
  for (let i = 0; i < TRANSACTIONS; i++) {
    const operations = i % 20 === 19 ? dumps : workload.transaction();
    const params: readonly Json[] = ['D', ...operations];
    const reply = await peer.request('transact', params);
    const theirs = normal(reply['result'] ?? reply);
    const mine = normal(reread(ours.transact(params)));
    if (serializeSorted(theirs) === serializeSorted(mine)) {
      if (isArray(theirs) && theirs.every((r) => r !== null && !(isObject(r) && 'error' in r)))
        succeeded++;
      continue;
    }
    const reason = allowance(params, theirs, mine, ours);
    const shown = `transaction ${i}: ${serializeSorted(params)}\n theirs ${serializeSorted(theirs)}\n ours   ${serializeSorted(mine)}`;
    assert.ok(reason !== null, shown);
    allowed.set(reason, (allowed.get(reason) ?? 0) + 1);
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
  test(`transcript ${name} is what the original says`, { skip: peerMissing() }, async (t) => {
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
