/**
 * The face that every protocol shows its driver: one function. The same engine object runs under
 * the simulator's virtual disks and under real ones; it cannot tell which. A replica of a cluster
 * is an engine that can also be asked how it is.
 */
import type { DropReason, RefuseReason } from './clients/counters.ts';
import type { Effect } from './effect.ts';
import type { Event, Instant } from './event.ts';

export interface Engine {
  /** Handles one event to completion, synchronously. The result is valid until the next step. */
  step(event: Event, now: Instant): readonly Effect[];
  /** Asserts what must hold between steps; the simulator calls it after each. */
  invariants(): void;
}

/** An engine that replicates: VSR's `Replica`, Raft's `RaftReplica`. */
export interface ReplicaEngine extends Engine {
  status(): EngineStatus;
  /**
   * It is about to be stopped: one that leads may ask another to, and goes on for as long as it is
   * stepped. As {@link Engine.step}; an engine that has no such way leaves it out.
   */
  handOver?(now: Instant): readonly Effect[];
  /** At the end of a life: gives back every message that the replica holds. */
  releaseMessages(): void;
}

export type EngineName = 'vsr' | 'raft';

/**
 * `view-change`: nobody leads as far as this replica knows, or who does is not ready yet.
 * `recovering`: opening its file. `recovering-head`: the end of its log is uncertain. `halted`: for
 * ever.
 */
export type EngineRole =
  | 'primary'
  | 'backup'
  | 'view-change'
  | 'recovering'
  | 'recovering-head'
  | 'halted';

/** What a replica of any engine tells of itself. Operations are numbered from 1. */
export interface EngineStatus {
  readonly engine: EngineName;
  readonly role: EngineRole;
  /** Hexadecimal, as stored. */
  readonly cluster: string;
  readonly replica: number;
  readonly replicaCount: number;
  readonly release: number;
  /** As clients know it: who leads, modulo the number of replicas; higher is later. */
  readonly view: number;
  /** The view that this replica's log belongs to. */
  readonly logView: number;
  /** Index of the replica that leads the view. */
  readonly primary: number;
  /** Replicas that a commit needs, and those that are connected, this one counted. */
  readonly quorum: number;
  readonly connected: number;
  /** Indexes of the replicas connected to this one. */
  readonly peers: readonly number[];
  /** Indexes of those whose file is another one than we knew: not heard, told nothing. */
  readonly strangers: readonly number[];
  /** Too few others have been heard of late, whether connected or not. */
  readonly isDeaf: boolean;
  /** Head of the log. */
  readonly op: number;
  /** Durable in the log without a gap from what is executed. */
  readonly opDurable: number;
  /** Executed here. */
  readonly commitMin: number;
  /** Known to be committed. */
  readonly commitMax: number;
  /** The state as of this operation is in the file; the log goes on from there. */
  readonly checkpointOp: number;
  /** Of everything executed; hexadecimal. */
  readonly digest: string;
  readonly sessions: number;
  /** Requests that wait to be put into the log, and those that wait for another primary. */
  readonly queued: number;
  readonly held: number;
  /** The disk is full. */
  readonly isReadOnly: boolean;
  readonly dropped: { readonly [reason in DropReason]: number };
  readonly refused: { readonly [reason in RefuseReason]: number };
}
