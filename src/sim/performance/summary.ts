/** The figures of one scenario over many seeds. */
import { FIGURES, type Figure, type Run, type Spread, spreadOf } from './figures.ts';
import { type Scenario, scenarioName } from './scenario.ts';

export interface Summary {
  readonly name: string;
  readonly scenario: Scenario;
  readonly seeds: number;
  readonly figures: { readonly [figure in Figure]: Spread };
  /** What replicas send each other by command, per operation committed: the mean of all runs. */
  readonly traffic: { readonly [command: string]: { messages: number; bytes: number } };
}

export function summarize(scenario: Scenario, runs: readonly Run[]): Summary {
  const figures = Object.fromEntries(
    FIGURES.map((name) => [name, spreadOf(runs.map((run) => run.figures[name]))]),
  ) as { [figure in Figure]: Spread };
  const name = scenarioName(scenario);
  return { name, scenario, seeds: runs.length, figures, traffic: trafficOf(runs) };
}

function trafficOf(runs: readonly Run[]): Summary['traffic'] {
  const ops = runs.reduce((sum, { commitments }) => sum + commitments.length, 0);
  const names = new Set(runs.flatMap(({ traffic }) => [...traffic.keys()]));
  const totals: { [command: string]: { messages: number; bytes: number } } = {};
  for (const name of names) {
    const all = runs.map(({ traffic }) => traffic.get(name) ?? { messages: 0, bytes: 0 });
    const perOp = (total: number): number => Math.round((total / ops) * 1000) / 1000;
    totals[name] = {
      messages: perOp(all.reduce((sum, { messages }) => sum + messages, 0)),
      bytes: perOp(all.reduce((sum, { bytes }) => sum + bytes, 0)),
    };
  }
  return totals;
}
