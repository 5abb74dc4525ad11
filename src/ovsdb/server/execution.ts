/**
 * Executes tasks against the tables as they are, and says what would come of it. Changes nothing.
 */
import { assert } from '../../stdx/index.ts';
import { isError, OvsdbError, syntaxError } from '../data/error.ts';
import { serialize } from '../json/serialize.ts';
import { isObject, type JsonArray } from '../json/value.ts';
import { convertDatabase } from '../record/read.ts';
import { checkNoEphemeral, parseSchema } from '../schema/schema.ts';
import type { Database } from '../store/database.ts';
import { execute, type Outcome } from '../transact/execute.ts';
import { precommit } from '../transact/precommit.ts';
import type { Hub } from './hub.ts';
import { failureOf, resultOf, type Settlement, type Task } from './task.ts';

/** `wait`: try again later, see the task's deadline. `forward`: somebody else has to do it. */
export type Attempt = Settlement | 'wait' | 'forward';

export function attemptTask(task: Task, hub: Hub, nowMs: number): Attempt {
  const { content } = task.served;
  assert(content !== null, 'attemptTask: the database is not known yet');
  switch (task.kind) {
    case 'transact':
      return transact(task, content.database, hub, nowMs);
    case 'convert':
      return convert(task, content.database, hub);
    case 'compose':
      return compose(task, content.database);
  }
}

function transact(task: Task, database: Database, hub: Hub, nowMs: number): Attempt {
  const { session, served, params } = task;
  const outcome = execute(database, params, {
    uuids: hub.uuids,
    ownsLock: (lock) => session !== null && hub.locks.owns(session, lock),
    readOnly: session !== null && (session.options.readOnly || served.readOnly),
    client: session === null ? null : { role: session.options.role, id: session.options.clientId },
    elapsedMs: Math.max(0, Math.trunc(nowMs - task.createdMs)),
  });
  if (outcome.kind === 'failed') return resultOf(outcome.result);
  if (outcome.kind === 'waiting') {
    const { timeoutMs } = outcome;
    task.deadlineMs = timeoutMs === null ? null : task.createdMs + timeoutMs;
    return 'wait';
  }
  if (served.forwards && session !== null && writesAnything(params)) return 'forward';
  return composed(outcome);
}

const writing = new Set(['insert', 'update', 'mutate', 'delete', 'commit']);

/** Of a transaction that was executed, so that its operations are such. */
function writesAnything(params: JsonArray): boolean {
  return params.some((operation) => isObject(operation) && writing.has(String(operation['op'])));
}

function composed({ draft, results, durable }: Outcome & { kind: 'composed' }): Settlement {
  const changes = precommit(draft);
  if (isError(changes)) return resultOf([...results, changes.toJson()]);
  // Written now: once it is committed, there is no way to say that the answer is too long.
  return { changes, conversion: null, durable, text: serialize(results), error: null };
}

function convert(task: Task, from: Database, hub: Hub): Settlement {
  const { session, params, served } = task;
  const { name } = served;
  if (session !== null && session.options.role !== '') {
    const { clientId, role } = session.options;
    const details =
      `RBAC rules for client "${clientId ?? '(null)'}" role "${role}" prohibit "convert" ` +
      `of database ${name} (only the root role may convert databases)`;
    return failureOf(new OvsdbError('permission error', details));
  }
  if (session?.options.readOnly === true || served.readOnly || name.startsWith('_')) {
    const details = `conversion is not allowed for read-only database ${name}`;
    return failureOf(new OvsdbError('not allowed', details));
  }
  if (params.length !== 2) return failureOf(syntaxError(params, 'array expected'));
  const schema = parseSchema(params[1]);
  if (isError(schema)) return failureOf(schema);
  if (schema.name !== name) {
    const details = `new schema name (${schema.name}) does not match database name (${name})`;
    return failureOf(new OvsdbError('invalid parameters', details));
  }
  const problem = served.model === 'clustered' ? checkNoEphemeral(schema) : null;
  if (problem !== null) return failureOf(problem);
  const conversion = convertDatabase(from, schema, hub.uuids);
  if (isError(conversion)) return failureOf(conversion);
  return { changes: null, conversion, durable: true, text: '{}', error: null };
}

function compose(task: Task, database: Database): Settlement {
  assert(task.compose !== null, 'compose: nothing to do');
  const draft = task.compose(database);
  if (isError(draft)) return failureOf(draft);
  const changes = precommit(draft);
  if (isError(changes)) return failureOf(changes);
  return { changes, conversion: null, durable: false, text: '{}', error: null };
}
