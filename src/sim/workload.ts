/**
 * What clients ask for. A workload knows one machine's operations; it is drawn from the seed and
 * may remember what it asked before, so that requests have something to do with each other.
 */
import type { Prng } from '../stdx/index.ts';

export interface Demand {
  /** 128 … 255. */
  readonly operation: number;
  readonly body: Uint8Array;
}

export interface InvalidDemand extends Demand {
  /** The eviction reason that must come back. */
  readonly reason: number;
}

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
}

export type WorkloadFactory = (options: WorkloadOptions) => Workload;
