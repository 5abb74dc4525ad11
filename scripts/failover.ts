/**
 * kill -9 of the primary under load, again and again, with official clients; and of all replicas at
 * once. No acknowledged transfer may be lost or done twice, no client may see an error, and in the
 * end (after every time that all were killed, too) all replicas must have executed the same and
 * hold the same: anything else ends the run with 1. How long the clients had to wait is reported
 * beside the goals, and does not.
 *
 *   node scripts/failover.ts [--replicas=3,6] [--rounds=50] [--all-rounds=20] [--clients=4]
 *     [--seed=1] [--topology=NAME] [--development] [--directory=FOLDER] [--json]
 *     [--hasty] [--log-debug]
 *
 * A part: --replicas=3 --rounds=5 --all-rounds=0. A kill that no change of view followed had not
 * met the primary, and does not count.
 *
 * --hasty: kills again before what was killed has caught up, which may be two failures at a time:
 * answers may then have to wait for it, and nothing may be lost even so.
 */
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import { longestGap, untilCaughtUp } from '../src/lab/experiment/index.ts';
import { calibrate, calibrationLine, percentiles, TemporaryCluster } from '../src/lab/index.ts';
import { assert, Prng } from '../src/stdx/index.ts';
import { type SameState, untilSameState } from '../test/e2e/cluster-verdict.ts';
import { type Answer, FailoverLoad } from './failover-load.ts';

interface Part {
  readonly replicas: number;
  /** `primary` or `all`. */
  readonly killed: string;
  readonly roundsDone: readonly Round[];
  readonly transfers: number;
  readonly batches: number;
  /** In the end, on all replicas. */
  readonly state: SameState;
}

interface Round {
  /** Longest time without an answer to anybody, from the kill until all clients are served, ms. */
  readonly waitMs: number;
  /** What the unluckiest request took meanwhile, ms. */
  readonly slowestMs: number;
  /** From the start of a killed replica until it was as far as the others, ms. */
  readonly backMs: number | null;
  /** Longest time without an answer to anybody meanwhile, ms. */
  readonly backWaitMs: number | null;
  /** Whether the view has changed, so that it was indeed the primary. */
  readonly isFailover: boolean;
}

/** Batches that must be answered after a kill before the round is over. */
const BATCHES_AFTER = 40;
const PROGRESS_TIMEOUT_MS = 30_000;
const AGREE_LIMIT_MS = 60_000;
const BACK_LIMIT_MS = 60_000;
/** What is looked at after each round; everything is in the end. */
const BATCHES_CHECKED = 100;
/** Without an answer when a primary is killed, ms. */
const GOALS_MS = { median: 500, worst: 2_000 };

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
  try {
    for (const replicas of options.replicas) {
      if (options.rounds > 0) parts.push(await runPart(replicas, 'primary', options.rounds));
      if (options.allRounds > 0) parts.push(await runPart(replicas, 'all', options.allRounds));
    }
  } finally {
    // After a failure, too, the parts that were good are told.
    if (options.json) console.log(JSON.stringify({ options, calibration, parts }));
    else for (const line of report(parts)) console.log(line);
    if (!options.json) console.log(calibrationLine(calibration));
  }
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
    for (let attempt = 1; roundsDone.length < rounds; attempt++) {
      assert(attempt <= 2 * rounds, 'too many kills did not meet the primary');
      await load.progress(BATCHES_AFTER, PROGRESS_TIMEOUT_MS);
      const done = await oneRound(cluster, load, killed === 'all' ? killAll : killPrimary);
      await load.checkAcknowledged(BATCHES_CHECKED);
      assert(!cluster.failed.aborted, 'a replica ended by itself');
      if (killed === 'all') await settle(cluster, load);
      if (killed === 'all' || done.isFailover) roundsDone.push(done);
      note(describe(replicas, killed, roundsDone.length, done));
    }
    await settle(cluster, load, false);
    await load.checkAcknowledged();
    // Once more, since the lookups were operations, too.
    const state = await untilSameState(cluster, AGREE_LIMIT_MS);
    const { acknowledgedCount: transfers, completions } = load;
    return { replicas, killed, roundsDone, transfers, batches: completions.length, state };
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

/** Resolves with the replicas that are to be started again; empty when that is done already. */
type Kill = (cluster: TemporaryCluster) => Promise<readonly number[]>;

