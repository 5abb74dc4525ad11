/**
 * A long, seeded ill-treatment of real processes: replicas are killed, stopped, ended and started
 * again at random moments, alone and together, while official clients send transfers. Whenever a
 * majority runs the clients must get on; in the end everything that they were told to exist must be
 * there, and all replicas must hold the same.
 *
 *   node scripts/torture-cluster.ts --seed=1 --rounds=30 [--replicas=3] [--clients=3]
 */
import { parseArgs } from 'node:util';
import { TemporaryCluster } from '../src/lab/index.ts';
import { Prng } from '../src/stdx/index.ts';
import { ClusterLoad, converged } from '../test/e2e/cluster-load.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '30' },
    replicas: { type: 'string', default: '3' },
    clients: { type: 'string', default: '3' },
    topology: { type: 'string', default: 'star' },
  },
});
const seed = Number(values.seed);
const replicaCount = Number(values.replicas);
const PROGRESS_MS = 40_000;

const prng = new Prng(seed);
const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

class Torture {
  readonly #cluster: TemporaryCluster;
  readonly #loads: readonly ClusterLoad[];
  waitMsMax: number = 0;

  constructor(cluster: TemporaryCluster, loads: readonly ClusterLoad[]) {
    this.#cluster = cluster;
    this.#loads = loads;
  }

  /** One act of violence, and the proof that the clients have survived it. */
  async round(): Promise<string> {
    const acts = [
      () => this.#killOne(),
      () => this.#killPrimary(),
      () => this.#killMany(),
      () => this.#killWhileStarting(),
      () => this.#pauseOne(),
      () => this.#pausePrimary(),
      () => this.#pauseAll(),
    ];
    const act = acts[prng.below(acts.length)] ?? acts[0];
    const what = (await act?.()) ?? '';
    await Promise.all(this.#loads.map((load) => load.progress(5, PROGRESS_MS)));
    return what;
  }

  async #killOne(): Promise<string> {
    const replica = prng.below(replicaCount);
    await this.#cluster.killReplica(replica);
    await this.#betweenTimes();
    await this.#cluster.startReplica(replica);
    return `kill ${replica}`;
  }

  async #killPrimary(): Promise<string> {
    const replica = (await this.#cluster.primary()) ?? 0;
    await this.#cluster.killReplica(replica);
    await this.#betweenTimes();
    await this.#cluster.startReplica(replica);
    return `kill the primary ${replica}`;
  }

  async #killMany(): Promise<string> {
    const all = Array.from({ length: replicaCount }, (_, replica) => replica);
    const chosen = prng.below(2) === 0 ? all : all.filter(() => prng.below(2) === 0);
    await Promise.all(chosen.map((replica) => this.#cluster.killReplica(replica)));
    await this.#betweenTimes();
    await Promise.all(chosen.map((replica) => this.#cluster.startReplica(replica)));
    return `kill ${chosen.join(' ')}`;
  }

  async #killWhileStarting(): Promise<string> {
    const replica = prng.below(replicaCount);
    const delayMs = prng.below(400);
    await this.#cluster.killReplica(replica);
    await this.#cluster.startReplica(replica);
    await pause(delayMs);
    await this.#cluster.killReplica(replica);
    await this.#cluster.startReplica(replica);
    return `kill ${replica}, and again after ${delayMs} ms`;
  }

  async #pauseOne(): Promise<string> {
    const replica = prng.below(replicaCount);
    return await this.#pauseFor(replica);
  }

  async #pausePrimary(): Promise<string> {
    return await this.#pauseFor((await this.#cluster.primary()) ?? 0);
  }

  async #pauseFor(replica: number): Promise<string> {
    const ms = prng.below(7_000);
    this.#cluster.pauseReplica(replica);
    await pause(ms);
    this.#cluster.resumeReplica(replica);
    return `stop ${replica} for ${ms} ms`;
  }

  async #pauseAll(): Promise<string> {
    const ms = prng.below(3_000);
    const all = Array.from({ length: replicaCount }, (_, replica) => replica);
    for (const replica of all) this.#cluster.pauseReplica(replica);
    await pause(ms);
    for (const replica of all) this.#cluster.resumeReplica(replica);
    return `stop all for ${ms} ms`;
  }

  async #betweenTimes(): Promise<void> {
    await pause(prng.below(2_000));
  }
}

async function main(): Promise<void> {
  const flags = [`--topology=${values.topology}`];
  const cluster = await TemporaryCluster.start({ replicaCount, development: true, flags });
  const loads: ClusterLoad[] = [];
  try {
    for (let index = 0; index < Number(values.clients); index++) {
      loads.push(new ClusterLoad(cluster, index));
    }
    for (const load of loads) await load.start();
    const torture = new Torture(cluster, loads);
    for (let round = 0; round < Number(values.rounds); round++) {
      const startMs = performance.now();
      const what = await torture.round();
      console.log(`${round}: ${what}, ${Math.round(performance.now() - startMs)} ms`);
      if (cluster.failed.aborted) throw cluster.failed.reason;
    }
    const counts = await Promise.all(loads.map((load) => load.finish()));
    await converged(cluster);
    console.log(`seed ${seed}: ${counts.reduce((sum, one) => sum + one, 0)} transfers, all there`);
  } catch (error) {
    for (const [replica, lines] of cluster.lines.entries()) {
      console.error(`replica ${replica}:\n${lines.slice(-60).join('\n')}`);
    }
    const statuses = await cluster.statuses();
    console.error(
      JSON.stringify(
        statuses.map(
          (one) => one && [one['role'], one['view'], one['op'], one['commitMin'], one['commitMax']],
        ),
      ),
    );
    console.error(`seed ${seed} failed`);
    throw error;
  } finally {
    for (const load of loads) load.close();
    await cluster.stop();
  }
}

// An exit, unlike the end by a signal, removes the cluster.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));
await main();
