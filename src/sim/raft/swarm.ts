/**
 * Which Raft cluster a seed is, and what befalls it: as with clusters of the other engine, each
 * seed draws which faults there are at all; every eighth is a storm. What is not here: sectors that
 * rot and files that are lost, since a Raft member whose log is damaged can only stop.
 */
import { POLICY_OWN, type Policy, type RaftGeometry } from '../../raft/index.ts';
import { Prng } from '../../stdx/index.ts';
import {
  drawClient,
  drawClocks,
  drawCore,
  drawFaults,
  drawNetwork,
  drawPeers,
  drawSiteFaults,
  EVERY_SWARM_COUNTERS,
  MS,
  SECOND,
  SUBJECTS,
  sometimes,
} from '../cluster/draw.ts';
import type {
  ClusterLeast,
  ClusterOptions,
  ClusterPeace,
  ClusterQuorums,
} from '../cluster/options.ts';
import { DISK_DEFAULT, type DiskOptions } from '../disk/disk.ts';
import type { SubjectFactory } from '../subjects/subject.ts';
import { subjects } from '../subjects/subjects.ts';
import { type Counter, RAFT_COUNTERS } from '../world/coverage.ts';
import type { LatencyRange } from '../world/latency.ts';
import { Stream } from '../world/world.ts';
import { type RaftSetupOptions, raftSetup } from './setup.ts';
import { inStorm, stormPolicy } from './storm.ts';

export interface RaftSwarmOptions {
  /** Default: the seed's choice among all. */
  readonly subject?: string;
  /** 1 … 7. Default: the seed's choice of 3, 5 and 7. */
  readonly replicaCount?: number;
  /** Requests of all clients together. Default: enough for {@link RAFT_SWARM_LEAST}. */
  readonly requests?: number;
  readonly setup?: Pick<RaftSetupOptions, 'onParts' | 'onReplicaParts'>;
}

export interface RaftSwarm {
  readonly options: ClusterOptions;
  readonly subject: string;
  /** Whether links keep what they carry in order, or lose and double it as well. */
  readonly links: 'streams' | 'datagrams';
}

/** What every seed must come to, whatever befalls it. */
export const RAFT_SWARM_LEAST: ClusterLeast = { requests: 96, wraps: 3 };

/** Counters that every campaign of 200 seeds or more must have moved. */
export const RAFT_SWARM_COUNTERS: readonly Counter[] = [
  ...EVERY_SWARM_COUNTERS,
  // A request that is twice in a log is a rare coincidence.
  ...RAFT_COUNTERS.filter((counter) => counter !== 'requestsKnown'),
];

/** Heartbeats for which a cluster at peace is listened to. */
const PEACE_PINGS = 20;

export function raftQuorums(replicaCount: number): ClusterQuorums {
  const majority = Math.floor(replicaCount / 2) + 1;
  return { replication: majority, viewChange: majority };
}

