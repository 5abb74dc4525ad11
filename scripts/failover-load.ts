/**
 * The load of the failover test: official clients, each sending one batch after another, who must
 * see nothing of what happens to the replicas but waits. Every answer is written down with its
 * time. Transfers move one unit from account 1 to account 2, so that the balances in the end say
 * how many were executed, however often they were sent.
 */
import { type Account, type Client, createClient, type Transfer } from 'tigerbeetle-node';
import type { Completion } from '../src/lab/experiment/index.ts';
import { assert, Prng } from '../src/stdx/index.ts';

/** What the official client says of an event that was created. */
const CREATED = 0xffff_ffff;
const BATCH_MAX = 200;
/** Ids in one lookup; what fits into a small request and a large reply alike. */
const LOOKUP_MAX = 1000;

/** A request that must be answered takes at most as long, ms. */
const ANSWER_LIMIT_MS = 60_000;

/** A batch that was answered. */
export interface Answer extends Completion {
  readonly client: number;
}

/** A batch whose transfers were all created, as the client was told. */
interface Acknowledged {
  readonly firstId: bigint;
  readonly count: number;
}

const emptyAccount = {
  debits_pending: 0n,
  debits_posted: 0n,
  credits_pending: 0n,
  credits_posted: 0n,
  user_data_128: 0n,
  user_data_64: 0n,
  user_data_32: 0,
  reserved: 0,
  ledger: 1,
  code: 1,
  flags: 0,
  timestamp: 0n,
} as const satisfies Omit<Account, 'id'>;

const plainTransfer = {
  debit_account_id: 1n,
  credit_account_id: 2n,
  amount: 1n,
  pending_id: 0n,
  user_data_128: 0n,
  user_data_64: 0n,
  user_data_32: 0,
  timeout: 0,
  ledger: 1,
  code: 1,
  flags: 0,
  timestamp: 0n,
} as const satisfies Omit<Transfer, 'id'>;

export class FailoverLoad {
  readonly #clients: readonly Client[];
  readonly #prngs: readonly Prng[];
  readonly #idNext: bigint[];
  readonly #acknowledged: Acknowledged[] = [];
  #running: Promise<unknown> = Promise.resolve();
  #isStopping: boolean = false;
  #isClosed: boolean = false;
  /** Batches that were answered, in order of time (`performance.now()`). */
  readonly completions: Answer[] = [];
  /** What a client was told that it should never have been. */
  readonly errors: string[] = [];

  constructor(addresses: string, clientCount: number, seed: number) {
    const indexes = Array.from({ length: clientCount }, (_, index) => index);
    this.#clients = indexes.map(() =>
      createClient({ cluster_id: 0n, replica_addresses: addresses.split(',') }),
    );
    this.#prngs = indexes.map((index) => new Prng(seed, index));
    this.#idNext = indexes.map((index) => (BigInt(index + 1) << 64n) + 1n);
  }

  /** Transfers that a client was told to exist. */
  get acknowledgedCount(): number {
    return this.#acknowledged.reduce((sum, { count }) => sum + count, 0);
  }

  async createAccounts(): Promise<void> {
    const accounts = [1n, 2n].map((id) => ({ id, ...emptyAccount }));
    const results = await answered(this.#first.createAccounts(accounts));
    assert(
      results.every(({ status }) => status === CREATED),
      'FailoverLoad: the accounts were not created',
    );
  }

  start(): void {
    this.#isStopping = false;
    this.#running = Promise.all(this.#clients.map((client, index) => this.#run(client, index)));
  }

  /** Sends nothing new; resolves when every request is answered. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await answered(this.#running);
    if (this.errors.length > 0) throw new Error(`a client saw an error: ${this.errors[0]}`);
  }

  /** Resolves when so many more batches are answered, and every client has got an answer. */
  async progress(batches: number, timeoutMs: number): Promise<void> {
    const before = this.completions.length;
    const wanted = before + batches;
    const deadlineMs = performance.now() + timeoutMs;
    while (this.completions.length < wanted) {
      if (this.errors.length > 0) throw new Error(`a client saw an error: ${this.errors[0]}`);
      if (performance.now() > deadlineMs) {
        const missing = wanted - this.completions.length;
        throw new Error(`${missing} of ${batches} batches were not answered in ${timeoutMs} ms`);
      }
      await new Promise((done) => setTimeout(done, 2));
    }
    for (;;) {
      const served = new Set(this.completions.slice(before).map(({ client }) => client));
      if (served.size === this.#clients.length) return;
      if (this.errors.length > 0) throw new Error(`a client saw an error: ${this.errors[0]}`);
      if (performance.now() > deadlineMs) {
        throw new Error(`only clients ${[...served].join(', ')} got an answer in ${timeoutMs} ms`);
      }
      await new Promise((done) => setTimeout(done, 2));
    }
  }

  /** Looks for the transfers of the last `batches` answered batches; throws when one is missing. */
  async checkAcknowledged(batches: number = this.#acknowledged.length): Promise<void> {
    const ids = this.#acknowledged
      .slice(Math.max(0, this.#acknowledged.length - batches))
      .flatMap(({ firstId, count }) =>
        Array.from({ length: count }, (_, n) => firstId + BigInt(n)),
      );
    for (let first = 0; first < ids.length; first += LOOKUP_MAX) {
      const some = ids.slice(first, first + LOOKUP_MAX);
      const transfers = await answered(this.#first.lookupTransfers(some));
      const found = new Set(transfers.map(({ id }) => id));
      const lost = some.find((id) => !found.has(id));
      if (lost !== undefined) throw new Error(`transfer ${lost}, acknowledged, is not there`);
    }
  }

  /** Once stopped, what was executed is what was acknowledged, no more and no less. */
  async checkBalances(): Promise<void> {
    const expected = BigInt(this.acknowledgedCount);
    const [debtor, creditor] = await answered(this.#first.lookupAccounts([1n, 2n]));
    if (debtor?.debits_posted === expected && creditor?.credits_posted === expected) return;
    throw new Error(
      `${expected} transfers were acknowledged, balances say ${debtor?.debits_posted} ` +
        `and ${creditor?.credits_posted}`,
    );
  }

  close(): void {
    this.#isStopping = true;
    this.#isClosed = true;
    for (const client of this.#clients) client.destroy();
  }

  get #first(): Client {
    return this.#clients[0] as Client;
  }

  async #run(client: Client, index: number): Promise<void> {
    const prng = this.#prngs[index] as Prng;
    while (!this.#isStopping) {
      const count = prng.between(1, BATCH_MAX);
      const firstId = this.#idNext[index] as bigint;
      this.#idNext[index] = firstId + BigInt(count);
      const batch = Array.from({ length: count }, (_, n) => ({
        id: firstId + BigInt(n),
        ...plainTransfer,
      }));
      const startMs = performance.now();
      try {
        const results = await client.createTransfers(batch);
        const atMs = performance.now();
        this.completions.push({ atMs, ms: atMs - startMs, client: index });
        // "exists" would mean that the request had been executed before, as another one.
        const odd = results.find(({ status }) => status !== CREATED);
        if (odd !== undefined || results.length !== count) {
          this.errors.push(`${results.length} of ${count} results, one is ${odd?.status}`);
        }
        this.#acknowledged.push({ firstId, count });
      } catch (error) {
        if (!this.#isClosed) this.errors.push(String(error));
        return;
      }
    }
  }
}

/** The official client waits for ever; who looks after it does not. */
async function answered<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new Error(`a request was not answered in ${ANSWER_LIMIT_MS} ms`);
    timer = setTimeout(() => reject(error), ANSWER_LIMIT_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
