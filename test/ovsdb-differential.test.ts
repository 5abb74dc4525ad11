/**
 * The same transactions to the real ovsdb-server and to ours: the same replies. What may differ is
 * listed in `allowance`, with its reason; everything else is a failure.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  Database,
  execute,
  isArray,
  isError,
  isObject,
  type Json,
  type JsonObject,
  parseJson,
  parseSchema,
  precommit,
  serializeSorted,
  uuidsFromPrng,
} from '../src/ovsdb/index.ts';
import { Prng } from '../src/stdx/index.ts';
import { Peer, peerMissing } from './ovsdb-peer/peer.ts';
import { Workload, workloadSchema } from './ovsdb-peer/workload.ts';

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

  transact(params: Json): Json {
    const context = { uuids: this.#uuids, ownsLock: () => false, readOnly: false, elapsedMs: 0 };
    const outcome = execute(this.database, params, context);
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

/** Rows in the order of their text, and every random UUID alike. */
function normal(json: Json): Json {
  if (isArray(json)) return json.map(normal);
  if (typeof json === 'string') return withoutRandom(json);
  if (!isObject(json)) return json;
  const members = Object.entries(json).map(([name, value]): [string, Json] => {
    const inner = normal(value);
    if (name !== 'rows' || !isArray(inner)) return [name, inner];
    return [name, [...inner].sort((a, b) => (serializeSorted(a) < serializeSorted(b) ? -1 : 1))];
  });
  return Object.fromEntries(members);
}

function withoutRandom(text: string): string {
  return text.replaceAll(
    /(?!([abc])0000000-0000-4000-8000-00000000000\d)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g,
    (uuid) => (uuid.startsWith('00000000-0000-0000') ? uuid : '<random>'),
  );
}

/** Why two different errors are both right; `null`: they are not. */
function allowance(theirs: Json, ours: Json): string | null {
  if (!isArray(theirs) || !isArray(ours) || theirs.length !== ours.length) return null;
  const at = theirs.findIndex((result, i) => serializeSorted(result) !== serializeSorted(ours[i]));
  const [a, b] = [theirs[at] as JsonObject, ours[at] as JsonObject];
  if (
    theirs
      .slice(at + 1)
      .some((result, i) => serializeSorted(result) !== serializeSorted(ours[at + 1 + i]))
  )
    return null;
  if (a['error'] === undefined || b['error'] === undefined) return null;
  if (a['error'] === 'referential integrity violation' && b['error'] === a['error']) {
    return 'of several broken references the original names the first in its hash table';
  }
  if (
    a['error'] === 'constraint violation' &&
    b['error'] === a['error'] &&
    at === theirs.length - 1
  ) {
    return 'of several broken constraints the original names the first in its hash table';
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
    const params: Json = ['D', ...operations];
    const reply = await peer.request('transact', params);
    const theirs = normal(reply['result'] ?? reply);
    const mine = normal(ours.transact(params));
    if (serializeSorted(theirs) === serializeSorted(mine)) {
      if (isArray(theirs) && theirs.every((r) => r !== null && !(isObject(r) && 'error' in r)))
        succeeded++;
      continue;
    }
    const reason = allowance(theirs, mine);
    const shown = `transaction ${i}: ${serializeSorted(params)}\n theirs ${serializeSorted(theirs)}\n ours   ${serializeSorted(mine)}`;
    assert.ok(reason !== null, shown);
    allowed.set(reason, (allowed.get(reason) ?? 0) + 1);
  }
  t.diagnostic(`${TRANSACTIONS} transactions, ${succeeded} succeeded`);
  for (const [reason, count] of allowed) t.diagnostic(`${count} × ${reason}`);
  assert.ok(succeeded > TRANSACTIONS / 5, 'the workload hardly ever succeeds');
});
