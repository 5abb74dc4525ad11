/**
 * The experiment as a whole: one dead replica of a cluster, in every topology and at every distance
 * from the primary. Runs are interleaved with healthy ones; a run that breaks is a result and does
 * not keep the others from being made. Prints nothing; the command does.
 */
import { tmpdir } from 'node:os';
import type { TopologyName } from '../../vsr/index.ts';
import { type Calibration, calibrate } from '../calibration.ts';
import { LoadError } from '../errors.ts';
import { median } from '../percentile.ts';
import { type Cell, cellText, kindRules, planSteps, type Step } from './cells.ts';
import { type RunOptions, runCell } from './run-cell.ts';
import type { RunResult, StepResult } from './run-result.ts';
import { type CellSummary, summarize } from './summary.ts';

export interface DeadReplicaOptions extends RunOptions {
  readonly cells: readonly Cell[];
  /** Of each cell. */
  readonly rounds: number;
  /** The pace of open loops; `null`: half of what the healthy topology does in a closed one. */
  readonly batchesPerSecond: number | null;
}

export interface DeadReplicaHooks {
  /** `index` of `count` runs is about to begin. */
  onStep?(step: Step, index: number, count: number): void;
  onRun?(step: Step, result: RunResult): void;
}

export interface DeadReplicaResult {
  readonly calibration: Calibration;
  readonly cells: readonly CellSummary[];
  readonly runs: readonly StepResult[];
}

/** Of what the healthy closed loop does, an open loop asks for this share. */
const OPEN_SHARE = 0.5;

/** Rejects with the signal's reason, or when a cluster cannot be had at all. */
export async function runDeadReplica(
  options: DeadReplicaOptions,
  hooks: DeadReplicaHooks = {},
  signal: AbortSignal | null = null,
): Promise<DeadReplicaResult> {
  const calibration = await calibrate(options.directory ?? tmpdir());
  const steps = planSteps(options.cells, options.rounds);
  const paces = new Paces(options);
  const runs: StepResult[] = [];
  for (const [index, step] of steps.entries()) {
    signal?.throwIfAborted();
    hooks.onStep?.(step, index, steps.length);
    const { cell } = step;
    const isOpen = kindRules[cell.kind].loop === 'open';
    const pace = isOpen ? await paces.of(cell.topology, signal) : null;
    const result = await runCell(cell, options, pace, signal);
    paces.learn(result);
    runs.push({ step, result });
    hooks.onRun?.(step, result);
  }
  return { calibration, cells: summarize(options.cells, runs), runs };
}

/** How fast open loops go, which is the same for all of a topology. */
class Paces {
  readonly #options: DeadReplicaOptions;
  /** Batches per second of healthy closed loops. */
  readonly #capacities: Map<TopologyName, number[]> = new Map();
  readonly #paces: Map<TopologyName, number> = new Map();

  constructor(options: DeadReplicaOptions) {
    this.#options = options;
  }

  learn({ cell, hasEnded, batches, seconds }: RunResult): void {
    if (cell.kind !== 'closed' || cell.distance !== null || !hasEnded) return;
    const known = this.#capacities.get(cell.topology) ?? [];
    this.#capacities.set(cell.topology, [...known, batches / seconds]);
  }

  /** Batches per second; measured first if no healthy closed loop has been run. */
  async of(topology: TopologyName, signal: AbortSignal | null): Promise<number> {
    const decided = this.#options.batchesPerSecond ?? this.#paces.get(topology);
    if (decided !== undefined) return decided;
    if (!this.#capacities.has(topology)) {
      const healthy: Cell = { topology, kind: 'closed', distance: null };
      const result = await runCell(healthy, this.#options, null, signal);
      if (!result.hasEnded) {
        const why = result.error ?? 'it did not end';
        throw new LoadError(`no pace for an open loop: ${cellText(healthy)}: ${why}`);
      }
      this.learn(result);
    }
    const pace = OPEN_SHARE * median(this.#capacities.get(topology) ?? []);
    this.#paces.set(topology, pace);
    return pace;
  }
}
