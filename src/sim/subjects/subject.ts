/**
 * What a run is about: a machine under test, a reference that surely does the same, and requests to
 * give to both. The simulator knows no machine; a subject is all it sees of one.
 */
import type { Machine } from '../../engine/index.ts';
import type { Prng, U64 } from '../../stdx/index.ts';
import type { Testimony } from '../checks/testimony.ts';

/** What a reference has to offer: the part of a machine that decides what clients see. */
export type ReferenceMachine = Pick<Machine, 'reserve' | 'apply' | 'root' | 'due'>;

export interface Demand {
  /** 128 … 255. */
  readonly operation: number;
  readonly body: Uint8Array;
}

export interface InvalidDemand extends Demand {
  /** The eviction reason that must come back. */
  readonly reason: number;
}

/** What clients ask for: drawn from the seed, and free to look at the reference's state. */
export interface Workload {
  /** Something valid. Bodies should differ from each other where the operation changes anything. */
  next(): Demand;
  /** Something that must be refused before it reaches the log. */
  invalid(): InvalidDemand;
}

export interface WorkloadOptions {
  readonly prng: Prng;
  /** Largest body of a request in this cluster, bytes. */
  readonly bodySizeMax: number;
  /** Wall clock, nanoseconds since 1970. */
  readonly wall: () => U64;
}

export interface Subject {
  readonly reference: ReferenceMachine;
  /** A machine that has applied nothing: one for each life of an engine, on that replica. */
  machine(replica?: number): Machine;
  workload(options: WorkloadOptions): Workload;
  /** What is to judge the clients' view of a run. Default: nothing does. */
  testimony?(): Testimony;
}

/** A new subject for each run: runs share nothing. */
export type SubjectFactory = () => Subject;
