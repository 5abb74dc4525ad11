/** From a name to a topology. */
import { REPLICAS_MAX } from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';
import { AdaptiveRoute } from './adaptive-route.ts';
import { FixedTopology } from './fixed-topology.ts';
import { alternatingChord, alternatingRing, type PlanPair, ring, star } from './plans.ts';
import type { Topology, TopologyName } from './topology.ts';

type FixedName = Exclude<TopologyName, 'adaptive-route'>;

const fixed: { readonly [name in FixedName]: (replicaCount: number) => PlanPair } = {
  ring,
  'alternating-ring': alternatingRing,
  star,
  'alternating-chord': alternatingChord,
  'star-ring': alternatingRing,
  'star-chord': alternatingChord,
};

export function createTopology(name: TopologyName, replicaCount: number): Topology {
  assert(Number.isInteger(replicaCount), 'createTopology: count is not a number');
  assert(replicaCount >= 1 && replicaCount <= REPLICAS_MAX, 'createTopology: bad replica count');
  if (name === 'adaptive-route') return new AdaptiveRoute(replicaCount);
  const announcesHeaders = name === 'star-ring' || name === 'star-chord';
  return new FixedTopology({ name, plans: fixed[name](replicaCount), announcesHeaders });
}
