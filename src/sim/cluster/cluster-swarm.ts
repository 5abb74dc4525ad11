/**
 * Which cluster a seed is, and what befalls it. As with a single replica, each seed draws which
 * faults there are at all and how many of each, so that some runs have everything and some have one
 * thing often.
 */
import { Prng } from '../../stdx/index.ts';
import { type Geometry, TOPOLOGY_NAMES, type TopologyName } from '../../vsr/index.ts';
import { type ReplicaSetupOptions, replicaSetup } from '../replica-setup.ts';
import type { SubjectFactory } from '../subjects/subject.ts';
import { subjects } from '../subjects/subjects.ts';
import type { Counter } from '../world/coverage.ts';
import { Stream } from '../world/world.ts';
import {
  drawClient,
  drawClocks,
  drawCore,
  drawFaults,
  drawNetwork,
  drawPeers,
  drawSiteFaults,
  EVERY_SWARM_COUNTERS,
  SECOND,
  SUBJECTS,
} from './draw.ts';
import type { ClusterLeast, ClusterOptions, ClusterQuorums } from './options.ts';

export interface ClusterSwarmOptions {
  /** Default: the seed's choice among all. */
  readonly subject?: string;
  readonly replicaCount?: number;
  readonly topology?: TopologyName;
  /** Requests of all clients together. Default: enough for {@link CLUSTER_SWARM_LEAST}. */
  readonly requests?: number;
  readonly setup?: Pick<ReplicaSetupOptions, 'onParts'>;
}

export interface ClusterSwarm {
  readonly options: ClusterOptions;
  readonly subject: string;
  readonly topology: TopologyName;
}

/** What every seed must come to, whatever befalls it. */
export const CLUSTER_SWARM_LEAST: ClusterLeast = { requests: 96, wraps: 3 };

/** Counters that every campaign of 200 seeds or more must have moved. */
export const CLUSTER_SWARM_COUNTERS: readonly Counter[] = [
  ...EVERY_SWARM_COUNTERS,
  'corruptions',
  'reformats',
  'viewsSeen',
  'viewChanges',
  'viewsStarted',
  'logTruncations',
  'nackTruncations',
  'headersRepaired',
  'preparesRepaired',
  'preparesResent',
  'commitGaps',
  'headsUnknown',
  'syncs',
  'noops',
  'abdications',
  'clocksOutvoted',
  'clocksApart',
];

export function clusterQuorums(replicaCount: number): ClusterQuorums {
  if (replicaCount === 2) return { replication: 2, viewChange: 2 };
  const replication = Math.min(3, Math.ceil(replicaCount / 2));
  return { replication, viewChange: replicaCount - replication + 1 };
}

export function clusterSwarm(seed: number, wanted: ClusterSwarmOptions = {}): ClusterSwarm {
  const prng = new Prng(seed, Stream.swarm * 0x10000 + 1);
  const replicaCount = wanted.replicaCount ?? prng.pick([1, 2, 2, 3, 3, 3, 3, 3, 4, 5, 5, 5, 6, 6]);
  const topology = wanted.topology ?? prng.pick(TOPOLOGY_NAMES);
  const subject = wanted.subject ?? prng.pick(SUBJECTS);
  const quorums = clusterQuorums(replicaCount);
  const geometry = drawGeometry(prng);
  const isFar = prng.chance(1, 3);
  // How long it is to take, were it not for faults: these are spread over it, as requests are.
  const spanNs = prng.pick(isFar ? [12, 25] : [1, 4, 10, 25]) * SECOND;
  const isRotten = replicaCount > 1 && prng.chance(1, 4);
  const faults = drawFaults(prng, { spanNs, isRotten, replicaCount });
  // Whoever has lost a file needs all the others, their clocks included.
  const badMax = (faults.reformats ?? 0) > 0 ? 0 : replicaCount - quorums.replication;
  const { clocks, isGood } = drawClocks(prng, replicaCount, badMax);
  // With rot, whatever is missing in the core may be outside of it.
  const core = drawCore(prng, quorums, isRotten ? isGood.map(() => true) : isGood, isRotten);
  // Poison takes time: what it finds, every fourth run finds as well.
  const isPoisoned = seed % 4 === 0;
  const setup = { ...wanted.setup, geometry, replicaCount, topology, isPoisoned };
  const clients = prng.chance(1, 10) ? prng.between(20, 40) : prng.between(1, 8);
  // Enough to go three times around the log.
  const requests = wanted.requests ?? 3 * geometry.slots + prng.between(-10, 20);
  const thinkNs = Math.floor((2 * spanNs * clients) / requests);
  return {
    subject,
    topology,
    options: {
      seed,
      replicaCount,
      engine: (replica) => replicaSetup({ ...setup, replica }),
      quorums,
      subject: subjects[subject] as SubjectFactory,
      clients,
      requests,
      ...(wanted.requests === undefined ? { least: CLUSTER_SWARM_LEAST } : {}),
      client: drawClient(prng, { seed, isFar, thinkNs }),
      network: drawNetwork(prng, isFar),
      peers: drawPeers(prng, isFar),
      clocks,
      siteFaults: isGood.map((isRight) => drawSiteFaults(prng, spanNs, isRight)),
      faults,
      core,
      isCoreAlone: prng.chance(1, 2),
    },
  };
}

/** Mostly the smallest logs, which wrap and checkpoint all the time. */
function drawGeometry(prng: Prng): Geometry {
  const slots = prng.pick([40, 40, 40, 40, 40, 47]);
  const slotSize = prng.pick([4096, 8192, 8192, 16_384]);
  const requestSizeMax = prng.chance(1, 2) ? slotSize : slotSize - prng.below(2048);
  return { slots, slotSize, requestSizeMax };
}
