/**
 * A whole run with one replica: a disk, a process on it, clients that keep it busy, faults, and
 * checkers that compare everything with a reference machine. A pure function: the report depends
 * on the options alone, down to its hash.
 *
 * A run has three parts. Clients make their requests while faults happen. Then quiet: everything
 * that is on its way arrives, and every message has been put back. Then one last power cut, after
 * which each client asks once more for the last answer of each session it ever had.
 */
import type { HaltCode } from '../engine/index.ts';
import { type Prng, type U64, u64Add } from '../stdx/index.ts';
import { createChecksum, type MessagePool } from '../wire/index.ts';
import { History } from './checks/history.ts';
import { ObservedMachine } from './checks/observed-machine.ts';
import { Witness } from './checks/witness.ts';
import { type Budget, type ClientOptions, SimClient } from './clients/client.ts';
import { SingleLine } from './clients/line.ts';
import { Network, type NetworkOptions } from './clients/network.ts';
import { DISK_DEFAULT, Disk, type DiskOptions } from './disk/disk.ts';
import type { EngineSetup } from './engine-setup.ts';
import { FAULTS_NONE, type FaultOptions, FaultPlan } from './faults.ts';
import { Process } from './process/process.ts';
import type { Subject, SubjectFactory } from './subjects/subject.ts';
import type { Coverage } from './world/coverage.ts';
import { check, SimulationFailure } from './world/failure.ts';
import type { LatencyRange } from './world/latency.ts';
import { Stream, World } from './world/world.ts';

export interface SingleOptions {
  /** A safe non-negative integer. */
  readonly seed: number;
  readonly engine: EngineSetup;
  readonly subject: SubjectFactory;
  readonly clients?: number;
  /** Requests of all clients together, registrations and repeats not counted. */
  readonly requests?: number;
  readonly client?: Partial<ClientOptions>;
  readonly network?: Partial<NetworkOptions>;
  readonly disk?: Partial<DiskOptions>;
  readonly faults?: Partial<FaultOptions>;
  /** Virtual time for everything, nanoseconds. */
  readonly deadlineNs?: number;
  readonly trace?: (line: string) => void;
}

export interface SingleReport {
  readonly seed: number;
  /** Fingerprint of every event and effect: 16 hexadecimal digits. */
  readonly hash: string;
  readonly failure: SimulationFailure | null;
  readonly coverage: Coverage;
  readonly virtualNs: number;
  readonly writes: number;
  readonly opMax: number;
}

const CLIENT_DEFAULT: Omit<ClientOptions, 'cluster' | 'release' | 'checksum' | 'index'> = {
  resend: { minNs: 20_000_000, maxNs: 100_000_000 },
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
  latency: { minNs: 20_000, maxNs: 2_000_000 },
  losses: 10,
  duplicates: 50,
  disconnects: 5,
};

/** Time enough for everything on its way to arrive and for everything due to be done. */
const QUIET_NS = 600_000_000;
/** What time makes due is done within this while nothing else goes on, nanoseconds. */
const OVERDUE_NS = 400_000_000;
const DEADLINE_NS = 600_000_000_000;
/** A run that does more than this is going in circles. */
const EVENTS_MAX = 5_000_000;

