/**
 * One run of one scenario. The cluster starts, agrees on a primary, and every client registers; the
 * trouble begins, and after a while in which nothing is asked the requests are made and everything
 * is counted. All checkers of the simulator watch; at the end the replicas must be in one state,
 * and the trouble must have been there.
 */
import type { Parts } from '../../vsr/index.ts';
import type { Budget, SimClient } from '../clients/client.ts';
import type { ClientLine } from '../clients/line.ts';
import { Assembly } from '../cluster/assembly.ts';
import { clusterQuorums } from '../cluster/cluster-swarm.ts';
import type { EngineSetup } from '../engine-setup.ts';
import { replicaSetup } from '../replica-setup.ts';
import { check } from '../world/failure.ts';
import { Conditions } from './conditions.ts';
import { Course } from './course.ts';
import { figuresOf, type Run } from './figures.ts';
import { Meter } from './meter.ts';
import { checkScenario, NETWORKS, type Scenario, slotsOf } from './scenario.ts';
import { TimedLine } from './timed-line.ts';
import { putSubject } from './workload.ts';

export interface PerformOptions {
  readonly seed: number;
  /** Gets one line per event and effect. */
  readonly trace?: ((line: string) => void) | undefined;
  /** For tests that plant bugs. */
  readonly onParts?: ((parts: Parts) => void) | undefined;
}

/** Throws a `SimulationFailure` where something is wrong. */
export function perform(scenario: Scenario, options: PerformOptions): Run {
  checkScenario(scenario);
  return new Performance(scenario, options).run();
}

/** After this long without an answer nobody waits any more, nanoseconds. */
const PATIENCE_NS = 120_000_000_000;
/** From the beginning of the trouble to the first request. */
const SETTLE_NS = 1_000_000_000;
/** How often somebody looks whether a state has been reached. */
const LOOK_NS = 10_000_000;
/** Largest request, header included, bytes. */
const REQUEST_SIZE_MAX = 4096;

class Performance {
  readonly #scenario: Scenario;
  readonly #meter: Meter = new Meter();
  readonly #cluster: Assembly;
  readonly #clients: readonly SimClient[];
  readonly #budget: Budget = { requestsLeft: 0 };
  readonly #latencies: number[] = [];
  #course: Course | null = null;
  #answeredNs: number = 0;

