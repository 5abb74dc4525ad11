/**
 * Executes a "transact" request (RFC 7047 §4.1.3) against a draft. What comes out is a reply, and,
 * when every operation succeeded, a draft still to be checked and committed; or the news that a
 * "wait" is not satisfied yet, so that the whole has to be tried again when something has changed.
 */
import { isError, OvsdbError, syntaxError } from '../data/error.ts';
import { MemberParser } from '../data/member-parser.ts';
import { isArray, type Json, type JsonObject } from '../json/value.ts';
import type { Database } from '../store/database.ts';
import type { Draft } from './draft.ts';
import { Execution, type ExecutionContext, NOT_SATISFIED, type Operation } from './execution.ts';
import { abort, assertLock, comment, commit, select, wait } from './reads.ts';
import { deleteRows, insert, mutateRows, update } from './writes.ts';

export type Outcome =
  /** Answer now; nothing is to be committed. `result`: of the reply, an array or an error object. */
  | { readonly kind: 'failed'; readonly result: Json }
  /**
   * Try again when the database changes, and when `timeoutMs` have passed since the request;
   * `null`: for ever.
   */
  | { readonly kind: 'waiting'; readonly timeoutMs: number | null }
  /** To be committed; then answer with the results, one for each operation. */
  | {
      readonly kind: 'composed';
      readonly results: readonly Json[];
      readonly draft: Draft;
      readonly durable: boolean;
    };

interface OperationEntry {
  readonly execute: Operation;
  readonly writes: boolean;
}

const operations: ReadonlyMap<string, OperationEntry> = new Map([
  ['insert', { execute: insert, writes: true }],
  ['select', { execute: select, writes: false }],
  ['update', { execute: update, writes: true }],
  ['mutate', { execute: mutateRows, writes: true }],
  ['delete', { execute: deleteRows, writes: true }],
  ['wait', { execute: wait, writes: false }],
  ['commit', { execute: commit, writes: true }],
  ['abort', { execute: abort, writes: false }],
  ['comment', { execute: comment, writes: false }],
  ['assert', { execute: assertLock, writes: false }],
]);

/** `params`: of the request: the database's name, then operations. */
export function execute(database: Database, params: Json, context: ExecutionContext): Outcome {
  if (!isArray(params)) return refused(syntaxError(params, 'array expected'));
  if (params[0] !== database.name) {
    return refused(syntaxError(params, 'database name expected as first parameter'));
  }
  const x = new Execution(database, context);
  const count = params.length - 1;
  const results: Json[] = [];
  for (let i = 1; i <= count; i++) {
    const parser = new MemberParser(params[i], `ovsdb operation ${i} of ${count}`);
    const result = executeOne(x, parser);
    if (!isError(result)) {
      results.push(result);
      continue;
    }
    if (result.tag === NOT_SATISFIED) return { kind: 'waiting', timeoutMs: x.timeoutMs };
    results.push(result.toJson());
    while (results.length < count) results.push(null);
    return { kind: 'failed', result: results };
  }
  return { kind: 'composed', results, draft: x.draft, durable: x.durable };
}

function refused(error: OvsdbError): Outcome {
  return { kind: 'failed', result: error.toJson() };
}

/** An operation that cannot be read is told so, whatever else may be wrong with it. */
function executeOne(x: Execution, parser: MemberParser): JsonObject | OvsdbError {
  const name = parser.id('op');
  if (name === undefined) return parser.finish() as OvsdbError;
  const operation = operations.get(name);
  if (operation === undefined) {
    parser.raise(`No operation "${name}"`);
    return parser.finish() as OvsdbError;
  }
  const result = operation.execute(x, parser);
  const unreadable = parser.finish();
  if (unreadable !== null) return unreadable;
  if (isError(result) || !operation.writes) return result;
  return forbidden(x, name) ?? result;
}

function forbidden(x: Execution, name: string): OvsdbError | null {
  if (x.context.readOnly) {
    const details = `${name} operation not allowed when database server is in read only mode`;
    return new OvsdbError('not allowed', details);
  }
  if (!x.database.name.startsWith('_')) return null;
  const details = `${name} operation not allowed on table in reserved database ${x.database.name}`;
  return new OvsdbError('not allowed', details);
}
