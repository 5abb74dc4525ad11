/**
 * One run of one cell: a fresh cluster, the victim picked by its distance from the primary as it is
 * found, the trouble, the load, and what it took. Nothing tells the other replicas, or the clients,
 * who the victim is; they are started alike and see only that it does not answer.
 */

import { assert } from '../../stdx/index.ts';
import type { Launcher } from '../cluster-processes.ts';
import { LoadError } from '../errors.ts';
import { runLoad } from '../load.ts';
import type { LoadOptions } from '../load-clients.ts';
import { runPacedLoad } from '../paced-load.ts';
import { type ProcessReading, readProcess } from '../process-meter.ts';
import { TcpProxy } from '../tcp-proxy.ts';
import { TemporaryCluster } from '../temporary-cluster.ts';
import { type Cell, cellText, type KindRule, kindRules } from './cells.ts';
import { sleep, statesOf, untilAgreed, untilCaughtUp } from './cluster-watch.ts';
import { runFigures } from './run-figures.ts';
import type { ReplicaUse, RunResult } from './run-result.ts';
import type { Completion } from './statistics.ts';

export interface RunOptions {
  /** At least 3: with fewer, one replica down is all of it down. */
  readonly replicaCount: number;
  readonly clients: number;
  readonly accountCount: number;
  readonly transferCount: number;
  readonly transferBatchSize: number;
  readonly seed: number;
  /** How long an open loop lasts, seconds; a stop within it comes on top. */
  readonly openSeconds: number;
  readonly stopSeconds: number;
  readonly delayMs: number;
  /** A closed loop, or what an open loop takes longer than planned, ends by force, seconds. */
  readonly limitSeconds: number;
  /** For data files; `null`: the system's temporary folder. */
  readonly directory: string | null;
  /** Small files, small requests. */
  readonly development: boolean;
  readonly launcher?: Launcher;
}

/** Sessions of an open loop: enough that what falls due seldom waits for one. */
const OPEN_CLIENTS = 16;
/** From the trouble until the load begins, so that it begins in a settled cluster. */
const SETTLE_MS = 500;
const AGREE_LIMIT_MS = 30_000;
/** A view change between picking the victim and the load makes it the wrong one: once more. */
const ATTEMPTS = 3;

class RunLimitReached extends Error {}
class PrimaryMoved extends Error {}

/**
 * `batchesPerSecond`: the pace of an open loop. What goes wrong in the run is in its result.
 * Rejects with the reason of `signal`, or when no cluster can be had.
 */
export async function runCell(
  cell: Cell,
  options: RunOptions,
  batchesPerSecond: number | null,
  signal: AbortSignal | null,
): Promise<RunResult> {
  assert(options.replicaCount >= 3, 'runCell: too few replicas');
  for (let attempt = 1; ; attempt++) {
    const run = new Run(cell, options, batchesPerSecond);
    try {
      return await run.run(signal);
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof PrimaryMoved) || attempt === ATTEMPTS) throw error;
    } finally {
      await run.end();
    }
  }
}

class Run {
  readonly #cell: Cell;
  readonly #rule: KindRule;
  readonly #options: RunOptions;
  readonly #pace: number | null;
  readonly #limit: AbortController = new AbortController();
  readonly #completions: Completion[] = [];
  readonly #timers: NodeJS.Timeout[] = [];
  #cluster: TemporaryCluster | null = null;
  #proxy: TcpProxy | null = null;
  #primary: number = 0;
  #view: number = 0;
  #victim: number | null = null;
  /** On this process's clock. */
  #startMs: number = 0;
  #faultMs: number | null = null;
  #troubleEndMs: number | null = null;
  #before: readonly (ProcessReading | null)[] = [];
  #pids: readonly number[] = [];
  #catchUp: Promise<number | null> = Promise.resolve(null);
  #broken: Error | null = null;