  constructor(scenario: Scenario, options: PerformOptions) {
    const { seed, trace } = options;
    const { replicaCount, network, clients } = scenario;
    const { delay, disk } = NETWORKS[network];
    this.#scenario = scenario;
    this.#cluster = new Assembly({
      seed,
      trace,
      replicaCount,
      quorums: clusterQuorums(replicaCount),
      subject: putSubject,
      engine: (replica) => this.#setup(replica, options.onParts),
      client: { repeats: 0, pings: 0, think: { minNs: 0, maxNs: 0 } },
      network: { latency: delay, losses: 0, duplicates: 0, disconnects: 0 },
      peers: { delay, isOrdered: scenario.isWild !== true },
      disk,
    });
    // Nothing happens but what the scenario says; who is down stays down.
    this.#cluster.network.calm();
    for (const site of this.#cluster.sites) site.faults.freeze(true);
    this.#clients = Array.from({ length: clients }, (_, index) => this.#makeClient(index));
  }

  run(): Run {
    const { world, sites, all } = this.#cluster;
    for (const site of sites) site.start();
    for (const client of this.#clients) client.start();
    this.#until(() => this.#isDone && this.#cluster.isOne(all), 'a beginning');
    const { view, primary } = this.#meter;
    const conditions = new Conditions(this.#cluster, this.#scenario);
    const parts = { cluster: this.#cluster, meter: this.#meter, conditions, primary };
    const course = new Course(this.#scenario, parts);
    conditions.begin();
    course.begin();
    this.#pass(SETTLE_NS);
    check(this.#meter.view === view, 'coverage', () => 'the primary did not stay one');
    conditions.beginLosses();
    const startNs = world.nowNs;
    this.#measure(course);
    const timeNs = this.#answeredNs - startNs;
    const viewChanges = this.#meter.view - view;
    this.#until(() => this.#looks(course), 'the trouble');
    course.check();
    conditions.end();
    course.end();
    this.#finish();
    const { failoverNs, catchUpNs } = course;
    const times = { latencies: this.#latencies, timeNs, failoverNs, catchUpNs };
    const { peers, commitments } = this.#meter;
    return {
      figures: figuresOf({ meter: this.#meter, viewChanges, ...times }),
      traffic: peers,
      commitments,
      hash: world.hash.digest(),
    };
  }

  #setup(replica: number, onParts: PerformOptions['onParts']): EngineSetup {
    const { replicaCount, topology, trouble } = this.#scenario;
    // What is to be gone from all logs must not be kept elsewhere.
    const isGone = trouble?.kind === 'returns' && trouble.by === 'checkpoint';
    const slots = slotsOf(this.#scenario);
    const geometry = { slots, slotSize: REQUEST_SIZE_MAX, requestSizeMax: REQUEST_SIZE_MAX };
    return this.#meter.watch(replica, (take) => {
      const both = (parts: Parts): void => {
        take(parts);
        onParts?.(parts);
      };
      const history = isGone ? { historyBytes: 0 } : {};
      const own = { geometry, replicaCount, replica, topology, ...history };
      return replicaSetup({ ...own, onParts: both });
    });
  }

  #makeClient(index: number): SimClient {
    const onAnswer = (latencyNs: number): void => {
      if (this.#course === null) return;
      this.#latencies.push(latencyNs);
      this.#answeredNs = this.#cluster.world.nowNs;
      this.#course.onAnswered(this.#latencies.length);
    };
    const wrap = (line: ClientLine): ClientLine => {
      return new TimedLine(this.#cluster.world, line, onAnswer);
    };
    return this.#cluster.makeClient(index, this.#budget, wrap);
  }

  get #isDone(): boolean {
    return this.#clients.every((client) => client.isDone);
  }

  #looks(course: Course): boolean {
    course.look();
    return course.isOver;
  }

  /** All requests are made and answered. */
  #measure(course: Course): void {
    this.#course = course;
    this.#meter.isOn = true;
    this.#budget.requestsLeft = this.#scenario.requests;
    for (const client of this.#clients) client.goOn();
    this.#until(() => this.#looks(course) && this.#isDone, 'the requests');
    this.#meter.isOn = false;
    this.#course = null;
  }

  /** Whoever runs comes to one state. */
  #finish(): void {
    const { sites, history, network, all } = this.#cluster;
    network.heal(all);
    const up = all.filter((index) => this.#cluster.site(index).process.isUp);
    this.#until(() => this.#cluster.isOne(up), 'an end');
    history.finish();
    for (const site of sites) if (site.process.isUp) site.process.crash('new');
    for (const site of sites) site.retire();
  }

  /** Time passes, exactly so much. */
  #pass(ns: number): void {
    const { world } = this.#cluster;
    const endNs = world.nowNs + ns;
    let isOver = false;
    world.after(ns, () => {
      isOver = true;
    });
    while (!isOver) world.step(endNs);
  }

  /** Time passes until `isEnough`, or until too much has. */
  #until(isEnough: () => boolean, what: string): void {
    const { world, sites } = this.#cluster;
    let lookNs = 0;
    let endNs = world.nowNs + PATIENCE_NS;
    let answered = 0;
    for (;;) {
      if (world.nowNs >= lookNs) {
        if (isEnough()) return;
        lookNs = world.nowNs + LOOK_NS;
      }
      if (this.#latencies.length > answered) endNs = world.nowNs + PATIENCE_NS;
      answered = this.#latencies.length;
      check(world.step(endNs), 'liveness', () => {
        return `${what} never came: ${sites.map((site) => site.describe()).join('; ')}`;
      });
    }
  }
}
