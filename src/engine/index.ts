/**
 * engine: what every protocol of this project shares. An engine is `step(event, now) → effects`;
 * a machine is the database it replicates. Reading order: `machine` (the contract a database
 * fulfils), `event` and `effect` (everything that can go in and out), `engine`, `limits`,
 * `sessions` (exactly-once for clients, replicated).
 */
export { Digest } from './digest.ts';
export type { Effect, HaltCode, TraceValue } from './effect.ts';
export type { Engine } from './engine.ts';
export type { ConnectionId, Event, Instant, StorageError, TimerName } from './event.ts';
export * from './limits.ts';
export {
  type ApplyContext,
  type Block,
  type Machine,
  OPERATION_MACHINE_MIN,
  OPERATION_PULSE,
  type ReadRequest,
  type Validity,
} from './machine.ts';
export { COUNTER_ADD, COUNTER_READ, CounterMachine } from './machines/counter.ts';
export {
  KEY_VALUE_DELETE,
  KEY_VALUE_GET,
  KEY_VALUE_PUT,
  KeyValueMachine,
  KeyValueStatus,
  keyValueBody,
} from './machines/key-value.ts';
export { type SessionChange, Sessions, type SessionVerdict } from './sessions.ts';
export { BLOCK_KIND_ENGINE_MIN, SessionBlocks } from './sessions-blocks.ts';
