/**
 * A whole run with several replicas. A pure function: the report depends on the options alone, down
 * to its hash.
 *
 * A run has four parts. In the first, clients make their requests while everything that the options
 * ask for befalls replicas, disks, clocks and the network; what must never happen is looked for at
 * every step. Then a core of replicas, enough to change views, is healed, while all others stay as
 * they are: it must answer everything and come to one state. Then all are healed and must come to
 * that state too. At last there is a power cut everywhere, after which each client asks once more
 * for the last answer of each session it ever had, and every file is read.
 */
import { type Prng, type U64, u64Add, u64Compare } from '../../stdx/index.ts';
import { createChecksum } from '../../wire/index.ts';
import { History } from '../checks/history.ts';
import { PeerAudit } from '../checks/peer-audit.ts';
import { type Budget, type ClientOptions, SimClient } from '../clients/client.ts';
import { ClusterLine } from '../clients/cluster-line.ts';
import type { NetworkOptions } from '../clients/network.ts';
import { DISK_DEFAULT } from '../disk/disk.ts';
import { FAULTS_NONE, type FaultOptions } from '../faults.ts';
import type { ClockOptions } from '../process/clock.ts';
import type { Subject } from '../subjects/subject.ts';
import { check, type FailureCode, SimulationFailure } from '../world/failure.ts';
import type { LatencyRange } from '../world/latency.ts';
import { Stream, World } from '../world/world.ts';
import { CLUSTER_FAULTS_NONE, ClusterFaults } from './cluster-faults.ts';
import { ClusterNetwork, type ClusterNetworkOptions } from './network.ts';
import type { ClusterOptions, ClusterReport } from './options.ts';
import { Site } from './site.ts';

const CLIENT_DEFAULT: Omit<ClientOptions, 'cluster' | 'release' | 'checksum' | 'index'> = {
  resend: { firstNs: 600_000_000, rttNs: 50_000_000, jitterMaxNs: 2_000_000_000 },
  think: { minNs: 0, maxNs: 2_000_000 },
  repeats: 100,
  renewals: 0,
  awakenings: 0,
  abandons: 0,
  invalids: 0,
  pings: 50,
  forgeries: 0,
};

const NETWORK_DEFAULT: NetworkOptions = {
  latency: { minNs: 20_000, meanNs: 1_000_000 },
  losses: 10,
  duplicates: 50,
  disconnects: 5,
};

const PEERS_DEFAULT: ClusterNetworkOptions = {
  isOrdered: true,
  delay: { minNs: 20_000, meanNs: 500_000 },
  losses: 0,
  duplicates: 0,
  capacity: 256,
  clogs: 0,
  clogMeanNs: 0,
  breaks: 0,
};

const SITE_FAULTS: Partial<FaultOptions> = {
  pause: { minNs: 10_000_000, maxNs: 2_000_000_000 },
  downtime: { minNs: 1_000_000, maxNs: 3_000_000_000 },
};

const CLOCK_RIGHT: ClockOptions = { offsetNs: 0, driftPpm: 0, monoStartNs: 0 };

