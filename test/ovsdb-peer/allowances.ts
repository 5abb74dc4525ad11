/**
 * Where the original and ours may say different things, and why: the one table. Whoever finds a
 * difference asks here; what no entry explains is a failure.
 */
import {
  decodeUtf8,
  isArray,
  isObject,
  type Json,
  type JsonObject,
  memberOf,
  parseJson,
  serialize,
  serializeSorted,
} from '../../src/ovsdb/index.ts';
import { Canonical } from './canonical.ts';
import type { HeardBySession } from './wire-player.ts';
import type { WireSession } from './wire-session.ts';

export interface Difference {
  /** What the acting session sent, if it was one message. */
  readonly message: JsonObject | null;
  readonly session: string;
  readonly theirs: HeardBySession;
  readonly ours: HeardBySession;
  /** Connections that take no part: theirs, ours. */
  readonly controls: readonly [WireSession, WireSession];
}

export interface Allowance {
  readonly reason: string;
  /** Afterwards the two databases differ: the comparison begins anew. */
  readonly isParting: boolean;
  explains(difference: Difference): Promise<boolean>;
}

export const allowances: readonly Allowance[] = [
  {
    reason: 'of several wrong columns or rows the original names the first in its hash table',
    isParting: false,
    explains: namesAnother,
  },
  {
    reason: 'of several broken constraints the original names the first in its hash table',
    isParting: false,
    explains: breaksAnother,
  },
  {
    reason: 'of several wrong tables of a monitor the original names the first in its hash table',
    isParting: false,
    explains: namesAnotherTable,
  },
  {
    reason: 'of several columns that a monitor mentions twice the original names any',
    isParting: false,
    explains: async (difference) => onlyTextsDiffer(difference, MENTIONED_TWICE),
  },
  {
    reason: 'a weak reference of the original survives its row',
    isParting: true,
    explains: keepsWeakReference,
  },
];

/** The entry that explains it; `null`: none does. */
export async function allowanceFor(difference: Difference): Promise<Allowance | null> {
  for (const allowance of allowances) {
    if (await allowance.explains(difference)) return allowance;
  }
  return null;
}

/** A message from the bytes of a step; `null`: they are none. */
export function messageOf(bytes: Uint8Array): JsonObject | null {
  const parsed = parseJson(decodeUtf8(bytes));
  return parsed.ok && isObject(parsed.value) ? parsed.value : null;
}

function paramsOf({ message }: Difference): readonly Json[] {
  const params = message === null ? undefined : memberOf(message, 'params');
  return params !== undefined && isArray(params) ? params : [];
}

function operationsOf(difference: Difference): readonly Json[] | null {
  const { message } = difference;
  const isTransaction = message !== null && memberOf(message, 'method') === 'transact';
  return isTransaction ? paramsOf(difference).slice(1) : null;
}

/** The two results of a transaction that differ in one element, both errors. */
interface Errors {
  readonly at: number;
  readonly theirs: JsonObject;
}

/** All else that sessions heard is the same. */
function onlyErrorsDiffer(difference: Difference): Errors | null {
  const { theirs, ours, session } = difference;
  if (operationsOf(difference) === null) return null;
  for (const [name, { texts }] of theirs) {
    const other = ours.get(name)?.texts ?? [];
    const different = texts.filter((text, i) => text !== other[i]).length;
    if (texts.length !== other.length || different > (name === session ? 1 : 0)) return null;
  }
  const [a, b] = [theirs, ours].map((heard) => resultIn(heard.get(session)?.frames ?? []));
  if (a === null || b === null || a === undefined || b === undefined) return null;
  if (a.length !== b.length) return null;
  const unequal = [...a.keys()].filter((i) => serializeSorted(a[i]) !== serializeSorted(b[i]));
  // Results of earlier operations hold UUIDs that were drawn.
  const at = unequal.findLast((i) => isErrorObject(a[i]) && isErrorObject(b[i]));
  return at === undefined ? null : { at, theirs: a[at] as JsonObject };
}

function resultIn(frames: readonly Json[]): readonly Json[] | null {
  for (const frame of frames) {
    const result = isObject(frame) ? memberOf(frame, 'result') : undefined;
    if (result !== undefined && isArray(result)) return result;
  }
  return null;
}

function isErrorObject(json: Json | undefined): boolean {
  return json !== undefined && isObject(json) && memberOf(json, 'error') !== undefined;
}

const MENTIONED_TWICE = /column \w+ mentioned more than once/g;

/** The same but for such words. */
function onlyTextsDiffer({ theirs, ours }: Difference, words: RegExp): boolean {
  const texts = [theirs, ours].map((heard) =>
    [...heard.values()].map((one) => one.texts.join('\n').replaceAll(words, '')).join('\n'),
  );
  return texts[0] === texts[1];
}

/** What the original complains of must be wrong when the table stands alone. */
async function namesAnotherTable(difference: Difference): Promise<boolean> {
  const { message, theirs, session, controls } = difference;
  const method = message === null ? undefined : memberOf(message, 'method');
  if (typeof method !== 'string' || !method.startsWith('monitor')) return false;
  const [database, id, requests, ...rest] = paramsOf(difference);
  if (requests === undefined || !isObject(requests)) return false;
  const said = theirs.get(session)?.texts.find((text) => text.includes('"error":{'));
  if (said === undefined) return false;
  // A change needs its monitor: taken on trust.
  if (method === 'monitor_cond_change') return Object.keys(requests).length > 1;
  for (const [table, request] of Object.entries(requests)) {
    const params = [database as Json, id as Json, { [table]: request }, ...rest];
    const reply = await controls[1].request(method, params, message?.['id'] as Json);
    await controls[1].request('monitor_cancel', [id as Json]);
    controls[1].take();
    const alone = new Canonical().of(reply);
    if (alone.replaceAll(MENTIONED_TWICE, '') === said.replaceAll(MENTIONED_TWICE, '')) return true;
  }
  return false;
}

