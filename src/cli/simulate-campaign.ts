/**
 * `roundelay simulate vsr|raft --seeds a..b`: many runs, how far they are, and what they came to.
 */
import type {
  CampaignOptions,
  CampaignResult,
  Protocol,
  SimulationResult,
} from '../lab/simulation.ts';
import type { FailureCode } from '../sim/index.ts';
import { ExitCode } from './exit-codes.ts';
import { CliError } from './problem.ts';
import { asCalled } from './shared/called.ts';
import { openProgress } from './shared/progress.ts';
import { worstExit } from './simulation-exit.ts';

/** Where no terminal watches, a line this often, milliseconds. */
const LINE_MS = 30_000;

export async function runSeeds(options: Omit<CampaignOptions, 'onResult'>): Promise<void> {
  const { runCampaign } = await import('../lab/simulation.ts');
  const { from, to } = options;
  const total = to - from + 1;
  const progress = await openProgress('seeds', total);
  const failures: FailureCode[] = [];
  const startMs = performance.now();
  let lineMs = startMs + LINE_MS;
  let done = 0;
  let events = 0;
  const onResult = (result: SimulationResult): void => {
    events += result.events;
    progress.update(++done);
    if (result.failure !== null) {
      printFailure(result, progress.print);
      failures.push(result.failure.code);
    }
    const nowMs = performance.now();
    if (process.stderr.isTTY || nowMs < lineMs || done === total) return;
    lineMs = nowMs + LINE_MS;
    const seconds = (nowMs - startMs) / 1000;
    const left = Math.ceil((seconds / done) * (total - done));
    const so = `${done} of ${total} seeds, ${failures.length} failed`;
    console.error(`${so}, ${seconds.toFixed(0)} s, ${rate(events, seconds)}, ${left} s left`);
  };
  try {
    const result = await runCampaign({ ...options, onResult });
    progress.stop();
    // Who chooses how many replicas there are rules out what takes more.
    const { protocol = 'vsr', replicaCount } = options.wanted;
    await printCampaign(result, failures, replicaCount === undefined ? protocol : null);
  } finally {
    progress.stop();
  }
}

/** What failed, and the command that shows it again. */
export function printFailure(
  result: SimulationResult,
  print: (line: string) => void = (line) => console.log(line),
): void {
  const { seed, replicaCount, topology, machine, hash, command, failure } = result;
  const [first = ''] = (failure?.message ?? '').split('\n');
  print(`FAIL seed ${seed} (${replicaCount} replicas, ${topology}, ${machine}): ${first}`);
  print(`hash ${hash}`);
  print(`  ${asCalled(command)}`);
}

export function failed(runs: number, failures: readonly FailureCode[]): CliError {
  return new CliError(`${failures.length} of ${runs} runs failed`, worstExit(failures));
}

async function printCampaign(
  { seeds, seconds, coverage }: CampaignResult,
  failures: readonly FailureCode[],
  ofAllKinds: Protocol | null,
): Promise<void> {
  const speed = rate(coverage.count('events'), seconds);
  console.log(`${seeds} seeds, ${failures.length} failed, ${seconds.toFixed(1)} s, ${speed}`);
  console.log(coverage.summary());
  if (failures.length > 0) throw failed(seeds, failures);
  if (ofAllKinds === null) return;
  const { SEEDS_FOR_COVERAGE, SWARM_COUNTERS_OF } = await import('../lab/simulation.ts');
  if (seeds < SEEDS_FOR_COVERAGE) return;
  const missing = coverage.missing(SWARM_COUNTERS_OF[ofAllKinds]);
  if (missing.length === 0) return;
  throw new CliError(`never happened: ${missing.join(', ')}`, ExitCode.simulationFailed);
}

function rate(events: number, seconds: number): string {
  return `${Math.round(events / Math.max(seconds, 1e-3))} events/s`;
}
