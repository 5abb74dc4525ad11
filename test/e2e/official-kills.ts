/**
 * The official client's own suite on three real processes, while one backup after another is killed
 * and started again: whoever tests a client must not notice. Afterwards all replicas must have
 * executed the same and hold the same.
 *
 * Only a kill that is sure to have met a backup counts: the view, and with it the primary, is the
 * same before the kill and when the victim is back.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { TemporaryCluster } from '../../src/lab/index.ts';
import { Prng } from '../../src/stdx/index.ts';
import { type SameState, untilSameState } from './cluster-verdict.ts';
import { OFFICIAL_TESTS, runOfficial, testsPassed } from './official-suite.ts';

export interface OfficialRoundOptions {
  readonly seed: number;
  /** Small files, small requests: a log that wraps, checkpoints that a victim may miss. */
  readonly development: boolean;
  readonly directory?: string;
}

export interface OfficialRound {
  /** Tests that passed, of `OFFICIAL_TESTS`. */
  readonly passed: number;
  /** Backups killed while the suite ran. */
  readonly kills: number;
  /** Kills with a change of view around them: the victim may have led. They do not count. */
  readonly unsureKills: number;
  /** Of the suite. */
  readonly ms: number;
  /** From the start of each victim until it had joined the others again, ms. */
  readonly backMs: readonly number[];
  /** In the end, the same everywhere. */
  readonly state: SameState;
  /** What went wrong, with what the suite and the replicas have printed; empty: nothing. */
  readonly problem: string;
}

/** Between two kills, and for how long a victim is gone, ms. */
const PAUSE_MS = { min: 700, max: 1_500 };
const AWAY_MS = { min: 20, max: 400 };
const SUITE_LIMIT_MS = 120_000;
const STATE_LIMIT_MS = 30_000;
const REPLICAS = 3;

/** Rejects when the cluster fails, not when the suite does. */
export async function officialRound(options: OfficialRoundOptions): Promise<OfficialRound> {
  const { seed, development, directory } = options;
  const cluster = await TemporaryCluster.start({
    replicaCount: REPLICAS,
    development,
    ...(directory === undefined ? {} : { directory }),
  });
  const suiteEnded = new AbortController();
  try {
    const killer = new BackupKiller(cluster, new Prng(seed), suiteEnded.signal);
    const killing = killer.run();
    // Whoever waits for it notices.
    killing.catch(() => {});
    const startMs = performance.now();
    const { code, output } = await runOfficial('test.js', cluster.addresses, SUITE_LIMIT_MS);
    const ms = performance.now() - startMs;
    suiteEnded.abort();
    await killing;
    const passed = testsPassed(output);
    const isGood = code === 0 && passed === OFFICIAL_TESTS && !/FAILED|Error/.test(output);
    const state = await untilSameState(cluster, STATE_LIMIT_MS);
    cluster.failed.throwIfAborted();
    const { kills, unsureKills, backMs } = killer;
    const problem = isGood ? '' : `the suite ended with ${code}\n${output}\n${printed(cluster)}`;
    return { passed, kills, unsureKills, ms, backMs, state, problem };
  } catch (error) {
    throw new Error(printed(cluster), { cause: error });
  } finally {
    suiteEnded.abort();
    await cluster.stop();
  }
}

/** What the replicas have said lately. */
function printed(cluster: TemporaryCluster): string {
  return cluster.lines
    .map((lines, replica) => `replica ${replica}:\n${lines.slice(-30).join('\n')}`)
    .join('\n');
}

class BackupKiller {
  readonly #cluster: TemporaryCluster;
  readonly #prng: Prng;
  readonly #end: AbortSignal;
  readonly backMs: number[] = [];
  kills: number = 0;
  unsureKills: number = 0;

  constructor(cluster: TemporaryCluster, prng: Prng, end: AbortSignal) {
    this.#cluster = cluster;
    this.#prng = prng;
    this.#end = end;
  }

  /** Kills until the end; resolves when everybody runs. */
  async run(): Promise<void> {
    while (!this.#end.aborted) {
      const wait = pause(this.#ms(PAUSE_MS), undefined, { signal: this.#end });
      // An end that comes earlier is the reason to go on.
      await wait.catch(() => {});
      if (!this.#end.aborted) await this.#killOne();
    }
  }

  async #killOne(): Promise<void> {
    const cluster = this.#cluster;
    const primary = await cluster.ready();
    const view = await this.#view(primary);
    const backup = (primary + this.#prng.between(1, REPLICAS - 1)) % REPLICAS;
    const awayMs = this.#ms(AWAY_MS);
    // The suite may have ended meanwhile.
    if (this.#end.aborted) return;
    await cluster.killReplica(backup);
    await pause(awayMs);
    const startMs = performance.now();
    await cluster.startReplica(backup);
    const primaryNow = await cluster.ready();
    this.backMs.push(performance.now() - startMs);
    const isSure = primaryNow === primary && (await this.#view(primary)) === view;
    if (isSure) this.kills += 1;
    else this.unsureKills += 1;
  }

  async #view(replica: number): Promise<number> {
    const view = (await this.#cluster.statuses())[replica]?.['view'];
    return typeof view === 'number' ? view : Number.NaN;
  }

  #ms({ min, max }: { readonly min: number; readonly max: number }): number {
    return this.#prng.between(min, max);
  }
}
