/**
 * What a user says of his own state machine, and what comes out of one command: the types behind
 * {@link defineMachine}, its limits, and the one error that a command may answer with.
 */
import { assert } from '../../stdx/index.ts';
import { REPLY_BODY_SIZE_MAX } from '../limits.ts';

/** Operation of a request whose body is packed commands; its reply is as many packed outcomes. */
export const OPERATION_COMMANDS = 128;
/** The same with questions and answers; exists for machines that define `query`. */
export const OPERATION_QUESTIONS = 129;

/** Commands (or questions) of one request. */
export const COMMANDS_MAX = 8_192;
/** Bytes of an encoded result, unless a definition says otherwise. */
export const RESULT_SIZE_MAX_DEFAULT = 65_536;
/** What a definition may say at least and at most, bytes. */
export const RESULT_SIZE_MAX_MIN = 1_024;
export const RESULT_SIZE_MAX_MAX = 1_000_000;
/** Bytes of an encoded state; reaching it is a crash, so a larger one needs a `Machine` itself. */
export const STATE_SIZE_MAX = 268_435_456;
/** Characters of a machine's name: a lower case letter, then letters, digits and dashes. */
export const MACHINE_NAME_LENGTH_MAX = 32;
/** Characters of a {@link CommandError}'s code and message; longer messages are cut off. */
export const ERROR_CODE_LENGTH_MAX = 64;
export const ERROR_MESSAGE_LENGTH_MAX = 256;

/** Before each outcome: u32 size of what follows, u8 status. */
export const OUTCOME_HEAD_SIZE = 5;

// The first command of a request is always executed, however many there are.
assert(COMMANDS_MAX * OUTCOME_HEAD_SIZE + RESULT_SIZE_MAX_MAX <= REPLY_BODY_SIZE_MAX);
// Every error of a command fits where a result does: a UTF-16 unit has at most three bytes.
assert(ERROR_CODE_LENGTH_MAX + 1 + 3 * ERROR_MESSAGE_LENGTH_MAX <= RESULT_SIZE_MAX_MIN);

/** A value as bytes and back. Equal values must give equal bytes, on every replica. */
export interface Codec<T> {
  /** Throws when the value cannot be written. */
  encode(value: T): Uint8Array;
  /** The bytes are a copy and may be kept. Throws when they are not what `encode` writes. */
  decode(bytes: Uint8Array): T;
}

/** What comes with a command. Equal on all replicas. */
export interface CommandContext<S> {
  /** Position in the log of the request that carried the command; requests count up. */
  readonly op: number;
  /** Position of the command in its request, from 0: (op, index) is unique, and in order. */
  readonly index: number;
  /** Agreed time, milliseconds since 1970; never goes back. The only clock there is. */
  readonly timestampMs: number;
  /**
   * Takes the place of the state once `apply` has returned; not when it throws. Returns what it was
   * given. For states that are values, and for machines that must not be left half changed.
   */
  readonly replace: (state: S) => S;
}

/** A user's state machine. See {@link defineMachine}. */
export interface MachineSpec<S, C, R, Q, A> {
  /** `[a-z][a-z0-9-]*`, at most 32 characters. Names data files, so it must never change. */
  readonly name: string;
  /**
   * The state before the first command. Equal on all replicas, and in all releases of a program.
   * Without a codec of its own a state holds plain values only (objects, arrays, Map, Set, strings,
   * numbers, BigInt, Uint8Array …): what cannot be written down stops each replica at its next
   * checkpoint, which a simulation finds and a client must not be able to bring about.
   */
  readonly initial: () => S;
  /**
   * Executes one command: changes `state` (or replaces it, see {@link CommandContext}) and returns
   * the result. It has to be deterministic: no clock, no chance, no I/O, nothing asynchronous.
   *
   * Throw a {@link CommandError} to answer with an error; throw it before anything is changed:
   * **what was changed before a throw stays changed**, on all replicas alike. Whatever else is
   * thrown becomes `ERR_COMMAND_FAILED`, without its text (which may differ between replicas).
   */
  readonly apply: (state: S, command: C, context: CommandContext<S>) => R;
  /** Answers a question without changing anything. */
  readonly query?: (state: S, question: Q) => A;
  /** Largest encoded result or answer, bytes; larger ones become `ERR_RESULT_TOO_LARGE`. */
  readonly resultSizeMax?: number;
  /** Own formats; what is left out is written by {@link valueCodec}. */
  readonly codecs?: {
    readonly state?: Codec<S>;
    readonly command?: Codec<C>;
    readonly result?: Codec<R>;
    readonly question?: Codec<Q>;
    readonly answer?: Codec<A>;
  };
  /**
   * Told here, on each replica, what `apply` or `query` threw that was no {@link CommandError}.
   * For logs: it must not change anything.
   */
  readonly onError?: (error: unknown) => void;
}

/** A command that one replica has executed: its `apply` returned. */
export interface AppliedCommand<C, R> {
  readonly op: number;
  readonly index: number;
  readonly timestampMs: number;
  readonly command: C;
  /** What `apply` returned; parts of the state in it go on changing. */
  readonly result: R;
}

/** What a command (or a question) has come to. */
export type CommandOutcome<R> =
  | { readonly status: 'ok'; readonly result: R }
  /** `code` is stable: one of {@link CommandFailure}, or what `apply` has thrown. */
  | { readonly status: 'failed'; readonly code: string; readonly message: string }
  /**
   * Not executed, nor were those after it in the same request: their results might not have fitted
   * into the reply. To be sent again, in another request.
   */
  | { readonly status: 'deferred' };

/** Codes of outcomes that the machine itself makes. */
export type CommandFailure =
  /** The bytes are not a command; nothing was executed. */
  | 'ERR_COMMAND_INVALID'
  /** `apply` threw something; what it changed before stays. */
  | 'ERR_COMMAND_FAILED'
  /** The command was executed, its result is larger than `resultSizeMax`. */
  | 'ERR_RESULT_TOO_LARGE'
  /** The command was executed, its result cannot be written. */
  | 'ERR_RESULT_INVALID';

/** Thrown by `apply` (or `query`): the command's outcome is this error, on all replicas. */
export class CommandError extends Error {
  override readonly name: string = 'CommandError';
  /** Stable: capital letters, digits and underscores, at most 64 characters. */
  readonly code: string;

  /** Deterministic: the message must not name what only this replica knows. */
  constructor(code: string, message: string) {
    super(message.slice(0, ERROR_MESSAGE_LENGTH_MAX));
    if (!/^[A-Z][A-Z0-9_]*$/.test(code) || code.length > ERROR_CODE_LENGTH_MAX) {
      throw new RangeError(`${code} is no error code, give capital letters like ERR_NOT_FOUND`);
    }
    this.code = code;
  }
}
