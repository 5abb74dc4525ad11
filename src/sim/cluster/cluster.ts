/**
 * A whole run with several replicas. A pure function: the report depends on the options alone, down
 * to its hash.
 *
 * A run has four parts. In the first, clients make their requests while everything that the options
 * ask for befalls replicas, disks, clocks and the network; what must never happen is looked for at
 * every step. Then a core of replicas, enough to change views, is healed, while all others stay as
 * they are: it must answer everything and come to one state. Then all are healed and must come to
 * that state too, and then be quiet. At last there is a power cut everywhere, after which each
 * client asks once more for the last answer of each session it ever had, and every file is read.
 */
import type { Budget, SimClient } from '../clients/client.ts';
import { check, type FailureCode, SimulationFailure } from '../world/failure.ts';
import { Assembly } from './assembly.ts';
import { CLUSTER_FAULTS_NONE, ClusterFaults } from './cluster-faults.ts';
import type { ClusterOptions, ClusterReport } from './options.ts';

const FAULTS_NS = 60_000_000_000;
const CONVERGENCE_NS = 120_000_000_000;
/** What a client gets, of any kind. */
const ANSWERS = ['replies', 'registers', 'repeatedReplies', 'evictions', 'refusals'] as const;
/** How often somebody looks whether a state has been reached. */
const LOOK_NS = 20_000_000;
/** What was said before it was at peace may still be on its way for so many periods. */
const PEACE_PERIODS = 5;
/** A run that does more than this is going in circles. */
const EVENTS_MAX = 2_000_000;

export function simulateCluster(options: ClusterOptions): ClusterReport {
  const run = new ClusterRun(options);
  let failure: SimulationFailure | null = null;
  try {
    run.execute();
  } catch (error) {
    // Anything else is a mistake of the simulator itself and none of the engine's.
    if (!(error instanceof SimulationFailure)) throw error;
    failure = error;
  }
  return run.report(failure);
}

