/**
 * What a run is made of, as the one says it who wants his machine tried out, and what it tells when
 * it is over.
 */

import type { Model } from '../linearizability/index.ts';
import type { FailureCode } from '../world/failure.ts';
import type { MachineFailureCode } from './machine-failure.ts';

export type EngineName = 'vsr' | 'raft';

/** Chance that comes from the seed alone. */
export interface Chance {
  /** Uniform in 0 … 2^32 − 1. */
  u32(): number;
  /** Uniform in 0 … bound − 1. */
  below(bound: number): number;
  /** Uniform in min … max, both included. */
  between(min: number, max: number): number;
  /** True in `numerator` of `denominator` cases. */
  chance(numerator: number, denominator: number): boolean;
  pick<T>(items: readonly T[]): T;
  /** In place. */
  shuffle<T>(items: T[]): void;
  fill(bytes: Uint8Array): void;
}

/**
 * Which faults there are. `network`: messages are lost, doubled and late, connections break, the
 * cluster is parted. `crashes`: power cuts, also of all replicas at once, pauses, disks that fail
 * or fill up. Of each the seed draws how many, and some are left out, so that runs differ. An
 * object says it exactly: what it does not name does not happen.
 */
export type FaultChoice = 'none' | 'network' | 'crashes' | 'all' | SimulationFaults;

export interface SimulationFaults {
  /** Power cuts of each replica, at random moments, most of them during a write. */
  readonly crashes?: number;
  /** Power cuts of all replicas at once. */
  readonly crashesOfAll?: number;
  /** How often some replica stands still for a while. */
  readonly pauses?: number;
  /** How often the cluster is parted. */
  readonly partitions?: number;
  /** How often whoever leads is cut off in the middle of its work. */
  readonly leaderCutOffs?: number;
  /** Operations of each disk that fail; the replica ends and is started again. */
  readonly ioErrors?: number;
  /** How often each disk is full for a while. */
  readonly fullDisks?: number;
  /** Of 1,000 messages between replicas; connections break as well. */
  readonly losses?: number;
  readonly duplicates?: number;
}

/** What is looked at besides what must hold for every machine. */
export interface Checks<S, C, O> {
  /** After every operation on every replica: `false`, or a text that says what is wrong. */
  readonly invariant?: (state: S) => boolean | string | undefined;
  /** What clients saw must be linearizable by this model. Commands then come one a request. */
  readonly linearizable?: LinearizableCheck<C, O>;
  /**
   * Every answer and state is compared with those of a copy of the machine that is never restarted.
   * Default: true. Without it, replicas are still compared with each other.
   */
  readonly reference?: boolean;
  /** A machine that looks at a clock or at chance fails the run at once. Default: true. */
  readonly outsideWorld?: boolean;
}

export interface LinearizableCheck<C, O> {
  readonly model: Model<unknown, unknown, unknown>;
  /** A command as the model's input. Default: as it is. */
  readonly input?: (command: C) => unknown;
  /** What came of it as the model's output. Default: the result, or the outcome that is none. */
  readonly output?: (outcome: O) => unknown;
}

/** S state, C command, O what a command comes to, Q question. */
export interface SimulateOptions<S, C, O, Q> {
  /** The run; the same one does the same on every machine. Default 0. */
  readonly seed?: number;
  /** Default 'vsr'. */
  readonly engine?: EngineName;
  /** Default 3. VSR: 1 to 6. Raft: 1 to 7. */
  readonly replicas?: number;
  /** Default: the seed's choice, 1 to 8. */
  readonly clients?: number;
  /** Requests of all clients together. Default 200. */
  readonly requests?: number;
  /** Default 'all'. */
  readonly faults?: FaultChoice;
  /** The next command. `state` is that of the reference as it is now; to look at only. */
  readonly workload: (chance: Chance, state: S) => C;
  /** Questions that must not change anything: asked of every replica now and then. */
  readonly questions?: (chance: Chance, state: S) => Q;
  readonly check?: Checks<S, C, O>;
  /** Gets one line for each event and effect of the run. */
  readonly trace?: (line: string) => void;
}

export interface SimulateManyOptions<S, C, O, Q>
  extends Omit<SimulateOptions<S, C, O, Q>, 'seed' | 'trace'> {
  /** How many runs. Default 100. */
  readonly seeds?: number;
  /** Seed of the first run. Default 0. */
  readonly firstSeed?: number;
  /** After each run. */
  readonly onRun?: (report: SimulationReport) => void;
}

export interface SimulationReport {
  readonly seed: number;
  readonly ok: boolean;
  readonly failure: FailureReport | null;
  readonly engine: EngineName;
  readonly replicas: number;
  /** How often what happened: `crashes`, `checkpoints`, `viewChanges` … Zeros are left out. */
  readonly coverage: { readonly [counter: string]: number };
  /** Fingerprint of every event and effect: 16 hexadecimal digits. */
  readonly hash: string;
  /** How long the run took in its own time, milliseconds. */
  readonly virtualMs: number;
  readonly requests: number;
  readonly events: number;
  /** All of it for a person; of a failure everything that is known. */
  readonly text: string;
}

export interface FailureReport {
  /** Stable. */
  readonly code: MachineFailureCode | FailureCode;
  /** What happened, in several lines. */
  readonly message: string;
  /** Where; `null`: it is not of one replica, or of no operation. */
  readonly replica: number | null;
  readonly op: number | null;
  /** The call that does it again, with every event and effect printed. */
  readonly again: string;
  /** The last events and effects before it. */
  readonly trace: readonly string[];
}

export interface SimulationsReport {
  readonly ok: boolean;
  /** Runs made; those after the first failed one are not. */
  readonly runs: number;
  /** The first failed run. */
  readonly failed: SimulationReport | null;
  readonly coverage: { readonly [counter: string]: number };
  readonly requests: number;
  readonly events: number;
  readonly text: string;
}
