/**
 * kill -9 of the primary under load, again and again, with official clients; and of all replicas at
 * once. No acknowledged transfer may be lost or done twice, no client may see an error, and in the
 * end all replicas must have executed the same. How long the clients had to wait is reported.
 *
 *   node scripts/failover.ts [--replicas=3,6] [--rounds=50] [--all-rounds=20] [--clients=4]
 *     [--seed=1] [--topology=NAME] [--development] [--directory=FOLDER] [--json]
 *     [--hasty] [--log-debug]
 *
 * --hasty: kills again before what was killed has caught up, which may be two failures at a time:
 * answers may then have to wait for it, and nothing may be lost even so.
 */
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import { longestGap, untilAgreed, untilCaughtUp } from '../src/lab/experiment/index.ts';
import { calibrate, calibrationLine, percentiles, TemporaryCluster } from '../src/lab/index.ts';
import { assert, Prng } from '../src/stdx/index.ts';
import { FailoverLoad } from './failover-load.ts';

interface Part {
  readonly replicas: number;
  /** `primary` or `all`. */
  readonly killed: string;
  readonly rounds: number;
  /** Longest time without an answer around each kill, ms. */
  readonly waitsMs: readonly number[];
  /** From the start of a killed replica until it was as far as the others, ms. */
  readonly backMs: readonly number[];
  readonly transfers: number;
  readonly batches: number;
  /** Until all replicas had executed and held the same, in the end. */
  readonly agreeMs: number;
}

/** Batches that must be answered after a kill before the round is over. */
const BATCHES_AFTER = 40;
const PROGRESS_TIMEOUT_MS = 30_000;
const AGREE_LIMIT_MS = 60_000;
const BACK_LIMIT_MS = 60_000;
/** What is looked at after each round; everything is in the end. */
const BATCHES_CHECKED = 100;

const options = readOptions();
const prng = new Prng(options.seed);
/** Set for the process that does the work; the other one reads what it prints. */
const WORKER = 'ROUNDELAY_FAILOVER_WORKER';

if (process.env[WORKER] === undefined) supervise();
else await main();

/**
 * The official client tells standard error of every attempt to connect: those lines go no further.
 */
function supervise(): void {
  const child = spawn(process.execPath, process.argv.slice(1), {
    stdio: ['ignore', 'inherit', 'pipe'],
    env: { ...process.env, [WORKER]: '1' },
  });
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (!/^(info|warning|error)\(message_bus\)/.test(line)) process.stderr.write(`${line}\n`);
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  child.once('close', (code) => {
    process.exitCode = code ?? 1;
  });
}

async function main(): Promise<void> {
  const calibration = await calibrate(options.directory);
  const parts: Part[] = [];
  for (const replicas of options.replicas) {
    if (options.rounds > 0) parts.push(await runPart(replicas, 'primary', options.rounds));
    if (options.allRounds > 0) parts.push(await runPart(replicas, 'all', options.allRounds));
  }
  if (options.json) console.log(JSON.stringify({ options, calibration, parts }));
  else console.log(`${table(parts)}\n${calibrationLine(calibration)}`);
}

async function runPart(replicas: number, killed: Part['killed'], rounds: number): Promise<Part> {
  const { directory, development, topology, clients, seed, logDebug } = options;
  const cluster = await TemporaryCluster.start({
    replicaCount: replicas,
    directory,
    development,
    flags: [
      ...(topology === undefined ? [] : [`--topology=${topology}`]),
      ...(logDebug ? ['--log-debug'] : []),
    ],
  });
  const load = new FailoverLoad(cluster.addresses, clients, seed);
  const onSignal = (): never => process.exit(130);
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  try {
    await load.createAccounts();
    load.start();
    const roundsDone: Round[] = [];
    for (let round = 1; round <= rounds; round++) {
      await load.progress(BATCHES_AFTER, PROGRESS_TIMEOUT_MS);
      const done = await oneRound(cluster, load, killed === 'all' ? killAll : killPrimary);
      roundsDone.push(done);
      await load.checkAcknowledged(BATCHES_CHECKED);
      assert(!cluster.failed.aborted, 'a replica ended by itself');
      note(describe(replicas, killed, round, done));
    }
    const waitsMs = roundsDone.map(({ waitMs }) => waitMs);
    const backMs = roundsDone.flatMap((done) => done.backMs ?? []);
    return { replicas, killed, rounds, waitsMs, backMs, ...(await finish(cluster, load)) };
  } catch (error) {
    await tellState(cluster);
    note(`again: node scripts/failover.ts --replicas=${replicas} --seed=${seed}`);
    throw error;
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    load.close();
    await cluster.stop();
  }
}

/** Everything that may say why, when nobody can look any more. */
async function tellState(cluster: TemporaryCluster): Promise<void> {
  const statuses = await cluster.statuses();
  for (const [replica, lines] of cluster.lines.entries()) {
    note(`replica ${replica}: ${JSON.stringify(statuses[replica] ?? 'does not answer')}`);
    note(lines.slice(options.logDebug ? -1000 : -20).join('\n'));
  }
}

interface Round {
  readonly waitMs: number;
  readonly backMs: number | null;
}