export function simulateSingle(options: SingleOptions): SingleReport {
  const run = new SingleRun(options);
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

class SingleRun {
  readonly #options: SingleOptions;
  readonly #world: World;
  readonly #subject: Subject;
  readonly #disk: Disk;
  readonly #process: Process;
  readonly #network: Network;
  readonly #history: History;
  readonly #witness: Witness;
  readonly #faults: FaultPlan;
  readonly #clients: SimClient[] = [];
  readonly #deadlineNs: number;
  #machine: ObservedMachine | null = null;
  #pool: MessagePool | null = null;

  constructor(options: SingleOptions) {
    this.#options = options;
    this.#deadlineNs = options.deadlineNs ?? DEADLINE_NS;
    const { seed, trace, engine } = options;
    this.#world = new World({ seed, trace });
    const draw = this.#world.prng(Stream.options, 1);
    this.#disk = new Disk(this.#world, { ...DISK_DEFAULT, ...options.disk });
    for (const { offset, bytes } of engine.format()) this.#disk.install(offset, bytes);
    this.#subject = options.subject();
    const checks = { ...engine, testimony: this.#subject.testimony?.() };
    this.#history = new History(this.#world, this.#subject.reference, checks);
    this.#witness = new Witness(this.#world, this.#history, 'machine');
    const { cluster, requestSizeMax } = engine;
    const listensEarly = draw.chance(1, 2);
    const processOptions = { cluster, requestSizeMax, listensEarly };
    this.#process = new Process(this.#world, this.#disk, processOptions, {
      onReady: () => this.#onReady(),
      onHalt: (code, reason) => this.#onHalt(code, reason),
    });
    const networkOptions = { ...NETWORK_DEFAULT, ...options.network };
    this.#network = new Network(this.#world, networkOptions, this.#process);
    this.#process.attach(this.#network);
    const parts = { process: this.#process, disk: this.#disk, restart: () => this.#start() };
    this.#faults = new FaultPlan(this.#world, parts, { ...FAULTS_NONE, ...options.faults });
    this.#makeClients();
  }

  execute(): void {
    this.#start();
    this.#faults.start();
    for (const client of this.#clients) client.start();
    this.#runUntilDone('requests');
    this.#faults.stop();
    this.#network.calm();
    this.#quiet();
    this.#process.crash('mixed');
    this.#faults.restartLater();
    this.#runUntil('the last recovery', () => this.#process.isReady);
    for (const client of this.#clients) client.audit();
    this.#runUntilDone('repeated answers');
    this.#quiet();
    this.#history.finish();
    this.#process.crash('new');
  }

  report(failure: SimulationFailure | null): SingleReport {
    const { coverage, nowNs, hash, seed } = this.#world;
    const opMax = this.#history.opMax;
    coverage.add('logWraps', Math.floor(opMax / this.#options.engine.slots));
    const writes = this.#disk.writesIssued;
    return { seed, hash: hash.digest(), failure, coverage, virtualNs: nowNs, writes, opMax };
  }

  #makeClients(): void {
    const { engine, clients, requests, client } = this.#options;
    const prng = this.#world.prng(Stream.workload);
    const bodySizeMax = engine.requestSizeMax - 256;
    const budget: Budget = { requestsLeft: requests ?? 100 };
    const wall = (): U64 => this.#process.clock.instant().wall;
    const parts = {
      line: (prng: Prng, pause: LatencyRange) =>
        new SingleLine(this.#world, this.#network, prng, pause),
      history: this.#history,
      workload: this.#subject.workload({ prng, bodySizeMax, wall }),
      budget,
    };
    const { cluster, release } = engine;
    const checksum = createChecksum();
    for (let index = 0; index < (clients ?? 4); index++) {
      const own = { cluster, release, checksum, index };
      this.#clients.push(
        new SimClient(this.#world, parts, { ...CLIENT_DEFAULT, ...client, ...own }),
      );
    }
  }

  #start(): void {
    this.#witness.onLife(null);
    this.#machine = new ObservedMachine(this.#subject.machine(), this.#witness);
    const read = (offset: number, length: number): Uint8Array => this.#disk.peek(offset, length);
    const life = this.#options.engine.open(this.#machine, {
      read,
      pool: this.#pool,
      seed: this.#world.seed + this.#process.lives,
    });
    this.#pool = life.pool;
    this.#process.start(life);
  }

  #onReady(): void {
    if (this.#machine !== null) this.#witness.onRecovered(this.#machine.root());
    this.#checkDigest();
  }

  #onHalt(code: HaltCode, reason: string): void {
    const isJustified = code === 'storage-failed' && this.#disk.takeErrors() > 0;
    check(isJustified, 'engine-halt', () => `the engine halted: ${code}: ${reason}`);
    this.#faults.restartLater();
  }

  #runUntilDone(what: string): void {
    this.#runUntil(what, () => this.#clients.every((client) => client.isDone));
  }

  #runUntil(what: string, isDone: () => boolean): void {
    while (!isDone()) {
      const isBusy = this.#world.coverage.count('events') < EVENTS_MAX;
      check(isBusy && this.#world.step(this.#deadlineNs), 'liveness', () => {
        const waiting = this.#clients.filter((client) => !client.isDone);
        const states = waiting.map((client) => client.describe()).join('; ');
        const process = this.#process.isReady
          ? 'ready'
          : this.#process.isUp
            ? 'recovering'
            : 'down';
        return `no end of ${what} at ${this.#world.nowNs} ns: process ${process}; ${states}`;
      });
    }
  }

  /** Lets everything arrive, and looks whether the engine has put back what it took. */
  #quiet(): void {
    this.#runUntil('downtime', () => this.#process.isReady);
    let isOver = false;
    this.#world.after(QUIET_NS, () => {
      isOver = true;
    });
    this.#runUntil('quiet', () => isOver);
    this.#runUntil('downtime', () => this.#process.isReady);
    if (this.#machine !== null) this.#history.checkRoot(this.#machine.root());
    const overdue = u64Add(this.#process.clock.instant().wall, -OVERDUE_NS);
    const isOverdue = this.#options.engine.hasPulses && this.#subject.reference.due(overdue);
    check(!isOverdue, 'liveness', () => 'what is due is not done');
    this.#checkDigest();
    this.#process.audit(this.#history);
  }

  #checkDigest(): void {
    const progress = this.#process.progress();
    if (progress !== null) this.#history.checkDigest(progress.commitMin, progress.digest);
  }
}
