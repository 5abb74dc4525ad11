/**
 * What the figures were when somebody last agreed to them, and how much worse they may be. Runs are
 * deterministic, but any change of what is sent or drawn makes another run of the same seed; so the
 * tolerance is what other seeds would show, not zero.
 */
import { FIGURES, type Figure } from './figures.ts';
import type { Summary } from './summary.ts';

export interface Baselines {
  /** By name of the scenario: the medians. */
  readonly [scenario: string]: { readonly [figure in Figure]: number };
}

interface Tolerance {
  /** Percent of the baseline. */
  readonly percent: number;
  /** On top of that, in the figure's unit. */
  readonly slack: number;
}

const MS = 1_000_000;

/** For figures of which less is better, that is: all. */
const TOLERANCES: { readonly [figure in Figure]: Tolerance } = {
  timeNs: { percent: 20, slack: 0 },
  latencyP50Ns: { percent: 20, slack: 0 },
  latencyP90Ns: { percent: 30, slack: 0 },
  latencyP99Ns: { percent: 60, slack: 0 },
  latencyMaxNs: { percent: 75, slack: 0 },
  quorumNs: { percent: 20, slack: 0 },
  messages: { percent: 20, slack: 2 },
  bytes: { percent: 20, slack: 2048 },
  primaryBytes: { percent: 20, slack: 512 },
  repairs: { percent: 50, slack: 1 },
  duplicates: { percent: 50, slack: 1 },
  resent: { percent: 50, slack: 0.3 },
  timeouts: { percent: 50, slack: 5 },
  lagMax: { percent: 100, slack: 16 },
  viewChanges: { percent: 0, slack: 0 },
  failoverNs: { percent: 75, slack: 50 * MS },
  catchUpNs: { percent: 40, slack: 50 * MS },
};

export interface Comparison {
  /** Figures that are worse than allowed, a line each. */
  readonly worse: string[];
  /** Figures that are better by as much: the baselines should follow. */
  readonly better: string[];
}

export function baselinesOf(summaries: readonly Summary[]): Baselines {
  return Object.fromEntries(
    summaries.map(({ name, figures }) => {
      const medians = FIGURES.map((figure) => [figure, figures[figure].median]);
      return [name, Object.fromEntries(medians) as { [figure in Figure]: number }];
    }),
  );
}

export function compare(summaries: readonly Summary[], baselines: Baselines): Comparison {
  const worse: string[] = [];
  const better: string[] = [];
  for (const { name, figures } of summaries) {
    const baseline = baselines[name];
    if (baseline === undefined) {
      worse.push(`${name}: has no baseline`);
      continue;
    }
    for (const figure of FIGURES) {
      const { percent, slack } = TOLERANCES[figure];
      const found = figures[figure].median;
      const was = baseline[figure];
      const line = `${name}: ${figure} is ${found}, was ${was}`;
      if (found > was * (1 + percent / 100) + slack) worse.push(line);
      else if (was > found * (1 + percent / 100) + slack) better.push(line);
    }
  }
  return { worse, better };
}
