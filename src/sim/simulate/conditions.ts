/**
 * Which cluster a seed is, and what befalls it, within what was asked for. As everywhere here, a
 * seed draws which faults there are at all and how many of each: some runs have everything, some
 * have one thing often.
 */
import { Prng } from '../../stdx/index.ts';
import type { ClientOptions } from '../clients/client.ts';
import type { NetworkOptions } from '../clients/network.ts';
import { CLUSTER_FAULTS_NONE, type ClusterFaultOptions } from '../cluster/cluster-faults.ts';
import type { ClusterNetworkOptions } from '../cluster/network.ts';
import type { ClusterOptions } from '../cluster/options.ts';
import type { PartitionMode } from '../cluster/partitions.ts';
import type { FaultOptions } from '../faults.ts';
import type { ClockOptions } from '../process/clock.ts';
import type { LatencyTail } from '../world/latency.ts';
import { Stream } from '../world/world.ts';
import { engineOf } from './engines.ts';
import type { EngineName, FaultChoice, SimulationFaults } from './options.ts';

const MS = 1_000_000;
const SECOND = 1_000_000_000;
const CLIENTS_MAX_DRAWN = 8;
/** Clocks of replicas differ by less. */
const CLOCK_NS_MAX: number = 500 * MS;
const DRIFT_PPM_MAX = 100;

export interface Wish {
  readonly seed: number;
  readonly engine: EngineName;
  readonly replicas: number;
  readonly clients: number | null;
  readonly requests: number;
  readonly faults: FaultChoice;
}

export function conditionsOf(wish: Wish): Omit<ClusterOptions, 'subject'> {
  const { seed, engine, replicas, requests } = wish;
  const prng = new Prng(seed, Stream.swarm * 0x10000 + 2);
  const faults = faultsOf(prng, wish.faults, replicas);
  const isCalm = wish.faults === 'none';
  const spanNs = isCalm ? 0 : prng.pick([1, 4, 10]) * SECOND;
  const clients = wish.clients ?? prng.between(1, CLIENTS_MAX_DRAWN);
  const thinkNs = isCalm ? MS : Math.floor((2 * spanNs * clients) / requests);
  return {
    seed,
    replicaCount: replicas,
    ...engineOf(engine, replicas, seed),
    clients,
    requests,
    client: drawClient(prng, faults, thinkNs),
    network: drawNetwork(prng, faults),
    peers: drawPeers(prng, faults),
    clocks: Array.from({ length: replicas }, () => drawClock(prng, isCalm)),
    siteFaults: Array.from({ length: replicas }, () => drawSiteFaults(prng, faults, spanNs)),
    faults: drawClusterFaults(prng, faults, spanNs),
  };
}

/** Every fault with its number. */
type Counts = Required<SimulationFaults>;

const NONE: Counts = {
  crashes: 0,
  crashesOfAll: 0,
  pauses: 0,
  partitions: 0,
  leaderCutOffs: 0,
  ioErrors: 0,
  fullDisks: 0,
  losses: 0,
  duplicates: 0,
};

function faultsOf(prng: Prng, choice: FaultChoice, replicas: number): Counts {
  if (choice === 'none') return NONE;
  if (typeof choice === 'object') return { ...NONE, ...choice };
  const hasCrashes = choice !== 'network';
  const hasNetwork = choice !== 'crashes' && replicas > 1;
  return {
    ...NONE,
    ...(hasCrashes ? drawCrashes(prng) : {}),
    ...(hasNetwork ? drawTroubles(prng) : {}),
  };
}

function drawCrashes(prng: Prng): SimulationFaults {
  return {
    crashes: prng.chance(1, 4) ? 0 : prng.between(1, 4),
    crashesOfAll: prng.chance(1, 3) ? prng.between(1, 2) : 0,
    pauses: sometimes(prng, 4),
    ioErrors: prng.chance(1, 8) ? 1 : 0,
    fullDisks: prng.chance(1, 12) ? 1 : 0,
  };
}

