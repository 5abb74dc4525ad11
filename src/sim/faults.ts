/**
 * When bad things happen: power cuts, I/O errors, full disks, clocks that step. A plan is drawn
 * from the seed and pulls the strings of a process and its disk; it also starts the process again,
 * as an operator or a service manager would.
 */
import type { Prng } from '../stdx/index.ts';
import type { Disk, DiskOperation } from './disk/disk.ts';
import type { CrashOutcome } from './disk/sector-store.ts';
import type { Process } from './process/process.ts';
import { drawLatency, type LatencyRange } from './world/latency.ts';
import { Stream, type World } from './world/world.ts';

export interface FaultOptions {
  /** Power cuts at random moments, most of them while something is being written. */
  readonly crashes: number;
  /** One power cut while exactly this write (1 = the first of the run) is in flight. */
  readonly crashAtWrite: CrashPoint | null;
  /** Operations of the disk that fail. */
  readonly ioErrors: number;
  /** Times at which the file cannot grow for a while. */
  readonly fullDisks: number;
  /** Steps of the wall clock. */
  readonly clockSteps: number;
  /** Between two faults. */
  readonly pause: LatencyRange;
  /** Between a crash and the next start. */
  readonly downtime: LatencyRange;
  /** In 1,000 crashes: the whole machine is gone, and nobody is there to tell peers. */
  readonly silences: number;
}

export interface CrashPoint {
  readonly write: number;
  readonly outcome: CrashOutcome;
  /** A second power cut while the so-manieth write after the first one is in flight; 0: none. */
  readonly again: number;
}

export const FAULTS_NONE: FaultOptions = {
  crashes: 0,
  crashAtWrite: null,
  ioErrors: 0,
  fullDisks: 0,
  clockSteps: 0,
  pause: { minNs: 100_000, maxNs: 30_000_000 },
  downtime: { minNs: 1_000_000, maxNs: 50_000_000 },
  silences: 0,
};

const OUTCOMES: readonly CrashOutcome[] = ['old', 'new', 'mixed', 'mixed', 'torn'];
const DISK_OPERATIONS: readonly DiskOperation[] = ['read', 'write', 'write', 'write', 'flush'];
const CLOCK_STEP_NS_MAX = 10_000_000_000;
/** Longer than most writes take, so that some cuts come just after one has finished. */
const WRITE_NS = 600_000;
/** A recovery takes about this long: reading a small log and writing superblocks. */
const RECOVERY_NS = 3_000_000;

type Fault = 'crash' | 'io-error' | 'full-disk' | 'clock-step';

export class FaultPlan {
  readonly #world: World;
  readonly #process: Process;
  readonly #disk: Disk;
  readonly #options: FaultOptions;
  readonly #prng: Prng;
  readonly #left: Fault[];
  readonly #restart: () => void;
  #isActive: boolean = true;
  #isFrozen: boolean = false;
  #isHeld: boolean = false;
  /** A power cut that is to come while the next life recovers. */
  #again: CrashOutcome | null = null;

