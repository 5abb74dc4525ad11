/**
 * `roundelay simulate vsr --performance`: how fast clusters are in virtual time, under which
 * trouble; what they promise; and whether anything has become worse since the baselines.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PerformanceFailure } from '../lab/performance.ts';
import type { Baselines, Comparison, Gate, Scenario, Summary } from '../sim/index.ts';
import { usage } from './arguments.ts';
import { ExitCode } from './exit-codes.ts';
import { CliError } from './problem.ts';
import { requireWritable, writeOutput } from './shared/output-file.ts';
import { openProgress } from './shared/progress.ts';
import { abortOnSignal } from './shutdown.ts';

export interface PerformanceFlags {
  /** Every scenario, instead of those that each change is measured by. */
  full?: boolean;
  /** Seeds of each scenario. */
  runs?: number;
  /** Only scenarios whose names contain all of these words. */
  only?: string;
  json?: boolean;
  baselines?: string;
  updateBaselines?: boolean;
  jobs: number;
  /** One run of each scenario instead, here and now. */
  seed?: number;
  trace?: boolean;
}

/** What the committed baselines were made with. */
const RUNS_SMALL = 5;
const RUNS_FULL = 100;
const BASELINES = join(import.meta.dirname, '../../test/fixtures/performance-baselines.json');
/** Time of the published measurements of others, nanoseconds. */
const TICK_NS = 10_000_000;

interface GateResult {
  readonly name: string;
  readonly problems: readonly string[];
}

export async function runPerformanceMatrix(flags: PerformanceFlags): Promise<void> {
  const scenarios = await wantedScenarios(flags);
  if (flags.seed !== undefined) return runOnce(scenarios, flags.seed, flags.trace === true);
  const { GATES, baselinesOf, compare, scenarioName } = await import('../sim/index.ts');
  const { runPerformance } = await import('../lab/performance.ts');
  const path = flags.baselines ?? BASELINES;
  const earlier = earlierBaselines(flags, path);
  const seeds = flags.runs ?? (flags.full === true ? RUNS_FULL : RUNS_SMALL);
  const progress = await openProgress('scenarios', scenarios.length);
  const { summaries, failures, seconds } = await runPerformance({
    scenarios,
    seeds,
    jobs: flags.jobs,
    onProgress: (done) => progress.update(done),
    signal: abortOnSignal().signal,
  }).finally(() => progress.stop());
  const gates = gatesOf(GATES, summaries, scenarioName);
  const baselines = flags.updateBaselines === true ? null : earlier;
  const comparison = baselines === null ? null : compare(summaries, baselines);
  if (flags.json === true) {
    console.log(JSON.stringify({ seeds, scenarios: summaries, failures, gates, comparison }));
  } else {
    console.log(await table(summaries));
    console.log(`${summaries.length} scenarios × ${seeds} seeds in ${seconds.toFixed(1)} s`);
    print(failures, gates, comparison, scenarioName);
  }
  if (flags.updateBaselines === true && failures.length === 0) {
    const kept = flags.only === undefined ? {} : earlier;
    writeBaselines(path, { ...kept, ...baselinesOf(summaries) });
  }
  conclude(failures, gates, comparison);
}

async function wantedScenarios({ full, only }: PerformanceFlags): Promise<readonly Scenario[]> {
  const { fullMatrix, gateScenarios, scenarioName, smallMatrix } = await import('../sim/index.ts');
  const all = full === true ? fullMatrix() : [...gateScenarios(), ...smallMatrix()];
  const named = new Map(all.map((scenario) => [scenarioName(scenario), scenario]));
  if (only === undefined) return [...named.values()];
  const exact = named.get(only);
  if (exact !== undefined) return [exact];
  const words = only.split(/\s+/);
  const found = [...named].filter(([name]) =>
    words.every((word) => name.split(' ').includes(word)),
  );
  if (found.length === 0) throw usage(`--only ${only}: there is no such scenario`);
  return found.map(([, scenario]) => scenario);
}

/** To look at a run: its figures, what was sent, and what happened line by line. */
async function runOnce(
  scenarios: readonly Scenario[],
  seed: number,
  isTraced: boolean,
): Promise<void> {
  const { perform, scenarioName, SimulationFailure } = await import('../sim/index.ts');
  const { simulationExit } = await import('./simulation-exit.ts');
  for (const scenario of scenarios) {
    try {
      const trace = isTraced ? (line: string): void => console.log(line) : undefined;
      const { figures, traffic, hash } = perform(scenario, { seed, trace });
      console.log(`${scenarioName(scenario)} seed ${seed} hash ${hash}`);
      console.log(JSON.stringify({ figures, traffic: Object.fromEntries(traffic) }));
    } catch (error) {
      if (!(error instanceof SimulationFailure)) throw error;
      console.log(error.stack);
      const [first = ''] = error.message.split('\n');
      throw new CliError(`${scenarioName(scenario)}: ${first}`, simulationExit(error.code));
    }
  }
}

/** Gates all of whose scenarios were measured. */
function gatesOf(
  gates: readonly Gate[],
  summaries: readonly Summary[],
  nameOf: (scenario: Scenario) => string,
): GateResult[] {
  const found = new Map(summaries.map((summary) => [summary.name, summary]));
  const complete = gates.filter(({ scenarios }) =>
    scenarios.every((one) => found.has(nameOf(one))),
  );
  return complete.map(({ name, problems }) => {
    return { name, problems: problems((scenario) => found.get(nameOf(scenario)) as Summary) };
  });
}

