/**
 * The {@link Machine} behind a user's definition: unpacks commands, lets the definition execute
 * them, packs what it says, and turns the whole state into blocks at each checkpoint. That is its
 * limit: a cut takes as long as encoding the state. What must not wait for that, or does not fit
 * into memory twice, implements `Machine` itself.
 *
 * The blocks hold: u32 format, u32 length of the name, the name, then the encoded state.
 */
import { assert, readU32, type U64, writeU32 } from '../../stdx/index.ts';
import type { Checksum } from '../../wire/index.ts';
import {
  type ApplyContext,
  type Block,
  type Machine,
  OPERATION_PULSE,
  type ReadRequest,
  type Validity,
} from '../machine.ts';
import { isPacked, OutcomeWriter, unpack } from './define-batch.ts';
import { StateBlocks } from './define-blocks.ts';
import {
  type AppliedCommand,
  type Codec,
  type CommandContext,
  CommandError,
  type MachineSpec,
  OPERATION_COMMANDS,
  OPERATION_QUESTIONS,
  STATE_SIZE_MAX,
} from './define-spec.ts';

/** A definition whose gaps are filled. */
export interface CompleteSpec<S, C, R, Q, A> extends MachineSpec<S, C, R, Q, A> {
  readonly resultSizeMax: number;
  readonly codecs: {
    readonly state: Codec<S>;
    readonly command: Codec<C>;
    readonly result: Codec<R>;
    readonly question: Codec<Q>;
    readonly answer: Codec<A>;
  };
}

const STATE_FORMAT = 1;
const STATE_HEAD_SIZE = 8;
const NS_PER_MS = 1_000_000;
const LIMB = 0x1_0000_0000;

export class DefinedMachine<S, C, R, Q, A> implements Machine {
  readonly #spec: CompleteSpec<S, C, R, Q, A>;
  readonly #blocks: StateBlocks;
  readonly #head: Uint8Array;
  #state: S;
  /** Whether something may have changed since the last cut. */
  #isChanged: boolean = true;
  #onApplied: ((applied: AppliedCommand<C, R>) => void) | null = null;
  #onError: ((error: unknown) => void) | null = null;

  constructor(spec: CompleteSpec<S, C, R, Q, A>, checksum: Checksum) {
    this.#spec = spec;
    this.#blocks = new StateBlocks(checksum);
    this.#state = spec.initial();
    const name = new TextEncoder().encode(spec.name);
    this.#head = new Uint8Array(STATE_HEAD_SIZE + name.length);
    writeU32(this.#head, 0, STATE_FORMAT);
    writeU32(this.#head, 4, name.length);
    this.#head.set(name, STATE_HEAD_SIZE);
  }

  /** Of the definition it was made from. */
  get name(): string {
    return this.#spec.name;
  }

  /** As it is now; to look at only. */
  get state(): S {
    return this.#state;
  }

  /**
   * The listeners hear, during `apply`, of each executed command, and of what the definition threw
   * that was no {@link CommandError}. They replace earlier ones.
   */
  observe(
    onApplied: ((applied: AppliedCommand<C, R>) => void) | null,
    onError: ((error: unknown) => void) | null,
  ): void {
    this.#onApplied = onApplied;
    this.#onError = onError;
  }

  validate(operation: number, body: Uint8Array, bodySizeMax: number): Validity {
    const isKnown = operation === OPERATION_QUESTIONS && this.#spec.query !== undefined;
    if (operation !== OPERATION_COMMANDS && !isKnown) return 'invalid-operation';
    return body.length <= bodySizeMax && isPacked(body) ? 'valid' : 'invalid-body';
  }

  reserve(_operation: number, _body: Uint8Array): number {
    return 0;
  }

  prefetch(_operation: number, _body: Uint8Array): readonly ReadRequest[] {
    return [];
  }

  apply(context: ApplyContext, operation: number, body: Uint8Array, reply: Uint8Array): number {
    if (operation === OPERATION_PULSE) return 0;
    if (operation !== OPERATION_COMMANDS) return this.query(operation, body, reply);
    this.#isChanged = true;
    const timestampMs = millisecondsOf(context.timestamp);
    return this.#each(body, reply, (command, index, outcomes) =>
      this.#execute(command, { op: context.op, index, timestampMs }, outcomes),
    );
  }

  query(operation: number, body: Uint8Array, reply: Uint8Array): number {
    assert(operation === OPERATION_QUESTIONS, 'DefinedMachine: not a query');
    return this.#each(body, reply, (question, _index, outcomes) =>
      this.#answer(question, outcomes),
    );
  }

