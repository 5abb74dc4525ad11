/**
 * Anyone's state machine in a few lines: a state, a function that applies a command, and the rest
 * is done. What comes out of {@link defineMachine} is handed to a host (which replicates it with
 * the engine of your choice), to a client (which sends it commands) and to the simulator.
 *
 * ```ts
 * const counter = defineMachine({
 *   name: 'counter',
 *   initial: () => ({ total: 0 }),
 *   apply: (state, command: { readonly add: number }) => (state.total += command.add),
 * });
 * ```
 */
import { assert } from '../../stdx/index.ts';
import type { Checksum } from '../../wire/index.ts';
import type { Machine } from '../machine.ts';
import { readOutcome } from './define-batch.ts';
import {
  type AppliedCommand,
  type CommandOutcome,
  MACHINE_NAME_LENGTH_MAX,
  type MachineSpec,
  RESULT_SIZE_MAX_DEFAULT,
  RESULT_SIZE_MAX_MAX,
  RESULT_SIZE_MAX_MIN,
} from './define-spec.ts';
import { COMMAND_DEPTH_MAX, valueCodec } from './define-values.ts';
import { type CompleteSpec, DefinedMachine } from './defined-machine.ts';

/**
 * A defined machine: makes instances and speaks their format. S state, C command, R result,
 * Q question, A answer.
 */
export interface MachineDefinition<S, C, R, Q = never, A = never> {
  readonly name: string;
  /** Whether it answers questions. */
  readonly hasQuery: boolean;
  /** A fresh instance, for an engine. */
  machine(checksum: Checksum): Machine;
  /** The state of an instance, as it is now; to look at only. For tests. */
  state(machine: Machine): S;
  /**
   * Tells of every command that the instance executes from now on, and of what the definition
   * throws that is no {@link CommandError}. During `apply`: for hosts and simulators, which must
   * neither throw nor change anything.
   */
  observe(
    machine: Machine,
    onApplied: ((applied: AppliedCommand<C, R>) => void) | null,
    onError?: (error: unknown) => void,
  ): void;
  /** @throws what the codec throws for a command that cannot be written */
  encodeCommand(command: C): Uint8Array;
  /** One item of a reply. @throws TypeError when it is none */
  decodeResult(item: Uint8Array): CommandOutcome<R>;
  encodeQuestion(question: Q): Uint8Array;
  decodeAnswer(item: Uint8Array): CommandOutcome<A>;
}

/** Some definition, whatever its types. */
export type AnyMachineDefinition = MachineDefinition<unknown, unknown, unknown, unknown, unknown>;

/**
 * Makes a state machine of a few functions. See {@link MachineSpec} for what they must keep to.
 * Limits: 8,192 commands a request and what the cluster's request limit allows (1 MiB, 32 KiB in
 * development); results of 64 KiB unless `resultSizeMax` says otherwise; a state of 256 MiB, which
 * is encoded as a whole at each checkpoint.
 * @throws RangeError for a name or a `resultSizeMax` out of bounds
 */
export function defineMachine<S, C, R, Q = never, A = never>(
  spec: MachineSpec<S, C, R, Q, A>,
): MachineDefinition<S, C, R, Q, A> {
  const complete = completed(spec);
  const { name, query, codecs } = complete;
  return {
    name,
    hasQuery: query !== undefined,
    machine: (checksum) => new DefinedMachine(complete, checksum),
    state: (machine) => instanceOf(complete, machine).state,
    observe: (machine, onApplied, onError) =>
      instanceOf(complete, machine).observe(onApplied, onError ?? null),
    encodeCommand: (command) => codecs.command.encode(command),
    decodeResult: (item) => readOutcome(item, (bytes) => codecs.result.decode(bytes.slice())),
    encodeQuestion: (question) => codecs.question.encode(question),
    decodeAnswer: (item) => readOutcome(item, (bytes) => codecs.answer.decode(bytes.slice())),
  };
}

function completed<S, C, R, Q, A>(spec: MachineSpec<S, C, R, Q, A>): CompleteSpec<S, C, R, Q, A> {
  const { name, resultSizeMax = RESULT_SIZE_MAX_DEFAULT, codecs = {} } = spec;
  if (!/^[a-z][a-z0-9-]*$/.test(name) || name.length > MACHINE_NAME_LENGTH_MAX) {
    throw new RangeError(
      `machine name ${JSON.stringify(name)} is out of bounds, give a lower case letter, ` +
        `then letters, digits and dashes, ${MACHINE_NAME_LENGTH_MAX} at most`,
    );
  }
  const isSize = Number.isSafeInteger(resultSizeMax);
  if (!isSize || resultSizeMax < RESULT_SIZE_MAX_MIN || resultSizeMax > RESULT_SIZE_MAX_MAX) {
    throw new RangeError(
      `resultSizeMax ${resultSizeMax} is out of bounds, ` +
        `give ${RESULT_SIZE_MAX_MIN} to ${RESULT_SIZE_MAX_MAX}`,
    );
  }
  return {
    ...spec,
    resultSizeMax,
    codecs: {
      state: codecs.state ?? valueCodec(),
      command: codecs.command ?? valueCodec(COMMAND_DEPTH_MAX),
      result: codecs.result ?? valueCodec(),
      question: codecs.question ?? valueCodec(COMMAND_DEPTH_MAX),
      answer: codecs.answer ?? valueCodec(),
    },
  };
}

function instanceOf<S, C, R, Q, A>(
  spec: CompleteSpec<S, C, R, Q, A>,
  machine: Machine,
): DefinedMachine<S, C, R, Q, A> {
  const isDefined = machine instanceof DefinedMachine && machine.name === spec.name;
  assert(isDefined, 'MachineDefinition: not a machine of this definition');
  return machine as DefinedMachine<S, C, R, Q, A>;
}
