/**
 * Runs the simulator from the command line: one seed with or without a trace, a range of seeds, or
 * a power cut at every write of one run. Prints one line for each failing seed, with the command
 * that shows it again, and at the end what the campaign really did. Clusters: `roundelay simulate`.
 * Exit codes are those of `roundelay help`: 127 the engine crashed, 128 no end, 129 a wrong result,
 * 42 something never happened, 2 the command line makes no sense.
 *
 *     node scripts/simulate.ts --seed 7 [--trace] [--machine ledger|key-value|counter]
 *     node scripts/simulate.ts --seeds 0..1000
 *     node scripts/simulate.ts --crash-everywhere [--seed 7] [--requests 40] [--stride 1]
 */
import { parseArgs } from 'node:util';
import { ExitCode } from '../src/cli/exit-codes.ts';
import { worstExit } from '../src/cli/simulation-exit.ts';
import {
  Coverage,
  type CrashPoint,
  crashAt,
  crashEverywhere,
  type FailureCode,
  replicaSetup,
  type SingleOptions,
  type SingleReport,
  SWARM_COUNTERS,
  simulateSingle,
  subjects,
  swarmOptions,
} from '../src/sim/index.ts';

const values = parse();
const machine = values.machine;
const engine = replicaSetup();

function parse() {
  try {
    return parseArgs({
      options: {
        seed: { type: 'string' },
        seeds: { type: 'string' },
        machine: { type: 'string', default: 'ledger' },
        requests: { type: 'string' },
        stride: { type: 'string', default: '1' },
        'crash-everywhere': { type: 'boolean', default: false },
        /** `write:outcome:again`, as a failure of --crash-everywhere prints it. */
        'crash-at': { type: 'string' },
        trace: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    process.exit(usage(error instanceof Error ? error.message : String(error)));
  }
}

function main(): number {
  const subject = subjects[machine];
  if (subject === undefined) return usage(`no machine ${machine}`);
  if (values['crash-everywhere'] || values['crash-at'] !== undefined) return everywhere();
  if (values.seeds !== undefined) return campaign(values.seeds);
  const seed = integer(values.seed ?? '0');
  if (seed === null) return usage(`${values.seed} is not a seed`);
  const report = simulateSingle(traced(optionsOf(seed)));
  tell(report, `--seed ${seed}`);
  console.log(`seed ${seed} hash ${report.hash} virtual ${report.virtualNs / 1e9} s`);
  console.log(report.coverage.summary());
  return ended(report.failure === null ? [] : [report.failure.code], []);
}

function campaign(range: string): number {
  const [from, to] = range.split('..').map(integer);
  if (from == null || to == null || to < from) return usage(`${range} is not a range A..B`);
  const coverage = new Coverage();
  const failures: FailureCode[] = [];
  const startMs = performance.now();
  for (let seed = from; seed <= to; seed++) {
    const report = simulateSingle(optionsOf(seed));
    coverage.merge(report.coverage);
    if (report.failure === null) continue;
    failures.push(report.failure.code);
    tell(report, `--seed ${seed}`);
  }
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  const runs = to - from + 1;
  console.log(`${machine}: ${runs} seeds, ${failures.length} failed, ${seconds} s`);
  console.log(coverage.summary());
  const missing = runs >= 64 ? coverage.missing(SWARM_COUNTERS) : [];
  if (missing.length > 0) console.log(`never happened: ${missing.join(', ')}`);
  return ended(failures, missing);
}

function everywhere(): number {
  const seed = integer(values.seed ?? '0');
  const requests = integer(values.requests ?? '40');
  const stride = integer(values.stride);
  if (seed === null || requests === null || stride === null) return usage('not a number');
  const options: SingleOptions = { ...plainOptions(seed), requests };
  const command = (point: CrashPoint | null): string => {
    const at = point === null ? '' : ` --crash-at ${point.write}:${point.outcome}:${point.again}`;
    return `--crash-everywhere --seed ${seed} --requests ${requests}${at}`;
  };
  const at = values['crash-at'];
  if (at !== undefined) {
    const [write, outcome, again] = at.split(':');
    const isOutcome = outcome === 'old' || outcome === 'new' || outcome === 'mixed';
    if (integer(write) === null || (!isOutcome && outcome !== 'torn')) return usage(at);
    const point = { write: Number(write), outcome, again: Number(again ?? 0) } as const;
    const report = crashAt(traced(options), point);
    tell(report, command(point));
    return ended(report.failure === null ? [] : [report.failure.code], []);
  }
  const startMs = performance.now();
  const { writes, runs, failures, coverage } = crashEverywhere({ ...options, stride });
  for (const { point, report } of failures) tell(report, command(point));
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  console.log(
    `${machine}: ${runs} runs for ${writes} writes, ${failures.length} failed, ${seconds} s`,
  );
  console.log(coverage.summary());
  const missing = coverage.missing(['crashesWithWrites', 'sectorsLost', 'sectorsTorn']);
  if (missing.length > 0) console.log(`never happened: ${missing.join(', ')}`);
  const codes = failures.flatMap(({ report }) => report.failure?.code ?? []);
  return ended(codes, missing);
}

/** The exit code. */
function ended(failures: readonly FailureCode[], missing: readonly string[]): ExitCode {
  if (failures.length > 0) return worstExit(failures);
  return missing.length > 0 ? ExitCode.simulationFailed : ExitCode.ok;
}

function optionsOf(seed: number): SingleOptions {
  const options = swarmOptions(seed, { subject: subjects[machine]! });
  const requests = integer(values.requests ?? '');
  return requests === null ? options : { ...options, requests };
}

function plainOptions(seed: number): SingleOptions {
  return { seed, engine, subject: subjects[machine]!, clients: 3 };
}

function traced(options: SingleOptions): SingleOptions {
  return values.trace ? { ...options, trace: (line) => console.log(line) } : options;
}

function tell({ failure, seed }: SingleReport, command: string): void {
  if (failure === null) return;
  const [first] = failure.message.split('\n');
  console.log(`FAIL seed ${seed}: ${first}`);
  console.log(`  node scripts/simulate.ts ${command} --machine ${machine}`);
  if (values.seeds === undefined && !values['crash-everywhere']) console.log(failure.stack);
}

function integer(text: string): number | null {
  const value = Number(text);
  return text !== '' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

function usage(problem: string): number {
  console.error(`simulate: ${problem}`);
  console.error('usage: simulate.ts --seed N | --seeds A..B | --crash-everywhere [--machine NAME]');
  return ExitCode.usage;
}

process.exitCode = main();
