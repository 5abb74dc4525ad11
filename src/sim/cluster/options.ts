/**
 * What a run with several replicas is made of, and what it tells when it is over.
 */
import type { ClientOptions } from '../clients/client.ts';
import type { NetworkOptions } from '../clients/network.ts';
import type { DiskOptions } from '../disk/disk.ts';
import type { EngineSetup } from '../engine-setup.ts';
import type { FaultOptions } from '../faults.ts';
import type { ClockOptions } from '../process/clock.ts';
import type { SubjectFactory } from '../subjects/subject.ts';
import type { Coverage } from '../world/coverage.ts';
import type { SimulationFailure } from '../world/failure.ts';
import type { ClusterFaultOptions } from './cluster-faults.ts';
import type { ClusterNetworkOptions } from './network.ts';

export interface ClusterOptions {
  /** A safe non-negative integer. */
  readonly seed: number;
  readonly replicaCount: number;
  /** The engine of replica `index`, whose file says so. */
  readonly engine: (index: number) => EngineSetup;
  readonly quorums: ClusterQuorums;
  readonly subject: SubjectFactory;
  readonly clients?: number;
  /** Requests of all clients together, registrations and repeats not counted. */
  readonly requests?: number;
  readonly client?: Partial<ClientOptions>;
  /** What the run must come to: clients go on until it has, and it fails if it never does. */
  readonly least?: ClusterLeast;
  /** Between clients and replicas. */
  readonly network?: Partial<NetworkOptions>;
  /** Between replicas. */
  readonly peers?: Partial<ClusterNetworkOptions>;
  readonly disk?: Partial<DiskOptions>;
  /** Clock of each replica. Default: right ones. */
  readonly clocks?: readonly ClockOptions[];
  /** What befalls each replica on its own. Default: nothing. */
  readonly siteFaults?: readonly Partial<FaultOptions>[];
  readonly faults?: Partial<ClusterFaultOptions>;
  /** Who is healed first and must get on without the others. Default: all. */
  readonly core?: readonly number[];
  /** The core cannot hear the others, nor they the core. Default: as it happens to be. */
  readonly isCoreAlone?: boolean;
  /**
   * Replies are not compared with what was applied, so that only clients can tell that something
   * went wrong: for trying out what their testimony is worth. Default: false.
   */
  readonly isBlind?: boolean;
  /** What replicas may still say to each other when all is done; absent: nobody counts. */
  readonly peace?: ClusterPeace;
  /** Virtual time until faults end even if requests are left, nanoseconds. */
  readonly faultsNs?: number;
  /** Virtual time for the core, and then for all, to come to one state, nanoseconds. */
  readonly convergenceNs?: number;
  readonly trace?: ((line: string) => void) | undefined;
}

export interface ClusterLeast {
  /** Requests of clients that were committed, registrations not counted. */
  readonly requests: number;
  /** How often the log was filled from its first slot to its last. */
  readonly wraps: number;
}

/** More would be a cluster that goes round in circles and calls it work. */
export interface ClusterPeace {
  /** For how long is counted, nanoseconds. */
  readonly periodNs: number;
  /** Messages between replicas in that time. */
  readonly messagesMax: number;
  /** More of them for each operation that time itself has made due. */
  readonly messagesPerPulse: number;
}

/** How many replicas it takes. */
export interface ClusterQuorums {
  readonly replication: number;
  readonly viewChange: number;
}

export interface ClusterReport {
  readonly seed: number;
  readonly replicaCount: number;
  /** Fingerprint of every event and effect: 16 hexadecimal digits. */
  readonly hash: string;
  readonly failure: SimulationFailure | null;
  readonly coverage: Coverage;
  readonly virtualNs: number;
  /** Writes of each replica. */
  readonly writes: readonly number[];
  readonly opMax: number;
}
