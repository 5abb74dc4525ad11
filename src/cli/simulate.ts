/** `roundelay simulate vsr|raft`: clusters in a simulated world, drawn from seeds. */
import { availableParallelism } from 'node:os';
import type { Command } from 'commander';
import type { Protocol, SimulationResult } from '../lab/simulation.ts';
import { choice, integer, usage } from './arguments.ts';
import { failed, printFailure, runSeeds } from './simulate-campaign.ts';
import type { PerformanceFlags } from './simulate-performance.ts';

interface Options extends PerformanceFlags {
  seed?: number;
  seeds?: readonly [number, number];
  replicaCount?: number;
  topology?: string;
  machine?: string;
  trace?: boolean;
  performance?: boolean;
}

const MACHINES = ['ledger', 'key-value', 'counter', 'cas'] as const;
const REPLICAS_MAX_OF: { readonly [name in Protocol]: number } = { vsr: 6, raft: 7 };
const SEED_MAX: number = Number.MAX_SAFE_INTEGER;

export function define(command: Command): void {
  command
    .description(
      'Run clusters of the ledger (or of simpler machines) in a simulated world: virtual time, ' +
        'disks that tear and rot, links that lose, partitions, pauses, power cuts, wrong clocks. ' +
        'A seed is a whole run: the same one does the same on every machine.',
    )
    .argument('<protocol>', 'vsr, raft', choice('<protocol>', ['vsr', 'raft']))
    .optionsGroup('Runs:')
    .option('--seed <n>', 'one run (default: 0)', integer('--seed', 0, SEED_MAX))
    .option('--seeds <a..b>', 'all runs from a to b', range)
    .option(
      '--replica-count <count>',
      "instead of the seed's choice",
      integer('--replica-count', 1, REPLICAS_MAX_OF.raft),
    )
    .option('--topology <name>', "how prepares travel, instead of the seed's choice")
    .option('--machine <name>', MACHINES.join(', '), choice('--machine', MACHINES))
    .option(
      '--jobs <count>',
      'runs at a time',
      integer('--jobs', 1, 64),
      Math.min(64, availableParallelism()),
    )
    .option('--trace', 'with --seed: print each event and effect')
    .optionsGroup('Performance:')
    .option('--performance', 'measure in virtual time: scenarios, gates and baselines')
    .option('--full', 'every scenario instead of a selection, with 100 seeds')
    .option('--runs <count>', 'seeds of each scenario', integer('--runs', 1, 100_000))
    .option('--only <words>', 'scenarios with these words in their names: "star r5 far"')
    .option('--baselines <file>', 'what figures were before (default: the committed ones)')
    .option('--update-baselines', 'write the baselines instead of comparing')
    .option('--json', 'one JSON object instead of the table')
    .action((protocol: Protocol, options: Options) => run(protocol, options));
}

async function run(protocol: Protocol, options: Options): Promise<void> {
  if (options.performance === true) {
    if (protocol !== 'vsr') throw usage('--performance knows only vsr');
    const { runPerformanceMatrix } = await import('./simulate-performance.ts');
    return runPerformanceMatrix(options);
  }
  const { TOPOLOGY_NAMES } = await import('../vsr/index.ts');
  const { topology: name, replicaCount, machine } = options;
  const topology = TOPOLOGY_NAMES.find((one) => one === name);
  if (name !== undefined && topology === undefined) {
    throw usage(`--topology must be one of ${TOPOLOGY_NAMES.join(', ')}, not ${name}`);
  }
  if (topology !== undefined && protocol !== 'vsr') throw usage('only vsr has topologies');
  if (replicaCount !== undefined && replicaCount > REPLICAS_MAX_OF[protocol]) {
    throw usage(`${protocol} has at most ${REPLICAS_MAX_OF[protocol]} replicas`);
  }
  const wanted = {
    protocol,
    ...(replicaCount === undefined ? {} : { replicaCount }),
    ...(topology === undefined ? {} : { topology }),
    ...(machine === undefined ? {} : { subject: machine }),
  };
  // Not with the rest of the laboratory: nobody else needs a simulator.
  const { runSimulation } = await import('../lab/simulation.ts');
  if (options.seeds === undefined) {
    const trace = options.trace === true ? (line: string): void => console.log(line) : undefined;
    const { result, report } = runSimulation(options.seed ?? 0, wanted, trace);
    if (result.failure === null) printRun(result);
    else printFailure(result);
    console.log(report.coverage.summary());
    if (report.failure === null) return;
    console.log(report.failure.stack ?? '');
    throw failed(1, [report.failure.code]);
  }
  if (options.seed !== undefined) throw usage('--seed and --seeds exclude each other');
  const [from, to] = options.seeds;
  await runSeeds({ from, to, jobs: options.jobs, wanted });
}

function printRun(result: SimulationResult): void {
  const { seed, replicaCount, topology, machine, hash, op, events, virtualSeconds } = result;
  const what = `${replicaCount} replicas, ${topology}, ${machine}`;
  const seconds = virtualSeconds.toFixed(3);
  console.log(`seed ${seed} passed: ${what}, ${op} operations, ${events} events, ${seconds} s`);
  console.log(`hash ${hash}`);
}

function range(text: string): readonly [number, number] {
  const match = /^(\d+)\.\.(\d+)$/.exec(text);
  const [from, to] = [Number(match?.[1] ?? Number.NaN), Number(match?.[2] ?? Number.NaN)];
  if (Number.isSafeInteger(from) && Number.isSafeInteger(to) && from <= to) return [from, to];
  throw usage(`--seeds must be two numbers a..b with a not above b, not ${text}`);
}
