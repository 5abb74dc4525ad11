/**
 * simulate: tries out anybody's state machine. Reading order: `options` (what can be asked for),
 * `simulate`, `conditions` (which run a seed is), `adapter` (definitions and machines made one),
 * `trial`, `probed-machine` (who looks), `outside-world`, `diagnose` (why two copies differ),
 * `story`, `report`.
 */
export type { MachineFactory } from './adapter.ts';
export type { MachineFailureCode } from './machine-failure.ts';
export type {
  Chance,
  Checks,
  EngineName,
  FailureReport,
  FaultChoice,
  LinearizableCheck,
  SimulateManyOptions,
  SimulateOptions,
  SimulationFaults,
  SimulationReport,
  SimulationsReport,
} from './options.ts';
export { simulate, simulateMany } from './simulate.ts';
