/**
 * The figures of a whole cluster under full batches: real processes of the packed program on this
 * machine, real files, the load of `scripts/bench-full.ts` with one and with several clients. Runs
 * alternate between the settings, each with a cluster of its own. Meters are read before the first
 * transfer and again when all replicas have executed everything, which is what they are charged
 * for; the transfers per second end with the last answer. The load, too, needs CPU on this machine.
 *
 *   node bench/cluster.ts [--replicas=3] [--transfers=5_000_000] [--runs=5] [--clients=1,4]
 *     [--orders=sequential,random] [--topology=NAME] [--directory=FOLDER] [--sources] [--json]
 *
 * Prints the median of the runs and, behind it, the smallest and the largest. `--sources` runs the
 * checkout instead of the packed program.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { packedLauncher } from '../scripts/packed-launcher.ts';
import { untilAgreed } from '../src/lab/experiment/index.ts';
import { spreadOf } from '../src/lab/experiment/statistics.ts';
import {
  calibrate,
  calibrationLine,
  ID_ORDERS,
  type IdOrder,
  type Launcher,
  ownLauncher,
  type ProcessReading,
  readProcess,
  runLoad,
  TemporaryCluster,
} from '../src/lab/index.ts';
import { assert } from '../src/stdx/index.ts';

const USAGE = `node bench/cluster.ts [--replicas=3] [--transfers=5_000_000] [--runs=5]
  [--clients=1,4] [--orders=sequential,random] [--topology=NAME] [--directory=FOLDER]
  [--sources] [--json]`;
const BATCH_SIZE = 8189;
const MEBIBYTE = 1_048_576;
const AGREE_LIMIT_MS = 60_000;

interface Setting {
  readonly idOrder: IdOrder;
  readonly clients: number;
}

/** What one replica's process used. */
interface Use {
  readonly cpuSeconds: number;
  readonly rssMiB: number;
  readonly rssPeakMiB: number;
  readonly writtenMiB: number;
}

interface Run extends Setting {
  readonly transfersPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly primary: number;
  /** In the order of the replicas. */
  readonly uses: readonly Use[];
  /** This process: the clients. */
  readonly loadCpuSeconds: number;
  /** Changes of view during the run; anything but 0 makes its figures suspect. */
  readonly viewChanges: number;
  /** From the last answer until all replicas had executed everything. */
  readonly agreeMs: number;
}

