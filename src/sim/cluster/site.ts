/**
 * One replica of a cluster with all that is its own: a machine with clocks, a disk, a process on
 * it, the network on which clients reach it, the faults that befall it, and the witness of what it
 * does.
 */
import { type HaltCode, SECTOR_SIZE, type TraceValue } from '../../engine/index.ts';
import { assert, type Prng } from '../../stdx/index.ts';
import type { MessagePool } from '../../wire/index.ts';
import type { ClusterAudit } from '../checks/cluster-audit.ts';
import type { History } from '../checks/history.ts';
import { ObservedMachine } from '../checks/observed-machine.ts';
import { Witness } from '../checks/witness.ts';
import { Network, type NetworkOptions } from '../clients/network.ts';
import { Disk, type DiskOptions } from '../disk/disk.ts';
import type { EngineSetup, FileReader, FileState, ReadFile } from '../engine-setup.ts';
import { type FaultOptions, FaultPlan } from '../faults.ts';
import { Clock, type ClockOptions } from '../process/clock.ts';
import type { Progress } from '../process/life.ts';
import { Process } from '../process/process.ts';
import type { Subject } from '../subjects/subject.ts';
import { TRACE_COUNTERS } from '../world/coverage.ts';
import { check } from '../world/failure.ts';
import { Stream, type World } from '../world/world.ts';

export interface SiteOptions {
  readonly index: number;
  readonly engine: EngineSetup;
  readonly subject: Subject;
  readonly history: History;
  readonly clock: ClockOptions;
  readonly disk: DiskOptions;
  readonly network: NetworkOptions;
  readonly faults: FaultOptions;
  readonly listensEarly: boolean;
  readonly audit: ClusterAudit;
}

export class Site {
  readonly index: number;
  readonly disk: Disk;
  readonly process: Process;
  readonly clock: Clock;
  readonly network: Network;
  readonly faults: FaultPlan;
  readonly witness: Witness;
  readonly #world: World;
  readonly #options: SiteOptions;
  readonly #history: History;
  readonly #read: ReadFile;
  readonly #prng: Prng;
  #isLost: boolean = false;
  #isRestarting: boolean = false;
  #reformats: number = 0;
  #machine: ObservedMachine | null = null;
  #pool: MessagePool | null = null;
  /** Operations applied when its digest was last looked at. */
  #applied: number = 0;

