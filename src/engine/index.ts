/**
 * engine: what every protocol of this project shares. An engine is `step(event, now) → effects`;
 * a machine is the database it replicates. Reading order: `machine` (the contract a database
 * fulfils), `event` and `effect` (everything that can go in and out), `engine`, `limits`,
 * `sessions` (exactly-once for clients, replicated), `clients/` (admission of what clients send,
 * and what is sent to them), `step-outbox` and `step-deadlines` (what a step asks for).
 */
export { Admission, type AdmissionOptions, type AdmissionParts } from './clients/admission.ts';
export { Clients, clientKey, type Heard } from './clients/clients.ts';
export { Counters, type DropReason, type RefuseReason } from './clients/counters.ts';
export { Execution } from './clients/execution.ts';
export { HeldRequests, type HeldRequestsParts } from './clients/held-requests.ts';
export {
  type Author,
  buildEviction,
  buildPong,
  buildPongUnasked,
  buildPrepare,
  buildReply,
  type Position,
  prepareFromRequest,
  refreshReply,
} from './clients/messages.ts';
export { RELEASE, RELEASE_CLIENT_MIN } from './clients/release.ts';
export { Digest } from './digest.ts';
export type { Effect, HaltCode, TraceValue } from './effect.ts';
export type {
  Engine,
  EngineName,
  EngineRole,
  EngineStatus,
  ReplicaEngine,
} from './engine.ts';
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
  type AnyMachineDefinition,
  defineMachine,
  type MachineDefinition,
} from './machines/define.ts';
export {
  COMMAND_HEAD_SIZE,
  commandsSize,
  isPacked,
  packCommands,
  unpack,
  writeCommand,
} from './machines/define-batch.ts';
export {
  type AppliedCommand,
  COMMANDS_MAX,
  type Codec,
  type CommandContext,
  CommandError,
  type CommandFailure,
  type CommandOutcome,
  type MachineSpec,
  OPERATION_COMMANDS,
  OPERATION_QUESTIONS,
} from './machines/define-spec.ts';
export { valueCodec } from './machines/define-values.ts';
export {
  KEY_VALUE_CAS,
  KEY_VALUE_DELETE,
  KEY_VALUE_GET,
  KEY_VALUE_PUT,
  KeyValueMachine,
  KeyValueStatus,
  keyValueBody,
  keyValueCasBody,
} from './machines/key-value.ts';
export { type SessionChange, Sessions, type SessionVerdict } from './sessions.ts';
export { BLOCK_KIND_ENGINE_MIN, SessionBlocks } from './sessions-blocks.ts';
export { StepDeadlines } from './step-deadlines.ts';
export { StepOutbox } from './step-outbox.ts';
