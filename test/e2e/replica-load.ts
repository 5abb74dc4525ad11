/**
 * Closed loops over a key-value store on real replicas: each client asks, waits, writes down what
 * it saw and when, and asks again at once. An outcome that its client does not know is one of the
 * history's; any other error ends the load.
 */
import { connectReplica, type ReplicaClient, ReplicaClientError } from '../../src/client/index.ts';
import {
  KEY_VALUE_CAS,
  KEY_VALUE_DELETE,
  KEY_VALUE_GET,
  KEY_VALUE_PUT,
  KeyValueStatus,
  keyValueBody,
  keyValueCasBody,
} from '../../src/engine/index.ts';
import type { KeyValueInput, RegisterOutput } from '../../src/sim/index.ts';
import { Prng } from '../../src/stdx/index.ts';
import { StoreHistory } from './replica-history.ts';

/** Keys that are used at the same time: few, so that clients meet. */
const KEYS_AT_ONCE = 8;

export class ReplicaLoad {
  readonly history: StoreHistory = new StoreHistory(KEYS_AT_ONCE);
  readonly #clients: readonly ReplicaClient[];
  readonly #prng: Prng;
  #loops: Promise<unknown> = Promise.resolve();
  #isStopping: boolean = false;
  #valueLast: number = 0;
  /** What clients saw last, by key; a good guess for a compare-and-set. */
  readonly #seen: Map<string, string | null> = new Map();
  /** Answers. */
  completed: number = 0;
  /** Requests that wait for one. */
  waiting: number = 0;
  /** Known not to have happened. */
  notDone: number = 0;
  #lastMs: number = 0;
  #gapMs: number = 0;
  slowestMs: number = 0;

  private constructor(clients: readonly ReplicaClient[], seed: number) {
    this.#clients = clients;
    this.#prng = new Prng(seed);
  }

  static async connect(addresses: string, clients: number, seed: number): Promise<ReplicaLoad> {
    const made = Array.from({ length: clients }, () =>
      connectReplica({ addresses, connectTimeoutMs: 20_000 }),
    );
    return new ReplicaLoad(await Promise.all(made), seed);
  }

  /** How often clients had to register again. */
  get sessionsLost(): number {
    return this.#clients.reduce((sum, { connection }) => sum + connection.sessions - 1, 0);
  }

  start(): void {
    this.#lastMs = performance.now();
    this.#loops = Promise.all(this.#clients.map((client, process) => this.#loop(client, process)));
    // Whoever waits for the end is told.
    this.#loops.catch(() => {});
  }

  /** Asks for nothing new; resolves when everything is answered. */
  async stop(limitMs: number): Promise<void> {
    this.#isStopping = true;
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      late.reject(new Error(`${this.waiting} requests were not answered in ${limitMs} ms`));
    }, limitMs);
    await Promise.race([this.#loops, late.promise]).finally(() => clearTimeout(timer));
    this.history.finish();
  }

  close(): void {
    for (const client of this.#clients) client.close();
  }

  /** The longest time without an answer to anybody since this was last asked, ms. */
  takeGap(): number {
    const gapMs = Math.max(this.#gapMs, performance.now() - this.#lastMs);
    this.#gapMs = 0;
    return gapMs;
  }

  async #loop(client: ReplicaClient, process: number): Promise<void> {
    while (!this.#isStopping) {
      const history = this.history.begin(this.#prng.below(KEYS_AT_ONCE));
      const input = this.#draw(history.key);
      const beganMs = performance.now();
      const call = Math.floor(beganMs * 1000);
      this.waiting += 1;
      try {
        const [operation, body] = requestOf(input);
        const reply = await client.request(operation, body);
        const output = outputOf(input, reply.body);
        const endMs = performance.now();
        this.history.end(history, {
          process,
          input,
          call,
          return: Math.ceil(endMs * 1000),
          output,
        });
        this.#note(input, output, beganMs, endMs);
      } catch (error) {
        if (!(error instanceof ReplicaClientError)) throw error;
        const isUnknown = error.outcome === 'unknown';
        if (!isUnknown) this.notDone += 1;
        this.history.end(history, isUnknown ? { process, input, call, return: null } : null);
      } finally {
        this.waiting -= 1;
      }
    }
  }

  #note(input: KeyValueInput, output: RegisterOutput, beganMs: number, endMs: number): void {
    this.completed += 1;
    this.#gapMs = Math.max(this.#gapMs, endMs - this.#lastMs);
    this.#lastMs = endMs;
    this.slowestMs = Math.max(this.slowestMs, endMs - beganMs);
    if (input.f === 'read') this.#seen.set(input.key as string, output as string | null);
    if (input.f === 'write') this.#seen.set(input.key as string, input.value as string | null);
    if (this.#seen.size > 10 * KEYS_AT_ONCE) this.#seen.clear();
  }

  #draw(key: string): KeyValueInput {
    const choice = this.#prng.below(20);
    if (choice < 7) return { f: 'read', key };
    if (choice < 8) return { f: 'write', key, value: null };
    this.#valueLast += 1;
    const value = `v${this.#valueLast}`;
    if (choice < 13) return { f: 'write', key, value };
    return { f: 'cas', key, from: this.#seen.get(key) ?? null, to: value };
  }
}

function requestOf(input: KeyValueInput): [operation: number, body: Uint8Array] {
  const key = String(input.key);
  switch (input.f) {
    case 'read':
      return [KEY_VALUE_GET, keyValueBody(key)];
    case 'write':
      return input.value === null
        ? [KEY_VALUE_DELETE, keyValueBody(key)]
        : [KEY_VALUE_PUT, keyValueBody(key, bytesOf(input.value))];
    case 'cas': {
      const from = input.from === null ? null : bytesOf(input.from);
      return [KEY_VALUE_CAS, keyValueCasBody(key, from, bytesOf(input.to))];
    }
  }
}

function outputOf(input: KeyValueInput, reply: Uint8Array): RegisterOutput {
  const status = reply[0];
  if (status === KeyValueStatus.full) throw new Error('the store is full');
  if (input.f === 'write') return null;
  if (input.f === 'cas') return status === KeyValueStatus.ok;
  return status === KeyValueStatus.ok ? new TextDecoder().decode(reply.subarray(1)) : null;
}

function bytesOf(value: unknown): Uint8Array {
  return new TextEncoder().encode(String(value));
}
