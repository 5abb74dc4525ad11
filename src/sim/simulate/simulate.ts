/**
 * Tries out a state machine of one's own: a cluster of it in a simulated world, with requests, with
 * faults, and with somebody who compares everything. All of it comes from one seed, so a failure is
 * a number, and the same number shows it again.
 */
import type { CommandOutcome, Machine, MachineDefinition } from '../../engine/index.ts';
import { simulateCluster } from '../cluster/cluster.ts';
import type { ClusterReport } from '../cluster/options.ts';
import type { Demand } from '../subjects/subject.ts';
import { type Adapter, adaptDefinition, adaptFactory, type MachineFactory } from './adapter.ts';
import { conditionsOf, type Wish } from './conditions.ts';
import { replicasMax } from './engines.ts';
import type {
  SimulateManyOptions,
  SimulateOptions,
  SimulationReport,
  SimulationsReport,
} from './options.ts';
import { manyReport, runReport } from './report.ts';
import { Trial } from './trial.ts';

const REQUESTS_DEFAULT = 200;
const REQUESTS_MAX = 10_000;
const CLIENTS_MAX = 32;
const SEEDS_DEFAULT = 100;
/** Lines of a failed run's end that are kept. */
const TAIL_MAX = 24;

/** One run of a machine that `defineMachine` made. */
export function simulate<S, C, R, Q, A>(
  machine: MachineDefinition<S, C, R, Q, A>,
  options: SimulateOptions<S, C, CommandOutcome<R>, Q>,
): SimulationReport;
/** One run of what implements `Machine` itself: commands are requests, results bytes. */
export function simulate<M extends Machine>(
  machine: MachineFactory<M>,
  options: SimulateOptions<M, Demand, Uint8Array, Demand>,
): SimulationReport;
export function simulate(machine: unknown, options: unknown): SimulationReport {
  const [adapter, wanted] = adapted(machine, options);
  return run(adapter, wanted);
}

/** Runs seed after seed until one fails. */
export function simulateMany<S, C, R, Q, A>(
  machine: MachineDefinition<S, C, R, Q, A>,
  options: SimulateManyOptions<S, C, CommandOutcome<R>, Q>,
): SimulationsReport;
export function simulateMany<M extends Machine>(
  machine: MachineFactory<M>,
  options: SimulateManyOptions<M, Demand, Uint8Array, Demand>,
): SimulationsReport;
export function simulateMany(machine: unknown, options: unknown): SimulationsReport {
  const [adapter, wanted] = adapted(machine, options);
  const { seeds = SEEDS_DEFAULT, firstSeed = 0, onRun } = options as AnyManyOptions;
  requireInteger('seeds', seeds, 1, Number.MAX_SAFE_INTEGER);
  const reports: SimulationReport[] = [];
  for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
    const report = run(adapter, { ...wanted, seed });
    reports.push(report);
    onRun?.(report);
    if (!report.ok) break;
  }
  return manyReport(reports);
}

type AnyAdapter = Adapter<unknown, unknown, unknown, unknown>;
type AnyOptions = SimulateOptions<unknown, unknown, unknown, unknown>;
type AnyManyOptions = SimulateManyOptions<unknown, unknown, unknown, unknown>;

/** Behind the overloads, where types are known to fit, they are not needed any more. */
function adapted(machine: unknown, options: unknown): readonly [AnyAdapter, AnyOptions] {
  const adapter =
    typeof machine === 'function'
      ? adaptFactory(machine as MachineFactory)
      : adaptDefinition(machine as MachineDefinition<unknown, unknown, unknown, unknown, unknown>);
  return [adapter as unknown as AnyAdapter, options as AnyOptions];
}

function run(adapter: AnyAdapter, options: AnyOptions): SimulationReport {
  const wish = wishOf(options);
  const { trace, questions } = options;
  if (questions !== undefined && !adapter.hasQuery) {
    throw new RangeError('simulate: there are questions, but the machine has no query');
  }
  const { trial, report } = runOnce(adapter, options, wish, trace);
  // Lines cost more than all else: they are made when somebody wants to see them.
  const tail: string[] = [];
  if (report.failure !== null) {
    runOnce(adapter, options, wish, (line) => {
      tail.push(line);
      if (tail.length > TAIL_MAX) tail.shift();
    });
  }
  return runReport({ wish, options, report, trial, tail });
}

function runOnce(
  adapter: AnyAdapter,
  options: AnyOptions,
  wish: Wish,
  trace: ((line: string) => void) | undefined,
): { trial: Trial<unknown, unknown, unknown, unknown>; report: ClusterReport } {
  const trial = new Trial(adapter, options, wish);
  const conditions = conditionsOf(wish);
  const report = trial.parts.outside.watch(() => {
    return simulateCluster({ ...conditions, subject: () => trial.subject(), trace });
  });
  return { trial, report };
}

function wishOf(options: AnyOptions): Wish {
  const { seed = 0, engine = 'vsr', replicas = 3, clients, faults = 'all' } = options;
  const { requests = REQUESTS_DEFAULT } = options;
  requireInteger('seed', seed, 0, Number.MAX_SAFE_INTEGER);
  requireInteger('replicas', replicas, 1, replicasMax[engine]);
  requireInteger('requests', requests, 1, REQUESTS_MAX);
  if (clients !== undefined) requireInteger('clients', clients, 1, CLIENTS_MAX);
  return { seed, engine, replicas, clients: clients ?? null, requests, faults };
}

function requireInteger(name: string, value: number, min: number, max: number): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return;
  throw new RangeError(
    `simulate: ${name} must be a whole number from ${min} to ${max}, not ${value}`,
  );
}