  constructor(world: World, options: SiteOptions) {
    const { index, engine } = options;
    this.index = index;
    this.#world = world;
    this.#options = options;
    this.#history = options.history;
    this.#prng = world.prng(Stream.lives, index);
    this.clock = new Clock(world, options.clock, `r${index}`);
    this.disk = new Disk(world, options.disk, index);
    for (const { offset, bytes } of engine.format()) this.disk.install(offset, bytes);
    this.#read = (offset, length) => {
      const isOne = length === SECTOR_SIZE && offset < this.disk.sizeBytes;
      return isOne ? this.disk.look(offset) : this.disk.peek(offset, length);
    };
    const { cluster, requestSizeMax } = engine;
    const { listensEarly } = options;
    const name = `r${index}.`;
    const own = { replica: index, name, clock: this.clock, listensEarly };
    this.process = new Process(
      world,
      this.disk,
      { cluster, requestSizeMax, ...own },
      {
        onReady: () => {},
        onHalt: (code, reason) => this.#onHalt(code, reason),
        onRestart: () => this.#onRestart(),
        onTrace: (event, fields) => this.#onTrace(event, fields),
        onPeerSend: (to, bytes) => options.audit.onSend(index, this.process.lives, to, bytes),
        onWrite: (bytes) => options.audit.onWrite?.(index, this.process.lives, bytes),
        onStepped: () => this.#onStepped(),
      },
    );
    this.network = new Network(world, options.network, this.process, index);
    this.process.attach(this.network);
    const parts = { process: this.process, disk: this.disk, restart: () => this.start() };
    this.faults = new FaultPlan(world, parts, options.faults, index);
    this.witness = new Witness(world, options.history, `r${index}`);
  }

  /** The next life over whatever the disk holds. */
  start(): void {
    const { engine, subject } = this.#options;
    const { checkpoint, isTorn } = this.file;
    if (isTorn === true) this.#world.coverage.add('tailsTorn');
    this.witness.onLife(checkpoint);
    this.#machine = new ObservedMachine(subject.machine(this.index), this.witness);
    const seed = this.#prng.u32();
    const life = engine.open(this.#machine, { read: this.#read, pool: this.#pool, seed });
    this.#pool = life.pool;
    this.process.start(life);
  }

  /** Its file is lost for good. It does not start again before there is another one. */
  lose(): void {
    this.faults.hold();
    if (this.process.isUp) this.process.crash('old');
    this.#isLost = true;
    this.#world.note(`r${this.index}`, 'lost', '');
    this.disk.erase();
  }

  /** It has a file, and has taken part with it: its voice counts. */
  get hasJoined(): boolean {
    return !this.#isLost && !this.file.isRecovered;
  }

  /** Another file takes the place of the lost one; then it starts. */
  reformat(view: number): void {
    assert(this.#isLost, 'Site: its file is there');
    const writes = this.#options.engine.reformat?.(view, ++this.#reformats);
    assert(writes !== undefined, 'Site: its engine has no way to make a file again');
    this.#world.coverage.add('reformats');
    this.#world.note(`r${this.index}`, 'reformat', `view ${view}`);
    for (const { offset, bytes } of writes) this.disk.install(offset, bytes);
    this.#isLost = false;
    this.#options.audit.onReformat?.(this.index);
    this.faults.resume();
    this.start();
  }

  /** Up and running, as soon as possible, and nothing more befalls it. */
  heal(): void {
    this.faults.freeze(false);
    this.network.calm();
    this.disk.limit(Number.MAX_SAFE_INTEGER);
    if (this.process.isPaused) this.process.resume();
    if (!this.process.isUp && !this.#isLost) this.start();
  }

  /** What its file says, without its help. */
  get file(): FileState {
    return this.reader.state(this.#read);
  }

  get reader(): FileReader {
    const { file } = this.#options.engine;
    check(file !== undefined, 'engine-crash', () => 'the setup cannot read its files');
    return file;
  }

  /** Its file as it is at the moment; `null`: it is lost. */
  get read(): ReadFile | null {
    return this.#isLost ? null : this.#read;
  }

  /** What a power cut would leave of its file at the least. */
  get readDurable(): ReadFile {
    return (offset, length) => this.disk.peekDurable(offset, length);
  }

  progress(): Progress | null {
    return this.process.progress();
  }

  /** A quiet replica: its state, its digest and its file are what they should be. */
  audit(hasFile: boolean): void {
    const progress = this.progress();
    check(progress !== null, 'convergence', () => `r${this.index} is down`);
    this.#history.checkDigest(progress.commitMin, progress.digest);
    if (this.#machine !== null && this.witness.isAtEnd) {
      this.#history.checkRoot(this.#machine.root());
    }
    if (hasFile) this.process.audit(this.#history);
  }

  /** The run is over: what may be used again is given back. */
  retire(): void {
    if (this.#pool !== null && !this.process.isUp) this.#options.engine.retire?.(this.#pool);
    this.#pool = null;
  }

  describe(): string {
    const { isUp, isPaused, isReady } = this.process;
    const name = `r${this.index}`;
    if (!isUp) return `${name} down`;
    const state = isPaused ? 'paused' : isReady ? 'ready' : 'recovering';
    const progress = this.progress();
    if (progress === null) return `${name} ${state}`;
    const { view, logView, op, commitMin, commitMax, role } = progress;
    const log = `view ${view}/${logView} op ${op} commit ${commitMin}/${commitMax}`;
    return `${name} ${state} ${role} ${log}`;
  }

  #onHalt(code: HaltCode, reason: string): void {
    const isJustified = code === 'storage-failed' && this.disk.takeErrors() > 0;
    check(isJustified, 'engine-halt', () => `r${this.index} halted: ${code}: ${reason}`);
    this.faults.restartLater();
  }

  /** Its life has ended of its own accord; the next one begins at this very time. */
  get isRestarting(): boolean {
    return this.#isRestarting;
  }

  /** Not within the step that asked for it. */
  #onRestart(): void {
    this.#isRestarting = true;
    this.#world.coverage.add('selfRestarts');
    this.#world.after(0, () => {
      this.#isRestarting = false;
      if (!this.process.isUp && !this.#isLost) this.start();
    });
  }

  #onTrace(event: string, _: { readonly [name: string]: TraceValue }): void {
    const counter = TRACE_COUNTERS[event];
    if (counter !== undefined) this.#world.coverage.add(counter);
  }

  #onStepped(): void {
    this.#options.audit.onStepped?.(this.index, this.process.lives);
    const { applied } = this.witness;
    if (applied === this.#applied) return;
    this.#applied = applied;
    const progress = this.progress();
    if (progress !== null) this.#history.checkDigest(progress.commitMin, progress.digest);
  }
}
