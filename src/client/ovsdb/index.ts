/**
 * The OVSDB client. Reading order: `connect` and `client` (what users call), `link` (one usable
 * connection out of several servers) with `server-watch`, `session` and `channel` (JSON-RPC),
 * `monitor` with `replica` and `change-queue`, `lock`, `row-values` and `schema-types` (rows as
 * JavaScript and TypeScript have them), `errors`.
 */
export type { CallOptions, Operation, OvsdbClient } from './client.ts';
export { type ConnectOvsdbOptions, connectOvsdb, type TlsOptions } from './connect.ts';
export {
  OvsdbClientError,
  OvsdbErrorCode,
  OvsdbRequestError,
  OvsdbTransactionError,
} from './errors.ts';
export type { LockEvent, OvsdbLock } from './lock.ts';
export type {
  AtomValue,
  ColumnValue,
  RowOf,
  SchemaShape,
  TableName,
  ValueOf,
  ValuesOf,
} from './schema-types.ts';
export type { ChangeOf, OvsdbMonitor, RowChangeOf } from './typed-monitor.ts';
export type { MonitorRequests, TableRequest } from './wanted.ts';
