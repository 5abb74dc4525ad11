/**
 * client: typed clients for Node users. Reading order: `ledger-client` and `replica-client` (what
 * users call, of a ledger and of any other machine), `connection` and `replica-connection` (a queue
 * over sessions and their sockets) with `call-queue`, `session` (the protocol, without I/O),
 * `transport` (sockets), `fields` (the check before anything is sent), `id`, `errors`, `problem`
 * (why a connect failed), `eviction` (why a session ended).
 */
export {
  BATCHES_OPEN_MAX,
  type Batch,
  CLIENT_RELEASE,
  LedgerConnection,
  type Reply,
} from './connection.ts';
export {
  ClientError,
  ClientErrorCode,
  FieldError,
  LedgerClientError,
  ReplicaClientError,
} from './errors.ts';
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
export {
  type ConnectReplicaOptions,
  connectReplica,
  type MachineCodec,
  ReplicaClient,
} from './replica-client.ts';
export type { ReplicaConnection } from './replica-connection.ts';
export { ClientSession, type SessionEffect, type SessionOptions } from './session.ts';
export { type ReplicaReport, requestStatus, type StatusOptions } from './status.ts';
export type { Targets } from './targets.ts';
