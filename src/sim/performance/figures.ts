/** The figures of a run, and of many runs of a scenario: the middle, and how they spread. */
import { assert } from '../../stdx/index.ts';
import type { Commitment, Meter, Traffic } from './meter.ts';

/** Figures in the order of tables. All times are virtual nanoseconds. */
export const FIGURES = [
  /** From the first request until the last answer. */
  'timeNs',
  'latencyP50Ns',
  'latencyP90Ns',
  'latencyP99Ns',
  'latencyMaxNs',
  /** From a prepare to the moment when its primary knows of a quorum: the mean. */
  'quorumNs',
  /** What replicas send each other, per operation committed. */
  'messages',
  'bytes',
  /** What the primary sends, to clients too, per operation committed. */
  'primaryBytes',
  /** Requests for prepares and headers, per operation committed. */
  'repairs',
  /** Prepares that came twice to one replica, per operation committed. */
  'duplicates',
  /** Prepares that the primary sent again, per operation committed. */
  'resent',
  /** How often it did so because no quorum had answered in time. */
  'timeouts',
  /** Operations that a backup was behind, at most. */
  'lagMax',
  'viewChanges',
  /** From the primary's end until another one had answered; 0: it did not end. */
  'failoverNs',
  /** From the start of a replica that was down until it had what it missed; 0: none was. */
  'catchUpNs',
] as const;

export type Figure = (typeof FIGURES)[number];
export type Figures = { readonly [figure in Figure]: number };

export interface Run {
  readonly figures: Figures;
  /** What replicas sent each other, by command. */
  readonly traffic: ReadonlyMap<string, Readonly<Traffic>>;
  readonly commitments: readonly Commitment[];
  /** Fingerprint of everything that happened: 16 hexadecimal digits. */
  readonly hash: string;
}

export interface Spread {
  readonly median: number;
  /** A tenth of the runs has less than `low`, a tenth more than `high`. */
  readonly low: number;
  readonly high: number;
}

export interface RunParts {
  readonly meter: Meter;
  /** Of all requests, nanoseconds. */
  readonly latencies: readonly number[];
  readonly timeNs: number;
  readonly viewChanges: number;
  readonly failoverNs: number;
  readonly catchUpNs: number;
}

export function figuresOf(parts: RunParts): Figures {
  const { meter, latencies, timeNs, viewChanges, failoverNs, catchUpNs } = parts;
  const ops = meter.commitments.length;
  assert(ops > 0 && latencies.length > 0, 'figuresOf: nothing was measured');
  const sorted = sortedOf(latencies);
  const peers = [...meter.peers.values()];
  const perOp = (total: number): number => rounded(total / ops);
  const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
  return {
    timeNs,
    latencyP50Ns: rank(sorted, 50),
    latencyP90Ns: rank(sorted, 90),
    latencyP99Ns: rank(sorted, 99),
    latencyMaxNs: rank(sorted, 100),
    quorumNs: Math.round(sum(meter.commitments.map(({ ns }) => ns)) / ops),
    messages: perOp(sum(peers.map(({ messages }) => messages))),
    bytes: perOp(sum(peers.map(({ bytes }) => bytes))),
    primaryBytes: perOp(meter.primaryBytes),
    repairs: perOp(meter.repairs),
    duplicates: perOp(meter.duplicates),
    resent: perOp(meter.resent),
    timeouts: meter.timeouts,
    lagMax: meter.lagMax,
    viewChanges,
    failoverNs,
    catchUpNs,
  };
}

export function spreadOf(values: readonly number[]): Spread {
  assert(values.length > 0, 'spreadOf: no values');
  const sorted = sortedOf(values);
  const half = sorted.length >> 1;
  const upper = sorted[half] as number;
  const median = sorted.length % 2 === 1 ? upper : ((sorted[half - 1] as number) + upper) / 2;
  return { median: rounded(median), low: rank(sorted, 10), high: rank(sorted, 90) };
}

/** To what is worth printing, so that JSON stays readable. */
function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}

function sortedOf(values: readonly number[]): Float64Array {
  return Float64Array.from(values).sort();
}

/** Nearest rank. */
function rank(sorted: Float64Array, percent: number): number {
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] as number;
}
