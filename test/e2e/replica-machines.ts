/** The machines that the tests and benches of real replicas run, by name. */
import { defineMachine, type Machine, type MachineDefinition } from '../../src/engine/index.ts';
import { sharedCases } from '../../src/sim/index.ts';
import type { Checksum } from '../../src/wire/index.ts';

/** A value, or that there is none. */
export type StoreCommand =
  | { readonly f: 'put'; readonly key: string; readonly value: string }
  | { readonly f: 'get'; readonly key: string };

/** The key-value store that anybody would write first. */
export const store: MachineDefinition<
  Map<string, string>,
  StoreCommand,
  string | null
> = defineMachine({
  name: 'store',
  initial: () => new Map<string, string>(),
  apply: (state, command: StoreCommand): string | null => {
    if (command.f === 'get') return state.get(command.key) ?? null;
    const before = state.get(command.key) ?? null;
    state.set(command.key, command.value);
    return before;
  },
});

type MachineFactory = (checksum: Checksum) => Machine;

/** What `startReplica` takes: `store`, or one of the shared table. */
export function machineNamed(name: string): typeof store | MachineFactory {
  if (name === store.name) return store;
  const shared = sharedCases.find((one) => one.name === name);
  if (shared === undefined) throw new Error(`no machine is called ${name}`);
  return (checksum) => shared.machine(checksum);
}
