/**
 * server: what an OVSDB server does, without sockets, files or clock. Reading order: `effects` (what
 * it wants done), `message` (JSON-RPC), `session`, `served-database`, `methods` (what clients may
 * ask), `task` and `execution`, `transactions` (ahead of the storage), `requests` (whose turn it
 * is), `core`.
 */
export { type CoreOptions, OvsdbCore } from './core.ts';
export type { CoreCounters } from './counters.ts';
export type { AppendEffect, CoreEffect, SessionId } from './effects.ts';
export { type CoreLimits, defaultLimits } from './limits.ts';
export type { LockStates } from './locks.ts';
export { type Message, readMessage } from './message.ts';
export type { DatabaseModel, DatabaseStatus, ServedOptions } from './served-database.ts';
export { SERVER_DATABASE } from './server-database.ts';
export type { SessionOptions } from './session.ts';
export type { TaskDone } from './task.ts';
export type { ForwardReply } from './transactions.ts';
