/** Which server and database a command is about: what the user says, or what can be meant. */
import { parseUuid, UUID_ZERO, type Uuid } from '../../../../ovsdb/data/uuid.ts';
import { compareText } from '../../../../ovsdb/json/serialize.ts';
import {
  isArray,
  isObject,
  type Json,
  type JsonObject,
  memberOf,
} from '../../../../ovsdb/json/value.ts';
import { runDirectory } from '../../shared/directories.ts';
import { ask, type ClientContext } from '../context.ts';
import { fatal } from '../fatal.ts';
import { openRpc, tryRpc } from './connect.ts';
import { ConnectionEnd, type Rpc } from './rpc.ts';

export type Need = 'nothing' | 'connection' | 'database';

export interface Opened {
  readonly rpc: Rpc;
  readonly database: string;
  /** Arguments that named remote and database. */
  readonly used: number;
}

export function defaultRemote(): string {
  return `unix:${runDirectory()}/db.sock`;
}

/** `database`: already known. `argsMin`: arguments that the command wants for itself. */
export async function openDatabase(
  context: ClientContext,
  need: Need,
  args: readonly string[],
  argsMin: number,
  database: string | null,
): Promise<Opened> {
  const first = args[0] ?? '';
  const named = args.length > argsMin && /^[A-Za-z]/.test(first) && first.includes(':');
  const { remotes, cid } = named
    ? parseRemotes(first)
    : { remotes: [defaultRemote()], cid: UUID_ZERO };
  const used = named ? 1 : 0;
  const only = remotes.length === 1 ? remotes[0] : undefined;
  if (only !== undefined) {
    const rpc = await openRpc(context, only);
    if (need !== 'database' || database !== null) return { rpc, database: database ?? '', used };
    const names = await fetchDatabases(context, rpc);
    const next = args[used];
    if (args.length - used > argsMin && next !== undefined && names.includes(next)) {
      return { rpc, database: next, used: used + 1 };
    }
    return { rpc, database: defaultDatabase(names), used };
  }
  if (database !== null || need !== 'database') {
    return { rpc: await openAny(context, remotes, database, cid), database: database ?? '', used };
  }
  const next = args[used];
  if (args.length - used <= argsMin || next === undefined) {
    return fatal('database name is required with multiple remotes');
  }
  return { rpc: await openAny(context, remotes, next, cid), database: next, used: used + 1 };
}

function defaultDatabase(names: readonly string[]): string {
  if (names.includes('Open_vSwitch')) return 'Open_vSwitch';
  const [own, another] = names.filter((name) => !name.startsWith('_'));
  if (own !== undefined && another === undefined) return own;
  return fatal('could not find a default database, please specify a database name');
}

/** The names of a server's databases, sorted. */
export async function fetchDatabases(context: ClientContext, rpc: Rpc): Promise<string[]> {
  const names = await ask(context, rpc, 'list_dbs', []);
  if (!isArray(names)) return fatal('list_dbs response is not array');
  for (const [i, name] of names.entries()) {
    if (typeof name !== 'string') return fatal(`list_dbs response ${i} is not string`);
  }
  return [...(names as string[])].sort(compareText);
}

/** Several remotes, separated by commas; one of them may be the id of their cluster. */
export function parseRemotes(text: string): { remotes: string[]; cid: Uuid } {
  const remotes = text
    .split(/,(?=[ \t]*[a-z]+:)/)
    .map((remote) => remote.replace(/^[ \t]+/, ''))
    .filter((remote) => remote !== '');
  for (const [i, remote] of remotes.entries()) {
    const cid = remote.startsWith('cid:') ? parseUuid(remote.slice('cid:'.length)) : null;
    if (cid !== null) return { remotes: remotes.filter((_, other) => other !== i), cid };
  }
  return { remotes, cid: UUID_ZERO };
}

/** The first of the remotes, tried in random order, that serves the database. */
async function openAny(
  context: ClientContext,
  remotes: readonly string[],
  database: string | null,
  cid: Uuid,
): Promise<Rpc> {
  for (const remote of shuffled(remotes)) {
    const rpc = await tryRpc(context, remote);
    if (rpc === null) continue;
    if (database === null || (await serves(context, rpc, database, cid))) return rpc;
    rpc.close();
    context.inform('reconnect', `${rpc.name}: connection attempt timed out`);
  }
  return fatal('no servers were available');
}

function shuffled(remotes: readonly string[]): string[] {
  return remotes
    .map((remote) => ({ remote, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ remote }) => remote);
}

async function serves(
  context: ClientContext,
  rpc: Rpc,
  database: string,
  cid: Uuid,
): Promise<boolean> {
  try {
    const reply = await rpc.transact('transact', databaseQuery(database));
    if (reply.kind !== 'reply') return false;
    const row = databaseRow(context, rpc, reply.content, database, cid);
    if (row === null) return false;
    if (memberOf(row, 'model') === 'standalone') return true;
    if (memberOf(row, 'connected') === false) return false;
    return !context.leaderOnly || memberOf(row, 'leader') !== false;
  } catch (error) {
    if (error instanceof ConnectionEnd) return false;
    throw error;
  }
}

/** Parameters of the transaction that asks a server about one of its databases. */
export function databaseQuery(database: string): Json[] {
  const where: Json = [['name', '==', database]];
  return ['_Server', { op: 'select', table: 'Database', where }];
}

/** The row of the database in the reply to {@link databaseQuery}; `null`: there is none. */
export function databaseRow(
  { warn }: ClientContext,
  { name }: Rpc,
  result: Json,
  database: string,
  cid: Uuid,
): JsonObject | null {
  const complain = (text: string): null => {
    warn('ovsdb_client', `${name}: ${text} for ${database}`);
    return null;
  };
  const [answer] = isArray(result) ? result : [];
  if (!isArray(result) || result.length !== 1 || !isObject(answer as Json)) {
    return complain('unexpected reply to _Server request');
  }
  const rows = memberOf(answer as JsonObject, 'rows');
  if (rows === undefined || !isArray(rows))
    return complain('missing "rows" member in  _Server reply');
  for (const row of rows) {
    if (!isObject(row)) {
      complain('bad row in  _Server reply');
      continue;
    }
    if (memberOf(row, 'name') !== database) continue;
    if (cid === UUID_ZERO || uuidIn(memberOf(row, 'cid')) === cid) return row;
  }
  return null;
}

function uuidIn(json: Json | undefined): Uuid {
  if (!isArray(json as Json)) return UUID_ZERO;
  const [kind, value] = json as readonly Json[];
  return kind === 'uuid' && typeof value === 'string' ? (parseUuid(value) ?? UUID_ZERO) : UUID_ZERO;
}
