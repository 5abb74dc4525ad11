/**
 * Chance for the ledger: a seeded stream of requests, valid and not, and the comparison of a
 * machine with the naive model under it. Reading order: `scenario` (which world a seed is),
 * `picker` (chance that looks at the state), `chains` and `imports` (plans for a batch),
 * `account-events`, `transfer-bases`, `transfer-overflows`, `transfer-events`, `read-events`,
 * `requests`, `malformed` (what is asked), `compare` and `machine-driver` (what must be the same),
 * `histogram` and `describe` (what a run has met, and what went wrong).
 */
export { type CompareOptions, type CompareResult, compareLedger } from './compare.ts';
export { type Difference, describeRequest, formatDifference } from './describe.ts';
export { Histogram, statusName } from './histogram.ts';
export { malformed } from './malformed.ts';
export { Picker } from './picker.ts';
export { makeRequest, type Request } from './requests.ts';
export { Clock, nextWall, type Scenario, type ScenarioKind, scenarioOf } from './scenario.ts';
