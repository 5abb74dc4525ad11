/**
 * A machine under suspicion: passes every call on, and looks at each operation at what came out and
 * at what it left behind. The first difference from any other copy ends the run, at the operation
 * where it arose and not where it shows.
 */
import {
  type ApplyContext,
  type Block,
  type Machine,
  OPERATION_PULSE,
  REPLY_BODY_SIZE_MAX,
  type ReadRequest,
  type Validity,
} from '../../engine/index.ts';
import { Prng, toHex, type U64 } from '../../stdx/index.ts';
import { sameBytes } from '../checks/history.ts';
import { SimulationFailure } from '../world/failure.ts';
import type { Entry } from './book.ts';
import { diagnose } from './diagnose.ts';
import { MachineFailure, type MachineFailureCode, type Place } from './machine-failure.ts';
import { show, showError } from './text.ts';
import type { TrialParts } from './trial-parts.ts';

/** Streams of chance of questions, above all that worlds use. */
const QUESTIONS_STREAM = 0x7000_0000;

export class ProbedMachine<S, C, O, Q> implements Machine {
  readonly #parts: TrialParts<S, C, O, Q>;
  readonly #machine: Machine;
  readonly #replica: number | null;
  readonly #life: number;
  #op: number | null = null;
  /** Blocks have come back, and nothing was applied since. */
  #isRestored: boolean = false;
  #restoredAt: number | null = null;
  /** What the machine's own code threw last and kept to itself. */
  #error: { readonly error: unknown } | null = null;