/** Resolves with the replicas that are to be started again; empty when that is done already. */
type Kill = (cluster: TemporaryCluster) => Promise<readonly number[]>;

/** Lets the load run, kills, waits until it runs again, and brings back what was killed. */
async function oneRound(cluster: TemporaryCluster, load: FailoverLoad, kill: Kill): Promise<Round> {
  await cluster.ready();
  await new Promise((done) => setTimeout(done, prng.between(100, 600)));
  const answered = load.completions.length;
  const killed = await kill(cluster);
  await load.progress(BATCHES_AFTER, PROGRESS_TIMEOUT_MS);
  // From the last answer before the kill: what was on its way still arrives, and ends no wait.
  const some = load.completions.slice(Math.max(0, answered - 1));
  const range = { beginMs: some[0]?.atMs ?? 0, endMs: some.at(-1)?.atMs ?? 0 };
  const waitMs = longestGap(some, range);
  for (const replica of killed) await cluster.startReplica(replica);
  await cluster.ready();
  return { waitMs, backMs: options.hasty ? null : await untilBack(cluster, killed) };
}

/** A second kill before the first replica is back as it was would be two failures at a time. */
async function untilBack(
  cluster: TemporaryCluster,
  killed: readonly number[],
): Promise<number | null> {
  const limit = AbortSignal.timeout(BACK_LIMIT_MS);
  let longestMs: number | null = null;
  for (const replica of killed) {
    const ms = await untilCaughtUp(cluster, replica, limit);
    if (ms === null) throw new Error(`replica ${replica} never caught up under load`);
    longestMs = Math.max(longestMs ?? 0, ms);
  }
  return longestMs;
}

async function killPrimary(cluster: TemporaryCluster): Promise<readonly number[]> {
  // On a busy machine a status may come too late.
  const primary = (await cluster.primary()) ?? (await cluster.ready());
  await cluster.killReplica(primary);
  return [primary];
}

/** All at once, and all are started again at once. */
async function killAll(cluster: TemporaryCluster): Promise<readonly number[]> {
  const all = cluster.files.map((_, replica) => replica);
  await Promise.all(all.map((replica) => cluster.killReplica(replica)));
  await Promise.all(all.map((replica) => cluster.startReplica(replica)));
  return [];
}

function describe(replicas: number, killed: string, round: number, done: Round): string {
  const back = done.backMs === null ? '' : `, back after ${done.backMs.toFixed(0)} ms`;
  const wait = `${done.waitMs.toFixed(0)} ms without an answer`;
  return `${replicas} replicas, ${killed} killed, round ${round}: ${wait}${back}`;
}

/** Everything that was acknowledged is there, once, on replicas that agree. */
async function finish(cluster: TemporaryCluster, load: FailoverLoad) {
  await load.stop();
  assert(load.errors.length === 0, 'a client saw an error');
  await load.checkAcknowledged();
  await load.checkBalances();
  const all = cluster.files.map((_, replica) => replica);
  const agreeMs = await untilAgreed(cluster, all, AGREE_LIMIT_MS);
  assert(agreeMs !== null, 'the replicas do not agree in the end');
  return { transfers: load.acknowledgedCount, batches: load.completions.length, agreeMs };
}

function table(parts: readonly Part[]): string {
  const names = ['replicas', 'killed', 'times', 'wait p50 ms', 'p90', 'worst'];
  const lines = new Table({
    head: [...names, 'back p50 ms', 'worst', 'transfers', 'lost', 'errors'],
    style: { head: [], border: [] },
  });
  for (const { replicas, killed, rounds, waitsMs, backMs, transfers } of parts) {
    const sorted = waitsMs.toSorted((a, b) => a - b);
    const p90 = sorted[Math.ceil(0.9 * sorted.length) - 1] ?? 0;
    const waits = percentiles(waitsMs);
    const backs = percentiles(backMs);
    const back = backs.count === 0 ? ['', ''] : [backs.p50.toFixed(0), backs.max.toFixed(0)];
    const figures = [...[waits.p50, p90, waits.max].map((ms) => ms.toFixed(0)), ...back];
    // Anything but zero would have ended the run.
    lines.push([replicas, killed, rounds, ...figures, transfers, 0, 0]);
  }
  return lines.toString();
}

function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      replicas: { type: 'string', default: '3,6' },
      rounds: { type: 'string', default: '50' },
      'all-rounds': { type: 'string', default: '20' },
      clients: { type: 'string', default: '4' },
      seed: { type: 'string', default: '1' },
      topology: { type: 'string' },
      directory: { type: 'string', default: tmpdir() },
      development: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      hasty: { type: 'boolean', default: false },
      'log-debug': { type: 'boolean', default: false },
    },
  });
  const { topology, directory, development, hasty, json } = values;
  return {
    replicas: values.replicas.split(',').map(Number),
    rounds: Number(values.rounds),
    allRounds: Number(values['all-rounds']),
    clients: Number(values.clients),
    seed: Number(values.seed),
    topology,
    directory,
    development,
    hasty,
    json,
    logDebug: values['log-debug'],
  };
}
