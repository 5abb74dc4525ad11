/**
 * Real replicas under kill -9: every so often the leader or a follower is killed and started again,
 * while clients ask without a pause. What they saw must be linearizable, every request
 * answered in the end, and all replicas of one mind.
 */
import { median } from '../../src/lab/index.ts';
import { Prng } from '../../src/stdx/index.ts';
import { ReplicaLoad } from './replica-load.ts';
import { type EngineName, ReplicaProcesses } from './replica-processes.ts';

export interface TortureOptions {
  readonly engine: EngineName;
  readonly seconds: number;
  readonly clients: number;
  readonly seed: number;
  /** Between two kills, ms; up to some times that where what was killed is not back by then. */
  readonly periodMs: number;
  /** Kills again even then, which may be two failures at a time. */
  readonly isHasty?: boolean;
  readonly isSmall?: boolean;
  readonly directory?: string;
  /** After a failure the files of the replicas stay. */
  readonly isKept?: boolean;
  onKill?(kill: Kill): void;
}

export interface Kill {
  readonly replica: number;
  /** It led, and another one did so afterwards. */
  readonly wasLeader: boolean;
  /** Longest time without an answer to anybody, from the last one before the kill, ms. */
  readonly gapMs: number;
  /** Until it was as far as the others, ms; `null`: it was not when the next one was killed. */
  readonly backMs: number | null;
}

export interface TortureResult {
  readonly engine: EngineName;
  readonly seconds: number;
  readonly clients: number;
  readonly kills: readonly Kill[];
  readonly operations: number;
  /** Outcomes that a client does not know. */
  readonly unknown: number;
  readonly notDone: number;
  readonly sessionsLost: number;
  readonly slowestMs: number;
  readonly isLinearizable: boolean;
  /** Keys of which it could not be told. */
  readonly unclear: number;
  /** What is wrong. */
  readonly problems: readonly string[];
  /** Around kills of a leader, ms; 0: there was none. */
  readonly failoverMs: { readonly median: number; readonly worst: number; readonly count: number };
}

/** Between a kill and the start of the next life. */
const DOWN_MS = 500;
const LEADER_LIMIT_MS = 20_000;
/** Who has executed all but so many operations of the others is back. */
const LAG_OPS_MAX = 64;
/** It is waited for as long as so many periods. */
const BACK_PERIODS = 4;
const ANSWER_LIMIT_MS = 60_000;
const AGREE_LIMIT_MS = 60_000;

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

export async function tortureReplicas(options: TortureOptions): Promise<TortureResult> {
  const { engine, clients, seed, isSmall = false } = options;
  const machine = 'key-value';
  const directory = options.directory === undefined ? {} : { directory: options.directory };
  const cluster = await ReplicaProcesses.start({ engine, machine, isSmall, ...directory });
  const load = await ReplicaLoad.connect(cluster.addresses, clients, seed);
  try {
    load.start();
    const kills = await killAndKill(cluster, load, options);
    await load.stop(ANSWER_LIMIT_MS);
    await cluster.untilAgreed(AGREE_LIMIT_MS);
    const { history } = load;
    const problems = [...history.problems, ...cluster.deaths];
    const gaps = kills.filter(({ wasLeader }) => wasLeader).map(({ gapMs }) => gapMs);
    return {
      engine,
      seconds: options.seconds,
      clients,
      kills,
      operations: history.judged,
      unknown: history.unknown,
      notDone: load.notDone,
      sessionsLost: load.sessionsLost,
      slowestMs: load.slowestMs,
      isLinearizable: history.problems.length === 0 && history.unclear === 0,
      unclear: history.unclear,
      problems,
      failoverMs: {
        median: gaps.length === 0 ? 0 : median(gaps),
        worst: Math.max(0, ...gaps),
        count: gaps.length,
      },
    };
  } catch (error) {
    cluster.isKept = options.isKept ?? false;
    console.error(JSON.stringify(await cluster.statuses()));
    cluster.tell();
    if (cluster.isKept) console.error(`the files are in ${cluster.directory}`);
    throw error;
  } finally {
    load.close();
    await cluster.stop();
  }
}

async function killAndKill(
  cluster: ReplicaProcesses,
  load: ReplicaLoad,
  { seconds, seed, periodMs, isHasty = false, onKill }: TortureOptions,
): Promise<Kill[]> {
  const prng = new Prng(seed, 1);
  const endMs = performance.now() + seconds * 1000;
  const kills: Kill[] = [];
  await pause(periodMs / 2);
  for (let round = 0; performance.now() < endMs; round++) {
    const beganMs = performance.now();
    const leader = await leaderOf(cluster);
    const others = Array.from({ length: cluster.replicaCount }, (_, i) => i).filter(
      (replica) => replica !== leader,
    );
    const replica = round % 2 === 0 ? leader : prng.pick(others);
    const viewBefore = await viewOf(cluster);
    load.takeGap();
    await cluster.kill(replica);
    // A process that starts needs the machine that the others are to go on with.
    await pause(DOWN_MS);
    await cluster.restart(replica);
    const isBack = !isHasty && (await cluster.untilClose(LAG_OPS_MAX, BACK_PERIODS * periodMs));
    const backMs = isBack ? performance.now() - beganMs : null;
    await pause(Math.max(0, beganMs + periodMs - performance.now()));
    // A kill that no change of leaders followed had not met one.
    const wasLeader = replica === leader && (await viewOf(cluster)) > viewBefore;
    const kill = { replica, wasLeader, gapMs: load.takeGap(), backMs };
    kills.push(kill);
    onKill?.(kill);
  }
  return kills;
}

async function leaderOf(cluster: ReplicaProcesses): Promise<number> {
  const deadlineMs = performance.now() + LEADER_LIMIT_MS;
  for (;;) {
    const leader = await cluster.leader();
    if (leader !== null) return leader;
    if (performance.now() > deadlineMs) throw new Error(`no leader in ${LEADER_LIMIT_MS} ms`);
    await pause(20);
  }
}

/** The newest that a replica knows; it rises with each change of leaders. */
async function viewOf(cluster: ReplicaProcesses): Promise<number> {
  const statuses = await cluster.statuses();
  return Math.max(0, ...statuses.map((one) => Number(one?.['view'] ?? 0)));
}
