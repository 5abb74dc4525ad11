/** What a run has come to, in words: above all what a failed one says to whoever reads it. */
import type { ClusterReport } from '../cluster/options.ts';
import type { SimulationFailure } from '../world/failure.ts';
import type { Wish } from './conditions.ts';
import { MachineFailure } from './machine-failure.ts';
import type {
  FailureReport,
  SimulateOptions,
  SimulationReport,
  SimulationsReport,
} from './options.ts';
import { show } from './text.ts';
import type { Trial } from './trial.ts';

export interface Findings<S, C, O, Q> {
  readonly wish: Wish;
  readonly options: SimulateOptions<S, C, O, Q>;
  readonly report: ClusterReport;
  readonly trial: Trial<S, C, O, Q>;
  readonly tail: readonly string[];
}

export function runReport<S, C, O, Q>(findings: Findings<S, C, O, Q>): SimulationReport {
  const { wish, options, report } = findings;
  const { seed, engine, replicas } = wish;
  const { coverage, hash, virtualNs } = report;
  const failure = report.failure === null ? null : failureReport(findings, report.failure);
  const counts = Object.fromEntries(coverage.entries());
  // Without a model nobody has judged anything.
  if (options.check?.linearizable === undefined) delete counts['testimonies'];
  const numbers = {
    virtualMs: Math.round(virtualNs / 1e6),
    requests: coverage.count('requests'),
    events: coverage.count('events'),
  };
  const text = failure === null ? passedText(wish, numbers) : failedText(wish, failure);
  const fixed = { seed, ok: failure === null, failure, engine, replicas };
  return { ...fixed, coverage: counts, hash, ...numbers, text };
}

export function manyReport(reports: readonly SimulationReport[]): SimulationsReport {
  const failed = reports.find(({ ok }) => !ok) ?? null;
  const coverage: { [counter: string]: number } = {};
  for (const report of reports) {
    for (const [name, count] of Object.entries(report.coverage)) {
      coverage[name] = (coverage[name] ?? 0) + count;
    }
  }
  const requests = sum(reports.map((report) => report.requests));
  const events = sum(reports.map((report) => report.events));
  const passed = `${reports.length} runs passed: ${requests} requests, ${events} events`;
  const text = failed === null ? passed : failed.text;
  return { ok: failed === null, runs: reports.length, failed, coverage, requests, events, text };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function passedText(
  { seed, engine, replicas }: Wish,
  { requests, events, virtualMs }: { requests: number; events: number; virtualMs: number },
): string {
  const what = `${engine}, ${replicas} replicas, ${requests} requests, ${events} events`;
  return `seed ${seed} passed: ${what}, ${virtualMs} virtual ms`;
}

function failedText({ seed }: Wish, failure: FailureReport): string {
  const lines = [`seed ${seed} failed: ${failure.code}`, failure.message, 'do it again:'];
  lines.push(`  ${failure.again}`);
  if (failure.trace.length > 0) lines.push('the last events and effects (> and <):');
  lines.push(...failure.trace.map((line) => `  ${line}`));
  return lines.join('\n');
}

function failureReport<S, C, O, Q>(
  findings: Findings<S, C, O, Q>,
  failure: SimulationFailure,
): FailureReport {
  const { trial, tail } = findings;
  const again = againText(findings);
  if (!(failure instanceof MachineFailure)) {
    const text = failure.message.slice(failure.code.length + 2);
    const message = indent(text);
    return { code: failure.code, message, replica: null, op: null, again, trace: tail };
  }
  const { kind, place, text, request } = failure;
  const lines = [`  ${where(place.replica, place.life)}: ${text}`];
  const { story } = trial.parts;
  const client = request === null ? null : story.clientOf(request);
  if (client !== null) {
    lines.push(`  the last requests of ${client}, which asked for it:`);
    lines.push(...story.lastOf(client).map((line) => `    ${line}`));
  }
  const message = lines.join('\n');
  const { replica, op } = place;
  return { code: kind, message, replica, op, again, trace: tail };
}

function where(replica: number | null, life: number): string {
  if (replica === null) return 'reference';
  return life === 1
    ? `replica ${replica}`
    : `replica ${replica}, started for the ${nth(life)} time`;
}

function nth(count: number): string {
  if (count === 2) return '2nd';
  return count === 3 ? '3rd' : `${count}th`;
}

function indent(text: string): string {
  return text
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');
}

/** What was given as a number or a word is repeated; functions are named. */
function againText<S, C, O, Q>({ wish, options, trial }: Findings<S, C, O, Q>): string {
  const { seed, engine, replicas, requests, faults } = wish;
  const given: string[] = [`seed: ${seed}`];
  if (options.engine !== undefined) given.push(`engine: '${engine}'`);
  if (options.replicas !== undefined) given.push(`replicas: ${replicas}`);
  if (options.clients !== undefined) given.push(`clients: ${options.clients}`);
  if (options.requests !== undefined) given.push(`requests: ${requests}`);
  if (typeof faults === 'object') given.push(`faults: ${show(faults)}`);
  else if (options.faults !== undefined) given.push(`faults: '${faults}'`);
  given.push('workload');
  if (options.questions !== undefined) given.push('questions');
  if (options.check !== undefined) given.push('check');
  // As one would name it: `keyValue` for `key-value`.
  const name = trial.parts.adapter.name.replaceAll(/-(.)/g, (_, next: string) =>
    next.toUpperCase(),
  );
  return `simulate(${name}, { ${given.join(', ')}, trace: console.log })`;
}
