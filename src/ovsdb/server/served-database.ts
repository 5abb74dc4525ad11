/** One database that the server serves, with everything that goes on in it. */
import type { Uuid } from '../data/uuid.ts';
import { DatabaseMonitors } from '../monitor/index.ts';
import type { Database } from '../store/database.ts';
import { Pipeline } from './pipeline.ts';
import type { Session } from './session.ts';
import type { Task } from './task.ts';
import { Waits } from './waits.ts';

export type DatabaseModel = 'standalone' | 'clustered' | 'relay';

/** What `_Server` tells of a database besides its name, model and schema. */
export interface DatabaseStatus {
  readonly connected: boolean;
  readonly leader: boolean;
  readonly cid: Uuid | null;
  readonly sid: Uuid | null;
  /** Of the latest entry applied; `null` where there is no log. */
  readonly index: number | null;
}

export interface ServedOptions {
  readonly name: string;
  /** `null`: not known yet; requests are told so. */
  readonly database: Database | null;
  readonly model: DatabaseModel;
  readonly readOnly?: boolean;
  /** `none`: kept in memory only, so changes are confirmed at once. */
  readonly journal?: 'append' | 'none';
  /** Changes are made by another server: "transact" requests that write are sent there. */
  readonly forwards?: boolean;
  readonly status?: Partial<DatabaseStatus>;
}

export interface Content {
  readonly database: Database;
  readonly monitors: DatabaseMonitors;
}

export class ServedDatabase {
  readonly name: string;
  readonly model: DatabaseModel;
  readonly journal: 'append' | 'none';
  readonly forwards: boolean;
  readOnly: boolean;
  status: DatabaseStatus;
  content: Content | null;
  readonly pipeline: Pipeline = new Pipeline();
  readonly waits: Waits = new Waits();
  /** Sent to another server and not answered, by number. */
  readonly forwarded: Map<number, Task> = new Map();
  /** Sessions whose next request is about this database, which cannot take it now. */
  readonly blocked: Set<Session> = new Set();
  /** Of the server itself, to be executed when the database can take them. */
  readonly postponed: Task[] = [];
  /** Of the latest append or forward. */
  lastNumber: number = 0;
  /** A conversion is under way: what comes after it is about another database. */
  frozen: boolean = false;
  /** Grows with every confirmed change. */
  revision: number = 0;
  /** Monitors may have something to tell. */
  changed: boolean = false;

  constructor(options: ServedOptions) {
    this.name = options.name;
    this.model = options.model;
    this.journal = options.journal ?? 'append';
    this.forwards = options.forwards ?? false;
    this.readOnly = options.readOnly ?? false;
    this.status = { connected: true, leader: true, cid: null, sid: null, index: null };
    this.status = { ...this.status, ...options.status };
    this.content = contentOf(options.database);
  }
}

export function contentOf(database: Database | null): Content | null {
  return database === null ? null : { database, monitors: new DatabaseMonitors(database) };
}
