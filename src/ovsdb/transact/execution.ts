/**
 * What the operations of one transaction share, and what they may ask of the world.
 */
import type { OvsdbError } from '../data/error.ts';
import type { MemberParser } from '../data/member-parser.ts';
import { Symbols } from '../data/symbols.ts';
import type { UuidSource } from '../data/uuid.ts';
import type { JsonObject } from '../json/value.ts';
import type { Database } from '../store/database.ts';
import type { Table } from '../store/table.ts';
import { Draft } from './draft.ts';
import type { Client } from './permissions.ts';

/** A member named "wait" that is not satisfied has no error of its own, only a time to live. */
export const NOT_SATISFIED = 'not supported';

export interface ExecutionContext {
  readonly uuids: UuidSource;
  /** Whether the session has the lock. */
  readonly ownsLock: (lock: string) => boolean;
  readonly readOnly: boolean;
  /** Whose permissions count; `null`: a session that may do everything. */
  readonly client: Client | null;
  /** Since the transaction was requested, ms: "wait" operations time out by it. */
  readonly elapsedMs: number;
}

export class Execution {
  readonly database: Database;
  readonly context: ExecutionContext;
  readonly draft: Draft;
  readonly symbols: Symbols;
  /** A "commit" operation asked for durability. */
  durable: boolean = false;
  /** The shortest timeout of "wait" operations so far, ms; `null`: none. */
  timeoutMs: number | null = null;

  constructor(database: Database, context: ExecutionContext) {
    this.database = database;
    this.context = context;
    this.draft = new Draft(database, context.uuids);
    this.symbols = new Symbols(context.uuids);
  }
}

/** Reads its members from the parser, does its work, and gives the operation's result. */
export type Operation = (x: Execution, parser: MemberParser) => JsonObject | OvsdbError;

export function parseTable(x: Execution, parser: MemberParser): Table | undefined {
  const name = parser.id('table');
  if (name === undefined) return undefined;
  const table = x.database.tables.get(name);
  if (table === undefined) parser.raise(`No table named ${name}.`);
  return table;
}
