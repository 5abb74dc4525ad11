/**
 * Performance of simulated clusters: scenarios, each with several seeds, on several threads. Each
 * thread takes the next scenario that nobody has taken; a scenario and a seed decide every figure,
 * so neither threads nor their order make a difference.
 */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { perform, type Run, type Scenario, type Summary, summarize } from '../sim/index.ts';

export interface PerformanceOptions {
  readonly scenarios: readonly Scenario[];
  /** Runs of each scenario, with the seeds from 1 on; one where nothing varies. */
  readonly seeds: number;
  readonly jobs: number;
  /** So many scenarios are done. */
  readonly onProgress?: (done: number) => void;
  readonly signal?: AbortSignal;
}

/** A run that did not come to its end. */
export interface PerformanceFailure {
  readonly scenario: Scenario;
  readonly seed: number;
  readonly message: string;
}

export interface PerformanceResult {
  /** In the order of the scenarios; those that failed are left out. */
  readonly summaries: readonly Summary[];
  readonly failures: readonly PerformanceFailure[];
  readonly seconds: number;
}

interface Task {
  readonly isPerformance: true;
  /** The next scenario, by index. */
  readonly next: Int32Array;
  readonly scenarios: readonly Scenario[];
  readonly seeds: number;
}

type Note = { readonly index: number } & (
  | { readonly summary: Summary }
  | { readonly failure: PerformanceFailure }
);

export async function runPerformance(options: PerformanceOptions): Promise<PerformanceResult> {
  const { scenarios, seeds, jobs, onProgress, signal } = options;
  const startMs = performance.now();
  const next = new Int32Array(new SharedArrayBuffer(4));
  const task: Task = { isPerformance: true, next, scenarios, seeds };
  const summaries: (Summary | undefined)[] = [];
  const failures: PerformanceFailure[] = [];
  let done = 0;
  const onNote = (note: Note): void => {
    if ('summary' in note) summaries[note.index] = note.summary;
    else failures.push(note.failure);
    onProgress?.(++done);
  };
  const workers = Array.from({ length: Math.min(jobs, scenarios.length) }, () => {
    return new Promise<void>((resolve, reject) => {
      const worker = new Worker(new URL(import.meta.url), { workerData: task });
      worker.on('message', onNote);
      worker.on('error', reject);
      worker.on('exit', () => resolve());
      signal?.addEventListener('abort', () => {
        void worker.terminate();
        reject(signal.reason);
      });
    });
  });
  await Promise.all(workers);
  return {
    summaries: summaries.filter((summary) => summary !== undefined),
    failures,
    seconds: (performance.now() - startMs) / 1000,
  };
}

function measure(scenario: Scenario, seedsMax: number): Summary | PerformanceFailure {
  const runs: Run[] = [];
  const seeds = scenario.network === 'hops' ? 1 : seedsMax;
  for (let seed = 1; seed <= seeds; seed++) {
    try {
      runs.push(perform(scenario, { seed }));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { scenario, seed, message };
    }
  }
  return summarize(scenario, runs);
}

function isTask(data: unknown): data is Task {
  return typeof data === 'object' && data !== null && 'isPerformance' in data;
}

function work({ next, scenarios, seeds }: Task): void {
  for (;;) {
    const index = Atomics.add(next, 0, 1);
    const scenario = scenarios[index];
    if (scenario === undefined) return;
    const found = measure(scenario, seeds);
    const note: Note = 'figures' in found ? { index, summary: found } : { index, failure: found };
    parentPort?.postMessage(note);
  }
}

if (!isMainThread && isTask(workerData)) work(workerData);
