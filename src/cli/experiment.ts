/**
 * `roundelay experiment`: flags in, a table, JSON and a picture out. The experiments themselves are
 * the laboratory's.
 */
import { tmpdir } from 'node:os';
import type { Command } from 'commander';
import type {
  DeadReplicaHooks,
  DeadReplicaResult,
  Kind,
  RunResult,
  Step,
} from '../lab/experiment/index.ts';
import { folder, integer, usage } from './arguments.ts';
import { ExitCode } from './exit-codes.ts';
import { explain } from './problem.ts';
import { requireWritable, writeOutput } from './shared/output-file.ts';
import { openProgress, type Progress } from './shared/progress.ts';
import { abortOnSignal } from './shutdown.ts';
import { topologies } from './start.ts';

interface Options {
  topology: string;
  kind: string;
  distance?: string;
  runs: number;
  replicaCount: number;
  transferCount: number;
  transferBatchSize: number;
  clients: number;
  accountCount: number;
  seed: number;
  openSeconds: number;
  batchesPerSecond?: number;
  stopSeconds: number;
  delayMs: number;
  limitSeconds: number;
  development?: boolean;
  directory?: string;
  json?: string;
  svg?: string;
}

/** What fits into a request of a small file. */
const DEVELOPMENT_BATCH_MAX = 253;
/** What is compared when nobody says otherwise: the two rings of the published table, and ours. */
const TOPOLOGY_DEFAULT = 'ring,alternating-ring,star,alternating-chord';

export function define(command: Command): void {
  command.usage('dead-replica [options]').action(() => {
    throw usage('which experiment? there is dead-replica');
  });
  command.allowExcessArguments();
  const dead = command
    .command('dead-replica')
    .summary('what one dead replica costs, by topology and distance from the primary')
    .description(
      'Measures what one dead, stopped, returning or slow replica costs, by topology and by its ' +
        'distance from the primary, against healthy runs in between. Each run has a fresh ' +
        'cluster on this machine.',
    );
  defineCells(dead);
  defineLoad(dead);
  dead
    .optionsGroup('Output:')
    .option('--json <file>', 'everything that was measured')
    .option('--svg <file>', 'a picture: ratios by topology and distance, latency over time')
    .action((options: Options) => run(options));
}

function defineCells(command: Command): void {
  command
    .optionsGroup('Cells:')
    .option('--topology <list>', `some of ${topologies.join(', ')}`, TOPOLOGY_DEFAULT)
    .option('--distance <list>', 'of the victim: none, 1, 2 … (default: all)')
    .option(
      '--kind <list>',
      'some of closed, closed-stop, open, open-kill, open-stop, return, primary, delay',
      'closed',
    )
    .option('--runs <count>', 'of each cell', integer('--runs', 1, 1000), 3)
    .option('--replica-count <count>', 'replicas', integer('--replica-count', 3, 6), 6);
}

function defineLoad(command: Command): void {
  command
    .optionsGroup('Load:')
    .option(
      '--transfer-count <count>',
      'transfers of a closed loop',
      integer('--transfer-count', 1, 100_000_000),
      200_000,
    )
    .option(
      '--transfer-batch-size <count>',
      'transfers per request',
      integer('--transfer-batch-size', 1, 8189),
      1000,
    )
    .option('--clients <count>', 'clients of a closed loop', integer('--clients', 1, 32), 4)
    .option(
      '--account-count <count>',
      'accounts to move money between',
      integer('--account-count', 2, 10_000_000),
      10_000,
    )
    .option('--seed <number>', 'of ids', integer('--seed', 0, Number.MAX_SAFE_INTEGER), 3)
    .option(
      '--open-seconds <seconds>',
      'how long an open loop lasts',
      integer('--open-seconds', 1, 3600),
      10,
    )
    .option(
      '--batches-per-second <count>',
      'how many fall due in an open loop (default: half of what a healthy closed one does)',
      integer('--batches-per-second', 1, 100_000),
    )
    .option(
      '--stop-seconds <seconds>',
      'how long a stopped replica stands still in an open loop',
      integer('--stop-seconds', 1, 3600),
      30,
    )
    .option('--delay-ms <ms>', 'of a delayed link', integer('--delay-ms', 1, 10_000), 100)
    .option(
      '--limit-seconds <seconds>',
      'a run that takes longer has not ended',
      integer('--limit-seconds', 1, 86_400),
      120,
    )
    .option('--development', 'small files and requests (32 KiB, 253 transfers)')
    .option(
      '--directory <folder>',
      "folder for the data files (default: the system's)",
      folder('--directory'),
    );
}

async function run(options: Options): Promise<void> {
  const lab = await import('../lab/experiment/index.ts');
  const { calibrationLine } = await import('../lab/index.ts');
  const { cellTables } = await import('./shared/experiment-table.ts');
  const { runs: rounds, development = false, directory = null } = options;
  const { batchesPerSecond = null } = options;
  const cells = cellsOf(options, lab);
  if (development && options.transferBatchSize > DEVELOPMENT_BATCH_MAX) {
    throw usage(`with --development at most ${DEVELOPMENT_BATCH_MAX} transfers fit into a request`);
  }
  requireWritable('--json', options.json);
  requireWritable('--svg', options.svg);
  const progress = await openProgress('runs', lab.planSteps(cells, rounds).length);
  try {
    const result = await lab.runDeadReplica(
      { ...options, cells, rounds, development, directory, batchesPerSecond },
      await hooksFor(progress),
      abortOnSignal().signal,
    );
    progress.stop();
    console.log(await cellTables(result.cells));
    console.log(calibrationLine(result.calibration));
    writeOutputs(options, result, lab);
    const isBroken = result.runs.some((one) => one.result.error !== null);
    if (isBroken) process.exitCode = ExitCode.loadFailed;
  } catch (error) {
    const file = directory ?? tmpdir();
    throw explain(error, { command: 'experiment dead-replica', file });
  } finally {
    progress.stop();
  }
}

type Lab = typeof import('../lab/experiment/index.ts');

function cellsOf(options: Options, lab: Lab): ReturnType<Lab['cellsOf']> {
  const topology = names('--topology', options.topology, topologies, lab);
  const kinds = names<Kind>('--kind', options.kind, lab.KINDS, lab);
  const all = ['none', ...lab.distancesOf(options.replicaCount)].join(',');
  const distances = lab.parseDistances(options.distance ?? all, options.replicaCount);
  if (distances === null) throw usage(`--distance must be some of ${all}`);
  return lab.cellsOf({ topologies: topology, kinds, distances });
}

function names<T extends string>(flag: string, text: string, all: readonly T[], lab: Lab): T[] {
  const found = lab.parseNames(text, all);
  if (found === null) throw usage(`${flag} must be some of ${all.join(',')}`);
  return found;
}

/** A line per run, since a whole experiment takes its time. */
async function hooksFor(progress: Progress): Promise<DeadReplicaHooks> {
  const { runLine } = await import('./shared/experiment-table.ts');
  let done = 0;
  return {
    onRun: (step: Step, result: RunResult) => {
      done += 1;
      progress.update(done);
      progress.print(runLine(step, result));
    },
  };
}

function writeOutputs(options: Options, result: DeadReplicaResult, lab: Lab): void {
  const { json, svg } = options;
  if (json !== undefined) {
    const goals = result.cells.flatMap(lab.goalsOf);
    const all = { experiment: 'dead-replica', options, ...result, goals };
    writeOutput('--json', json, `${JSON.stringify(all)}\n`);
  }
  if (svg !== undefined) writeOutput('--svg', svg, lab.drawDeadReplica(result));
}
