/**
 * Which cluster a seed is, and what befalls it. As with a single replica, each seed draws which
 * faults there are at all and how many of each, so that some runs have everything and some have one
 * thing often.
 */
import { Prng } from '../../stdx/index.ts';
import { type Geometry, TOPOLOGY_NAMES, type TopologyName } from '../../vsr/index.ts';
import type { ClientOptions } from '../clients/client.ts';
import type { NetworkOptions } from '../clients/network.ts';
import type { FaultOptions } from '../faults.ts';
import type { ClockOptions } from '../process/clock.ts';
import { type ReplicaSetupOptions, replicaSetup } from '../replica-setup.ts';
import type { SubjectFactory } from '../subjects/subject.ts';
import { subjects } from '../subjects/subjects.ts';
import type { Counter } from '../world/coverage.ts';
import type { LatencyTail } from '../world/latency.ts';
import { Stream } from '../world/world.ts';
import { CLUSTER_FAULTS_NONE, type ClusterFaultOptions } from './cluster-faults.ts';
import type { ClusterNetworkOptions } from './network.ts';
import type { ClusterLeast, ClusterOptions, ClusterQuorums } from './options.ts';
import type { PartitionMode } from './partitions.ts';

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
  'commits',
  'replies',
  'crashes',
  'restarts',
  'crashesInRecovery',
  'crashesWithWrites',
  'crashesOfPrimary',
  'crashesOfAll',
  'crashesSilent',
  'sectorsLost',
  'sectorsTorn',
  'corruptions',
  'reformats',
  'checkpoints',
  'logWraps',
  'replayedOps',
  'resends',
  'repeatedReplies',
  'duplicates',
  'losses',
  'disconnects',
  'overflows',
  'clogs',
  'partitions',
  'partitionsAsymmetric',
  'deposals',
  'linksUp',
  'linksDown',
  'linksRefused',
  'linksBroken',
  'pauses',
  'clockSteps',
  'ioErrors',
  'noSpace',
  'halts',
  'invalidRequests',
  'sessionsAbandoned',
  'evictions',
  'refusals',
  'forgeries',
  'pings',
  'pulses',
  'rootsCompared',
  'testimonies',
  'peerMessages',
  'durableStatesRead',
  'coresPartial',
  'viewsSeen',
  'acks',
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
  'selfRestarts',
  'noops',
  'requestsForwarded',
  'requestsHeld',
  'abdications',
  'clocksOutvoted',
  'clocksApart',
];

/** The ledger and its model take three times as long as the others. */
const SUBJECTS: readonly string[] = [
  ...new Array<string>(4).fill('counter'),
  ...new Array<string>(3).fill('key-value'),
  'ledger',
];

const MS = 1_000_000;
const SECOND = 1_000_000_000;
/** Clocks that are off by less than this can agree. */
const CLOCK_GOOD_NS: number = 500 * MS;
const CLOCK_BAD_NS: number = 3600 * SECOND;

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

function sometimes(prng: Prng, max: number): number {
  return prng.chance(1, 2) ? 0 : prng.between(1, max);
}

function delay(prng: Prng, isFar: boolean): LatencyTail {
  return isFar
    ? { minNs: prng.between(0, 30) * MS, meanNs: prng.between(10, 100) * MS }
    : { minNs: prng.between(10, 300) * 1000, meanNs: prng.between(50, 3000) * 1000 };
}

function drawClient(
  prng: Prng,
  { seed, isFar, thinkNs }: { seed: number; isFar: boolean; thinkNs: number },
): Partial<ClientOptions> {
  // Sessions are only forgotten when more than a cluster remembers have been made.
  const isChurn = seed % 16 === 1;
  const isOfficial = prng.chance(1, 2);
  const rttNs = isFar ? 100 * MS : 5 * MS;
  return {
    repeats: sometimes(prng, 200),
    renewals: isChurn ? 700 : sometimes(prng, 100),
    awakenings: isChurn ? 300 : sometimes(prng, 100),
    abandons: sometimes(prng, 100),
    invalids: sometimes(prng, 100),
    pings: sometimes(prng, 200),
    forgeries: sometimes(prng, 100),
    resend: isOfficial
      ? { firstNs: 600 * MS, rttNs, jitterMaxNs: 10 * SECOND }
      : { firstNs: 2 * rttNs + 20 * MS, rttNs, jitterMaxNs: 500 * MS },
    think: { minNs: 0, maxNs: thinkNs },
  };
}

