/**
 * ledger: accounts and transfers, the double-entry database that official TigerBeetle clients use,
 * as a state machine that any engine of this project can replicate. It knows no engine, no socket
 * and no clock.
 *
 * Reading order: `format/` (constants, statuses, multi-batch bodies, validation, public objects),
 * `rows` and `state` (the tables), `apply/` (what each operation does, check by check), `ledger`
 * (the machine), `checkpoint` (how the state leaves and comes back), then the reading half:
 * `reads` (account events, indexes, queries).
 */
export * from './format/codec.ts';
export * from './format/constants.ts';
export * from './format/multi-batch.ts';
export type * from './format/objects.ts';
export * from './format/status.ts';
export { eventsMax, type OperationShape, operationShape, validate } from './format/validate.ts';
export { Ledger, type LedgerOptions } from './ledger.ts';
export type { LedgerTables } from './tables.ts';
export { PendingStatus } from './tables.ts';
