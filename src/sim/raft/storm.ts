/**
 * Every eighth seed is a storm: everything that can befall a cluster, all the time, timers as short
 * as they may be, and clients that never rest. What takes a coincidence of three mishaps elsewhere
 * happens here by the dozen.
 */
import type { Policy } from '../../raft/index.ts';
import type { Prng } from '../../stdx/index.ts';
import { MS } from '../cluster/draw.ts';
import type { ClusterOptions } from '../cluster/options.ts';
import type { PartitionMode } from '../cluster/partitions.ts';
import type { FaultOptions } from '../faults.ts';

export function stormPolicy(prng: Prng): Partial<Policy> & { electionTimerMs: number } {
  return {
    electionTimerMs: prng.pick([100, 150, 300]),
    electionRandomMs: prng.pick([20, 100, 300]),
    preVote: prng.pick(['on', 'off', 'auto'] as const),
    inflightMax: prng.pick([64, 1, 3]),
    batchEntriesMax: prng.pick([1024, 1, 2]),
    immediateCommitSync: prng.chance(3, 4),
    suspectOnRefused: prng.chance(1, 2),
    ackCopies: prng.chance(3, 4),
  };
}

/** The same cluster in worse weather. */
export function inStorm(options: ClusterOptions, prng: Prng): ClusterOptions {
  const { replicaCount } = options;
  const modes: readonly PartitionMode[] = ['uniform-size', 'uniform-node', 'isolate'];
  const firstNs = prng.pick([60, 200]) * MS;
  return {
    ...options,
    clients: prng.pick([3, 12, 50]),
    client: {
      ...options.client,
      think: { minNs: 0, maxNs: 20 * MS },
      resend: { firstNs, rttNs: 5 * MS, jitterMaxNs: 200 * MS },
    },
    peers: {
      ...options.peers,
      delay: { minNs: 50_000, meanNs: prng.pick([500_000, 5 * MS, 20 * MS]) },
    },
    siteFaults: Array.from({ length: replicaCount }, () => siteInStorm(prng)),
    faults: {
      ...options.faults,
      pauses: 8,
      partitions: 12,
      deposals: 8,
      crashesOfAll: 3,
      pause: { minNs: MS, meanNs: 200 * MS },
      pausedFor: { minNs: MS, meanNs: 400 * MS },
      partition: {
        mode: prng.pick(modes),
        asymmetries: prng.pick([0, 300, 1000]),
        duration: { minNs: 10 * MS, meanNs: 400 * MS },
      },
    },
  };
}

function siteInStorm(prng: Prng): Partial<FaultOptions> {
  return {
    crashes: 12,
    ioErrors: prng.chance(1, 3) ? 2 : 0,
    fullDisks: prng.chance(1, 4) ? 2 : 0,
    clockSteps: 1,
    pause: { minNs: MS, maxNs: 600 * MS },
    downtime: { minNs: MS, maxNs: prng.pick([50, 400, 1500]) * MS },
    silences: prng.pick([0, 500, 1000]),
  };
}