function drawNetwork(prng: Prng, isFar: boolean): Partial<NetworkOptions> {
  return {
    latency: delay(prng, isFar),
    losses: sometimes(prng, 100),
    duplicates: sometimes(prng, 200),
    disconnects: sometimes(prng, 20),
  };
}

function drawPeers(prng: Prng, isFar: boolean): Partial<ClusterNetworkOptions> {
  const isOrdered = prng.chance(1, 2);
  return {
    isOrdered,
    delay: delay(prng, isFar),
    losses: sometimes(prng, 300),
    duplicates: sometimes(prng, 500),
    capacity: prng.chance(1, 2) ? 256 : prng.between(4, 40),
    clogs: sometimes(prng, 5),
    clogMeanNs: prng.between(1, 2000) * MS,
    breaks: sometimes(prng, 5),
  };
}

function drawClocks(
  prng: Prng,
  replicaCount: number,
  badMax: number,
): { clocks: ClockOptions[]; isGood: boolean[] } {
  const badCount = prng.chance(1, 2) ? 0 : prng.between(0, badMax);
  const isGood = Array.from({ length: replicaCount }, (_, index) => index >= badCount);
  prng.shuffle(isGood);
  const clocks = isGood.map((isRight) => {
    const range = isRight ? CLOCK_GOOD_NS : CLOCK_BAD_NS;
    return {
      offsetNs: signed(prng, range / MS) * MS + signed(prng, 999_999),
      driftPpm: isRight ? signed(prng, 100) : signed(prng, 5000),
      monoStartNs: prng.below(100_000) * MS,
    };
  });
  return { clocks, isGood };
}

function signed(prng: Prng, max: number): number {
  return prng.between(0, 2 * max) - max;
}

function drawSiteFaults(prng: Prng, spanNs: number, isClockGood: boolean): Partial<FaultOptions> {
  const crashes = sometimes(prng, 4);
  const ioErrors = prng.chance(1, 8) ? 1 : 0;
  const fullDisks = prng.chance(1, 12) ? 1 : 0;
  const clockSteps = isClockGood ? 0 : prng.between(0, 3);
  const count = crashes + ioErrors + clockSteps + 1;
  return {
    crashes,
    ioErrors,
    fullDisks,
    clockSteps,
    pause: { minNs: MS, maxNs: Math.floor((2 * spanNs) / count) },
    downtime: { minNs: MS, maxNs: spanNs / prng.pick([200, 20, 4]) },
    silences: prng.pick([0, 300, 1000]),
  };
}

function drawFaults(
  prng: Prng,
  options: { spanNs: number; isRotten: boolean; replicaCount: number },
): Partial<ClusterFaultOptions> {
  const { spanNs, isRotten, replicaCount } = options;
  const mayLose = !isRotten && replicaCount > 2 && prng.chance(1, 5);
  const modes: readonly PartitionMode[] = ['uniform-size', 'uniform-node', 'isolate'];
  const pauses = sometimes(prng, 5);
  const partitions = sometimes(prng, 8);
  const deposals = sometimes(prng, 4);
  const crashesOfAll = prng.chance(1, 4) ? prng.between(1, 3) : 0;
  const corruptions = isRotten ? prng.between(1, 30) : 0;
  const reformats = mayLose ? prng.between(1, 3) : 0;
  const count = pauses + partitions + deposals + crashesOfAll + corruptions + reformats + 1;
  return {
    pauses,
    partitions,
    deposals,
    crashesOfAll,
    corruptions,
    reformats,
    pause: { minNs: MS, meanNs: Math.floor(spanNs / count) },
    pausedFor: { minNs: MS, meanNs: spanNs / prng.pick([200, 20, 5]) },
    partition: {
      ...CLUSTER_FAULTS_NONE.partition,
      mode: prng.pick(modes),
      asymmetries: prng.pick([0, 300, 1000]),
      duration: { minNs: 10 * MS, meanNs: spanNs / prng.pick([50, 15, 5]) },
    },
  };
}

/** Enough to change views, with enough right clocks among them. */
function drawCore(
  prng: Prng,
  quorums: ClusterQuorums,
  isGood: readonly boolean[],
  isAll: boolean,
): readonly number[] {
  const all = isGood.map((_, index) => index);
  if (isAll) return all;
  for (;;) {
    prng.shuffle(all);
    const core = all.slice(0, prng.between(quorums.viewChange, all.length));
    const good = core.filter((index) => isGood[index] === true).length;
    if (good >= Math.min(quorums.replication, all.length)) return core.toSorted((a, b) => a - b);
  }
}
