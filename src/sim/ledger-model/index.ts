/**
 * The naive ledger: what the real one is compared with. Reading order: `codes` and `structs` (the
 * protocol's numbers and layouts), `state` (what is remembered), `create-batch`, `create-account`,
 * `create-transfer`, `transfer-exists`, `post-or-void`, `expiry` (the rules), `reads` and
 * `change-events`, `sections` and `rebuild` (the logical content as bytes), `model` (all of it
 * behind one face), `model-machine` (the same as a state machine for engines).
 */
export * from './codes.ts';
export * from './filters.ts';
export { LedgerModel } from './model.ts';
export { ModelMachine } from './model-machine.ts';
export { concatenate, decodeBatches, encodeBatches, trailerSize } from './multi-batch.ts';
export { encodeSections, leavesOf, rootOf } from './sections.ts';
export {
  type AccountEvent,
  type AccountSnapshot,
  type Balances,
  expiryOf,
  LedgerState,
  type PendingStatus,
} from './state.ts';
export * from './structs.ts';
export { PULSE } from './validity.ts';
