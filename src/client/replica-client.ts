/**
 * The client of anybody's replicated state machine: commands in, results out, each executed exactly
 * once by the cluster however often it is sent. It finds the leader, follows it, and sends again
 * what has no answer; what it cannot know it says (`ERR_OUTCOME_UNKNOWN`).
 *
 * ```ts
 * const client = await connectReplica({ addresses: '3001,3002,3003', machine: counter });
 * const total = await client.submit({ add: 5 });
 * ```
 */
import { randomFillSync } from 'node:crypto';
import {
  CommandError,
  type CommandOutcome,
  type MachineDefinition,
  OPERATION_COMMANDS,
  OPERATION_MACHINE_MIN,
  OPERATION_QUESTIONS,
  RAFT_REPLICAS_MAX,
} from '../engine/index.ts';
import { assert } from '../stdx/index.ts';
import type { Reply } from './connection.ts';
import { ClientErrorCode, ReplicaClientError } from './errors.ts';
import { ReplicaConnection } from './replica-connection.ts';
import { parseTargets, type Targets } from './targets.ts';

/** The part of a definition that a client needs: how to write and how to read. */
export type MachineCodec<C, R, Q, A> = Pick<
  MachineDefinition<unknown, C, R, Q, A>,
  'name' | 'hasQuery' | 'encodeCommand' | 'decodeResult' | 'encodeQuestion' | 'decodeAnswer'
>;

export interface ConnectReplicaOptions<C = never, R = never, Q = never, A = never> {
  /** All replicas, in order: `3000`, `'127.0.0.1:3000'`, `'3001,3002,3003'`, or a list. */
  readonly addresses: Targets;
  /** What `defineMachine` has made. Left out: only {@link ReplicaClient.request} is of use. */
  readonly machine?: MachineCodec<C, R, Q, A>;
  /** 0 … 2^128 − 1. Default 0. */
  readonly cluster?: number | bigint;
  /** How long to look for a leader, milliseconds. Default 5000. */
  readonly connectTimeoutMs?: number;
  /** How long to wait for each answer, milliseconds. Default: for ever, as resending is safe. */
  readonly requestTimeoutMs?: number;
  /** Ends the connect, and the client afterwards, as `close` does. */
  readonly signal?: AbortSignal;
}

/**
 * Connects and registers a session. Rejects with a `ReplicaClientError` whose code says whether
 * nobody listens (`ERR_CONNECT_REFUSED`), the cluster is another one (`ERR_CONNECT_CLUSTER`) or
 * nobody answers (`ERR_CONNECT_TIMEOUT`); with an `AddressError` for addresses that make no sense;
 * with the signal's reason when it has aborted.
 */
export async function connectReplica<C = never, R = never, Q = never, A = never>(
  options: ConnectReplicaOptions<C, R, Q, A>,
): Promise<ReplicaClient<C, R, Q, A>> {
  const { addresses, machine, cluster, connectTimeoutMs, requestTimeoutMs, signal } = options;
  signal?.throwIfAborted();
  const connection = new ReplicaConnection({
    addresses: parseTargets(addresses, RAFT_REPLICAS_MAX),
    cluster: BigInt(cluster ?? 0),
    connectTimeoutMs: connectTimeoutMs ?? 5000,
    requestTimeoutMs: requestTimeoutMs ?? null,
    newClientId: () => randomFillSync(new Uint8Array(16)),
    nowMs: () => performance.now(),
    onClosed: () => signal?.removeEventListener('abort', onAbort),
  });
  const onAbort = (): void => connection.close(abortReason(signal));
  signal?.addEventListener('abort', onAbort, { once: true });
  await connection.open();
  return new ReplicaClient<C, R, Q, A>(connection, machine ?? null);
}

/** C command, R result, Q question, A answer: those of the machine. */
export class ReplicaClient<C = never, R = never, Q = never, A = never> implements AsyncDisposable {
  /** The bytes below. */
  readonly connection: ReplicaConnection;
  readonly #machine: MachineCodec<C, R, Q, A> | null;