export function raftSwarm(seed: number, wanted: RaftSwarmOptions = {}): RaftSwarm {
  const prng = new Prng(seed, Stream.swarm * 0x10000 + 2);
  const replicaCount = wanted.replicaCount ?? prng.pick([3, 3, 3, 3, 5, 5, 5, 7]);
  const subject = wanted.subject ?? prng.pick(SUBJECTS);
  const quorums = raftQuorums(replicaCount);
  const geometry = drawGeometry(prng);
  const isFar = prng.chance(1, 3);
  // How long it is to take, were it not for faults: these are spread over it, as requests are.
  const spanNs = prng.pick(isFar ? [12, 25] : [1, 4, 10, 25]) * SECOND;
  const storm = seed % 8 === 7 ? new Prng(seed, Stream.swarm * 0x10000 + 3) : null;
  const usual = drawPolicy(prng, isFar);
  const policy = storm === null ? usual : stormPolicy(storm);
  const faults = { ...drawFaults(prng, { spanNs, isRotten: false, replicaCount }), reformats: 0 };
  const { clocks, isGood } = drawClocks(prng, replicaCount, replicaCount);
  const core = drawCore(prng, quorums, new Array<boolean>(replicaCount).fill(true), false);
  const snapshotBytesMin = prng.pick([4096, 8192, 16_384, 32_768]);
  // Poison takes time: what it finds, every fourth run finds as well.
  const own = { geometry, replicaCount, policy, snapshotBytesMin, isPoisoned: seed % 4 === 0 };
  const setup = { ...wanted.setup, ...own };
  const clients = prng.chance(1, 8) ? prng.between(20, 60) : prng.between(1, 8);
  const requests = wanted.requests ?? prng.between(120, 160);
  const thinkNs = Math.floor((2 * spanNs * clients) / requests);
  const peers = drawPeers(prng, isFar);
  const options: ClusterOptions = {
    seed,
    replicaCount,
    engine: (replica) => raftSetup({ ...setup, replica }),
    quorums,
    subject: subjects[subject] as SubjectFactory,
    clients,
    requests,
    ...(wanted.requests === undefined ? { least: RAFT_SWARM_LEAST } : {}),
    client: drawClient(prng, { seed, isFar, thinkNs }),
    network: drawNetwork(prng, isFar),
    peers,
    disk: drawDisk(prng),
    clocks,
    siteFaults: isGood.map((isRight) => drawSiteFaults(prng, spanNs, isRight)),
    faults,
    core,
    isCoreAlone: prng.chance(1, 2),
    peace: peaceOf(replicaCount, policy),
  };
  const links = peers.isOrdered === true ? 'streams' : 'datagrams';
  return { subject, links, options: storm === null ? options : inStorm(options, storm) };
}

/** Small extents, so that each snapshot takes some and sets some free. */
function drawGeometry(prng: Prng): RaftGeometry {
  const extentSize = prng.pick([8192, 16_384, 16_384, 65_536]);
  const requestSizeMax = prng.pick([4096, 8192, 8192, 16_384]) - sometimes(prng, 2000);
  return { extentSize, requestSizeMax };
}

/** What may differ from cluster to cluster. Timers leave room for the way there and back. */
function drawPolicy(prng: Prng, isFar: boolean): Partial<Policy> & { electionTimerMs: number } {
  const electionTimerMs = isFar ? 1000 : prng.pick([200, 500, 1000]);
  return {
    electionTimerMs,
    electionRandomMs: electionTimerMs,
    preVote: prng.pick(['on', 'on', 'on', 'off', 'auto'] as const),
    inflightMax: prng.pick([64, 64, 1, 3]),
    batchEntriesMax: prng.pick([1024, 1024, 1, 4]),
    immediateCommitSync: prng.chance(7, 8),
    suspectOnRefused: prng.chance(1, 2),
    ackCopies: prng.chance(3, 4),
  };
}

/** Mostly quick; now and then a flush takes longer than an election. */
function drawDisk(prng: Prng): Partial<DiskOptions> {
  const factor = prng.pick([1, 1, 1, 1, 10, 10, 100]);
  const slow = ({ minNs, maxNs }: LatencyRange): LatencyRange => {
    return { minNs: minNs * factor, maxNs: maxNs * factor };
  };
  const { writeLatency, flushLatency } = DISK_DEFAULT;
  return { writeLatency: slow(writeLatency), flushLatency: slow(flushLatency) };
}

/** A heartbeat to everybody and an answer from each, half as much again for what is under way. */
function peaceOf(
  replicaCount: number,
  { electionTimerMs }: { readonly electionTimerMs: number },
): ClusterPeace {
  const pingMs = electionTimerMs / POLICY_OWN.pingDivisor;
  const messages = PEACE_PINGS * 2 * (replicaCount - 1);
  return {
    periodNs: Math.floor(PEACE_PINGS * pingMs) * MS,
    messagesMax: Math.ceil(1.5 * messages) + 10,
    messagesPerPulse: 8 * replicaCount,
  };
}