/** Looked at before anything is measured; `null`: there are none, and none were named. */
function earlierBaselines(flags: PerformanceFlags, path: string): Baselines | null {
  const isUpdate = flags.updateBaselines === true;
  if (isUpdate) requireWritable('--update-baselines', path);
  // What is replaced as a whole may be anything.
  if (isUpdate && flags.only === undefined) return null;
  const baselines = readBaselines(path);
  if (baselines !== null || isUpdate || flags.baselines === undefined) return baselines;
  throw usage(`--baselines: ${path} does not exist`);
}

function readBaselines(path: string): Baselines | null {
  if (!existsSync(path)) return null;
  const found = parsed(path);
  const isObject = typeof found === 'object' && found !== null && !Array.isArray(found);
  const all = isObject ? Object.values(found) : [null];
  if (all.every((one) => typeof one === 'object' && one !== null)) return found as Baselines;
  throw usage(`--baselines: ${path} holds no baselines; make them: add --update-baselines`);
}

/** `null`: it cannot be read as JSON. */
function parsed(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}

/** One line for each scenario, so that changes can be read. */
function writeBaselines(path: string, baselines: Baselines): void {
  const lines = Object.entries(baselines).map(([name, figures]) => {
    return `  ${JSON.stringify(name)}: ${JSON.stringify(figures)}`;
  });
  writeOutput('--update-baselines', path, `{\n${lines.join(',\n')}\n}\n`);
}

type Column = readonly [string, (summary: Summary) => string];

const columns: readonly Column[] = [
  ['scenario', ({ name }) => name],
  ['time s', ({ figures }) => seconds(figures.timeNs.median)],
  ['spread', ({ figures }) => `${seconds(figures.timeNs.low)} … ${seconds(figures.timeNs.high)}`],
  ['ticks', ({ figures }) => String(Math.round(figures.timeNs.median / TICK_NS))],
  ['p50 ms', ({ figures }) => ms(figures.latencyP50Ns.median)],
  ['p90', ({ figures }) => ms(figures.latencyP90Ns.median)],
  ['p99', ({ figures }) => ms(figures.latencyP99Ns.median)],
  ['max', ({ figures }) => ms(figures.latencyMaxNs.median)],
  ['quorum', ({ figures }) => ms(figures.quorumNs.median)],
  ['msgs/op', ({ figures }) => figures.messages.median.toFixed(1)],
  ['KiB/op', ({ figures }) => (figures.bytes.median / 1024).toFixed(1)],
  ['primary', ({ figures }) => (figures.primaryBytes.median / 1024).toFixed(1)],
  ['repairs', ({ figures }) => few(figures.repairs.median)],
  ['twice', ({ figures }) => few(figures.duplicates.median)],
  ['resent', ({ figures }) => few(figures.resent.median)],
  ['timeouts', ({ figures }) => few(figures.timeouts.median)],
  ['lag', ({ figures }) => String(figures.lagMax.median)],
  ['views', ({ figures }) => few(figures.viewChanges.median)],
  ['failover', ({ figures }) => some(figures.failoverNs.median)],
  ['catch-up', ({ figures }) => some(figures.catchUpNs.median)],
];

async function table(summaries: readonly Summary[]): Promise<string> {
  const { default: Table } = await import('cli-table3');
  const lines = new Table({
    head: columns.map(([name]) => name),
    style: { head: [], border: [], compact: true },
    colAligns: columns.map((_, index) => (index === 0 ? 'left' : 'right')),
  });
  for (const summary of summaries) lines.push(columns.map(([, pick]) => pick(summary)));
  return lines.toString();
}

function print(
  failures: readonly PerformanceFailure[],
  gates: readonly GateResult[],
  comparison: Comparison | null,
  nameOf: (scenario: Scenario) => string,
): void {
  for (const { scenario, seed, message } of failures) {
    const name = nameOf(scenario);
    console.log(`FAIL ${name} seed ${seed}: ${message.split('\n')[0]}`);
    console.log(`  roundelay simulate vsr --performance --full --only "${name}" --seed ${seed}`);
  }
  for (const { name, problems } of gates) {
    console.log(`${problems.length === 0 ? 'met' : 'NOT MET'}: ${name}`);
    for (const problem of problems) console.log(`  ${problem}`);
  }
  for (const line of comparison?.worse ?? []) console.log(`WORSE ${line}`);
  for (const line of comparison?.better ?? []) console.log(`better ${line}`);
}

function conclude(
  failures: readonly PerformanceFailure[],
  gates: readonly GateResult[],
  comparison: Comparison | null,
): void {
  const unmet = gates.filter(({ problems }) => problems.length > 0).length;
  const worse = comparison?.worse.length ?? 0;
  const problems = [
    failures.length === 0 ? '' : `scenarios that failed: ${failures.length}`,
    unmet === 0 ? '' : `gates not met: ${unmet} of ${gates.length}`,
    worse === 0 ? '' : `figures worse than their baselines allow: ${worse}`,
  ].filter((problem) => problem !== '');
  if (problems.length > 0) throw new CliError(problems.join(', '), ExitCode.simulationFailed);
}

function ms(ns: number): string {
  return (ns / 1e6).toFixed(ns < 1e7 ? 2 : 0);
}

function seconds(ns: number): string {
  return (ns / 1e9).toFixed(2);
}

function few(value: number): string {
  return value === 0 ? '' : String(Math.round(value * 100) / 100);
}

function some(ns: number): string {
  return ns === 0 ? '' : ms(ns);
}