const options = readOptions();
const folder = mkdtempSync(join(options.directory, 'roundelay-bench-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));

await main();

async function main(): Promise<void> {
  const { orders, clients, runs: count } = options;
  const launcher = options.sources ? ownLauncher() : packedLauncher(folder);
  const calibration = await calibrate(folder);
  const settings = orders.flatMap((idOrder) => clients.map((n) => ({ idOrder, clients: n })));
  const runs: Run[] = [];
  for (let run = 0; run < count; run++) {
    // Settings alternate, so that a slow minute of the machine does not fall on one of them.
    for (const setting of settings) {
      const done = await measure(launcher, setting, run);
      runs.push(done);
      const what = `run ${run + 1} of ${count}, ${text(setting)}`;
      note(`${what}: ${done.transfersPerSecond} transfers per second`);
    }
  }
  if (options.json) {
    console.log(JSON.stringify({ options, batchSize: BATCH_SIZE, calibration, runs }));
    return;
  }
  for (const line of report(settings, runs)) console.log(line);
  console.log(calibrationLine(calibration));
}

async function measure(launcher: Launcher, setting: Setting, run: number): Promise<Run> {
  const { replicas, topology, transfers } = options;
  const cluster = await TemporaryCluster.start({
    replicaCount: replicas,
    directory: folder,
    launcher,
    ...(topology === undefined ? {} : { flags: [`--topology=${topology}`] }),
  });
  try {
    const primary = await cluster.ready();
    const view = await viewOf(cluster);
    let before: readonly ProcessReading[] = [];
    let cpu = process.cpuUsage();
    const load = await runLoad(
      {
        addresses: cluster.addresses,
        cluster: 0n,
        clients: setting.clients,
        accountCount: 10_000,
        transferCount: transfers,
        transferBatchSize: BATCH_SIZE,
        idOrder: setting.idOrder,
        seed: 42 + run,
        connectTimeoutMs: 10_000,
        onLoadStart: () => {
          before = readAll(cluster);
          cpu = process.cpuUsage();
        },
      },
      cluster.failed,
    );
    const { user, system } = process.cpuUsage(cpu);
    const all = cluster.files.map((_, replica) => replica);
    const agreeMs = await untilAgreed(cluster, all, AGREE_LIMIT_MS);
    assert(agreeMs !== null, 'the replicas do not agree in the end');
    const after = readAll(cluster);
    const { transfersPerSecond, batchMs } = load;
    return {
      ...setting,
      transfersPerSecond,
      p50Ms: batchMs.p50,
      p99Ms: batchMs.p99,
      maxMs: batchMs.max,
      primary,
      uses: after.map((reading, replica) => useBetween(before[replica], reading)),
      loadCpuSeconds: (user + system) / 1e6,
      viewChanges: (await viewOf(cluster)) - view,
      agreeMs,
    };
  } finally {
    await cluster.stop();
  }
}

function readAll(cluster: TemporaryCluster): ProcessReading[] {
  return cluster.pids.map((pid) => {
    const reading = readProcess(pid);
    if (reading === null) throw new Error(`process ${pid} cannot be looked at: no /proc here`);
    return reading;
  });
}

function useBetween(before: ProcessReading | undefined, after: ProcessReading): Use {
  assert(before !== undefined, 'useBetween: no reading before the load');
  return {
    cpuSeconds: after.cpuSeconds - before.cpuSeconds,
    rssMiB: after.rssBytes / MEBIBYTE,
    rssPeakMiB: after.rssPeakBytes / MEBIBYTE,
    writtenMiB: (after.writtenBytes - before.writtenBytes) / MEBIBYTE,
  };
}

/** Of the newest view that a replica knows. */
async function viewOf(cluster: TemporaryCluster): Promise<number> {
  const statuses = await cluster.statuses();
  return Math.max(...statuses.map((one) => Number(one?.['view'] ?? 0)));
}

function primaryOf(run: Run): Use {
  return run.uses[run.primary];
}

/** All backups of a run, each a sample of its own. */
function backupsOf(run: Run): Use[] {
  return run.uses.filter((_, replica) => replica !== run.primary);
}

interface Row {
  readonly label: string;
  readonly digits: number;
  readonly of: (run: Run) => readonly number[];
}

function rows(): Row[] {
  const millions = options.transfers / 1e6;
  const total = (run: Run, pick: (use: Use) => number): number =>
    run.uses.reduce((sum, use) => sum + pick(use), 0);
  const row = (label: string, digits: number, of: (run: Run) => readonly number[]): Row => ({
    label,
    digits,
    of,
  });
  const both = (label: string, digits: number, pick: (use: Use) => number): Row[] => [
    row(`${label}, primary`, digits, (run) => [pick(primaryOf(run))]),
    row(`${label}, a backup`, digits, (run) => backupsOf(run).map(pick)),
  ];
  return [
    row('transfers per second', 0, (run) => [run.transfersPerSecond]),
    row('batch p50, ms', 1, (run) => [run.p50Ms]),
    row('batch p99, ms', 1, (run) => [run.p99Ms]),
    row('batch max, ms', 1, (run) => [run.maxMs]),
    ...both('CPU s', 1, (use) => use.cpuSeconds),
    ...both('CPU s per million', 2, (use) => use.cpuSeconds / millions),
    row('CPU s per million, all', 2, (run) => [total(run, (use) => use.cpuSeconds) / millions]),
    row('CPU s of the load', 1, (run) => [run.loadCpuSeconds]),
    ...both('memory MiB', 0, (use) => use.rssMiB),
    ...both('memory MiB, most', 0, (use) => use.rssPeakMiB),
    ...both('written MiB', 0, (use) => use.writtenMiB),
    ...both('written B a transfer', 0, (use) => (use.writtenMiB * MEBIBYTE) / options.transfers),
    row('until all agree, ms', 0, (run) => [run.agreeMs]),
    row('changes of view', 0, (run) => [run.viewChanges]),
  ];
}

function report(settings: readonly Setting[], runs: readonly Run[]): string[] {
  const { replicas, transfers, runs: count, sources, topology } = options;
  const program = sources ? 'sources' : 'packed program';
  const pad = (cell: string): string => cell.padStart(28);
  return [
    `${replicas} replicas, ${topology ?? 'default'} topology, ${program}`,
    `${transfers} transfers, ${BATCH_SIZE} a batch, medians of ${count} run(s), smallest–largest`,
    `${''.padEnd(28)}${settings.map((setting) => pad(text(setting))).join('')}`,
    ...rows().map(({ label, digits, of }) => {
      const cells = settings.map(({ idOrder, clients }) => {
        const own = runs.filter((run) => run.idOrder === idOrder && run.clients === clients);
        const spread = spreadOf(own.flatMap(of));
        if (spread === null) return pad('');
        const [median, min, max] = [spread.median, spread.min, spread.max].map((value) =>
          value.toFixed(digits),
        );
        return pad(`${median} (${min}–${max})`);
      });
      return `${label.padEnd(28)}${cells.join('')}`;
    }),
  ];
}

function text({ idOrder, clients }: Setting): string {
  return `${idOrder}, ${clients} client${clients === 1 ? '' : 's'}`;
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      replicas: { type: 'string', default: '3' },
      transfers: { type: 'string', default: '5_000_000' },
      runs: { type: 'string', default: '5' },
      clients: { type: 'string', default: '1,4' },
      orders: { type: 'string', default: 'sequential,random' },
      topology: { type: 'string' },
      directory: { type: 'string', default: tmpdir() },
      sources: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    process.exit(0);
  }
  const number = (word: string): number => Number(word.replaceAll('_', ''));
  const orders = values.orders.split(',').map((word) => {
    const order = ID_ORDERS.find((known) => known === word);
    if (order === undefined) throw new Error(`unknown id order ${word}`);
    return order;
  });
  const { topology, directory, sources, json } = values;
  return {
    replicas: number(values.replicas),
    transfers: number(values.transfers),
    runs: number(values.runs),
    clients: values.clients.split(',').map(number),
    orders,
    topology,
    directory,
    sources,
    json,
  };
}

function note(line: string): void {
  process.stderr.write(`${line}\n`);
}
