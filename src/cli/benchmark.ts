/** `roundelay benchmark`: flags in, a table or JSON out; the load itself is the laboratory's. */
import { tmpdir } from 'node:os';
import type { Command } from 'commander';
import type { BatchTiming, BenchmarkResult, IdOrder, ServerUse } from '../lab/index.ts';
import { choice, clusterOption, folder, integer } from './arguments.ts';
import { explain } from './problem.ts';
import { addFlagsWithoutEffect, warnOfFlagsWithoutEffect } from './shared/no-effect.ts';
import { openProgress } from './shared/progress.ts';
import { abortOnSignal } from './shutdown.ts';

const COUNT_MAX = 1_000_000_000;
const SEED_DEFAULT = 42;

interface Options {
  addresses?: string;
  cluster: bigint;
  clients: number;
  transferCount: number;
  transferBatchSize?: number;
  transferBatchCount?: number;
  accountCount: number;
  idOrder: IdOrder;
  seed?: number;
  printBatchTimings?: boolean;
  directory?: string;
  connectTimeoutMs: number;
  requestTimeoutMs: number;
  json?: boolean;
}

export function define(command: Command): void {
  command
    .optionsGroup('Where:')
    .option('--addresses <list>', 'replicas to load; without it a temporary cluster is made')
    .addOption(clusterOption(command))
    .option(
      '--directory <folder>',
      "folder for the temporary cluster (default: the system's)",
      folder('--directory'),
    )
    .option(
      '--connect-timeout-ms <ms>',
      'how long to look for a primary',
      integer('--connect-timeout-ms', 1, 3_600_000),
      5000,
    )
    .option(
      '--request-timeout-ms <ms>',
      'how long an answer may take',
      integer('--request-timeout-ms', 1, 3_600_000),
      60_000,
    )
    .optionsGroup('Load:')
    .option(
      '--clients <count>',
      'clients, each with one request in flight',
      integer('--clients', 1, 64),
      1,
    )
    .option(
      '--transfer-count <count>',
      'transfers in all',
      integer('--transfer-count', 1, COUNT_MAX),
      10_000_000,
    )
    .option(
      '--transfer-batch-size <count>',
      'transfers per request (default: as many as fit, 8189)',
      integer('--transfer-batch-size', 1, 8189),
    )
    .addOption(
      command
        .createOption('--transfer-batch-count <count>', 'the older name of --transfer-batch-size')
        .argParser(integer('--transfer-batch-count', 1, 8189))
        .hideHelp(),
    )
    .option(
      '--account-count <count>',
      'accounts to move money between',
      integer('--account-count', 2, 100_000_000),
      10_000,
    )
    .option(
      '--id-order <order>',
      'tbid, sequential, random or reversed',
      choice<IdOrder>('--id-order', ['tbid', 'sequential', 'random', 'reversed']),
      'sequential',
    )
    .option(
      '--seed <number>',
      `of ids and contents (default: ${SEED_DEFAULT}, with --addresses a new one)`,
      integer('--seed', 0, Number.MAX_SAFE_INTEGER),
    )
    .optionsGroup('Output:')
    .option('--print-batch-timings', 'one line per batch, in the order of completion')
    .option('--json', 'one JSON object instead of the table');
  addFlagsWithoutEffect(command, 'benchmark');
  command.action((options: Options) => run(options, command));
}

async function run(options: Options, command: Command): Promise<void> {
  warnOfFlagsWithoutEffect(command, 'benchmark');
  const { runBenchmark, calibrationLine } = await import('../lab/index.ts');
  const progress = await openProgress('transfers', options.transferCount);
  const timings: BatchTiming[] = [];
  const onBatch = (timing: BatchTiming, done: number): void => {
    progress.update(done);
    if (options.printBatchTimings !== true) return;
    if (options.json === true) timings.push(timing);
    else progress.print(batchLine(timing));
  };
  const fresh = options.addresses === undefined ? SEED_DEFAULT : Date.now() % 1_000_000_000;
  try {
    const result = await runBenchmark(
      {
        addresses: options.addresses ?? null,
        directory: options.directory ?? null,
        cluster: options.cluster,
        clients: options.clients,
        transferCount: options.transferCount,
        transferBatchSize: options.transferBatchSize ?? options.transferBatchCount ?? null,
        accountCount: options.accountCount,
        idOrder: options.idOrder,
        seed: options.seed ?? fresh,
        connectTimeoutMs: options.connectTimeoutMs,
        requestTimeoutMs: options.requestTimeoutMs,
        onBatch,
      },
      abortOnSignal().signal,
    );
    progress.stop();
    if (options.json === true) {
      const batches = options.printBatchTimings === true ? { batchTimings: timings } : {};
      console.log(JSON.stringify({ ...result, ...batches }));
    } else {
      console.log([...resultLines(result), calibrationLine(result.calibration)].join('\n'));
    }
  } catch (error) {
    const { addresses, directory, cluster } = options;
    throw explain(error, {
      command: 'benchmark',
      file: directory ?? tmpdir(),
      cluster,
      ...(addresses === undefined ? {} : { addresses }),
    });
  } finally {
    progress.stop();
  }
}

function resultLines(result: BenchmarkResult): string[] {
  const { batches, batchSize, clients, seconds, transfersPerSecond, batchMs } = result;
  const where = result.temporary ? 'a temporary cluster' : result.addresses;
  return [
    `${result.transfers} transfers by ${clients} client${clients === 1 ? '' : 's'} on ${where}`,
    `${batches} batches in ${seconds.toFixed(2)} s, batch size ${batchSize}`,
    `id order ${result.idOrder}, seed ${result.seed}, ${result.accounts} accounts`,
    `load accepted = ${transfersPerSecond} tx/s`,
    `batch latency p50 = ${ms(batchMs.p50)}, p99 = ${ms(batchMs.p99)}, max = ${ms(batchMs.max)}`,
    ...result.servers.map(serverLine),
  ];
}

function serverLine(use: ServerUse): string {
  const mebibytes = (bytes: number): string => `${Math.round(bytes / 1_048_576)} MiB`;
  return [
    `server ${use.address} (pid ${use.pid}): memory ${mebibytes(use.rssBytes)}`,
    `peak ${mebibytes(use.rssPeakBytes)}`,
    `written ${mebibytes(use.writtenBytes)} (${use.writtenBytesPerTransfer} B per transfer)`,
    `CPU ${use.cpuSeconds} s`,
  ].join(', ');
}

function batchLine(timing: BatchTiming): string {
  const { batch, client, transfers } = timing;
  return `batch ${batch}: ${transfers} tx in ${ms(timing.ms)} (client ${client})`;
}

function ms(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 1)} ms`;
}