  /** `replica`: `null` for the reference. */
  constructor(parts: TrialParts<S, C, O, Q>, replica: number | null, life: number) {
    this.#parts = parts;
    this.#replica = replica;
    this.#life = life;
    this.#machine = this.#call('making it', () => parts.adapter.make());
    parts.adapter.onError(this.#machine, (error) => {
      this.#error = { error };
    });
  }

  get state(): S {
    return this.#parts.adapter.state(this.#machine);
  }

  validate(operation: number, body: Uint8Array, bodySizeMax: number): Validity {
    return this.#call('validate', () => this.#machine.validate(operation, body, bodySizeMax));
  }

  reserve(operation: number, body: Uint8Array): number {
    return this.#call('reserve', () => this.#machine.reserve(operation, body));
  }

  prefetch(operation: number, body: Uint8Array): readonly ReadRequest[] {
    return this.#call('prefetch', () => this.#machine.prefetch(operation, body));
  }

  apply(context: ApplyContext, operation: number, body: Uint8Array, reply: Uint8Array): number {
    const { book, isCompared } = this.#parts;
    const { op } = context;
    if (this.#isRestored) this.#checkRestored(op);
    this.#op = op;
    this.#error = null;
    const copy = body.slice();
    const size = this.#call('apply', () => {
      return this.#machine.apply(context, operation, body, reply);
    });
    const place = this.#place;
    const root = this.#rootHex();
    const restoredAt = this.#restoredAt;
    const answer = reply.slice(0, size);
    const entry = { context, operation, body: copy, reply: answer, root, place, restoredAt };
    this.#checkOutcomes(entry);
    const first = book.at(op);
    const isJudged = this.#replica !== null || isCompared;
    if (first === null) book.add(entry);
    else if (isJudged) this.#compare(entry, first);
    this.#checkInvariant(entry);
    if (this.#replica !== null && op % this.#parts.replicas === this.#replica) this.#ask(op);
    if (isJudged || first === null) return size;
    reply.set(first.reply);
    return first.reply.length;
  }

  query(operation: number, body: Uint8Array, reply: Uint8Array): number {
    return this.#call('query', () => this.#machine.query(operation, body, reply));
  }

  due(timestamp: U64): boolean {
    return this.#call('due', () => this.#machine.due(timestamp));
  }

  cut(op: number): number {
    this.#parts.book.addCut(op);
    return this.#call('cut', () => this.#machine.cut(op));
  }

  slice(target: Uint8Array): Block | null {
    return this.#call('slice', () => this.#machine.slice(target));
  }

  rootOfCut(): Uint8Array {
    return this.#call('rootOfCut', () => this.#machine.rootOfCut());
  }

  sliceAhead(target: Uint8Array): Block | null {
    return this.#call('sliceAhead', () => this.#machine.sliceAhead(target));
  }

  restore(block: Block): void {
    this.#isRestored = true;
    this.#call('restore', () => this.#machine.restore(block));
  }

  restored(): void {
    this.#call('restored', () => this.#machine.restored());
  }

  root(): Uint8Array {
    const { book, isCompared } = this.#parts;
    const last = this.#replica === null && !isCompared ? book.last : null;
    if (last === null) return this.#call('root', () => this.#machine.root());
    return Uint8Array.from(last.root.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  }

  /** Of what it really holds. */
  #rootHex(): string {
    return toHex(this.#call('root', () => this.#machine.root()));
  }

  get #place(): Place {
    return { replica: this.#replica, life: this.#life, op: this.#op };
  }

  /** Runs the user's code: what it throws, and where it looks, is a finding. */
  #call<T>(what: string, code: () => T): T {
    const { outside, forbidsOutside } = this.#parts;
    let result: { readonly value: T } | null = null;
    let thrown: { readonly error: unknown } | null = null;
    const seen = outside.within(() => {
      try {
        result = { value: code() };
      } catch (error) {
        thrown = { error };
      }
    });
    if (seen !== null && forbidsOutside) {
      const text = `${what} called ${seen}, which is another thing on every replica`;
      throw this.#failure('nondeterministic', text);
    }
    if (thrown !== null) throw this.#thrown(what, (thrown as { readonly error: unknown }).error);
    return (result as unknown as { readonly value: T }).value;
  }

  #thrown(what: string, error: unknown): SimulationFailure {
    if (error instanceof SimulationFailure) return error;
    return this.#failure('machine-threw', `${what} ${showError(error)}`, null, error);
  }

  #failure(
    kind: MachineFailureCode,
    text: string,
    entry: Entry | null = null,
    cause?: unknown,
  ): MachineFailure {
    return new MachineFailure(kind, this.#place, text, entry, cause);
  }

  /** The first operation of a life: what the checkpoint brought back is what others had then. */
  #checkRestored(op: number): void {
    this.#isRestored = false;
    const before = this.#parts.book.before(op);
    this.#restoredAt = op - 1;
    if (before === null || this.#rootHex() === before.root) return;
    this.#op = before.context.op;
    const { fresh } = diagnose(this.#parts.adapter as never, this.#parts.book, {
      op: before.context.op,
      restoredAt: this.#restoredAt,
    });
    const text = 'what was restored from the checkpoint is not what was put into it';
    throw this.#failure('state-lost', `${text}${this.#states(fresh, 'a copy never restarted')}`);
  }

  #checkOutcomes(entry: Entry): void {
    const { adapter, story } = this.#parts;
    if (entry.operation === OPERATION_PULSE) return;
    const outcomes = adapter.outcomes(entry.operation, entry.reply) ?? [];
    for (const outcome of outcomes) {
      const problem = adapter.problem(outcome);
      if (problem === null) continue;
      const error = this.#error === null ? problem : showError(this.#error.error);
      const text = `apply of ${story.textOf(entry)} ${error}`;
      throw this.#failure('machine-threw', text, entry, this.#error?.error);
    }
  }

  #compare(entry: Entry, first: Entry): void {
    const isSameRequest = entry.operation === first.operation && sameBytes(entry.body, first.body);
    // What stands at one place of the log is the engine's business.
    if (!isSameRequest) return;
    const isPulse = entry.operation === OPERATION_PULSE;
    const isSameReply = isPulse || sameBytes(entry.reply, first.reply);
    if (isSameReply && entry.root === first.root) return;
    const { adapter, book, story } = this.#parts;
    const { op } = entry.context;
    // The reference was there all the time: what differs from it is the other one.
    const [accused, witness] = this.#replica === null ? [first, entry] : [entry, first];
    const [own, other] = [placeText(accused.place), placeText(witness.place)];
    const answer = story.answerOf(accused.operation, accused.reply);
    const itsAnswer = story.answerOf(witness.operation, witness.reply);
    const difference = isSameReply
      ? `${own} answered ${answer}, as ${other} did, and is in another state`
      : `${own} answered ${answer}, ${other} answered ${itsAnswer}`;
    const suspect = { op, restoredAt: accused.restoredAt ?? witness.restoredAt };
    const { kind, text, fresh } = diagnose(adapter as never, book, suspect);
    const states = this.#states(fresh, 'a fresh copy');
    const whole = `op ${op}, ${story.textOf(entry)}: ${difference}${states}\n  ${text}`;
    throw new MachineFailure(kind, accused.place, whole, entry);
  }

  /** The states as lines, where they can be shown and differ. */
  #states(other: Machine | null, name: string): string {
    const { adapter, hasValues } = this.#parts;
    if (other === null || !hasValues) return '';
    const [own, its] = [show(this.state), show(adapter.state(other))];
    // Chance may have come to the same this time.
    if (own === its) return '';
    return `\n  state of ${placeText(this.#place)}: ${own}\n  state of ${name}: ${its}`;
  }

  #checkInvariant(entry: Entry): void {
    const { invariant, story, hasValues } = this.#parts;
    if (invariant === null) return;
    const verdict = this.#call('the invariant', () => invariant(this.state));
    if (verdict === undefined || verdict === true) return;
    const reason = verdict === false ? 'does not hold' : `does not hold: ${verdict}`;
    const state = hasValues ? `\n  state: ${show(this.state)}` : '';
    const text = `the invariant ${reason}, after op ${entry.context.op}, ${story.textOf(entry)}`;
    throw this.#failure('invariant', `${text}${state}`, entry);
  }

  /** Asks something; the answer is not looked at, only what asking does to the state. */
  #ask(op: number): void {
    const { questions, adapter, seed } = this.#parts;
    if (questions === null) return;
    const chance = new Prng(seed, QUESTIONS_STREAM + op);
    const question = questions(chance, this.state);
    const { operation, body } = adapter.question(question);
    const before = this.#rootHex();
    this.#call('query', () => this.#machine.query(operation, body, answerBuffer));
    if (this.#rootHex() === before) return;
    throw this.#failure('query-mutates', `the question ${show(question)} changed the state`);
  }
}

const answerBuffer = new Uint8Array(REPLY_BODY_SIZE_MAX);

export function placeText({ replica, life }: Place): string {
  if (replica === null) return 'the reference (never restarted)';
  return life === 1 ? `replica ${replica}` : `replica ${replica} in life ${life}`;
}
