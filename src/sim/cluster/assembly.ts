/**
 * A cluster put together: the world, its sites, the network between them, and the checkers that
 * watch. What happens in it is decided elsewhere: by a run that draws from a seed, or by a script.
 */
import { type Prng, type U64, u64Add, u64Compare } from '../../stdx/index.ts';
import { createChecksum } from '../../wire/index.ts';
import type { ClusterAudit } from '../checks/cluster-audit.ts';
import { History } from '../checks/history.ts';
import type { Explanation } from '../checks/order-audit.ts';
import { type Budget, type ClientOptions, SimClient } from '../clients/client.ts';
import { ClusterLine } from '../clients/cluster-line.ts';
import type { ClientLine } from '../clients/line.ts';
import type { NetworkOptions } from '../clients/network.ts';
import { DISK_DEFAULT } from '../disk/disk.ts';
import type { EngineSetup } from '../engine-setup.ts';
import { FAULTS_NONE, type FaultOptions } from '../faults.ts';
import type { ClockOptions } from '../process/clock.ts';
import type { Subject, Workload } from '../subjects/subject.ts';
import { check } from '../world/failure.ts';
import type { LatencyRange } from '../world/latency.ts';
import { Stream, World } from '../world/world.ts';
import { ClusterNetwork, type ClusterNetworkOptions } from './network.ts';
import type { ClusterOptions } from './options.ts';
import { RecoverClient } from './recover-client.ts';
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

/** Streams of chance of the clients that recover files, above those of others. */
const RECOVER_CLIENTS = 1000;

/** What time makes due is done within this while nothing else goes on, nanoseconds. */
const OVERDUE_NS = 3_000_000_000;

export class Assembly {
  readonly world: World;
  readonly history: History;
  readonly sites: readonly Site[];
  readonly network: ClusterNetwork;
  readonly audit: ClusterAudit;
  /** Of each log. */
  readonly slots: number;
  readonly #options: ClusterOptions;
  readonly #subject: Subject;
  readonly #workload: Workload;
  #recoveries: number = 0;

  constructor(options: ClusterOptions) {
    const { seed, trace, replicaCount } = options;
    this.#options = options;
    this.world = new World({ seed, trace });
    this.#subject = options.subject();
    const engines = Array.from({ length: replicaCount }, (_, index) => options.engine(index));
    const [first] = engines;
    check(first !== undefined, 'engine-crash', () => 'a cluster of nobody');
    this.slots = first.slots;
    const { isBlind } = options;
    const testimony = this.#subject.testimony?.();
    const explains = (op: number): Explanation | null => this.audit.explains?.(op) ?? null;
    const checks = { ...first, testimony, isBlind, explains };
    this.history = new History(this.world, this.#subject.reference, checks);
    this.audit = this.#makeAudit(first);
    this.sites = engines.map((engine, index) => this.#makeSite(engine, index));
    const ends = this.sites.map((site) => site.process);
    const peers = { ...PEERS_DEFAULT, ...options.peers };
    this.network = new ClusterNetwork(this.world, ends, peers);
    for (const end of ends) end.attachPeers(this.network);
    const wall = (): U64 => this.site(0).clock.instant().wall;
    this.#workload = this.#subject.workload({
      prng: this.world.prng(Stream.workload),
      bodySizeMax: first.requestSizeMax - 256,
      wall,
    });
  }

  get all(): readonly number[] {
    return this.sites.map((site) => site.index);
  }

  /** Files lose some of what was written to them. */
  get isRotting(): boolean {
    return (this.#options.faults?.corruptions ?? 0) > 0;
  }

  site(index: number): Site {
    return this.sites[index] as Site;
  }

  /** `wrap` may put something between the client and its line. */
  makeClient(
    index: number,
    budget: Budget,
    wrap: (line: ClientLine) => ClientLine = (line) => line,
  ): SimClient {
    const { cluster, release } = this.#options.engine(0);
    const networks = this.sites.map((site) => site.network);
    const parts = {
      line: (prng: Prng, pause: LatencyRange) =>
        wrap(new ClusterLine(this.world, networks, prng, pause)),
      history: this.history,
      workload: this.#workload,
      budget,
    };
    const own = { cluster, release, checksum, index };
    return new SimClient(this.world, parts, { ...CLIENT_DEFAULT, ...this.#options.client, ...own });
  }

  /** Commits what has to be committed before a lost file may be made again; then says the view. */
  recover(onDone: (view: number) => void): void {
    const { cluster, release } = this.#options.engine(0);
    const networks = this.sites.map((site) => site.network);
    const name = `recovery ${this.#recoveries}`;
    const prng = this.world.prng(Stream.client, RECOVER_CLIENTS + this.#recoveries++);
    const line = new ClusterLine(this.world, networks, prng, { minNs: 0, maxNs: 1_000_000 });
    const context = { cluster, release, checksum };
    const parts = { line, history: this.history, context, prng };
    new RecoverClient(this.world, parts, name, onDone).start();
  }

  /** Whether these replicas have executed the same, everything that anybody was told is done. */
  isOne(members: readonly number[]): boolean {
    let first: string | null = null;
    for (const index of members) {
      const site = this.site(index);
      const progress = site.progress();
      if (progress === null || !site.process.isReady || !progress.isNormal) return false;
      // What is executed may still be on its way into the log.
      if (!site.disk.isIdle) return false;
      const { view, op, opDurable, commitMin, commitMax, digest } = progress;
      if (commitMin !== commitMax || commitMin !== op || opDurable < op) return false;
      if (!site.witness.isAtEnd || commitMin < this.history.opAckedMax) return false;
      const state = `${view} ${commitMin} ${digest}`;
      if (first !== null && state !== first) return false;
      first = state;
    }
    return !this.#isOverdue();
  }

  /** Whether every clock says that something should have been done long ago. */
  #isOverdue(): boolean {
    let earliest: U64 | null = null;
    for (const { clock } of this.sites) {
      const { wall } = clock.instant();
      if (earliest === null || u64Compare(wall, earliest) < 0) earliest = wall;
    }
    if (earliest === null) return false;
    return this.#subject.reference.due(u64Add(earliest, -OVERDUE_NS));
  }

  #makeAudit(engine: EngineSetup): ClusterAudit {
    const { replicaCount, quorums, faults } = this.#options;
    const audit = engine.audit?.({
      world: this.world,
      history: this.history,
      replicaCount,
      quorum: quorums.replication,
      file: (replica) => this.site(replica).read,
      durable: (replica) => this.site(replica).readDurable,
      durableVersion: (replica) => this.site(replica).disk.durableVersion,
      isRotting: this.isRotting || (faults?.reformats ?? 0) > 0,
    });
    return audit ?? { onSend: () => {} };
  }

  #makeSite(engine: EngineSetup, index: number): Site {
    const options = this.#options;
    const draw = this.world.prng(Stream.options, 1 + index * 2);
    return new Site(this.world, {
      index,
      engine,
      subject: this.#subject,
      history: this.history,
      clock: options.clocks?.[index] ?? CLOCK_RIGHT,
      disk: { ...DISK_DEFAULT, ...options.disk },
      network: { ...NETWORK_DEFAULT, ...options.network },
      faults: { ...FAULTS_NONE, ...SITE_FAULTS, ...options.siteFaults?.[index] },
      listensEarly: draw.chance(1, 2),
      audit: this.audit,
    });
  }
}

const checksum = createChecksum();
