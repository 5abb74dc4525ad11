/** The engines by name, with logs so small that a run goes round them many times. */
import { RAFT_REPLICAS_MAX, REPLICAS_MAX } from '../../engine/index.ts';
import type { RaftGeometry } from '../../raft/index.ts';
import type { Geometry } from '../../vsr/index.ts';
import { clusterQuorums } from '../cluster/cluster-swarm.ts';
import type { ClusterOptions } from '../cluster/options.ts';
import { raftSetup } from '../raft/setup.ts';
import { raftQuorums } from '../raft/swarm.ts';
import { replicaSetup } from '../replica-setup.ts';
import type { EngineName } from './options.ts';

/** A log of 40 operations, with a checkpoint every 8; requests as large as in development. */
const GEOMETRY: Geometry = { slots: 40, slotSize: 32_768, requestSizeMax: 32_768 };

/** As much as in development, and a snapshot every dozen or two of small requests. */
const RAFT_GEOMETRY: RaftGeometry = { extentSize: 65_536, requestSizeMax: 32_768 };
const SNAPSHOT_BYTES_MIN = 8192;

/** Replicas that a cluster of the engine may have. */
export const replicasMax: { readonly [name in EngineName]: number } = {
  vsr: REPLICAS_MAX,
  raft: RAFT_REPLICAS_MAX,
};

export function engineOf(
  name: EngineName,
  replicaCount: number,
  seed: number,
): Pick<ClusterOptions, 'engine' | 'quorums'> {
  // Poison takes time: what it finds, every fourth run finds as well.
  const isPoisoned = seed % 4 === 0;
  switch (name) {
    case 'vsr': {
      const setup = { geometry: GEOMETRY, replicaCount, isPoisoned };
      return {
        engine: (replica) => replicaSetup({ ...setup, replica }),
        quorums: clusterQuorums(replicaCount),
      };
    }
    case 'raft': {
      const sizes = { geometry: RAFT_GEOMETRY, snapshotBytesMin: SNAPSHOT_BYTES_MIN };
      const setup = { ...sizes, replicaCount, isPoisoned };
      return {
        engine: (replica) => raftSetup({ ...setup, replica }),
        quorums: raftQuorums(replicaCount),
      };
    }
  }
}