  constructor(cell: Cell, options: RunOptions, pace: number | null) {
    this.#cell = cell;
    this.#rule = kindRules[cell.kind];
    this.#options = options;
    this.#pace = this.#rule.loop === 'open' ? pace : null;
    assert(this.#rule.loop === 'closed' || this.#pace !== null, 'Run: an open loop has a pace');
  }

  async run(signal: AbortSignal | null): Promise<RunResult> {
    const { replicaCount, development, directory, launcher } = this.#options;
    const cluster = await TemporaryCluster.start({
      replicaCount,
      development,
      flags: [`--topology=${this.#cell.topology}`],
      ...(directory === null ? {} : { directory }),
      ...(launcher === undefined ? {} : { launcher }),
    });
    this.#cluster = cluster;
    signal?.throwIfAborted();
    await this.#prepare(cluster);
    const signals = [signal, cluster.failed, this.#limit.signal].filter((one) => one !== null);
    const error = await this.#load(AbortSignal.any(signals));
    const endMs = performance.now();
    signal?.throwIfAborted();
    if (error instanceof PrimaryMoved) throw error;
    const isLimit = error instanceof RunLimitReached;
    return await this.#result(cluster, endMs, isLimit ? null : (error ?? this.#broken), isLimit);
  }

  async end(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#limit.abort(new RunLimitReached('over'));
    this.#proxy?.close();
    await this.#cluster?.stop();
  }

  /** Finds the primary, picks the victim and, where the trouble comes before the load, makes it. */
  async #prepare(cluster: TemporaryCluster): Promise<void> {
    const { replicaCount, delayMs } = this.#options;
    const { distance } = this.#cell;
    this.#primary = await cluster.ready();
    this.#victim = distance === null ? null : (this.#primary + distance) % replicaCount;
    const victim = this.#victim;
    if (victim !== null) {
      switch (this.#rule.before) {
        case 'kill':
          await cluster.killReplica(victim);
          break;
        case 'stop':
          cluster.pauseReplica(victim);
          break;
        case 'delay':
          await cluster.killReplica(victim);
          await cluster.startReplica(victim, await this.#detour(cluster, delayMs));
          break;
        case null:
          break;
      }
    }
    await sleep(SETTLE_MS);
    await this.#checkPrimary(cluster, await cluster.ready());
  }

  /** Addresses with a slow way to the primary: what a replica receives comes over what it dials. */
  async #detour(cluster: TemporaryCluster, delayMs: number): Promise<string> {
    const addresses = cluster.addresses.split(',');
    const targetPort = Number(addresses[this.#primary].split(':').at(-1));
    const delays = { delayToTargetMs: 0, delayFromTargetMs: delayMs };
    this.#proxy = await TcpProxy.start({ targetPort, ...delays });
    addresses[this.#primary] = `127.0.0.1:${this.#proxy.port}`;
    return addresses.join(',');
  }

  /** The distance counts from whoever leads when the load begins. */
  async #checkPrimary(cluster: TemporaryCluster, primary: number | null): Promise<void> {
    if (primary !== this.#primary)
      throw new PrimaryMoved(`the primary moved: ${cellText(this.#cell)}`);
    this.#view = (await statesOf(cluster))[primary]?.view ?? 0;
  }

  /** Resolves with what ended the load before its time, if anything did. */
  async #load(signal: AbortSignal): Promise<Error | null> {
    const { clients, accountCount, seed, transferBatchSize } = this.#options;
    const cluster = this.#running();
    const pace = this.#pace;
    const { planned, transferCount } = this.#plan();
    const load: LoadOptions = {
      addresses: cluster.addresses,
      cluster: 0n,
      clients: pace === null ? clients : Math.max(clients, OPEN_CLIENTS),
      accountCount,
      transferCount,
      transferBatchSize,
      idOrder: 'random',
      seed,
      connectTimeoutMs: 30_000,
      requestTimeoutMs: 3_600_000,
      onLoadStart: () => this.#onLoadStart(cluster, planned),
      onBatch: ({ ms }) => this.#completions.push({ atMs: performance.now(), ms }),
    };
    try {
      if (pace === null) await runLoad(load, signal);
      else await runPacedLoad({ ...load, batchesPerSecond: pace }, signal);
      return null;
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  /** How long an open loop is to last, ms, and how many transfers that makes. */
  #plan(): { planned: number; transferCount: number } {
    const { transferCount, transferBatchSize, openSeconds, stopSeconds } = this.#options;
    if (this.#pace === null) return { planned: 0, transferCount };
    const seconds = openSeconds + (this.#rule.during === 'stop' ? stopSeconds : 0);
    const batches = Math.max(1, Math.round(this.#pace * seconds));
    return { planned: 1000 * seconds, transferCount: batches * transferBatchSize };
  }

  async #onLoadStart(cluster: TemporaryCluster, plannedMs: number): Promise<void> {
    await this.#checkPrimary(cluster, await cluster.primary());
    const { limitSeconds, openSeconds } = this.#options;
    this.#pids = cluster.pids;
    this.#before = this.#pids.map(readProcess);
    const limit = new RunLimitReached(`not done in ${limitSeconds} s`);
    this.#at(plannedMs + 1000 * limitSeconds, () => this.#limit.abort(limit));
    if (this.#rule.during !== null) this.#at(500 * openSeconds, () => this.#trouble(cluster));
    this.#startMs = performance.now();
  }

  /** Half-way. In a healthy run nothing happens, at the same moment. */
  async #trouble(cluster: TemporaryCluster): Promise<void> {
    const victim = this.#victim;
    this.#faultMs = performance.now();
    switch (this.#rule.during) {
      case 'kill':
        if (victim !== null) await cluster.killReplica(victim);
        break;
      case 'stop':
        if (victim !== null) cluster.pauseReplica(victim);
        this.#at(1000 * this.#options.stopSeconds, () => {
          this.#troubleEndMs = performance.now();
          if (victim !== null) cluster.resumeReplica(victim);
        });
        break;
      case 'start':
        if (victim === null) break;
        await cluster.startReplica(victim);
        this.#catchUp = untilCaughtUp(cluster, victim, this.#limit.signal);
        break;
      case null:
        break;
    }
  }

  #at(ms: number, action: () => void | Promise<void>): void {
    const run = async (): Promise<void> => {
      try {
        await action();
      } catch (error) {
        this.#broken = error instanceof Error ? error : new Error(String(error));
      }
    };
    this.#timers.push(setTimeout(() => void run(), ms));
  }

  async #result(
    cluster: TemporaryCluster,
    endMs: number,
    error: Error | null,
    isLimit: boolean,
  ): Promise<RunResult> {
    const live = this.#live();
    const replicas = this.#uses(live);
    let broken = error;
    let agreeMs: number | null = null;
    try {
      if (broken === null) agreeMs = await untilAgreed(cluster, live, AGREE_LIMIT_MS);
    } catch (problem) {
      broken = problem instanceof Error ? problem : new LoadError(String(problem));
    }
    const states = await statesOf(cluster);
    const views = states.map((state) => state?.view ?? 0);
    // What has not caught up when all agree never will: the replica is gone.
    const catchUpMs = agreeMs === null ? null : await this.#catchUp;
    return {
      cell: this.#cell,
      primary: this.#primary,
      view: this.#view,
      viewEnd: Math.max(...views),
      victim: this.#victim,
      hasEnded: broken === null && !isLimit,
      error: broken === null ? null : broken.message,
      batchesPerSecond: this.#pace,
      ...runFigures(this.#completions, {
        beginMs: this.#startMs,
        endMs,
        faultMs: this.#faultMs,
        troubleEndMs: this.#troubleEndMs,
        isOpen: this.#pace !== null,
      }),
      agreeMs,
      catchUpMs,
      replicas,
      lines: broken === null ? [] : cluster.lines.map((lines) => lines.slice(-20)),
    };
  }

  /** Those that must agree in the end: all but who is dead or stands still. */
  #live(): number[] {
    const { before, during } = this.#rule;
    const isOut =
      during === 'kill' || (during === null && (before === 'kill' || before === 'stop'));
    const all = Array.from({ length: this.#options.replicaCount }, (_, replica) => replica);
    return all.filter((replica) => !isOut || replica !== this.#victim);
  }

  #uses(live: readonly number[]): ReplicaUse[] {
    const { replicaCount } = this.#options;
    return this.#running().pids.flatMap((pid, replica) => {
      const after = readProcess(pid);
      if (after === null) return [];
      // A replica that was started during the load has no reading from before.
      const before = pid === this.#pids[replica] ? (this.#before[replica] ?? null) : null;
      return [
        {
          replica,
          distance: (replica - this.#primary + replicaCount) % replicaCount,
          isLive: live.includes(replica),
          cpuSeconds: after.cpuSeconds - (before?.cpuSeconds ?? 0),
          rssStartBytes: before?.rssBytes ?? 0,
          rssEndBytes: after.rssBytes,
          rssPeakBytes: after.rssPeakBytes,
        },
      ];
    });
  }

  #running(): TemporaryCluster {
    assert(this.#cluster !== null, 'Run: there is no cluster');
    return this.#cluster;
  }
}
