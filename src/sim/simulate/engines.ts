/** The engines by name, with logs so small that a run goes round them many times. */
import { REPLICAS_MAX } from '../../engine/index.ts';
import type { Geometry } from '../../vsr/index.ts';
import { clusterQuorums } from '../cluster/cluster-swarm.ts';
import type { ClusterOptions } from '../cluster/options.ts';
import { replicaSetup } from '../replica-setup.ts';
import type { EngineName } from './options.ts';

/** A log of 40 operations, with a checkpoint every 8; requests as large as in development. */
const GEOMETRY: Geometry = { slots: 40, slotSize: 32_768, requestSizeMax: 32_768 };

/** Replicas that a cluster of the engine may have. */
export const replicasMax: { readonly [name in EngineName]: number } = {
  vsr: REPLICAS_MAX,
  raft: REPLICAS_MAX,
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
    case 'raft':
      throw new RangeError('simulate: raft is not there yet');
  }
}
