/**
 * linearizability: whether what the users of something saw can be explained by operations that took
 * effect one by one, each between its call and its return. It knows nothing of engines, logs and
 * replicas: a history may come from a simulated cluster, from a real one, or out of a file.
 *
 * Reading order: `operation` (what a history is), `model` (what it is held against), `check` (the
 * way in), `verdict` (what comes out). Inside: `timeline`, `states` and `visited` are the search's
 * tools, `search` is the search, `offence` finds the shortest reason. `models/` are those of a
 * register, a key-value store, a counter, a queue and a lock with fencing tokens; `exchange/`
 * writes histories down as JSON and EDN, and reads them.
 */
export { type CheckOptions, checkLinearizable } from './check.ts';
export { eventsFromEdn, eventsToEdn } from './exchange/edn.ts';
export {
  type EventType,
  eventsToHistory,
  type HistoryEvent,
  historyToEvents,
} from './exchange/events.ts';
export type { Completion, HistoryFormat, Invocation, Scalar } from './exchange/format.ts';
export { eventsFromJson, eventsToJson } from './exchange/json.ts';
export type { Value, ValueMap } from './exchange/value.ts';
export { HistoryError, type HistoryErrorCode } from './history-error.ts';
export {
  deterministic,
  hashPrimitive,
  type Model,
  type NondeterministicModel,
  partitionBy,
} from './model.ts';
export {
  type CounterInput,
  type CounterOutput,
  counterFormat,
  counterModel,
} from './models/counter.ts';
export {
  type FencedLockInput,
  type FencedLockOutput,
  type FencedLockState,
  fencedLockFormat,
  fencedLockModel,
} from './models/fenced-lock.ts';
export { type KeyValueInput, keyValueFormat, keyValueModel } from './models/key-value.ts';
export { type QueueInput, type QueueOutput, queueFormat, queueModel } from './models/queue.ts';
export {
  type RegisterInput,
  type RegisterOutput,
  type RegisterState,
  registerFormat,
  registerModel,
} from './models/register.ts';
export type {
  Operation,
  OperationHistory,
  ReturnedOperation,
  UnknownOperation,
} from './operation.ts';
export { describeVerdict, type Offence, type Verdict } from './verdict.ts';