  constructor(connection: ReplicaConnection, machine: MachineCodec<C, R, Q, A> | null) {
    this.connection = connection;
    this.#machine = machine;
  }

  /**
   * Has one command executed and resolves with its result. Commands that are submitted while others
   * are under way share a request; they are executed in the order in which they were submitted.
   *
   * Rejects with a `CommandError` when the machine answers with an error (its code is the machine's
   * own), else with a `ReplicaClientError`, whose `outcome` says whether the command may have been
   * executed. Throws what the machine's codec throws for a command that cannot be written.
   */
  async submit(command: C): Promise<R> {
    const machine = this.#definition('submit');
    const bytes = machine.encodeCommand(command);
    return await this.#share(OPERATION_COMMANDS, bytes, (item) => machine.decodeResult(item));
  }

  /** Answers a question as of now: everything that was answered before is in it. */
  async query(question: Q): Promise<A> {
    const machine = this.#definition('query');
    assert(machine.hasQuery, 'ReplicaClient: the machine answers no questions');
    const bytes = machine.encodeQuestion(question);
    return await this.#share(OPERATION_QUESTIONS, bytes, (item) => machine.decodeAnswer(item));
  }

  /**
   * One request as bytes, for machines that are no definitions: an operation from 128 to 255 and
   * its body, which must not change until the promise settles. Rejects as {@link submit}.
   */
  request(operation: number, body: Uint8Array): Promise<Reply> {
    const isOperation = Number.isInteger(operation) && operation <= 255;
    assert(isOperation && operation >= OPERATION_MACHINE_MIN, 'ReplicaClient: not an operation');
    return new Promise((resolve, reject) => {
      this.connection.enqueue({
        operation,
        bytes: body,
        isShared: false,
        take: (part, op, timestamp) => {
          resolve({ body: part.slice(), op, timestamp });
          return true;
        },
        fail: reject,
      });
    });
  }

  /**
   * Closes the sockets. Calls under way reject with `ERR_OUTCOME_UNKNOWN`, calls that were not sent
   * yet with `ERR_NOT_SENT`, later ones with `ERR_CLIENT_CLOSED`.
   */
  close(): void {
    this.connection.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }

  #definition(method: string): MachineCodec<C, R, Q, A> {
    if (this.#machine === null) {
      throw new TypeError(`${method} needs the option machine of connectReplica`);
    }
    return this.#machine;
  }

  #share<T>(
    operation: number,
    bytes: Uint8Array,
    decode: (item: Uint8Array) => CommandOutcome<T>,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const take = (item: Uint8Array): boolean => {
        const outcome = outcomeOf(item, decode);
        if (outcome.status === 'deferred') return false;
        if (outcome.status === 'ok') resolve(outcome.result);
        else reject(outcome.error);
        return true;
      };
      this.connection.enqueue({ operation, bytes, isShared: true, take, fail: reject });
    });
  }
}

type Outcome<T> =
  | { readonly status: 'ok'; readonly result: T }
  | { readonly status: 'failed'; readonly error: Error }
  | { readonly status: 'deferred' };

/** Whatever a server sends, it ends as a result or as an error. */
function outcomeOf<T>(
  item: Uint8Array,
  decode: (item: Uint8Array) => CommandOutcome<T>,
): Outcome<T> {
  try {
    const outcome = decode(item);
    if (outcome.status !== 'failed') return outcome;
    return { status: 'failed', error: new CommandError(outcome.code, outcome.message) };
  } catch (error) {
    const text = `the outcome cannot be read: ${error instanceof Error ? error.message : error}`;
    const unreadable = new ReplicaClientError(ClientErrorCode.protocol, text, 'unknown');
    return { status: 'failed', error: unreadable };
  }
}

function abortReason(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error('aborted');
}
