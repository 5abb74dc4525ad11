/**
 * A cluster under the control of a script, for tests that tell one story each: this replica stops
 * now, that message does not get through, this sector is gone; then the cluster runs for a while,
 * and this is how it must look. Links are orderly and take a millisecond; nothing happens by
 * chance.
 *
 * All checkers of the simulator watch while the story is told: a script only says what else it
 * expects.
 */
import { assert } from '../../stdx/index.ts';
import { Command, readCommand } from '../../wire/index.ts';
import type { SimClient } from '../clients/client.ts';
import { Assembly } from '../cluster/assembly.ts';
import type { ClusterQuorums } from '../cluster/options.ts';
import type { Site } from '../cluster/site.ts';
import type { CrashOutcome } from '../disk/sector-store.ts';
import type { EngineSetup } from '../engine-setup.ts';
import type { ClockOptions } from '../process/clock.ts';
import type { Progress } from '../process/life.ts';
import type { SubjectFactory } from '../subjects/subject.ts';
import { type CLUSTER_COUNTERS, type Counter, TRACE_COUNTERS } from '../world/coverage.ts';

export type CommandName = keyof typeof Command;

/** Who may be at an end of a filter: a replica, any client, or anybody. */
export type Party = number | 'client' | undefined;

/** Messages that are lost. What is left out means any. */
export interface Filter {
  readonly from?: Party;
  readonly to?: Party;
  readonly command?: CommandName | readonly CommandName[];
}

export interface ScriptOptions {
  readonly replicaCount: number;
  readonly engine: (index: number) => EngineSetup;
  readonly quorums: ClusterQuorums;
  readonly subject: SubjectFactory;
  /** Default 1. */
  readonly clients?: number;
  readonly clocks?: readonly ClockOptions[];
  readonly seed?: number;
  /** Files will be damaged: what was acknowledged may be missing in one. */
  readonly isRotting?: boolean;
  /** Only what clients see is judged, see `ClusterOptions`. */
  readonly isBlind?: boolean;
  readonly trace?: (line: string) => void;
}

/** Part of how a replica must be. */
export type Expectation = Partial<Omit<Progress, 'digest'>> & { readonly isUp?: boolean };

const MS = 1_000_000;
const DELAY_NS: number = 1 * MS;
const RUN_NS: number = 10_000 * MS;

export class Script {
  readonly #cluster: Assembly;
  readonly #clients: SimClient[] = [];
  readonly #budgets: { requestsLeft: number }[] = [];
  readonly #filters: Set<Filter> = new Set();

