/**
 * client: typed clients for Node users. Reading order: `ledger-client` (what users call),
 * `connection` (a queue over a session and its sockets), `session` (the protocol, without I/O),
 * `transport` (sockets), `fields` (the check before anything is sent), `id`, `errors`, `problem`
 * (why a connect failed).
 */
export {
  BATCHES_OPEN_MAX,
  type Batch,
  CLIENT_RELEASE,
  LedgerConnection,
  type Reply,
} from './connection.ts';
export { ClientErrorCode, FieldError, LedgerClientError } from './errors.ts';
export { IdGenerator, type IdSource, id } from './id.ts';
export {
  type AccountFilterInput,
  type AccountInput,
  type ChangeEventsFilterInput,
  type ConnectLedgerOptions,
  connectLedger,
  LedgerClient,
  type QueryFilterInput,
  type TransferInput,
} from './ledger-client.ts';
export { LedgerSession, type SessionEffect, type SessionOptions } from './session.ts';
export { type ReplicaReport, requestStatus, type StatusOptions } from './status.ts';