const FAULTS_NS = 60_000_000_000;
const CONVERGENCE_NS = 120_000_000_000;
/** How often somebody looks whether a state has been reached. */
const LOOK_NS = 20_000_000;
/** What time makes due is done within this while nothing else goes on, nanoseconds. */
const OVERDUE_NS = 3_000_000_000;
/** A run that does more than this is going in circles. */
const EVENTS_MAX = 8_000_000;

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
  readonly #world: World;
  readonly #subject: Subject;
  readonly #history: History;
  readonly #peerAudit: PeerAudit;
  readonly #sites: readonly Site[];
  readonly #network: ClusterNetwork;
  readonly #faults: ClusterFaults;
  readonly #clients: readonly SimClient[];
  readonly #slots: number;

  constructor(options: ClusterOptions) {
    const { seed, trace, replicaCount, quorums } = options;
    this.#options = options;
    this.#world = new World({ seed, trace });
    this.#subject = options.subject();
    const engines = Array.from({ length: replicaCount }, (_, index) => options.engine(index));
    const [first] = engines;
    check(first !== undefined, 'engine-crash', () => 'a cluster of nobody');
    this.#slots = first.slots;
    this.#history = new History(this.#world, this.#subject.reference, first);
    const replicationQuorum = quorums.replication;
    this.#peerAudit = new PeerAudit(this.#world, this.#history, {
      replicaCount,
      replicationQuorum,
      durable: (replica) => this.#site(replica).file,
      held: (replica, op, bytes, offset) => this.#site(replica).held(op, bytes, offset),
      isRotting: this.#isRotting,
    });
    this.#sites = engines.map((engine, index) => this.#makeSite(engine, index));
    const ends = this.#sites.map((site) => site.process);
    const peers = { ...PEERS_DEFAULT, ...options.peers };
    this.#network = new ClusterNetwork(this.#world, ends, peers);
    for (const process of ends) process.attachPeers(this.#network);
    const parts = { sites: this.#sites, network: this.#network, quorums };
    const faults = { ...CLUSTER_FAULTS_NONE, ...options.faults };
    this.#faults = new ClusterFaults(this.#world, { ...parts, slots: this.#slots }, faults);
    this.#clients = this.#makeClients();
  }

  execute(): void {
    for (const site of this.#sites) site.start();
    for (const site of this.#sites) site.faults.start();
    this.#faults.start();
    for (const client of this.#clients) client.start();
    this.#endure();
    const all = this.#sites.map((site) => site.index);
    const core = this.#options.core ?? all;
    this.#heal(core);
    this.#converge(core);
    if (core.length < all.length) {
      this.#world.coverage.add('coresPartial');
      this.#heal(all);
      this.#converge(all);
    }
    this.#audit(!this.#isRotting);
    for (const site of this.#sites) site.process.crash('mixed');
    for (const site of this.#sites) site.start();
    for (const client of this.#clients) client.audit();
    this.#converge(all);
    this.#audit(true);
    this.#history.finish();
    for (const site of this.#sites) site.process.crash('new');
    for (const site of this.#sites) site.retire();
  }

  report(failure: SimulationFailure | null): ClusterReport {
    const { coverage, nowNs, hash, seed } = this.#world;
    const { replicaCount } = this.#options;
    const opMax = this.#history.opMax;
    coverage.add('logWraps', Math.floor(opMax / this.#slots));
    const digest = hash.digest();
    return { seed, replicaCount, hash: digest, failure, coverage, virtualNs: nowNs, opMax };
  }

  /** Faults and requests, until all are answered or it has taken long enough. */
  #endure(): void {
    const endNs = this.#world.nowNs + (this.#options.faultsNs ?? FAULTS_NS);
    const isDone = (): boolean => this.#clients.every((client) => client.isDone);
    while (!isDone() && this.#world.step(endNs)) this.#checkBusy();
    for (const site of this.#sites) site.faults.freeze(true);
    this.#faults.freeze();
    this.#world.note('world', 'frozen', `at op ${this.#history.opMax}`);
  }

  #heal(core: readonly number[]): void {
    this.#world.note('world', 'heal', core.map((index) => `r${index}`).join(' '));
    const isAll = core.length === this.#sites.length;
    if (isAll) {
      this.#network.calm();
      this.#faults.heal();
    }
    this.#network.heal(core);
    for (const index of core) this.#site(index).heal();
    if (this.#options.isCoreAlone !== true || isAll) return;
    const others = this.#sites.map((site) => site.index).filter((index) => !core.includes(index));
    for (const inside of core) {
      for (const outside of others) {
        this.#network.shut(inside, outside);
        this.#network.shut(outside, inside);
      }
    }
  }

  /** Everything is answered, and these replicas have executed the same, all of it. */
  #converge(core: readonly number[]): void {
    const endNs = this.#world.nowNs + (this.#options.convergenceNs ?? CONVERGENCE_NS);
    let isReached = false;
    const look = (): void => {
      isReached = this.#isOne(core);
      if (!isReached) this.#world.after(LOOK_NS, look);
    };
    this.#world.after(LOOK_NS, look);
    while (!isReached) this.#step(endNs, 'convergence', 'convergence');
    this.#world.note('world', 'converged', `at op ${this.#history.opMax}`);
  }

  #isOne(core: readonly number[]): boolean {
    if (!this.#clients.every((client) => client.isDone)) return false;
    let first: string | null = null;
    for (const index of core) {
      const site = this.#site(index);
      const progress = site.progress();
      if (progress === null || !site.process.isReady || !progress.isNormal) return false;
      const { view, op, commitMin, commitMax, digest } = progress;
      if (commitMin !== commitMax || commitMin !== op) return false;
      if (!site.witness.isAtEnd || commitMin < this.#history.opAckedMax) return false;
      const state = `${view} ${commitMin} ${digest}`;
      if (first !== null && state !== first) return false;
      first = state;
    }
    return !this.#isOverdue();
  }

  /** Whether every clock says that something should have been done long ago. */
  #isOverdue(): boolean {
    let earliest: U64 | null = null;
    for (const { clock } of this.#sites) {
      const { wall } = clock.instant();
      if (earliest === null || u64Compare(wall, earliest) < 0) earliest = wall;
    }
    if (earliest === null) return false;
    return this.#subject.reference.due(u64Add(earliest, -OVERDUE_NS));
  }

  /** `hasFiles`: their logs as well; what has rotted since its replica last read it is not seen. */
  #audit(hasFiles: boolean): void {
    for (const site of this.#sites) site.audit(hasFiles);
  }

  get #isRotting(): boolean {
    return (this.#options.faults?.corruptions ?? 0) > 0;
  }

  #step(endNs: number, code: FailureCode, what: string): void {
    this.#checkBusy();
    check(this.#world.step(endNs), code, () => {
      const waiting = this.#clients.filter((client) => !client.isDone);
      const states = [
        ...this.#sites.map((site) => site.describe()),
        ...waiting.map((client) => client.describe()),
      ];
      return `no end of ${what} at ${this.#world.nowNs} ns: ${states.join('; ')}`;
    });
  }

  #checkBusy(): void {
    const events = this.#world.coverage.count('events');
    check(events < EVENTS_MAX, 'liveness', () => `${events} events, and no end`);
  }

  #makeSite(engine: ReturnType<ClusterOptions['engine']>, index: number): Site {
    const options = this.#options;
    const draw = this.#world.prng(Stream.options, 1 + index * 2);
    return new Site(this.#world, {
      index,
      engine,
      subject: this.#subject,
      history: this.#history,
      clock: options.clocks?.[index] ?? CLOCK_RIGHT,
      disk: { ...DISK_DEFAULT, ...options.disk },
      network: { ...NETWORK_DEFAULT, ...options.network },
      faults: { ...FAULTS_NONE, ...SITE_FAULTS, ...options.siteFaults?.[index] },
      listensEarly: draw.chance(1, 2),
      audit: this.#peerAudit,
    });
  }

  #makeClients(): SimClient[] {
    const { engine, clients, requests, client } = this.#options;
    const { cluster, release, requestSizeMax } = engine(0);
    const prng = this.#world.prng(Stream.workload);
    const networks = this.#sites.map((site) => site.network);
    const budget: Budget = { requestsLeft: requests ?? 160 };
    const bodySizeMax = requestSizeMax - 256;
    const wall = (): U64 => this.#site(0).clock.instant().wall;
    const parts = {
      line: (own: Prng, pause: LatencyRange) => new ClusterLine(this.#world, networks, own, pause),
      history: this.#history,
      workload: this.#subject.workload({ prng, bodySizeMax, wall }),
      budget,
    };
    const checksum = createChecksum();
    return Array.from({ length: clients ?? 6 }, (_, index) => {
      const own = { cluster, release, checksum, index };
      return new SimClient(this.#world, parts, { ...CLIENT_DEFAULT, ...client, ...own });
    });
  }

  #site(index: number): Site {
    return this.#sites[index] as Site;
  }
}
