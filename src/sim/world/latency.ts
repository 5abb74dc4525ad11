/**
 * How long things take: uniformly between two ends, or exponentially as on networks, where most
 * packets are quick and a few very late. Logarithms are not the same on every machine, so the
 * exponential distribution is a table of integers.
 */
import type { Prng } from '../../stdx/index.ts';

/** Nanoseconds, both ends included. */
export interface LatencyRange {
  readonly minNs: number;
  readonly maxNs: number;
}

/** Nanoseconds: the larger of `minNs` and an exponential draw, whose longest is 5.5 × `meanNs`. */
export interface LatencyTail {
  readonly minNs: number;
  readonly meanNs: number;
}

export type Latency = LatencyRange | LatencyTail;

export function drawLatency(prng: Prng, latency: Latency): number {
  if ('maxNs' in latency) return drawBetween(prng, latency.minNs, latency.maxNs);
  return Math.max(latency.minNs, drawExponential(prng, latency.meanNs));
}

/** Both ends included; in whole microseconds from `minNs` where there are too many nanoseconds. */
function drawBetween(prng: Prng, minNs: number, maxNs: number): number {
  const spanNs = maxNs - minNs;
  if (spanNs < 0xffff_ffff) return prng.between(minNs, maxNs);
  return minNs + 1000 * prng.below(Math.floor(spanNs / 1000) + 1);
}

/** A whole number, distributed exponentially with about this mean. */
export function drawExponential(prng: Prng, mean: number): number {
  const quantile = quantiles[prng.below(quantiles.length)] as number;
  // A little noise between one step of the table and the next, so that ties are rare.
  const noise = prng.below(16);
  return Math.floor((mean * (quantile * 16 + noise)) / (UNIT * 16));
}

const UNIT = 1024;

/** The mean of each 128th of the distribution's mass, in 1,024ths of the mean. */
const quantiles: readonly number[] = [
  5678, 4553, 4030, 3686, 3428, 3223, 3052, 2905, 2777, 2663, 2561, 2468, 2382, 2303, 2230, 2162,
  2098, 2038, 1981, 1927, 1876, 1827, 1780, 1736, 1693, 1652, 1613, 1575, 1538, 1503, 1469, 1436,
  1404, 1373, 1343, 1313, 1285, 1257, 1230, 1204, 1178, 1153, 1129, 1105, 1082, 1059, 1037, 1015,
  994, 973, 952, 932, 913, 893, 874, 856, 837, 819, 802, 784, 767, 751, 734, 718, 702, 686, 671,
  655, 640, 625, 611, 596, 582, 568, 554, 541, 527, 514, 501, 488, 475, 462, 450, 437, 425, 413,
  401, 390, 378, 366, 355, 344, 333, 322, 311, 300, 289, 279, 268, 258, 248, 238, 227, 218, 208,
  198, 188, 179, 169, 160, 151, 141, 132, 123, 114, 105, 96, 88, 79, 70, 62, 53, 45, 37, 28, 20, 12,
  4,
];
