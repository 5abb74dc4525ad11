/** Machines and small conveniences for tests of replicas. */
import {
  CommandError,
  defineMachine,
  type EngineName,
  type MachineDefinition,
} from '../../engine/index.ts';
import type { StartedReplica } from './start-replica.ts';

export interface Shelf {
  readonly items: Map<string, number>;
  total: number;
}

export interface Put {
  readonly key: string;
  readonly add: number;
}

/** Counts by key; refuses what is negative. */
export const shelf: MachineDefinition<Shelf, Put, number, string, number> = defineMachine({
  name: 'shelf',
  initial: (): Shelf => ({ items: new Map(), total: 0 }),
  apply: (state, { key, add }: Put): number => {
    if (key === 'bug') throw new TypeError('a bug of the machine');
    if (add < 0) throw new CommandError('ERR_NEGATIVE', `${key} would get less`);
    const count = (state.items.get(key) ?? 0) + add;
    state.items.set(key, count);
    state.total += add;
    return count;
  },
  query: (state, key: string): number => state.items.get(key) ?? 0,
});

export type ShelfReplica = StartedReplica<Shelf, Put, number>;

/** Engines that the tests run on. */
export const engines: readonly EngineName[] = ['vsr', 'raft'];

/** Waits until it holds, or fails with what was looked at last. */
export async function until<T>(
  what: string,
  look: () => T,
  holds: (value: T) => boolean,
  limitMs: number = 20_000,
): Promise<T> {
  const startMs = performance.now();
  for (;;) {
    const value = look();
    if (holds(value)) return value;
    if (performance.now() - startMs > limitMs) {
      throw new Error(`${what}: ${JSON.stringify(value)} after ${limitMs} ms`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** All have executed the same, up to the same operation. */
export async function agreed(replicas: readonly ShelfReplica[]): Promise<void> {
  const look = (): readonly string[] =>
    replicas.map((one) => `${one.status().commitMin} ${one.root()}`);
  await until('agreement', look, (all) => new Set(all).size === 1);
}