/** Lets the load run, kills, waits until it runs again, and brings back what was killed. */
async function oneRound(cluster: TemporaryCluster, load: FailoverLoad, kill: Kill): Promise<Round> {
  const viewBefore = await viewOf(cluster, await cluster.ready());
  await new Promise((done) => setTimeout(done, prng.between(100, 600)));
  const answered = load.completions.length;
  const killed = await kill(cluster);
  await load.progress(BATCHES_AFTER, PROGRESS_TIMEOUT_MS);
  // From the last answer before the kill: what was on its way still arrives, and ends no wait.
  const some = load.completions.slice(Math.max(0, answered - 1));
  const slowestMs = Math.max(...some.map(({ ms }) => ms));
  const atRestart = load.completions.length;
  for (const replica of killed) await cluster.startReplica(replica);
  const isFailover = (await viewOf(cluster, await cluster.ready())) > viewBefore;
  const backMs = options.hasty ? null : await untilBack(cluster, killed);
  const since = load.completions.slice(Math.max(0, atRestart - 1));
  const backWaitMs = backMs === null ? null : gapIn(since);
  return { waitMs: gapIn(some), slowestMs, backMs, backWaitMs, isFailover };
}

/** The longest time between two of these answers, ms. */
function gapIn(answers: readonly Answer[]): number {
  const range = { beginMs: answers[0]?.atMs ?? 0, endMs: answers.at(-1)?.atMs ?? 0 };
  return longestGap(answers, range);
}

async function viewOf(cluster: TemporaryCluster, replica: number): Promise<number> {
  const view = (await cluster.statuses())[replica]?.['view'];
  return typeof view === 'number' ? view : Number.NaN;
}

/** A second kill before the first replica is back as it was would be two failures at a time. */
async function untilBack(
  cluster: TemporaryCluster,
  killed: readonly number[],
): Promise<number | null> {
  const limit = AbortSignal.any([AbortSignal.timeout(BACK_LIMIT_MS), cluster.failed]);
  let longestMs: number | null = null;
  for (const replica of killed) {
    const ms = await untilCaughtUp(cluster, replica, limit);
    cluster.failed.throwIfAborted();
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
  const { waitMs, slowestMs, backMs, backWaitMs, isFailover } = done;
  const texts = [
    `${replicas} replicas, ${killed} killed, round ${round}`,
    `${waitMs.toFixed(0)} ms without an answer`,
    `slowest request ${slowestMs.toFixed(0)} ms`,
  ];
  if (backMs !== null) texts.push(`back after ${backMs.toFixed(0)} ms`);
  if (backWaitMs !== null) texts.push(`${backWaitMs.toFixed(0)} ms without an answer meanwhile`);
  if (killed === 'primary' && !isFailover) texts.push('no change of view: does not count');
  return texts.join(', ');
}

/**
 * Stops the load: everything that was acknowledged is there, once, on replicas that hold the same.
 */
async function settle(
  cluster: TemporaryCluster,
  load: FailoverLoad,
  goesOn: boolean = true,
): Promise<void> {
  await load.stop();
  await load.checkBalances();
  await untilSameState(cluster, AGREE_LIMIT_MS);
  if (goesOn) load.start();
}

function report(parts: readonly Part[]): string[] {
  const names = ['replicas', 'killed', 'times', 'wait p50 ms', 'p90', 'worst', 'slowest request'];
  const table = new Table({
    head: [
      ...names,
      'back p50 ms',
      'worst',
      'wait meanwhile',
      'transfers',
      'lost, doubled, errors',
    ],
    style: { head: [], border: [] },
  });
  const lines: string[] = [];
  for (const { replicas, killed, roundsDone, transfers, state } of parts) {
    const waits = percentiles(roundsDone.map(({ waitMs }) => waitMs));
    const backs = percentiles(roundsDone.flatMap(({ backMs }) => backMs ?? []));
    const meanwhile = percentiles(roundsDone.flatMap(({ backWaitMs }) => backWaitMs ?? []));
    const slowest = percentiles(roundsDone.map(({ slowestMs }) => slowestMs));
    const sorted = roundsDone.map(({ waitMs }) => waitMs).toSorted((a, b) => a - b);
    const p90 = sorted[Math.ceil(0.9 * sorted.length) - 1] ?? 0;
    const back = backs.count === 0 ? [] : [backs.p50, backs.max, meanwhile.max];
    const texts = [waits.p50, p90, waits.max, slowest.max, ...back].map((ms) => ms.toFixed(0));
    while (texts.length < 7) texts.push('');
    // Anything but zero would have ended the run.
    table.push([replicas, killed, roundsDone.length, ...texts, transfers, 0]);
    const { commit, checkpointOp, checkpointRoot } = state;
    const same = `checkpoint ${checkpointOp} ${checkpointRoot}`;
    lines.push(`${replicas} replicas, ${killed} killed: the same on all at op ${commit}, ${same}`);
    if (killed === 'primary') {
      const goals = `median ${goal(waits.p50, GOALS_MS.median)}, worst ${goal(waits.max, GOALS_MS.worst)}`;
      lines.push(`${replicas} replicas, ${killed} killed: without an answer, ${goals}`);
    }
  }
  return [table.toString(), ...lines];
}

function goal(ms: number, goalMs: number): string {
  return `${ms.toFixed(0)} ms (goal ${goalMs} ms: ${ms <= goalMs ? 'met' : 'MISSED'})`;
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