  constructor(options: ScriptOptions) {
    const { replicaCount, engine, quorums, subject, clocks, trace } = options;
    this.#cluster = new Assembly({
      seed: options.seed ?? 1,
      replicaCount,
      engine,
      quorums,
      subject,
      trace,
      isBlind: options.isBlind ?? false,
      ...(clocks === undefined ? {} : { clocks }),
      client: { repeats: 0, pings: 0, think: { minNs: 0, maxNs: 0 } },
      network: {
        latency: { minNs: DELAY_NS, maxNs: DELAY_NS },
        losses: 0,
        duplicates: 0,
        disconnects: 0,
      },
      peers: { delay: { minNs: DELAY_NS, meanNs: 0 } },
      faults: { corruptions: options.isRotting === true ? 1 : 0 },
    });
    const { network, sites } = this.#cluster;
    network.calm();
    network.filter((from, to, bytes) => this.#passes(from, to, bytes));
    for (const site of sites) {
      site.network.filter((direction, bytes) => {
        const isToServer = direction === 'to-server';
        const [from, to]: Party[] = isToServer ? ['client', site.index] : [site.index, 'client'];
        return this.#passes(from, to, bytes);
      });
      // Who is down stays down until the script says otherwise.
      site.faults.freeze(true);
    }
    for (let index = 0; index < (options.clients ?? 1); index++) {
      const budget = { requestsLeft: 0 };
      this.#budgets.push(budget);
      this.#clients.push(this.#cluster.makeClient(index, budget));
    }
  }

  // --- what happens ---------------------------------------------------------------------------

  /** Starts replicas; none named: all that are down. */
  open(...replicas: readonly number[]): void {
    const all = replicas.length > 0 ? replicas : this.#cluster.all;
    for (const index of all) if (!this.#site(index).process.isUp) this.#site(index).start();
  }

  /** Ends replicas; whatever was being written gets there. None named: all that are up. */
  stop(...replicas: readonly number[]): void {
    const all = replicas.length > 0 ? replicas : this.#cluster.all;
    for (const index of all) if (this.#site(index).process.isUp) this.crash(index, 'new');
  }

  /** Power cut: what is being written gets there or not, as `outcome` says. */
  crash(replica: number, outcome: CrashOutcome): void {
    this.#site(replica).process.crash(outcome);
  }

  pause(replica: number): void {
    this.#site(replica).process.pause();
  }

  resume(replica: number): void {
    this.#site(replica).process.resume();
  }

  /** Damages a prepare, its header or both in a file. */
  corrupt(replica: number, op: number, part: 'prepare' | 'header' | 'both' = 'both'): void {
    const site = this.#site(replica);
    const sectors = site.reader.sectors?.(op % this.#cluster.slots);
    assert(sectors !== undefined, 'Script: nobody knows where its log is');
    const { header, prepare } = sectors;
    if (part !== 'prepare') site.disk.corrupt(header);
    if (part !== 'header') site.disk.corrupt(prepare[0] as number);
  }

  /** The disk of `replica` is full: its file cannot grow any more; the result takes that back. */
  fill(replica: number): () => void {
    const { disk } = this.#site(replica);
    disk.limit(disk.sizeBytes);
    return () => disk.limit(Number.MAX_SAFE_INTEGER);
  }

  /** Sets the wall clock of a replica by so much, either way. */
  setClock(replica: number, ms: number): void {
    this.#site(replica).clock.step(ms * MS);
  }

  /** The file of `replica` is lost, and made again with the consent of the others. */
  recover(replica: number): void {
    const site = this.#site(replica);
    site.lose();
    let isDone = false;
    this.#cluster.recover((view) => {
      site.reformat(view + 2);
      isDone = true;
    });
    this.until(() => isDone);
  }

  /** From now on such messages are lost; the result lets them pass again. */
  drop(filter: Filter): () => void {
    this.#filters.add(filter);
    return () => this.#filters.delete(filter);
  }

  /** Nothing reaches `replica` from others, nor others from it; the result ends that. */
  isolate(replica: number): () => void {
    const others = this.#cluster.all.filter((index) => index !== replica);
    const ends = others.flatMap((other) => {
      return [this.drop({ from: replica, to: other }), this.drop({ from: other, to: replica })];
    });
    return () => {
      for (const end of ends) end();
    };
  }

  /** All messages pass again. */
  dropNothing(): void {
    this.#filters.clear();
  }

  /** A client makes so many more requests, one after another; they are not waited for. */
  request(count: number = 1, client: number = 0): void {
    const budget = this.#budgets[client];
    const maker = this.#clients[client];
    assert(budget !== undefined && maker !== undefined, 'Script: no such client');
    budget.requestsLeft += count;
    if (maker.isStarted) maker.goOn();
    else maker.start();
  }

  /** Time passes: until all is answered and all that are up agree, or for `ms`. */
  run(ms: number = RUN_NS / MS): void {
    this.#advance(ms, () => this.isAnswered && this.#cluster.isOne(this.#up));
  }

  /** Time passes, exactly so much. */
  wait(ms: number): void {
    this.#advance(ms, () => false);
  }

  /** Time passes until `condition` holds; it must within `ms`. */
  until(condition: () => boolean, ms: number = RUN_NS / MS): void {
    this.#advance(ms, condition);
    assert(condition(), `Script: it never came to that: ${this.describe()}`);
  }

  // --- how it looks ---------------------------------------------------------------------------

  /** Every request of every client has its answer. */
  get isAnswered(): boolean {
    return this.#clients.every((client) => !client.isStarted || client.isDone);
  }

  /** Index of the replica that leads the highest view; −1: there is none. */
  get primary(): number {
    const leaders = this.#up.filter((index) => this.progress(index).isPrimary);
    leaders.sort((a, b) => this.progress(b).view - this.progress(a).view);
    return leaders[0] ?? -1;
  }

  /** All replicas but these, in the order of the views that they lead from the first one on. */
  others(...replicas: readonly number[]): readonly number[] {
    const { all } = this.#cluster;
    const first = replicas[0] ?? 0;
    const ring = all.map((_, distance) => (first + distance) % all.length);
    return ring.filter((index) => !replicas.includes(index));
  }

  progress(replica: number): Progress {
    const progress = this.#site(replica).progress();
    assert(progress !== null, `Script: r${replica} is down`);
    return progress;
  }

  /** How often something happened so far: a counter, or the event of a trace. */
  count(what: (typeof CLUSTER_COUNTERS)[number] | string): number {
    const counter = (TRACE_COUNTERS[what] ?? what) as Counter;
    return this.#cluster.world.coverage.count(counter);
  }

  /** Fails, with the whole cluster in the message, unless `replica` is like this. */
  expect(replica: number, expected: Expectation): void {
    const site = this.#site(replica);
    const { isUp } = site.process;
    const found = { isUp, ...(isUp ? this.progress(replica) : {}) };
    for (const [name, value] of Object.entries(expected)) {
      const is = (found as { [name: string]: unknown })[name];
      assert(is === value, `r${replica}: ${name} is ${is}, not ${value}: ${this.describe()}`);
    }
  }

  expectAll(expected: Expectation): void {
    for (const index of this.#cluster.all) this.expect(index, expected);
  }

  expectAnswered(isAnswered: boolean = true): void {
    assert(this.isAnswered === isAnswered, `Script: answered is not so: ${this.describe()}`);
  }

  /** The end of the story: everybody is up and connected, and comes to one state. */
  end(): void {
    this.dropNothing();
    for (const site of this.#cluster.sites) site.heal();
    this.#advance(60_000, () => this.isAnswered && this.#cluster.isOne(this.#cluster.all));
    const isOne = this.#cluster.isOne(this.#cluster.all);
    assert(isOne && this.isAnswered, `Script: they do not agree: ${this.describe()}`);
    for (const site of this.#cluster.sites) site.audit(true);
    this.#cluster.history.finish();
    for (const site of this.#cluster.sites) site.process.crash('new');
    for (const site of this.#cluster.sites) site.retire();
  }

  describe(): string {
    const clients = this.#clients.filter((client) => client.isStarted && !client.isDone);
    const states = this.#cluster.sites.map((site) => site.describe());
    return [...states, ...clients.map((client) => client.describe())].join('; ');
  }

  get #up(): readonly number[] {
    return this.#cluster.all.filter((index) => this.#site(index).process.isUp);
  }

  #site(index: number): Site {
    assert(index >= 0 && index < this.#cluster.sites.length, 'Script: no such replica');
    return this.#cluster.site(index);
  }

  #advance(ms: number, isEnough: () => boolean): void {
    const { world } = this.#cluster;
    const endNs = world.nowNs + ms * MS;
    let isOver = false;
    world.after(ms * MS, () => {
      isOver = true;
    });
    let lookNs = world.nowNs;
    while (!isOver) {
      world.step(endNs);
      // Not down, though it looks so: whoever restarts itself is never left in the middle of it.
      if (this.#cluster.sites.some((site) => site.isRestarting)) continue;
      if (world.nowNs < lookNs) continue;
      lookNs = world.nowNs + MS;
      if (isEnough()) return;
    }
  }

  #passes(from: Party, to: Party, bytes: Uint8Array): boolean {
    for (const filter of this.#filters) {
      if (filter.from !== undefined && filter.from !== from) continue;
      if (filter.to !== undefined && filter.to !== to) continue;
      const { command } = filter;
      if (command === undefined) return false;
      const names: readonly CommandName[] = typeof command === 'string' ? [command] : command;
      if (names.some((name) => Command[name] === readCommand(bytes))) return false;
    }
    return true;
  }
}
