/** What may have to be executed more than once before it is answered. */
import type { OvsdbError } from '../data/error.ts';
import type { Uuid } from '../data/uuid.ts';
import { serialize } from '../json/serialize.ts';
import { isObject, type Json, type JsonArray } from '../json/value.ts';
import type { ChangeSet } from '../store/change-set.ts';
import type { Database } from '../store/database.ts';
import type { Draft } from '../transact/draft.ts';
import type { ServedDatabase } from './served-database.ts';
import type { Session } from './session.ts';

/** How a task of the server itself ended. `text`: JSON of the results, or of the error. */
export type TaskDone = (error: OvsdbError | null, text: string) => void;

export interface Task {
  readonly kind: 'transact' | 'convert' | 'compose';
  readonly served: ServedDatabase;
  /** `null`: the server itself. */
  readonly session: Session | null;
  readonly id: Json;
  readonly params: JsonArray;
  /** Of a `compose`: makes the changes. */
  readonly compose: ((database: Database) => Draft | OvsdbError) | null;
  /** Of the server itself: told how it ended. */
  readonly done: TaskDone | null;
  /** What the changes are known by, where another server made them; else zero. */
  readonly txnId: Uuid;
  /** When it was asked for, ms. */
  readonly createdMs: number;
  /** Tables whose changes may end its waiting; `null`: any change may. */
  tables: ReadonlySet<string> | null;
  /** When its waiting ends, ms; `null`: never. */
  deadlineMs: number | null;
  /** Sent to another server under this number; 0: not. */
  forward: number;
}

/** What came of executing a task, before it counts. */
export interface Settlement {
  readonly changes: ChangeSet | null;
  /** The converted database that is to take the place of the present one. */
  readonly conversion: Database | null;
  readonly durable: boolean;
  /** Of the reply: JSON text of its "result", or of its "error". */
  readonly text: string;
  /** Not `null`: the text is its "error". */
  readonly error: OvsdbError | null;
}

const nothing = { changes: null, conversion: null, durable: false } as const;

export function resultOf(result: Json): Settlement {
  return { ...nothing, text: serialize(result), error: null };
}

export function failureOf(error: OvsdbError): Settlement {
  return { ...nothing, text: serialize(error.toJson()), error };
}

/** What is answered when the storage did not take the task's changes. */
export function refusalOf({ task, text }: Entry, error: OvsdbError): Settlement {
  if (task.kind !== 'transact' || !text.startsWith('[')) return failureOf(error);
  const results = text.slice(0, -1);
  const separator = results === '[' ? '' : ',';
  return {
    ...nothing,
    text: `${results}${separator}${serialize(error.toJson())}]`,
    error: null,
  };
}

/** A settled task, on its way to being confirmed. */
export interface Entry extends Settlement {
  readonly task: Task;
  /** Of its append; 0: it needs none and is confirmed with what is before it. */
  readonly number: number;
}

/** The tables that a transaction's operations name, rightly or wrongly. */
export function tablesNamed(params: JsonArray): ReadonlySet<string> {
  const names = new Set<string>();
  for (const operation of params) {
    if (!isObject(operation) || !Object.hasOwn(operation, 'table')) continue;
    const { table } = operation;
    if (typeof table === 'string') names.add(table);
  }
  return names;
}
