/**
 * Campaigns of simulated clusters: many seeds, on as many threads as there are processors to spare.
 * Each thread takes the next seed that nobody has taken; what a seed does depends on nothing else,
 * so the order does not matter.
 */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import {
  CLUSTER_SWARM_COUNTERS,
  type ClusterOptions,
  type ClusterReport,
  type ClusterSwarmOptions,
  type Counter,
  Coverage,
  clusterSwarm,
  type FailureCode,
  RAFT_SWARM_COUNTERS,
  raftSwarm,
  simulateCluster,
} from '../sim/index.ts';

export const PROTOCOLS = ['vsr', 'raft'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

export interface SimulationWanted extends Omit<ClusterSwarmOptions, 'setup'> {
  /** Default: vsr. */
  readonly protocol?: Protocol;
}

/** What every campaign of {@link SEEDS_FOR_COVERAGE} seeds or more must have moved. */
export const SWARM_COUNTERS_OF: { readonly [name in Protocol]: readonly Counter[] } = {
  vsr: CLUSTER_SWARM_COUNTERS,
  raft: RAFT_SWARM_COUNTERS,
};

/** A campaign of so many seeds must have seen everything at least once. */
export const SEEDS_FOR_COVERAGE = 200;

export interface SimulationResult {
  readonly seed: number;
  readonly replicaCount: number;
  /** How prepares travel; of Raft: how links are. */
  readonly topology: string;
  readonly machine: string;
  /** Fingerprint of the run. */
  readonly hash: string;
  /** Highest operation. */
  readonly op: number;
  /** Requests that were committed, registrations not counted. */
  readonly requests: number;
  /** Times around the log. */
  readonly wraps: number;
  readonly events: number;
  readonly virtualSeconds: number;
  readonly milliseconds: number;
  /** Shows it again. */
  readonly command: string;
  /** `null`: it passed. */
  readonly failure: { readonly code: FailureCode; readonly message: string } | null;
}

export interface CampaignOptions {
  readonly from: number;
  /** Included. */
  readonly to: number;
  readonly jobs: number;
  readonly wanted: SimulationWanted;
  readonly onResult: (result: SimulationResult) => void;
}

export interface CampaignResult {
  readonly seeds: number;
  readonly failed: number;
  readonly seconds: number;
  readonly coverage: Coverage;
}

/** One run, here. */
export function runSimulation(
  seed: number,
  wanted: SimulationWanted,
  trace?: (line: string) => void,
): { readonly result: SimulationResult; readonly report: ClusterReport } {
  const startMs = performance.now();
  const { options, subject, topology } = swarm(seed, wanted);
  const report = simulateCluster({ ...options, trace });
  const { failure, coverage, replicaCount, hash, opMax, virtualNs } = report;
  const result: SimulationResult = {
    seed,
    replicaCount,
    topology,
    machine: subject,
    hash,
    op: opMax,
    requests: coverage.count('commits') - coverage.count('pulses'),
    wraps: coverage.count('logWraps'),
    events: coverage.count('events'),
    virtualSeconds: virtualNs / 1e9,
    milliseconds: performance.now() - startMs,
    command: repeatCommand(seed, wanted),
    failure: failure === null ? null : { code: failure.code, message: failure.message },
  };
  return { result, report };
}

function swarm(
  seed: number,
  wanted: SimulationWanted,
): { readonly options: ClusterOptions; readonly subject: string; readonly topology: string } {
  if (wanted.protocol !== 'raft') return clusterSwarm(seed, wanted);
  const { options, subject, links } = raftSwarm(seed, wanted);
  return { options, subject, topology: links };
}

/** What shows the run of a seed again. */
function repeatCommand(seed: number, wanted: SimulationWanted): string {
  const { protocol = 'vsr', replicaCount, topology, subject } = wanted;
  const flags = [
    replicaCount === undefined ? '' : ` --replica-count ${replicaCount}`,
    topology === undefined ? '' : ` --topology ${topology}`,
    subject === undefined ? '' : ` --machine ${subject}`,
  ];
  return `roundelay simulate ${protocol} --seed ${seed}${flags.join('')}`;
}

interface Task {
  readonly isSimulation: true;
  /** The next seed, counted from `from`. */
  readonly next: Int32Array;
  readonly from: number;
  readonly to: number;
  readonly wanted: SimulationWanted;
}

type Note = SimulationResult | { readonly counts: readonly (readonly [Counter, number])[] };

export async function runCampaign(options: CampaignOptions): Promise<CampaignResult> {
  const { from, to, jobs, wanted, onResult } = options;
  const startMs = performance.now();
  const next = new Int32Array(new SharedArrayBuffer(4));
  const task: Task = { isSimulation: true, next, from, to, wanted };
  const coverage = new Coverage();
  let seeds = 0;
  let failed = 0;
  const onNote = (note: Note): void => {
    if ('counts' in note) {
      for (const [name, count] of note.counts) coverage.add(name, count);
      return;
    }
    seeds++;
    if (note.failure !== null) failed++;
    onResult(note);
  };
  const workers = Array.from({ length: Math.min(jobs, to - from + 1) }, () => {
    return new Promise<void>((resolve, reject) => {
      // Most of what a run makes dies young; a larger nursery is collected less often.
      const resourceLimits = { maxYoungGenerationSizeMb: 64 };
      const worker = new Worker(new URL(import.meta.url), { workerData: task, resourceLimits });
      worker.on('message', onNote);
      worker.on('error', reject);
      worker.on('exit', (code) => {
        if (code === 0) resolve();
        else reject(new Error(`a thread of the campaign ended with code ${code}`));
      });
    });
  });
  await Promise.all(workers);
  return { seeds, failed, seconds: (performance.now() - startMs) / 1000, coverage };
}

function isTask(data: unknown): data is Task {
  return typeof data === 'object' && data !== null && 'isSimulation' in data;
}

function work({ next, from, to, wanted }: Task): void {
  const coverage = new Coverage();
  for (;;) {
    const seed = from + Atomics.add(next, 0, 1);
    if (seed > to) break;
    try {
      const { result, report } = runSimulation(seed, wanted);
      coverage.merge(report.coverage);
      parentPort?.postMessage(result);
    } catch (error) {
      throw new Error(`the simulator failed: ${repeatCommand(seed, wanted)}`, { cause: error });
    }
  }
  parentPort?.postMessage({ counts: coverage.entries() });
}

if (!isMainThread && isTask(workerData)) work(workerData);
