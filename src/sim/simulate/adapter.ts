/**
 * The two kinds of machines that can be tried out, made one: those that `defineMachine` made, whose
 * commands, results and states are values, and those that implement `Machine` themselves, whose are
 * bytes.
 */
import {
  type CommandOutcome,
  type Machine,
  type MachineDefinition,
  OPERATION_COMMANDS,
  OPERATION_QUESTIONS,
  packCommands,
  unpack,
} from '../../engine/index.ts';
import { type Checksum, createChecksum } from '../../wire/index.ts';
import type { Demand } from '../subjects/subject.ts';
import { show, showBytes } from './text.ts';

/** Makes a machine that has applied nothing. */
export type MachineFactory<M extends Machine = Machine> = (checksum: Checksum) => M;

/** S state, C command, O what a command comes to, Q question. */
export interface Adapter<S, C, O, Q> {
  readonly name: string;
  make(): Machine;
  state(machine: Machine): S;
  /** One request; several commands only when they can be packed. */
  request(commands: readonly C[]): Demand;
  readonly canPack: boolean;
  /** It answers questions. */
  readonly hasQuery: boolean;
  question(question: Q): Demand;
  /** What a reply says of each command of its request; `null`: this request has none. */
  outcomes(operation: number, reply: Uint8Array): readonly O[] | null;
  /** The result; what has none, as it is. */
  plain(outcome: O): unknown;
  /** An outcome that only a mistake explains. */
  problem(outcome: O): string | null;
  /** Tells of what the machine keeps to itself; the commands go on. */
  onError(machine: Machine, listener: (error: unknown) => void): void;
  describe(operation: number, reply: Uint8Array): string;
}

const checksum = createChecksum();

export function adaptDefinition<S, C, R, Q, A>(
  definition: MachineDefinition<S, C, R, Q, A>,
): Adapter<S, C, CommandOutcome<R>, Q> {
  const outcomes = (operation: number, reply: Uint8Array): CommandOutcome<R>[] | null => {
    if (operation !== OPERATION_COMMANDS) return null;
    return (unpack(reply) ?? []).map((item) => definition.decodeResult(item));
  };
  return {
    name: definition.name,
    make: () => definition.machine(checksum),
    state: (machine) => definition.state(machine),
    request: (commands) => {
      const bytes = commands.map((command) => definition.encodeCommand(command));
      return { operation: OPERATION_COMMANDS, body: packCommands(bytes) };
    },
    canPack: true,
    hasQuery: definition.hasQuery,
    question: (question) => {
      const bytes = definition.encodeQuestion(question);
      return { operation: OPERATION_QUESTIONS, body: packCommands([bytes]) };
    },
    outcomes,
    plain: (outcome) => (outcome.status === 'ok' ? outcome.result : outcome),
    problem: (outcome) => (outcome.status === 'failed' ? mistake(outcome) : null),
    onError: (machine, listener) => definition.observe(machine, null, listener),
    describe: (operation, reply) => {
      return outcomes(operation, reply)?.map(outcomeText).join(', ') ?? showBytes(reply);
    },
  };
}

export function adaptFactory<M extends Machine>(
  factory: MachineFactory<M>,
): Adapter<M, Demand, Uint8Array, Demand> {
  return {
    name: 'machine',
    make: () => factory(checksum),
    state: (machine) => machine as M,
    request: ([command]) => command as Demand,
    canPack: false,
    hasQuery: true,
    question: (question) => question,
    outcomes: (_, reply) => [reply.slice()],
    plain: (outcome) => outcome,
    problem: () => null,
    onError: () => {},
    describe: (_, reply) => showBytes(reply),
  };
}

/** Codes of outcomes that the machine itself makes of what should not be. */
const MISTAKES: readonly string[] = [
  'ERR_COMMAND_INVALID',
  'ERR_COMMAND_FAILED',
  'ERR_RESULT_TOO_LARGE',
  'ERR_RESULT_INVALID',
];

function mistake(outcome: { readonly code: string; readonly message: string }): string | null {
  return MISTAKES.includes(outcome.code) ? `${outcome.code}: ${outcome.message}` : null;
}

function outcomeText(outcome: CommandOutcome<unknown>): string {
  switch (outcome.status) {
    case 'ok':
      return show(outcome.result);
    case 'failed':
      return outcome.code;
    case 'deferred':
      return 'deferred';
  }
}
