/**
 * Tells in the database how its remotes fare: columns `is_connected` and `status` of the rows that
 * a `db:` remote refers to. A row is only written to when something in it changed.
 */
import type { Json, Row, Table } from '../../../ovsdb/index.ts';
import { datumsEqual, parseDatum } from '../../../ovsdb/index.ts';
import type { RemoteStatus } from './backend.ts';
import { type ColumnPlace, referredRows, textIn } from './db-columns.ts';

/** The operations for one `db:` remote; none: everything is as it says. */
export function statusOperations(
  place: ColumnPlace,
  statusOf: (target: string) => RemoteStatus | null,
): Json[] {
  const operations: Json[] = [];
  for (const { table, row } of referredRows(place)) {
    const target = textIn(table, row, 'target');
    if (target === null) continue;
    const changed = changedColumns(table, row, statusOf(target));
    if (Object.keys(changed).length === 0) continue;
    const where = [['_uuid', '==', ['uuid', row.uuid]]];
    operations.push({ op: 'update', table: table.schema.name, where, row: changed });
  }
  return operations;
}

function changedColumns(table: Table, row: Row, status: RemoteStatus | null): Record<string, Json> {
  const wanted: Record<string, Json> = {
    is_connected: status?.isConnected ?? false,
    status: ['map', status === null ? [] : statusPairs(status)],
  };
  const changed: Record<string, Json> = {};
  for (const [name, json] of Object.entries(wanted)) {
    const column = table.schema.byName.get(name);
    if (column === undefined) continue;
    const datum = parseDatum(json, column.type, null);
    // A column of that name of another type is somebody else's.
    if (!Array.isArray(datum)) continue;
    if (!datumsEqual(datum, row.datum(column.index))) changed[name] = json;
  }
  return changed;
}

function statusPairs(status: RemoteStatus): [string, string][] {
  const pairs: [string, string][] = [];
  const add = (key: string, value: string | number | null): void => {
    if (value !== null && value !== '') pairs.push([key, String(value)]);
  };
  add('state', status.state);
  add('sec_since_connect', status.secSinceConnect);
  add('sec_since_disconnect', status.secSinceDisconnect);
  add('last_error', status.lastError);
  add('locks_held', status.locksHeld.join(' '));
  add('locks_waiting', status.locksWaiting.join(' '));
  add('locks_lost', status.locksLost.join(' '));
  if (status.connections > 1) add('n_connections', status.connections);
  add('bound_port', status.boundPort);
  return pairs;
}