/** What the original complains of must be wrong by itself. */
async function namesAnother(difference: Difference): Promise<boolean> {
  const errors = onlyErrorsDiffer(difference);
  const operations = operationsOf(difference) as readonly Json[];
  if (errors === null || errors.at >= operations.length) return false;
  const operation = operations[errors.at];
  if (!isObject(operation as Json)) return false;
  const before = operations.slice(0, errors.at);
  for (const simpler of await simplerOnes(operation as JsonObject, difference)) {
    const result = await trial(difference, [...before, simpler]);
    const error = result?.[errors.at];
    if (isErrorObject(error) && (error as JsonObject)['details'] === errors.theirs['details']) {
      return true;
    }
  }
  return false;
}

/** The operation with one of its columns, or on one row. */
async function simplerOnes(operation: JsonObject, difference: Difference): Promise<JsonObject[]> {
  const several = memberOf(operation, 'rows');
  const rows = [memberOf(operation, 'row'), ...(several && isArray(several) ? several : [])];
  const simpler: JsonObject[] = [];
  for (const row of rows) {
    if (row === undefined || !isObject(row)) continue;
    for (const [name, value] of Object.entries(row)) {
      const single = { [name]: value };
      simpler.push({
        ...operation,
        ...(memberOf(operation, 'row') === undefined ? {} : { row: single }),
        ...(several === undefined ? {} : { rows: [single] }),
      });
    }
  }
  if (memberOf(operation, 'op') !== 'mutate') return simpler;
  const select = { op: 'select', table: operation['table'] as Json, where: [], columns: ['_uuid'] };
  const found = (await trial(difference, [select]))?.[0];
  if (found === undefined || !isObject(found)) return simpler;
  for (const row of (memberOf(found, 'rows') ?? []) as readonly JsonObject[]) {
    simpler.push({ ...operation, where: [['_uuid', '==', row['_uuid'] as Json]] });
  }
  return simpler;
}

/** Results of operations on ours that are not committed. */
async function trial(
  { controls }: Difference,
  operations: readonly Json[],
): Promise<readonly Json[] | null> {
  const params = ['D', ...operations, { op: 'abort' }];
  return resultIn([await controls[1].request('transact', params)]);
}

async function breaksAnother(difference: Difference): Promise<boolean> {
  const errors = onlyErrorsDiffer(difference);
  if (errors === null || errors.at < (operationsOf(difference) as readonly Json[]).length)
    return false;
  const mine = resultIn(difference.ours.get(difference.session)?.frames ?? [])?.[errors.at];
  return (mine as JsonObject)['error'] === errors.theirs['error'];
}

async function keepsWeakReference({ controls }: Difference): Promise<boolean> {
  const [theirs, ours] = await Promise.all(controls.map(dump));
  return (
    textOf(theirs as Json) !== textOf(ours as Json) &&
    withoutDangling(theirs as readonly Json[]) === withoutDangling(ours as readonly Json[])
  );
}

const TABLES = ['R', 'N', 'M'];
const WEAK = ['weak', 'peers', 'seen', 'must'];

/** The databases of both hold the same; else both, to be read by a person. */
export async function rowsDifference(controls: Difference['controls']): Promise<string | null> {
  const [theirs, ours] = (await Promise.all(controls.map(dump))) as [Json, Json];
  // UUIDs that a server has drawn are alike where they stand.
  const [a, b] = [new Canonical().of(theirs), new Canonical().of(ours)];
  return a === b ? null : `  rows\n   theirs ${a}\n   ours   ${b}`;
}

/** Rows of every table, in the order of their text, without versions. */
export async function dump(session: WireSession): Promise<readonly Json[]> {
  const selects = TABLES.map((table): Json => ({ op: 'select', table, where: [] }));
  const result = resultIn([await session.request('transact', ['D', ...selects])]);
  if (result === null) throw new Error('the database cannot be read');
  return result.map((selected) => {
    const rows = (selected as JsonObject)['rows'] as readonly JsonObject[];
    const texts = rows.map((row) => {
      const { _version, ...rest } = row;
      return rest;
    });
    return texts.sort((a, b) => (textOf(a) < textOf(b) ? -1 : 1));
  });
}

function textOf(row: Json): string {
  return new Canonical().of(row);
}

/** The dump as text, weak references to rows that do not exist left out. */
function withoutDangling(tables: readonly Json[]): string {
  const rows = (tables as readonly (readonly JsonObject[])[]).flat();
  const existing = new Set(rows.map((row) => serialize(row['_uuid'] as Json)));
  const cleaned = rows.map((row) => {
    const kept = Object.entries(row).filter(([column]) => !WEAK.includes(column));
    const weak = WEAK.map((column) =>
      elementsOf(row[column]).filter((element) =>
        existing.has(serialize(isPair(element) ? element[0] : element)),
      ),
    );
    return [Object.fromEntries(kept), weak] as Json;
  });
  return textOf(cleaned);
}

function elementsOf(datum: Json | undefined): readonly Json[] {
  if (datum === undefined || !isArray(datum)) return [];
  return datum[0] === 'uuid' ? [datum] : (datum[1] as readonly Json[]);
}

function isPair(json: Json): json is readonly [Json, Json] {
  return isArray(json) && json[0] !== 'uuid';
}