  /** `index`: which process of several. */
  constructor(
    world: World,
    parts: { process: Process; disk: Disk; restart: () => void },
    options: FaultOptions,
    index: number = 0,
  ) {
    this.#world = world;
    this.#process = parts.process;
    this.#disk = parts.disk;
    this.#restart = parts.restart;
    this.#options = options;
    this.#prng = world.prng(Stream.options, index * 2);
    this.#left = [
      ...new Array<Fault>(options.crashes).fill('crash'),
      ...new Array<Fault>(options.ioErrors).fill('io-error'),
      ...new Array<Fault>(options.fullDisks).fill('full-disk'),
      ...new Array<Fault>(options.clockSteps).fill('clock-step'),
    ];
    this.#prng.shuffle(this.#left);
  }

  start(): void {
    const point = this.#options.crashAtWrite;
    if (point !== null) this.#cutDuring(point.write, point.outcome, point.again);
    // A file grows in its youth and reuses its space later: a full disk is met early or never.
    const early = this.#left.indexOf('full-disk');
    if (early >= 0) this.#begin(...(this.#left.splice(early, 1) as [Fault]));
    else this.#scheduleNext();
  }

  /** No more faults; a process that is down is still started again. */
  stop(): void {
    this.#isActive = false;
  }

  /** Everything stays as it is: what is down is not even started again, until told so. */
  freeze(isFrozen: boolean): void {
    this.#isActive = false;
    this.#isFrozen = isFrozen;
    this.#again = null;
  }

  /** It is not started again, nor does anything else befall it, until {@link resume}. */
  hold(): void {
    this.#isHeld = true;
  }

  resume(): void {
    this.#isHeld = false;
  }

  /** Power cut, now, if it is up; it starts again after a while. */
  cut(outcome: CrashOutcome): void {
    if (!this.#process.isUp) return;
    const { silences } = this.#options;
    const isSilent = silences > 0 && this.#prng.chance(silences, 1000);
    if (isSilent) this.#world.coverage.add('crashesSilent');
    this.#process.crash(outcome, isSilent);
    this.restartLater();
  }

  /** The process has ended: starts it after a while. */
  restartLater(): void {
    this.#world.after(drawLatency(this.#prng, this.#options.downtime), () => {
      if (this.#process.isUp || this.#isFrozen || this.#isHeld) return;
      this.#restart();
      const outcome = this.#again;
      this.#again = null;
      if (outcome === null) return;
      this.#world.after(this.#prng.below(RECOVERY_NS), () => {
        if (!this.#isFrozen) this.cut(outcome);
      });
    });
  }

  /** Power cut while write number `write` is in flight, and again after `again` more. */
  #cutDuring(write: number, outcome: CrashOutcome, again: number): void {
    this.#disk.onWriteIssued((count) => {
      if (count !== write) return;
      this.#disk.onWriteIssued(null);
      // The write has just been issued; whatever its latency, it is still in flight now.
      this.#world.after(0, () => {
        if (again > 0) this.#cutDuring(count + again, 'mixed', 0);
        this.cut(outcome);
      });
    });
  }

  #scheduleNext(): void {
    const fault = this.#left.pop();
    if (fault === undefined) return;
    this.#world.after(drawLatency(this.#prng, this.#options.pause), () => {
      if (!this.#isActive) return;
      this.#begin(fault);
    });
  }

  #begin(fault: Fault): void {
    switch (fault) {
      case 'crash':
        this.#beginCrash();
        return;
      case 'io-error':
        this.#disk.failAfter(this.#prng.pick(DISK_OPERATIONS), this.#prng.below(20));
        this.#scheduleNext();
        return;
      case 'full-disk':
        this.#beginFullDisk();
        return;
      case 'clock-step': {
        const step = this.#prng.between(0, 2 * (CLOCK_STEP_NS_MAX / 1000)) * 1000;
        this.#process.clock.step(step - CLOCK_STEP_NS_MAX);
        this.#scheduleNext();
        return;
      }
    }
  }

  #beginCrash(): void {
    const outcome = this.#prng.pick(OUTCOMES);
    if (this.#process.isUp && this.#prng.chance(3, 4)) {
      const write = this.#disk.writesIssued + this.#prng.between(1, 12);
      this.#disk.onWriteIssued((count) => {
        if (count !== write) return;
        this.#disk.onWriteIssued(null);
        this.#cutAfter(this.#prng.below(WRITE_NS), outcome);
      });
      // Should nothing be written any more, the next fault must not wait for it.
      this.#world.after(this.#options.pause.maxNs, () => this.#scheduleNext());
      return;
    }
    this.#cutAfter(0, outcome);
    this.#scheduleNext();
  }

  #cutAfter(delayNs: number, outcome: CrashOutcome): void {
    this.#world.after(delayNs, () => {
      if (!this.#isActive || !this.#process.isUp) return;
      // Trouble comes in pairs: one restart in three does not get far.
      if (this.#prng.chance(1, 3)) this.#again = this.#prng.pick(OUTCOMES);
      this.cut(outcome);
    });
  }

  /** The file cannot grow until somebody makes room; some start the process again then. */
  #beginFullDisk(): void {
    this.#disk.limit(this.#disk.sizeBytes);
    this.#world.after(drawLatency(this.#prng, this.#options.pause) * 4, () => {
      this.#disk.limit(Number.MAX_SAFE_INTEGER);
      if (this.#prng.chance(1, 2) && this.#isActive) this.cut('mixed');
      this.#scheduleNext();
    });
  }
}
