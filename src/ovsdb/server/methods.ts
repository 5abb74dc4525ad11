/**
 * The requests that clients make (RFC 7047 §4.1 and the original's additions), each in its words.
 */
import { isError, OvsdbError, syntaxError } from '../data/error.ts';
import { isId } from '../data/member-parser.ts';
import type { Uuid } from '../data/uuid.ts';
import { schemaToJson } from '../schema/schema.ts';
import type { Hub } from './hub.ts';
import type { LockMode } from './locks.ts';
import { idKey, notificationText, type Request } from './message.ts';
import { cancelMonitor, changeMonitor, openMonitor, type Reply } from './monitoring.ts';
import type { ServedDatabase } from './served-database.ts';
import { SERVER_DATABASE } from './server-database.ts';
import type { Session } from './session.ts';
import { duplicateId, newTask, type Transactions } from './transactions.ts';

export interface MethodContext {
  readonly hub: Hub;
  readonly transactions: Transactions;
  readonly serverId: Uuid;
  readonly nowMs: number;
}

/** `null`: it is, or will be, answered elsewhere. */
export function answer(session: Session, request: Request, context: MethodContext): Reply | null {
  const { hub } = context;
  switch (request.method) {
    case 'transact':
    case 'convert':
      return start(request.method, session, request, context);
    case 'monitor':
    case 'monitor_cond':
    case 'monitor_cond_since': {
      if (request.method !== 'monitor' && !hub.monitorCond) return { error: 'unknown method' };
      const served = lookUp(request, hub);
      if (isError(served)) return { error: served };
      return openMonitor(request.method, session, served, request, hub);
    }
    case 'monitor_cond_change':
      return changeMonitor(session, request, hub);
    case 'monitor_cancel':
      return cancelMonitor(session, request);
    case 'get_schema':
      return getSchema(request, hub);
    case 'list_dbs':
      return { result: listDatabases(hub) };
    case 'get_server_id':
      return { result: context.serverId };
    case 'lock':
      return lock(session, request, 'wait', hub);
    case 'steal':
      return lock(session, request, 'steal', hub);
    case 'unlock':
      return unlock(session, request, hub);
    case 'set_db_change_aware':
      return setChangeAware(session, request);
    case 'echo':
      return { result: request.params };
    default:
      return { error: 'unknown method' };
  }
}

/** The database that a request is about, and that can be asked. */
function lookUp({ method, params }: Request, hub: Hub): ServedDatabase | OvsdbError {
  const [name] = params;
  if (typeof name !== 'string') {
    return syntaxError(params, `${method} request params must begin with <db-name>`);
  }
  const served = hub.databases.get(name);
  if (served === undefined) {
    const details = `${method} request specifies unknown database ${name}`;
    return new OvsdbError('unknown database', details, params);
  }
  if (served.content !== null) return served;
  return new OvsdbError(
    'database not available',
    `${method} request specifies database ${name} which is not yet available because it has ` +
      'not completed joining its cluster',
  );
}

/** What is built in comes last. */
function listDatabases({ databases }: Hub): string[] {
  const names = [...databases.keys()].filter((name) => name !== SERVER_DATABASE);
  return [...names, SERVER_DATABASE];
}

function getSchema(request: Request, hub: Hub): Reply {
  const served = lookUp(request, hub);
  if (isError(served)) return { error: served };
  return { result: served.content === null ? null : schemaToJson(served.content.database.schema) };
}

function start(
  kind: 'transact' | 'convert',
  session: Session,
  request: Request,
  { hub, transactions, nowMs }: MethodContext,
): Reply | null {
  const served = lookUp(request, hub);
  if (isError(served)) return { error: served };
  const { id, params } = request;
  const taken = session.waiting.size > 0 && session.waiting.has(idKey(id));
  if (taken) return { error: duplicateId({ kind, params }) };
  transactions.attempt(newTask({ kind, served, session, id, params, createdMs: nowMs }), nowMs);
  return null;
}

/** Of locks, on a session that may change nothing. */
const READ_ONLY = 'lock and unlock methods not allowed, DB server is read only.';

function lock(session: Session, request: Request, mode: LockMode, hub: Hub): Reply {
  const { method, params } = request;
  const { locks, limits } = hub;
  if (session.options.readOnly) return { error: READ_ONLY };
  const name = lockName(request);
  if (isError(name)) return { error: name };
  if (locks.has(session, name)) {
    return { error: syntaxError(params, `must issue "unlock" before new "${method}"`) };
  }
  if (locks.count(session) >= limits.locksMax) {
    return { error: new OvsdbError('resources exhausted', 'too many locks') };
  }
  const { locked, victim } = locks.acquire(session, name, mode);
  if (victim !== null) hub.send(victim, notificationText('stolen', [name]));
  return { result: { locked } };
}

function unlock(session: Session, request: Request, hub: Hub): Reply {
  const { locks } = hub;
  if (session.options.readOnly) return { error: READ_ONLY };
  const name = lockName(request);
  if (isError(name)) return { error: name };
  if (!locks.has(session, name)) {
    const details = 'unlock: "unlock" without "lock" or "steal"';
    return { error: syntaxError(request.params, details) };
  }
  const owner = locks.release(session, name);
  if (owner !== null) hub.send(owner, notificationText('locked', [name]));
  return { result: {} };
}

function lockName({ method, params }: Request): string | OvsdbError {
  const [name] = params;
  if (params.length === 1 && typeof name === 'string' && isId(name)) return name;
  return syntaxError(params, `${method} request params must be <id>`);
}

function setChangeAware(session: Session, { method, params }: Request): Reply {
  const [aware] = params;
  if (params.length !== 1 || typeof aware !== 'boolean') {
    return { error: syntaxError(params, `${method}: true or false parameter expected`) };
  }
  session.changeAware = aware;
  return { result: {} };
}
