/**
 * What the clients of a run saw, and nothing else: their requests, when they made them, what came
 * back and when. At the end it must be linearizable. This is the one check that needs neither
 * positions in a log nor a reference machine, and believes neither of them: the clients' view of an
 * engine is judged by a model of a few lines.
 *
 * Time is the order in which clients do things. Nothing is drawn from the seed, and nothing of this
 * is part of the fingerprint.
 */
import { assert } from '../../stdx/index.ts';
import {
  checkLinearizable,
  describeVerdict,
  type Model,
  type Operation,
  type Verdict,
} from '../linearizability/index.ts';
import { check } from '../world/failure.ts';
import type { ClientName } from './session-model.ts';

/** How requests and replies of a subject are understood. */
export interface TestimonyOptions<S, I, O> {
  readonly model: Model<S, I, O>;
  /** What is asked, from the operation and body of a request. The body is borrowed. */
  readonly input: (operation: number, body: Uint8Array) => I;
  /** What was answered, from the operation of the request and the body of its reply; borrowed. */
  readonly output: (operation: number, reply: Uint8Array) => O;
}

/** What a run tells, whatever the subject. */
export interface Testimony {
  onRequest(client: ClientName, operation: number, body: Uint8Array): void;
  onReply(client: ClientName, operation: number, reply: Uint8Array): void;
  /** The client will never know. */
  onAbandon(client: ClientName): void;
  /** `null`: it is linearizable; `unknown`: it would take too long to tell; else what is wrong. */
  problem(): 'unknown' | { readonly text: string } | null;
}

/** Attempts for one run; a hundredth of a second or so. */
const STEPS_MAX = 30_000;
const MEMORY_BYTES_MAX: number = 16 * 1024 * 1024;

interface Open<I> {
  readonly process: number;
  readonly input: I;
  readonly call: number;
}

export class ClientTestimony<S, I, O> implements Testimony {
  readonly #options: TestimonyOptions<S, I, O>;
  readonly #history: Operation<I, O>[] = [];
  readonly #open: Map<ClientName, Open<I>> = new Map();
  readonly #processes: Map<ClientName, number> = new Map();
  #time: number = 0;

  constructor(options: TestimonyOptions<S, I, O>) {
    this.#options = options;
  }

  onRequest(client: ClientName, operation: number, body: Uint8Array): void {
    assert(!this.#open.has(client), 'Testimony: one request at a time');
    const process = this.#processes.get(client) ?? this.#processes.size;
    this.#processes.set(client, process);
    const input = this.#options.input(operation, body);
    this.#open.set(client, { process, input, call: this.#time++ });
  }

  onReply(client: ClientName, operation: number, reply: Uint8Array): void {
    const open = this.#open.get(client);
    check(open !== undefined, 'reply-invalid', () => `${client}: a reply that nobody waits for`);
    this.#open.delete(client);
    const output = this.#options.output(operation, reply);
    this.#history.push({ ...open, return: this.#time++, output });
  }

  onAbandon(client: ClientName): void {
    const open = this.#open.get(client);
    assert(open !== undefined, 'Testimony: nothing to give up');
    this.#open.delete(client);
    this.#history.push({ ...open, return: null });
  }

  problem(): 'unknown' | { readonly text: string } | null {
    const verdict = this.#verdict();
    if (verdict.kind === 'linearizable') return null;
    return verdict.kind === 'unknown' ? 'unknown' : { text: describeVerdict(verdict) };
  }

  #verdict(): Verdict<S, I, O> {
    const open = [...this.#open.values()].map((each) => ({ ...each, return: null }));
    const limits = { stepsMax: STEPS_MAX, memoryBytesMax: MEMORY_BYTES_MAX };
    return checkLinearizable([...this.#history, ...open], this.#options.model, limits);
  }
}