function drawTroubles(prng: Prng): SimulationFaults {
  return {
    partitions: sometimes(prng, 6),
    leaderCutOffs: sometimes(prng, 3),
    losses: sometimes(prng, 200),
    duplicates: sometimes(prng, 300),
  };
}

function sometimes(prng: Prng, max: number): number {
  return prng.chance(1, 2) ? 0 : prng.between(1, max);
}

function drawClient(prng: Prng, faults: Counts, thinkNs: number): Partial<ClientOptions> {
  const isTroubled = faults !== NONE;
  return {
    repeats: sometimes(prng, 100),
    renewals: isTroubled ? sometimes(prng, 50) : 0,
    awakenings: isTroubled ? sometimes(prng, 50) : 0,
    abandons: isTroubled ? sometimes(prng, 50) : 0,
    pings: 50,
    resend: { firstNs: 100 * MS, rttNs: 10 * MS, jitterMaxNs: SECOND },
    think: { minNs: 0, maxNs: thinkNs },
  };
}

function drawNetwork(prng: Prng, { losses, duplicates }: Counts): Partial<NetworkOptions> {
  const isTroubled = losses + duplicates > 0;
  return {
    latency: drawDelay(prng),
    losses: isTroubled ? 50 : 0,
    duplicates: isTroubled ? 50 : 0,
    disconnects: isTroubled ? 10 : 0,
  };
}

function drawPeers(prng: Prng, { losses, duplicates }: Counts): Partial<ClusterNetworkOptions> {
  const isTroubled = losses + duplicates > 0;
  return {
    // Nothing is lost nor doubled where order is kept.
    isOrdered: !isTroubled,
    delay: drawDelay(prng),
    losses,
    duplicates,
    clogs: isTroubled ? 2 : 0,
    clogMeanNs: 200 * MS,
    breaks: isTroubled ? 2 : 0,
  };
}

function drawDelay(prng: Prng): LatencyTail {
  return { minNs: prng.between(10, 300) * 1000, meanNs: prng.between(50, 3000) * 1000 };
}

function drawClock(prng: Prng, isCalm: boolean): ClockOptions {
  if (isCalm) return { offsetNs: 0, driftPpm: 0, monoStartNs: 0 };
  return {
    offsetNs: signed(prng, CLOCK_NS_MAX),
    driftPpm: signed(prng, DRIFT_PPM_MAX),
    monoStartNs: prng.below(100_000) * MS,
  };
}

function signed(prng: Prng, max: number): number {
  return prng.between(0, 2 * max) - max;
}

function drawSiteFaults(prng: Prng, faults: Counts, spanNs: number): Partial<FaultOptions> {
  const { crashes, ioErrors, fullDisks } = faults;
  const count = crashes + ioErrors + 1;
  return {
    crashes,
    ioErrors,
    fullDisks,
    pause: { minNs: MS, maxNs: MS + Math.floor((2 * spanNs) / count) },
    downtime: { minNs: MS, maxNs: MS + Math.floor(spanNs / prng.pick([200, 20, 4])) },
    silences: prng.pick([0, 300, 1000]),
  };
}

function drawClusterFaults(
  prng: Prng,
  faults: Counts,
  spanNs: number,
): Partial<ClusterFaultOptions> {
  const { crashesOfAll, pauses, partitions, leaderCutOffs } = faults;
  const count = crashesOfAll + pauses + partitions + leaderCutOffs + 1;
  const modes: readonly PartitionMode[] = ['uniform-size', 'uniform-node', 'isolate'];
  return {
    crashesOfAll,
    pauses,
    partitions,
    deposals: leaderCutOffs,
    pause: { minNs: MS, meanNs: MS + Math.floor(spanNs / count) },
    pausedFor: { minNs: MS, meanNs: MS + Math.floor(spanNs / prng.pick([200, 20, 5])) },
    partition: {
      ...CLUSTER_FAULTS_NONE.partition,
      mode: prng.pick(modes),
      asymmetries: prng.pick([0, 300, 1000]),
      duration: { minNs: 10 * MS, meanNs: 10 * MS + Math.floor(spanNs / prng.pick([50, 15, 5])) },
    },
  };
}
