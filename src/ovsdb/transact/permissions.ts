/**
 * Role-based access control of the original: a session with a role may change only what the
 * database itself says, in its table RBAC_Role. A role's row maps names of tables to rows of
 * permissions: `authorization` (columns, or column:key, one of which must hold the client's id; ""
 * is anybody), `insert_delete`, and `update` (columns). Without such a table, or without a role,
 * everything is allowed.
 */

import type { AtomicType } from '../data/atom.ts';
import { UNLIMITED } from '../data/base-type.ts';
import { type Datum, findKey } from '../data/datum.ts';
import { OvsdbError } from '../data/error.ts';
import type { Uuid } from '../data/uuid.ts';
import type { Column } from '../schema/column.ts';
import type { TableSchema } from '../schema/table-schema.ts';
import type { Row } from '../store/row.ts';
import type { Table } from '../store/table.ts';
import type { Draft } from './draft.ts';

/** Who asks. */
export interface Client {
  readonly role: string;
  /** The name in its certificate; `null`: it showed none, and may nothing. */
  readonly id: string | null;
}

export type Act =
  | 'row insertion into'
  | 'row deletion from'
  | 'modification of'
  | 'mutate operation on';

/** `columns`: that are to be changed. `null`: allowed. */
export function checkPermission(
  draft: Draft,
  client: Client | null,
  act: Act,
  table: Table,
  rows: readonly Row[],
  columns: readonly Column[],
): OvsdbError | null {
  const roles = draft.database.tables.get('RBAC_Role');
  if (roles === undefined || client === null || client.role === '') return null;
  const { role, id } = client;
  const permissions = id === null ? null : permissionsOf(draft, roles, role, table);
  const allowed =
    permissions !== null &&
    id !== null &&
    rows.every((row) => mayTouch(permissions, id, table.schema, row)) &&
    (rows.length === 0 || mayChange(permissions, act, columns));
  if (allowed) return null;
  const who = `client "${id ?? '(null)'}" role "${role}"`;
  const details = `RBAC rules for ${who} prohibit ${act} table "${table.schema.name}".`;
  return new OvsdbError('permission error', details);
}

interface Permissions {
  readonly authorization: Datum | null;
  readonly mayInsertAndDelete: boolean;
  readonly columns: Datum | null;
}

function permissionsOf(draft: Draft, roles: Table, role: string, table: Table): Permissions | null {
  const name = roles.schema.byName.get('name');
  const map = roles.schema.byName.get('permissions');
  if (name === undefined || map === undefined) return null;
  for (const row of draft.rows(roles)) {
    if (role === '' || !row.datum(name.index).includes(role)) continue;
    const entries = row.datum(map.index);
    const place = findKey(entries, table.schema.name, 2);
    const target = map.type.value?.reference?.table;
    const permissionsTable = target === undefined ? undefined : draft.database.tables.get(target);
    if (place < 0 || permissionsTable === undefined) return null;
    const found = draft.row(permissionsTable, entries[place + 1] as Uuid);
    return found === null ? null : readPermissions(permissionsTable.schema, found);
  }
  return null;
}

function readPermissions(schema: TableSchema, row: Row): Permissions {
  return {
    authorization: read(schema, row, 'authorization', 'string', null, UNLIMITED),
    mayInsertAndDelete: read(schema, row, 'insert_delete', 'boolean', null, 1)?.[0] === true,
    columns: read(schema, row, 'update', 'string', null, UNLIMITED),
  };
}

/** The value of a column, when it is of the type that it has to be of. */
function read(
  schema: TableSchema,
  row: Row,
  name: string,
  key: AtomicType,
  value: AtomicType | null,
  max: number,
): Datum | null {
  const column = schema.byName.get(name);
  if (column === undefined) return null;
  const { type } = column;
  const fits = type.key.type === key && (type.value?.type ?? null) === value && type.max === max;
  return fits ? row.datum(column.index) : null;
}

function mayTouch(
  { authorization }: Permissions,
  id: string,
  schema: TableSchema,
  row: Row,
): boolean {
  return (authorization ?? []).some((rule) => {
    if (rule === '') return true;
    const [column, key] = String(rule)
      .split(':')
      .filter((part) => part !== '');
    if (!String(rule).includes(':'))
      return read(schema, row, column, 'string', null, 1)?.[0] === id;
    if (column === undefined || key === undefined) return false;
    const map = read(schema, row, column, 'string', 'string', UNLIMITED) ?? [];
    const place = findKey(map, key, 2);
    return place >= 0 && map[place + 1] === id;
  });
}

function mayChange(permissions: Permissions, act: Act, columns: readonly Column[]): boolean {
  if (act === 'row insertion into' || act === 'row deletion from') {
    return permissions.mayInsertAndDelete;
  }
  return columns.every(({ name }) => permissions.columns?.includes(name) === true);
}
