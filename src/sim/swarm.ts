/**
 * Which world a seed is. Not every fault in every run: a run in which everything happens finds
 * other bugs than one in which a single thing happens often, so each seed draws which faults there
 * are and how many (swarm testing). Kinds that must all be met in a short campaign go by the seed's
 * remainder instead of by chance.
 */
import { Prng } from '../stdx/index.ts';
import type { Geometry } from '../vsr/index.ts';
import type { ClientOptions } from './clients/client.ts';
import { DISK_DEFAULT } from './disk/disk.ts';
import type { EngineSetup } from './engine-setup.ts';
import type { FaultOptions } from './faults.ts';
import { replicaSetup } from './replica-setup.ts';
import type { SingleOptions } from './single.ts';
import type { SubjectFactory } from './subjects/subject.ts';
import type { Counter } from './world/coverage.ts';
import type { LatencyRange } from './world/latency.ts';
import { Stream } from './world/world.ts';

export interface SwarmOptions {
  /** Default: the replica, with a geometry that the seed draws. */
  readonly engine?: EngineSetup;
  readonly subject: SubjectFactory;
}

/** Little time between one power cut and the next. */
const STORM: Partial<FaultOptions> = {
  pause: { minNs: 50_000, maxNs: 5_000_000 },
  downtime: { minNs: 100_000, maxNs: 1_000_000 },
};

/** Counters that every campaign of 64 seeds or more must have moved. */
export const SWARM_COUNTERS: readonly Counter[] = [
  'commits',
  'replies',
  'crashes',
  'restarts',
  'crashesInRecovery',
  'crashesWithWrites',
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
  'sessionsAbandoned',
  'evictions',
  'refusals',
  'forgeries',
  'pings',
  'clockSteps',
  'ioErrors',
  'noSpace',
  'halts',
];

export function swarmOptions(seed: number, { engine, subject }: SwarmOptions): SingleOptions {
  const prng = new Prng(seed, Stream.swarm);
  const geometry = swarmGeometry(prng);
  const sometimes = (max: number): number => (prng.chance(1, 2) ? 0 : prng.between(1, max));
  // Sessions are only forgotten when more than a cluster remembers have been made.
  const isChurn = seed % 8 === 1;
  const isCrowd = seed % 8 === 5;
  const isStorm = seed % 8 === 6;
  const client: Partial<ClientOptions> = {
    repeats: sometimes(300),
    renewals: isChurn ? 700 : sometimes(100),
    awakenings: isChurn ? 300 : sometimes(100),
    abandons: sometimes(300),
    invalids: sometimes(100),
    pings: sometimes(200),
    forgeries: sometimes(100),
    // Idle clients leave the floor to timers.
    ...(prng.chance(1, 6) ? { think: { minNs: 0, maxNs: 300_000_000 } } : {}),
  };
  return {
    seed,
    engine: engine ?? replicaSetup({ geometry }),
    subject,
    // A crowd fills the pipeline and the queue behind it, but makes nobody lose a session.
    clients: isCrowd ? prng.between(20, 60) : prng.between(1, 8),
    requests: isChurn ? prng.between(120, 240) : prng.between(20, 240),
    client,
    network: {
      losses: sometimes(100),
      duplicates: sometimes(300),
      disconnects: sometimes(20),
    },
    disk: {
      readLatency: scaled(prng, DISK_DEFAULT.readLatency),
      writeLatency: scaled(prng, DISK_DEFAULT.writeLatency),
      flushLatency: scaled(prng, DISK_DEFAULT.flushLatency),
    },
    faults: {
      crashes: isStorm ? prng.between(15, 30) : prng.between(0, 8),
      ioErrors: seed % 4 === 2 ? prng.between(1, 3) : 0,
      fullDisks: seed % 4 === 3 ? prng.between(1, 3) : 0,
      clockSteps: sometimes(4),
      ...(isStorm ? STORM : {}),
    },
  };
}

/** Mostly the smallest logs, which wrap and checkpoint all the time. */
function swarmGeometry(prng: Prng): Geometry {
  const slots = prng.pick([40, 40, 40, 41, 47, 64, 96]);
  const slotSize = prng.pick([4096, 8192, 8192, 16_384, 65_536]);
  const requestSizeMax = prng.chance(1, 2) ? slotSize : slotSize - prng.below(2048);
  return { slots, slotSize, requestSizeMax };
}

/** From ten times as fast to ten times as slow. */
function scaled(prng: Prng, { minNs, maxNs }: LatencyRange): LatencyRange {
  const tenths = prng.pick([1, 5, 10, 10, 10, 30, 100]);
  return { minNs: (minNs * tenths) / 10, maxNs: (maxNs * tenths) / 10 };
}