class ClusterRun {
  readonly #options: ClusterOptions;
  readonly #cluster: Assembly;
  readonly #faults: ClusterFaults;
  readonly #clients: readonly SimClient[];
  readonly #budget: Budget;

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.#cluster = new Assembly(options);
    const { world, sites, network, slots } = this.#cluster;
    const faults = { ...CLUSTER_FAULTS_NONE, ...options.faults };
    const { quorums } = options;
    const recover = (onDone: (view: number) => void): void => this.#cluster.recover(onDone);
    const parts = { sites, network, slots, quorums, recover };
    this.#faults = new ClusterFaults(world, parts, faults);
    this.#budget = { requestsLeft: options.requests ?? 160 };
    this.#clients = Array.from({ length: options.clients ?? 6 }, (_, index) => {
      return this.#cluster.makeClient(index, this.#budget);
    });
  }

  execute(): void {
    const { sites, all, world, history } = this.#cluster;
    for (const site of sites) site.start();
    for (const site of sites) site.faults.start();
    this.#faults.start();
    for (const client of this.#clients) client.start();
    this.#endure();
    // Who has just got another file has no voice yet: it takes all the others to give it one.
    const hasVoices = sites.every((site) => site.hasJoined);
    const core = hasVoices ? (this.#options.core ?? all) : all;
    this.#heal(core);
    this.#converge(core);
    if (core.length < all.length) {
      world.coverage.add('coresPartial');
      this.#heal(all);
      this.#converge(all);
    }
    this.#checkPeace();
    // What has rotted since its replica last read it, nobody has noticed yet.
    this.#audit(!this.#cluster.isRotting);
    for (const site of sites) site.process.crash('mixed');
    for (const site of sites) site.start();
    for (const client of this.#clients) client.audit();
    this.#converge(all);
    this.#audit(true);
    this.#cluster.audit.finish?.();
    history.finish();
    this.#checkLeast();
    for (const site of sites) site.process.crash('new');
    for (const site of sites) site.retire();
  }

  report(failure: SimulationFailure | null): ClusterReport {
    const { world, history, sites } = this.#cluster;
    const { coverage, nowNs, seed } = world;
    const { replicaCount } = this.#options;
    const opMax = history.opMax;
    coverage.add('logWraps', this.#wraps);
    const hash = world.hash.digest();
    const writes = sites.map((site) => site.disk.writesIssued);
    return { seed, replicaCount, hash, failure, coverage, virtualNs: nowNs, writes, opMax };
  }

  /** Faults and requests, until all are answered or it has taken long enough. */
  #endure(): void {
    const { world, sites, history } = this.#cluster;
    const endNs = world.nowNs + (this.#options.faultsNs ?? FAULTS_NS);
    while (this.#isBusy() && world.step(endNs)) this.#checkBusy();
    for (const site of sites) site.faults.freeze(true);
    this.#faults.freeze();
    world.note('world', 'frozen', `at op ${history.opMax}`);
  }

  #heal(core: readonly number[]): void {
    const { world, network, all } = this.#cluster;
    world.note('world', 'heal', core.map((index) => `r${index}`).join(' '));
    const isAll = core.length === all.length;
    if (isAll) {
      network.calm();
      this.#faults.heal();
    }
    network.heal(core);
    for (const index of core) this.#cluster.site(index).heal();
    if (this.#options.isCoreAlone !== true || isAll) return;
    for (const inside of core) {
      for (const outside of all.filter((index) => !core.includes(index))) {
        network.shut(inside, outside);
        network.shut(outside, inside);
      }
    }
  }

  /** Everything is answered, and these replicas have executed the same, all of it. */
  #converge(core: readonly number[]): void {
    const { world, history } = this.#cluster;
    const patienceNs = this.#options.convergenceNs ?? CONVERGENCE_NS;
    let isReached = false;
    let answers = -1;
    let endNs = 0;
    const look = (): void => {
      isReached = !this.#isBusy() && this.#cluster.isOne(core);
      if (!isReached) world.after(LOOK_NS, look);
      // Slow clients may take their time, as long as they are answered.
      const count = ANSWERS.reduce((sum, name) => sum + world.coverage.count(name), 0);
      if (count !== answers) endNs = world.nowNs + patienceNs;
      answers = count;
    };
    look();
    while (!isReached) {
      if (world.timeNextNs > endNs && this.#isExcused(core)) {
        world.coverage.add('coresExcused');
        return;
      }
      this.#step(endNs, 'convergence', 'convergence');
    }
    world.note('world', 'converged', `at op ${history.opMax}`);
  }

  /** Nobody asks for anything: whoever goes on talking does so for ever. */
  #checkPeace(): void {
    const { peace } = this.#options;
    if (peace === undefined) return;
    const { world, all } = this.#cluster;
    const { coverage } = world;
    for (let period = 1; ; period++) {
      const before = coverage.count('peerMessages');
      const pulsesBefore = coverage.count('pulses');
      const endNs = world.nowNs + peace.periodNs;
      while (world.step(endNs)) this.#checkBusy();
      const pulses = coverage.count('pulses') - pulsesBefore;
      const messages = coverage.count('peerMessages') - before;
      const messagesMax = peace.messagesMax + pulses * peace.messagesPerPulse;
      if (messages <= messagesMax) break;
      check(period < PEACE_PERIODS, 'liveness', () => {
        return `${messages} messages in ${peace.periodNs / 1e6} ms of peace, not ${messagesMax}`;
      });
    }
    this.#converge(all);
  }

  /**
   * Whether the core has a primary that is not part of it and that only some of it can talk to:
   * enough for that primary to stay, too little for all to follow it.
   */
  #isExcused(core: readonly number[]): boolean {
    const { sites, network } = this.#cluster;
    return sites.some((site) => {
      if (core.includes(site.index) || site.progress()?.isPrimary !== true) return false;
      const ways = core.flatMap((index) => {
        return [network.isOpen(site.index, index), network.isOpen(index, site.index)];
      });
      return ways.includes(true) && ways.includes(false);
    });
  }

  /** Something is asked, or has to be: more than was planned when too little came of that. */
  #isBusy(): boolean {
    if (!this.#isAnswered) return true;
    const missing = this.#missing();
    if (missing === 0) return false;
    this.#budget.requestsLeft += missing;
    for (const client of this.#clients) client.goOn();
    return true;
  }

  /** Requests that have to be committed before the run has come to what it must. */
  #missing(): number {
    const { least } = this.#options;
    if (least === undefined) return 0;
    const { history, slots } = this.#cluster;
    return Math.max(0, least.requests - this.#committed, least.wraps * slots - history.opMax);
  }

  #checkLeast(): void {
    check(this.#missing() === 0, 'coverage', () => {
      return `only ${this.#committed} requests committed, ${this.#wraps} times around the log`;
    });
  }

  get #committed(): number {
    const { history, world } = this.#cluster;
    return history.length - world.coverage.count('pulses');
  }

  get #wraps(): number {
    const { history, slots } = this.#cluster;
    return Math.floor(history.opMax / slots);
  }

  get #isAnswered(): boolean {
    return this.#clients.every((client) => client.isDone);
  }

  #audit(hasFiles: boolean): void {
    for (const site of this.#cluster.sites) site.audit(hasFiles);
  }

  #step(endNs: number, code: FailureCode, what: string): void {
    const { world, sites } = this.#cluster;
    this.#checkBusy();
    check(world.step(endNs), code, () => {
      const waiting = this.#clients.filter((client) => !client.isDone);
      const states = [
        ...sites.map((site) => site.describe()),
        ...waiting.map((client) => client.describe()),
      ];
      return `no end of ${what} at ${world.nowNs} ns: ${states.join('; ')}`;
    });
  }

  #checkBusy(): void {
    const events = this.#cluster.world.coverage.count('events');
    check(events < EVENTS_MAX, 'liveness', () => `${events} events, and no end`);
  }
}
