/**
 * What must hold whatever the figures were before: the promises of the topologies, and what a
 * healthy cluster never does. Each gate reads the summaries that it needs.
 */
import { assert } from '../../stdx/index.ts';
import { createTopology, type TopologyName } from '../../vsr/index.ts';
import { healthyScenarios, hopScenarios } from './matrix.ts';
import { type NetworkName, type Scenario, scenarioName } from './scenario.ts';
import type { Summary } from './summary.ts';

export interface Gate {
  readonly name: string;
  readonly scenarios: readonly Scenario[];
  /** What is wrong, a line each. */
  problems(summaryOf: (scenario: Scenario) => Summary): string[];
}

/** What is the same up to chance. */
const SAME = 1.05;
/** One more hop to a quorum, of two. */
const ONE_HOP_MORE = 1.5;
/**
 * Per operation. Where delays vary so much that the slowest message takes five times as long as the
 * others, patience ends now and then without need.
 */
const NEEDLESS_MAX: { readonly [network in NetworkName]: { resent: number; repairs: number } } = {
  hops: { resent: 0, repairs: 0.1 },
  near: { resent: 0, repairs: 0.1 },
  far: { resent: 0.3, repairs: 0.5 },
};

/** Both star-* topologies spread bodies as others do, so a few of theirs are enough. */
const hops: readonly Scenario[] = hopScenarios().filter(({ topology, dead }) => {
  return dead?.length === 0 || !topology.startsWith('star-');
});
const healthy: readonly Scenario[] = [
  ...hops.filter(({ dead }) => dead?.length === 0),
  ...healthyScenarios(64),
];

export const GATES: readonly Gate[] = [
  costGate('star: a dead backup costs nothing', ['star'], SAME),
  costGate(
    'alternating-chord, adaptive-route: a dead backup costs one hop at most',
    ['alternating-chord', 'adaptive-route'],
    ONE_HOP_MORE * SAME,
  ),
  {
    name: 'alternating-ring: faster than ring wherever the dead backup cuts a quorum off',
    scenarios: hops.filter(isRing),
    problems: (summaryOf) => {
      return ringPairs().flatMap(([ring, alternating]) => {
        if (!cutsOff('ring', ring)) return [];
        return faster(summaryOf(alternating), summaryOf(ring));
      });
    },
  },
  {
    name: 'alternating-ring: as fast as ring where the dead backup is the opposite one',
    scenarios: hops.filter(isRing),
    problems: (summaryOf) => {
      return ringPairs().flatMap(([ring, alternating]) => {
        if (ring.dead?.[0] !== ring.replicaCount / 2) return [];
        return within(summaryOf(alternating), summaryOf(ring), SAME);
      });
    },
  },
  {
    name: 'healthy: no prepare is sent again',
    scenarios: healthy,
    problems: (summaryOf) => {
      return healthy.flatMap((one) => {
        return most(summaryOf(one), 'resent', NEEDLESS_MAX[one.network].resent);
      });
    },
  },
  {
    name: 'healthy star: no repair at all',
    scenarios: healthy.filter(({ topology }) => topology === 'star'),
    problems: (summaryOf) => {
      return healthy
        .filter(({ topology }) => topology === 'star')
        .flatMap((one) => most(summaryOf(one), 'repairs', 0));
    },
  },
  {
    name: 'healthy: hardly anything is asked for that is merely on its way',
    scenarios: healthy,
    problems: (summaryOf) => {
      return healthy.flatMap((one) => {
        return most(summaryOf(one), 'repairs', NEEDLESS_MAX[one.network].repairs);
      });
    },
  },
  {
    name: 'a view lasts unless its primary is gone',
    scenarios: hops,
    problems: (summaryOf) => hops.flatMap((one) => most(summaryOf(one), 'viewChanges', 0)),
  },
];

/** With any one backup dead, time and quorum are at most `factor` of those without. */
function costGate(name: string, topologies: readonly TopologyName[], factor: number): Gate {
  const scenarios = hops.filter(({ topology }) => topologies.includes(topology));
  return {
    name,
    scenarios,
    problems: (summaryOf) => {
      return scenarios.flatMap((scenario) => {
        const well = scenarios.find(({ topology, replicaCount, dead }) => {
          const isSame = topology === scenario.topology && replicaCount === scenario.replicaCount;
          return isSame && dead?.length === 0;
        });
        assert(well !== undefined, 'costGate: nothing to compare with');
        return within(summaryOf(scenario), summaryOf(well), factor);
      });
    },
  };
}

function isRing({ topology }: Scenario): boolean {
  return topology === 'ring' || topology === 'alternating-ring';
}

/** The same scenario with each of both rings, one backup dead. */
function ringPairs(): readonly (readonly [Scenario, Scenario])[] {
  return hops
    .filter(({ topology, dead }) => topology === 'ring' && dead?.length === 1)
    .map((ring) => [ring, { ...ring, topology: 'alternating-ring' }]);
}

/** Whether the dead backup leaves too few in front of it for a quorum. */
function cutsOff(name: TopologyName, { replicaCount, dead = [] }: Scenario): boolean {
  const topology = createTopology(name, replicaCount);
  let acks = 1;
  const reached = [0];
  for (const from of reached) {
    for (const to of topology.next(0, 0, from)) {
      if (dead.includes(to)) continue;
      reached.push(to);
      acks++;
    }
  }
  return acks < (replicaCount === 2 ? 2 : Math.min(3, Math.ceil(replicaCount / 2)));
}

function within(found: Summary, reference: Summary, factor: number): string[] {
  return (['timeNs', 'quorumNs'] as const).flatMap((figure) => {
    const ratio = found.figures[figure].median / reference.figures[figure].median;
    if (ratio <= factor) return [];
    const times = `${ratio.toFixed(2)} times, allowed ${factor.toFixed(2)}`;
    return [`${found.name}: ${figure} is ${times} of ${reference.name}`];
  });
}

function faster(found: Summary, reference: Summary): string[] {
  const [time, other] = [found.figures.timeNs.median, reference.figures.timeNs.median];
  if (time * SAME <= other) return [];
  return [`${found.name}: takes ${(time / other).toFixed(2)} times as long as ${reference.name}`];
}

function most(found: Summary, figure: 'repairs' | 'resent' | 'viewChanges', max: number): string[] {
  const { high } = found.figures[figure];
  return high <= max ? [] : [`${found.name}: ${figure} is ${high}, allowed ${max}`];
}

/** All scenarios that gates need, once each. */
export function gateScenarios(): Scenario[] {
  const all = GATES.flatMap(({ scenarios }) => scenarios);
  return [...new Map(all.map((one) => [scenarioName(one), one])).values()];
}
