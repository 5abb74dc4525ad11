/** Monitors over a database that commits at once. */
import assert from 'node:assert/strict';
import { isError } from '../data/error.ts';
import type { Uuid } from '../data/uuid.ts';
import { serialize, serializeSorted } from '../json/serialize.ts';
import type { Json } from '../json/value.ts';
import type { Schema } from '../schema/schema.ts';
import { jsonOf, TestDatabase } from '../transact/transact-test-helper.ts';
import { DatabaseMonitors, type MonitorsOptions } from './database-monitors.ts';
import type { MonitorMethod } from './monitor-request.ts';
import type { Monitor } from './shape.ts';

export class MonitoredDatabase {
  readonly db: TestDatabase;
  readonly monitors: DatabaseMonitors;
  /** Zero ids, as a standalone server has them. */
  readonly standalone: boolean;

  constructor(schema: Schema, options: MonitorsOptions & { standalone?: boolean } = {}) {
    this.db = new TestDatabase(schema);
    this.monitors = new DatabaseMonitors(this.db.database, options);
    this.standalone = options.standalone ?? false;
  }

  /** Operations as text, which must succeed. */
  run(operations: string): void {
    this.transact(jsonOf(`[${operations}]`) as Json[]);
  }

  transact(operations: readonly Json[]): void {
    const commits = this.db.history.length;
    const result = this.db.transact(operations);
    assert.ok(!serialize(result).includes('"error"'), serialize(result));
    if (this.db.history.length === commits) return;
    const changes = this.db.history.at(-1);
    assert.ok(changes !== undefined);
    this.monitors.committed(changes, this.standalone ? ZERO : this.db.uuids());
  }

  open(method: MonitorMethod, ...params: Json[]): { monitor: Monitor; reply: string } {
    const opened = this.monitors.open(method, ['D', ...params]);
    assert.ok(!isError(opened), String(opened));
    return { monitor: opened.monitor, reply: textOf(serialize(opened.reply)) };
  }

  /** The <table-updates> of the next notification, members sorted; `null`: there is none. */
  flush(monitor: Monitor): string | null {
    const message = this.monitors.flush(monitor);
    return message === null ? null : updatesOf(message);
  }

  change(monitor: Monitor, requests: Json, id: Json = monitor.id): string | null {
    const changed = this.monitors.change(monitor, [monitor.id, id, requests]);
    assert.ok(!isError(changed), String(changed));
    return changed.update === null ? null : updatesOf(changed.update);
  }
}

const ZERO: Uuid = '00000000-0000-0000-0000-000000000000';

function textOf(json: string): string {
  return serializeSorted(jsonOf(json));
}

function updatesOf(message: string): string {
  const { params } = jsonOf(message) as { params: Json[] };
  return serializeSorted(params.at(-1) as Json);
}

/** A UUID of our choice. */
export function uuid(i: number): Uuid {
  return `${(i % 256).toString(16).padStart(2, '0')}000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
}
