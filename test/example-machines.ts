/**
 * The machines of the examples, as they stand there, with what it takes to try them out: workloads,
 * invariants, and models of what clients may be told.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { AnyMachineDefinition, MachineDefinition } from '../src/engine/index.ts';
import {
  type EngineName,
  type Model,
  type SimulateManyOptions,
  type SimulationsReport,
  simulateMany,
} from '../src/sim/index.ts';

const root = resolve(import.meta.dirname, '..');

export const MACHINES = ['counter', 'lock-service', 'key-value-watch', 'job-queue'] as const;
export type ExampleName = (typeof MACHINES)[number];

export interface Trial {
  readonly engine: EngineName;
  readonly seeds: number;
  readonly firstSeed: number;
  readonly requests?: number;
}

/** Tries a machine out, with three replicas or, by the seed, another number. */
export async function tryOut(name: ExampleName, trial: Trial): Promise<SimulationsReport> {
  const machine = await machineOf(name);
  return trials[name](machine, trial);
}

/** The module up to where it starts a cluster, with the machine as what it exports. */
async function machineOf(name: ExampleName): Promise<AnyMachineDefinition> {
  const text = readFileSync(join(root, 'examples', `${name}.ts`), 'utf8');
  const [head = ''] = text.split(/^(?:const engine|await using)/m);
  const variable = /^const (\w+) = defineMachine/m.exec(head)?.[1];
  if (variable === undefined) throw new Error(`examples/${name}.ts defines no machine`);
  const engine = join(root, 'src', 'engine', 'index.ts');
  const code = head
    .replaceAll(/^import .* from 'roundelay(?:\/client)?';$/gm, '')
    .replace("'roundelay/engine'", `'${engine}'`);
  const folder = mkdtempSync(join(tmpdir(), 'roundelay-example-'));
  try {
    const file = join(folder, `${name}.ts`);
    writeFileSync(file, `${code}\nexport { ${variable} as machine };\n`);
    const module: { readonly machine: AnyMachineDefinition } = await import(file);
    return module.machine;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

type Options<S, C, R, Q> = Omit<
  SimulateManyOptions<S, C, { readonly status: string; readonly result?: R }, Q>,
  keyof Trial
>;

/** What a machine is tried with; types are the example's own, which it does not export. */
function trialOf<S, C, R, Q = never>(options: Options<S, C, R, Q>) {
  return (machine: AnyMachineDefinition, trial: Trial): SimulationsReport => {
    const typed = machine as unknown as MachineDefinition<S, C, R, Q, unknown>;
    return simulateMany(typed, { ...trial, ...options } as never);
  };
}

const names = ['a', 'b', 'c', 'd'] as const;

const sums: Model<number, { readonly add: number }, number> = {
  name: 'sums',
  init: () => 0,
  step: (total, { add }, output) => {
    return output === undefined || output === total + add ? total + add : null;
  },
};

interface Locks {
  readonly tokens: number;
  readonly held: ReadonlyMap<string, { readonly token: number }>;
}
type LockCommand =
  | {
      readonly do: 'acquire';
      readonly lock: string;
      readonly owner: string;
      readonly forMs: number;
    }
  | { readonly do: 'release'; readonly lock: string; readonly token: number };

/** Every loan has a higher number than those before; whether there is one is for time to say. */
const tokens: Model<{ readonly last: number }, LockCommand, number> = {
  name: 'tokens',
  init: () => ({ last: 0 }),
  step: ({ last }, command, output) => {
    // One of unknown outcome may have taken a number, so the next need not be one more.
    if (output === undefined || command.do === 'release' || output === 0) return { last };
    return output > last ? { last: output } : null;
  },
  equal: (a, b) => a.last === b.last,
  hash: ({ last }) => last,
};

interface Cas {
  readonly key: string;
  readonly from: string | null;
  readonly to: string;
}

const settings: Model<{ readonly value: string | null }, Cas, boolean> = {
  name: 'settings',
  init: () => ({ value: null }),
  step: (state, { from, to }, output) => {
    const isDone = state.value === from;
    if (output !== undefined && output !== isDone) return null;
    return isDone ? { value: to } : state;
  },
  equal: (a, b) => a.value === b.value,
  hash: ({ value }) => value?.length ?? -1,
  partition: (history) => names.map((name) => history.filter(({ input }) => input.key === name)),
};

interface Jobs {
  readonly lastId: number;
  readonly open: readonly { readonly id: number }[];
}
type JobCommand =
  | { readonly push: string }
  | { readonly take: number }
  | { readonly finish: number };

const trials = {
  counter: trialOf<{ total: number }, { add: number }, number>({
    workload: (chance) => ({ add: chance.between(1, 1000) }),
    check: { linearizable: { model: sums as never } },
  }),
  'lock-service': trialOf<Locks, LockCommand, number>({
    workload: (chance, { held }) => {
      const lock = chance.pick(names);
      if (chance.chance(1, 3)) return { do: 'release', lock, token: held.get(lock)?.token ?? 1 };
      const forMs = chance.between(1, 2000);
      return { do: 'acquire', lock, owner: chance.pick(names), forMs };
    },
    check: {
      linearizable: { model: tokens as never },
      invariant: ({ tokens: count, held }) => {
        const loans = [...held.values()].map(({ token }) => token);
        if (loans.some((token) => token > count)) return 'a loan from the future';
        return new Set(loans).size === loans.length || 'two loans with one token';
      },
    },
  }),
  'key-value-watch': trialOf<ReadonlyMap<string, string>, Cas, boolean, string>({
    workload: (chance, state) => {
      const key = chance.pick(names);
      const from = chance.chance(2, 3) ? (state.get(key) ?? null) : chance.pick(names);
      return { key, from, to: `${chance.below(1000)}` };
    },
    questions: (chance) => chance.pick(names),
    check: { linearizable: { model: settings as never } },
  }),
  'job-queue': trialOf<Jobs, JobCommand, readonly { readonly id: number }[]>({
    workload: (chance, { lastId }) => {
      const choice = chance.below(5);
      if (choice < 2) return { push: `job ${chance.u32()}` };
      if (choice < 4) return { take: chance.between(1, 3) };
      return { finish: chance.between(0, lastId) };
    },
    check: {
      invariant: ({ lastId, open }) => {
        const ids = open.map(({ id }) => id);
        const isAscending = ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? 0));
        return (isAscending && (ids.at(-1) ?? 0) <= lastId) || `jobs ${ids} of ${lastId}`;
      },
    },
  }),
};
