/** Machines with a mistake each, of the kinds that people make, and one without. */
import { randomInt } from 'node:crypto';
import {
  CommandError,
  type CommandOutcome,
  defineMachine,
  type MachineDefinition,
  valueCodec,
} from '../../engine/index.ts';
import type { SimulateOptions } from './options.ts';

/** Tickets are drawn for people; each may give his back. */
export interface Tickets {
  next: number;
  readonly held: Map<string, number>;
}

export type TicketCommand =
  | { readonly type: 'draw'; readonly who: string }
  | { readonly type: 'give-back'; readonly who: string };

type TicketMachine<R = number> = MachineDefinition<
  Tickets,
  TicketCommand,
  R,
  string,
  number | null
>;

type Apply = (state: Tickets, command: TicketCommand, timestampMs: number) => number;

/** What every one of them does, where it makes no mistake. */
const draw: Apply = (state, command) => {
  if (command.type === 'draw') {
    if (state.held.has(command.who)) throw new CommandError('ERR_HAS_ONE', 'has a ticket already');
    state.held.set(command.who, state.next);
    return state.next++;
  }
  const ticket = state.held.get(command.who) ?? 0;
  state.held.delete(command.who);
  return ticket;
};

const initial = (): Tickets => ({ next: 1, held: new Map() });

function machineOf(apply: Apply): TicketMachine {
  return defineMachine({
    name: 'tickets',
    initial,
    apply: (state: Tickets, command: TicketCommand, { timestampMs }) =>
      apply(state, command, timestampMs),
    query: (state: Tickets, who: string) => state.held.get(who) ?? null,
  });
}

export const tickets: TicketMachine = machineOf(draw);

/** Chance that everybody sees. */
export const chancy: TicketMachine = machineOf((state, command, timestampMs) => {
  if (command.type === 'draw') state.next += Math.floor(Math.random() * 3);
  return draw(state, command, timestampMs);
});

/** Chance that nobody can see from outside. */
export const secretlyChancy: TicketMachine = machineOf((state, command, timestampMs) => {
  if (command.type === 'draw') state.next += randomInt(3);
  return draw(state, command, timestampMs);
});

/** What time it is, it asks the machine under it. */
export const clocked: TicketMachine = machineOf((state, command, timestampMs) => {
  state.next = Math.max(state.next, Date.now() % 1000);
  return draw(state, command, timestampMs);
});

/** Something that all copies in a process share. */
let served = 0;
export const shared: TicketMachine = machineOf((state, command, timestampMs) => {
  served++;
  if (served % 50 === 0) state.next++;
  return draw(state, command, timestampMs);
});

export const throwing: TicketMachine = machineOf((state, command, timestampMs) => {
  if (command.type === 'give-back' && !state.held.has(command.who)) {
    throw new TypeError(`${command.who} has nothing to give back`);
  }
  return draw(state, command, timestampMs);
});

/** Gives the same number twice, to whoever comes thirteenth. */
export const overbooked: TicketMachine = machineOf((state, command, timestampMs) => {
  const ticket = draw(state, command, timestampMs);
  if (command.type === 'draw' && ticket === 13) state.next--;
  return ticket;
});

/** Its checkpoints hold less than its state. */
export const forgetful: MachineDefinition<Tickets, TicketCommand, number> = defineMachine({
  name: 'tickets',
  initial,
  apply: (state: Tickets, command: TicketCommand) => draw(state, command, 0),
  codecs: {
    state: {
      encode: ({ next }) => valueCodec<number>().encode(next),
      decode: (bytes): Tickets => ({ next: valueCodec<number>().decode(bytes), held: new Map() }),
    },
  },
});

/** Its checkpoints are in another order than its state, and order is what it answers with. */
export const disordered: MachineDefinition<Tickets, TicketCommand, string> = defineMachine({
  name: 'tickets',
  initial,
  apply: (state: Tickets, command: TicketCommand) => {
    draw(state, command, 0);
    const [first] = state.held.keys();
    return first ?? 'nobody';
  },
  codecs: {
    state: {
      encode: ({ next, held }) => {
        const sorted = [...held].toSorted(([a], [b]) => (a < b ? -1 : 1));
        return valueCodec<unknown>().encode([next, sorted]);
      },
      decode: (bytes): Tickets => {
        const [next, held] = valueCodec<[number, [string, number][]]>().decode(bytes);
        return { next, held: new Map(held) };
      },
    },
  },
});

export const curious: TicketMachine = defineMachine({
  name: 'tickets',
  initial,
  apply: (state: Tickets, command: TicketCommand) => draw(state, command, 0),
  query: (state: Tickets, who: string) => {
    const ticket = state.held.get(who);
    // As if whoever asks for a ticket that is not there had drawn one.
    if (ticket === undefined) state.held.set(who, 0);
    return ticket ?? null;
  },
});

export const people = ['ann', 'bob', 'cem', 'dora'] as const;

type TicketOptions = SimulateOptions<Tickets, TicketCommand, CommandOutcome<number>, string>;

export const ticketWorkload: TicketOptions['workload'] = (chance) => {
  const type = chance.chance(2, 3) ? 'draw' : 'give-back';
  return { type, who: chance.pick(people) };
};

/** A store of numbers under names. */
export type StoreCommand =
  | { readonly f: 'write'; readonly key: string; readonly value: number }
  | { readonly f: 'read'; readonly key: string };

export interface Store {
  readonly values: Map<string, number>;
  writes: number;
}

type StoreMachine = MachineDefinition<Store, StoreCommand, number | null>;

/** One that loses every so-manieth update although it says that all is well; 0: none. */
export function storeLosing(every: number): StoreMachine {
  return defineMachine({
    name: 'store',
    initial: (): Store => ({ values: new Map(), writes: 0 }),
    apply: (state, command: StoreCommand): number | null => {
      if (command.f === 'read') return state.values.get(command.key) ?? null;
      state.writes++;
      if (every === 0 || state.writes % every !== 0) state.values.set(command.key, command.value);
      return command.value;
    },
  });
}
