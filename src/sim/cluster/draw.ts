/**
 * What seeds of clusters draw, whatever their engine: clients, networks, clocks, and what befalls
 * replicas. The order of draws is part of what a seed is.
 */
import type { Prng } from '../../stdx/index.ts';
import type { ClientOptions } from '../clients/client.ts';
import type { NetworkOptions } from '../clients/network.ts';
import type { FaultOptions } from '../faults.ts';
import type { ClockOptions } from '../process/clock.ts';
import type { Counter } from '../world/coverage.ts';
import type { LatencyTail } from '../world/latency.ts';
import { CLUSTER_FAULTS_NONE, type ClusterFaultOptions } from './cluster-faults.ts';
import type { ClusterNetworkOptions } from './network.ts';
import type { ClusterQuorums } from './options.ts';
import type { PartitionMode } from './partitions.ts';

export const MS = 1_000_000;
export const SECOND = 1_000_000_000;
/** Clocks that are off by less than this can agree. */
const CLOCK_GOOD_NS: number = 500 * MS;
const CLOCK_BAD_NS: number = 3600 * SECOND;

/** The ledger and its model take three times as long as the others. */
export const SUBJECTS: readonly string[] = [
  ...new Array<string>(4).fill('counter'),
  ...new Array<string>(3).fill('key-value'),
  'ledger',
];

/** Counters that every campaign must have moved, whatever the engine of its clusters. */
export const EVERY_SWARM_COUNTERS: readonly Counter[] = [
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
  'acks',
  'selfRestarts',
  'requestsForwarded',
  'requestsHeld',
];

export function sometimes(prng: Prng, max: number): number {
  return prng.chance(1, 2) ? 0 : prng.between(1, max);
}

export function delay(prng: Prng, isFar: boolean): LatencyTail {
  return isFar
    ? { minNs: prng.between(0, 30) * MS, meanNs: prng.between(10, 100) * MS }
    : { minNs: prng.between(10, 300) * 1000, meanNs: prng.between(50, 3000) * 1000 };
}

export function drawClient(
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

export function drawNetwork(prng: Prng, isFar: boolean): Partial<NetworkOptions> {
  return {
    latency: delay(prng, isFar),
    losses: sometimes(prng, 100),
    duplicates: sometimes(prng, 200),
    disconnects: sometimes(prng, 20),
  };
}

export function drawPeers(prng: Prng, isFar: boolean): Partial<ClusterNetworkOptions> {
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

export function drawClocks(
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

export function signed(prng: Prng, max: number): number {
  return prng.between(0, 2 * max) - max;
}

export function drawSiteFaults(
  prng: Prng,
  spanNs: number,
  isClockGood: boolean,
): Partial<FaultOptions> {
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

export function drawFaults(
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
export function drawCore(
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