  due(_timestamp: U64): boolean {
    return false;
  }

  cut(_op: number): number {
    if (!this.#isChanged) return 0;
    this.#isChanged = false;
    return this.#blocks.cut(this.#encode());
  }

  slice(): Block | null {
    return this.#blocks.slice();
  }

  rootOfCut(): Uint8Array {
    return this.#blocks.root();
  }

  sliceAhead(): Block | null {
    return null;
  }

  restore(block: Block): void {
    this.#blocks.restore(block);
  }

  restored(): void {
    const bytes = this.#blocks.restored();
    if (bytes === null) return;
    const head = this.#head;
    const isMine = head.every((byte, i) => bytes[i] === byte);
    assert(readU32(bytes, 0) === STATE_FORMAT, 'DefinedMachine: a state of another release');
    assert(isMine, 'DefinedMachine: the state of another machine');
    this.#state = this.#spec.codecs.state.decode(bytes.subarray(head.length));
    this.#isChanged = false;
  }

  root(): Uint8Array {
    return this.#isChanged ? this.#blocks.rootOf(this.#encode()) : this.#blocks.root();
  }

  #each(
    body: Uint8Array,
    reply: Uint8Array,
    execute: (item: Uint8Array, index: number, outcomes: OutcomeWriter) => void,
  ): number {
    const items = unpack(body);
    assert(items !== null, 'DefinedMachine: not validated');
    const outcomes = new OutcomeWriter(reply, items.length, this.#spec.resultSizeMax);
    for (let i = 0; i < items.length && outcomes.hasRoom; i++) execute(items[i], i, outcomes);
    outcomes.deferRest();
    return outcomes.size;
  }

  #execute(
    bytes: Uint8Array,
    place: { readonly op: number; readonly index: number; readonly timestampMs: number },
    outcomes: OutcomeWriter,
  ): void {
    const command = decoded(this.#spec.codecs.command, bytes);
    if (command === null) {
      outcomes.invalid();
      return;
    }
    let next = this.#state;
    const replace = (state: S): S => {
      next = state;
      return state;
    };
    const context: CommandContext<S> = { ...place, replace };
    let result: R;
    try {
      result = this.#spec.apply(this.#state, command.value, context);
    } catch (error) {
      this.#thrown(error, outcomes);
      return;
    }
    this.#state = next;
    outcomes.result(this.#encoded(this.#spec.codecs.result, result));
    if (this.#onApplied !== null) this.#onApplied({ ...place, command: command.value, result });
  }

  #answer(bytes: Uint8Array, outcomes: OutcomeWriter): void {
    const { query, codecs } = this.#spec;
    assert(query !== undefined, 'DefinedMachine: it answers no questions');
    const question = decoded(codecs.question, bytes);
    if (question === null) {
      outcomes.invalid();
      return;
    }
    let answer: A;
    try {
      answer = query(this.#state, question.value);
    } catch (error) {
      this.#thrown(error, outcomes);
      return;
    }
    outcomes.result(this.#encoded(codecs.answer, answer));
  }

  #thrown(error: unknown, outcomes: OutcomeWriter): void {
    outcomes.thrown(error);
    if (!(error instanceof CommandError)) this.#tell(error);
  }

  #encoded<T>(codec: Codec<T>, value: T): Uint8Array | null {
    try {
      return codec.encode(value);
    } catch (error) {
      this.#tell(error);
      return null;
    }
  }

  /** What a definition's listener throws must not decide anything. */
  #tell(error: unknown): void {
    this.#onError?.(error);
    try {
      this.#spec.onError?.(error);
    } catch {}
  }

  #encode(): Uint8Array {
    const state = this.#spec.codecs.state.encode(this.#state);
    assert(state.length <= STATE_SIZE_MAX, 'DefinedMachine: the state is larger than 256 MiB');
    const bytes = new Uint8Array(this.#head.length + state.length);
    bytes.set(this.#head);
    bytes.set(state, this.#head.length);
    return bytes;
  }
}

/** `null`: the bytes are no value of the codec. They are copied, as messages do not stay. */
function decoded<T>(codec: Codec<T>, bytes: Uint8Array): { readonly value: T } | null {
  try {
    return { value: codec.decode(bytes.slice()) };
  } catch {
    return null;
  }
}

/** The same double everywhere; nanoseconds below 256 are lost before they could matter. */
function millisecondsOf(timestamp: U64): number {
  return Math.floor((timestamp.hi * LIMB + timestamp.lo) / NS_PER_MS);
}
