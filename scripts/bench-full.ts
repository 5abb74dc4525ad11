/**
 * The figures of one replica under full batches, as users get it: the packed program, its own
 * processes, real files. For each id order and each run: format, start (timed from exec until a raw
 * register request is answered), load, stop, start again with the data there. Prints medians beside
 * each other, or one JSON object with every run.
 *
 *   node scripts/bench-full.ts [--transfers=5_000_000] [--runs=3] [--orders=sequential,random]
 *     [--clients=1] [--directory=FOLDER] [--sources] [--profile] [--json]
 *
 * `--sources` runs the checkout instead of the packed program, whose starts are faster.
 * `--profile` shows where the server's time goes in the last run, which it makes slower.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  type Calibration,
  calibrate,
  calibrationLine,
  ID_ORDERS,
  type IdOrder,
  type Launcher,
  type LoadResult,
  median,
  ownLauncher,
  readProcess,
  runLoad,
  type StartedServer,
  startAndMeasure,
} from '../src/lab/index.ts';
import { profileFlags, profileTable } from './bench-full-profile.ts';
import { packedLauncher } from './packed-launcher.ts';

const BATCH_SIZE = 8189;
const MEBIBYTE = 1_048_576;

interface Run {
  readonly idOrder: IdOrder;
  readonly transfersPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly startMs: number;
  readonly startFullMs: number;
  readonly rssStartMiB: number;
  readonly rssEndMiB: number;
  readonly writtenPerTransfer: number;
  readonly cpuSeconds: number;
  readonly fileFreshMiB: number;
  readonly fileEndMiB: number;
}

interface Options {
  readonly transfers: number;
  readonly runs: number;
  readonly orders: readonly IdOrder[];
  readonly clients: number;
  readonly directory: string;
  readonly sources: boolean;
  readonly profile: boolean;
  readonly json: boolean;
}

const rows: readonly (readonly [string, keyof Run, string])[] = [
  ['transfers per second', 'transfersPerSecond', ''],
  ['batch p50', 'p50Ms', ' ms'],
  ['batch p99', 'p99Ms', ' ms'],
  ['batch max', 'maxMs', ' ms'],
  ['start, fresh file', 'startMs', ' ms'],
  ['start, all transfers there', 'startFullMs', ' ms'],
  ['memory at start', 'rssStartMiB', ' MiB'],
  ['memory after the load', 'rssEndMiB', ' MiB'],
  ['written per transfer', 'writtenPerTransfer', ' B'],
  ['server CPU', 'cpuSeconds', ' s'],
  ['file, fresh', 'fileFreshMiB', ' MiB'],
  ['file after the load', 'fileEndMiB', ' MiB'],
];

const options = readOptions();
const folder = mkdtempSync(join(options.directory, 'roundelay-bench-'));
let running: StartedServer | null = null;
let profile: readonly string[] = [];
process.on('exit', () => {
  running?.child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));

await main();

async function main(): Promise<void> {
  const launcher = options.sources ? ownLauncher() : packedLauncher(folder);
  const calibration = await calibrate(folder);
  const runs: Run[] = [];
  for (let run = 0; run < options.runs; run++) {
    // Orders alternate, so that a slow minute of the machine does not fall on one of them.
    for (const idOrder of options.orders) {
      note(`run ${run + 1} of ${options.runs}, ${idOrder} ids`);
      runs.push(await measure(launcher, idOrder, run));
    }
  }
  const medians = options.orders.map((order) => medianRun(order, runs));
  if (options.json) {
    const { transfers, clients } = options;
    const facts = { transfers, batchSize: BATCH_SIZE, clients, packed: !options.sources };
    console.log(JSON.stringify({ ...facts, calibration, medians, runs }));
  } else print(medians, calibration);
}

async function measure(launcher: Launcher, idOrder: IdOrder, run: number): Promise<Run> {
  const file = join(folder, `${idOrder}-${run}.roundelay`);
  const port = await freePort();
  format(launcher, file);
  const fileFreshMiB = statSync(file).size / MEBIBYTE;
  const profiles = mkdtempSync(join(folder, 'profile-'));
  const flags = options.profile ? profileFlags(profiles) : [];
  const profiled = { ...launcher, arguments: [...flags, ...launcher.arguments] };
  const started = await startAndMeasure(profiled, port, file);
  running = started;
  const atStart = readProcess(started.pid);
  const load = await runLoad({
    addresses: String(port),
    cluster: 0n,
    clients: options.clients,
    accountCount: 10_000,
    transferCount: options.transfers,
    transferBatchSize: BATCH_SIZE,
    idOrder,
    seed: 42 + run,
    connectTimeoutMs: 10_000,
  });
  const atEnd = readProcess(started.pid);
  await stop(started);
  if (options.profile) profile = profileTable(profiles);
  const again = await startAndMeasure(launcher, port, file);
  running = again;
  await stop(again);
  running = null;
  const fileEndMiB = statSync(file).size / MEBIBYTE;
  rmSync(file);
  const written = (atEnd?.writtenBytes ?? 0) - (atStart?.writtenBytes ?? 0);
  return {
    idOrder,
    ...latencies(load),
    startMs: round(started.startMs),
    startFullMs: round(again.startMs),
    rssStartMiB: round((atStart?.rssBytes ?? 0) / MEBIBYTE),
    rssEndMiB: round((atEnd?.rssBytes ?? 0) / MEBIBYTE),
    writtenPerTransfer: Math.round(written / options.transfers),
    cpuSeconds: round((atEnd?.cpuSeconds ?? 0) - (atStart?.cpuSeconds ?? 0)),
    fileFreshMiB: round(fileFreshMiB),
    fileEndMiB: round(fileEndMiB),
  };
}

function latencies(
  load: LoadResult,
): Pick<Run, 'transfersPerSecond' | 'p50Ms' | 'p99Ms' | 'maxMs'> {
  const { transfersPerSecond, batchMs } = load;
  const { p50, p99, max } = batchMs;
  return { transfersPerSecond, p50Ms: round(p50), p99Ms: round(p99), maxMs: round(max) };
}

function format(launcher: Launcher, file: string): void {
  const parameters = ['format', '--cluster=0', '--replica=0', '--replica-count=1', file];
  const result = spawnSync(launcher.executable, [...launcher.arguments, ...parameters]);
  if (result.status !== 0) throw new Error(`format failed: ${result.stderr.toString()}`);
}

async function stop(server: StartedServer): Promise<void> {
  const exited = new Promise((done) => server.child.once('exit', done));
  server.child.kill('SIGTERM');
  await exited;
}

function freePort(): Promise<number> {
  return new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = address !== null && typeof address === 'object' ? address.port : 0;
      server.close(() => done(port));
    });
  });
}

function medianRun(idOrder: IdOrder, all: readonly Run[]): Run {
  const runs = all.filter((run) => run.idOrder === idOrder);
  const of = (pick: (run: Run) => number): number => round(median(runs.map(pick)));
  return {
    idOrder,
    transfersPerSecond: Math.round(of((run) => run.transfersPerSecond)),
    p50Ms: of((run) => run.p50Ms),
    p99Ms: of((run) => run.p99Ms),
    maxMs: of((run) => run.maxMs),
    startMs: of((run) => run.startMs),
    startFullMs: of((run) => run.startFullMs),
    rssStartMiB: of((run) => run.rssStartMiB),
    rssEndMiB: of((run) => run.rssEndMiB),
    writtenPerTransfer: of((run) => run.writtenPerTransfer),
    cpuSeconds: of((run) => run.cpuSeconds),
    fileFreshMiB: of((run) => run.fileFreshMiB),
    fileEndMiB: of((run) => run.fileEndMiB),
  };
}

function print(medians: readonly Run[], calibration: Calibration): void {
  const { transfers, runs, clients, sources } = options;
  const program = sources ? 'sources' : 'packed program';
  console.log(`${transfers} transfers, ${BATCH_SIZE} a batch, ${clients} client(s), ${program}`);
  console.log(`medians of ${runs} run(s)`);
  const pad = (text: string): string => text.padStart(16);
  console.log(`${''.padEnd(28)}${medians.map((run) => pad(run.idOrder)).join('')}`);
  for (const [label, key, unit] of rows) {
    console.log(`${label.padEnd(28)}${medians.map((run) => pad(`${run[key]}${unit}`)).join('')}`);
  }
  console.log(calibrationLine(calibration));
  for (const line of profile) console.log(line);
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      transfers: { type: 'string', default: '5_000_000' },
      runs: { type: 'string', default: '3' },
      orders: { type: 'string', default: 'sequential,random' },
      clients: { type: 'string', default: '1' },
      directory: { type: 'string', default: tmpdir() },
      sources: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
  const number = (text: string): number => Number(text.replaceAll('_', ''));
  const orders = values.orders.split(',').map((word) => {
    const order = ID_ORDERS.find((known) => known === word);
    if (order === undefined) throw new Error(`unknown id order ${word}`);
    return order;
  });
  return {
    transfers: number(values.transfers),
    runs: number(values.runs),
    orders,
    clients: number(values.clients),
    directory: values.directory,
    sources: values.sources,
    profile: values.profile,
    json: values.json,
  };
}

function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
