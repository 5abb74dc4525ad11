/**
 * Which world a seed is. Not every fault in every run: a run in which everything happens finds other
 * bugs than one in which a single thing happens often, so each seed draws which faults there are
 * and how many (swarm testing). Kinds that must all be met in a short campaign go by the seed's
 * remainder instead of by chance.
 */
import { Prng } from '../stdx/index.ts';
import type { ClientOptions } from './client.ts';
import type { Counter } from './coverage.ts';
import { DISK_DEFAULT, type LatencyRange } from './disk.ts';
import type { EngineSetup, SingleOptions } from './single.ts';
import type { SubjectFactory } from './subject.ts';
import { Stream } from './world.ts';

export interface SwarmOptions {
  readonly engine: EngineSetup;
  readonly subject: SubjectFactory;
}

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
  'pings',
  'clockSteps',
  'ioErrors',
  'noSpace',
  'halts',
];

export function swarmOptions(seed: number, { engine, subject }: SwarmOptions): SingleOptions {
  const prng = new Prng(seed, Stream.swarm);
  const sometimes = (max: number): number => (prng.chance(1, 2) ? 0 : prng.between(1, max));
  // Sessions are only forgotten when more than a cluster remembers have been made.
  const isChurn = seed % 8 === 1;
  const client: Partial<ClientOptions> = {
    repeats: sometimes(300),
    renewals: isChurn ? 700 : sometimes(100),
    awakenings: isChurn ? 300 : sometimes(100),
    abandons: sometimes(300),
    invalids: sometimes(100),
    pings: sometimes(200),
  };
  return {
    seed,
    engine,
    subject,
    clients: prng.between(1, 8),
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
      crashes: prng.chance(1, 8) ? 0 : prng.between(1, 8),
      ioErrors: seed % 4 === 2 ? prng.between(1, 3) : 0,
      fullDisks: seed % 4 === 3 ? prng.between(1, 3) : 0,
      clockSteps: sometimes(4),
    },
  };
}

/** From ten times as fast to ten times as slow. */
function scaled(prng: Prng, { minNs, maxNs }: LatencyRange): LatencyRange {
  const tenths = prng.pick([1, 5, 10, 10, 10, 30, 100]);
  return { minNs: (minNs * tenths) / 10, maxNs: (maxNs * tenths) / 10 };
}
