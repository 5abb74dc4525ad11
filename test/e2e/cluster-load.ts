/**
 * A load that remembers: the official client sends transfers one after another, and what it was
 * told to exist is looked for afterwards. It also notes how long it was kept waiting.
 */
import assert from 'node:assert/strict';
import { type Client, createClient } from 'tigerbeetle-node';
import type { TemporaryCluster } from '../../src/lab/index.ts';

const BATCH = 20;
/** What the official client says of an event that was created. */
const CREATED = 0xffff_ffff;

const account = (id: bigint): Parameters<Client['createAccounts']>[0][number] => ({
  id,
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
});

const transfer = (
  id: bigint,
  debtor: bigint,
  creditor: bigint,
): Parameters<Client['createTransfers']>[0][number] => ({
  id,
  debit_account_id: debtor,
  credit_account_id: creditor,
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
});

export class ClusterLoad {
  readonly #client: Client;
  readonly #debtor: bigint;
  readonly #creditor: bigint;
  /** Ids of transfers begin after this. */
  readonly #base: bigint;
  #next: bigint = 1n;
  #isStopping: boolean = false;
  #running: Promise<void> | null = null;
  /** Batches that were answered. */
  batches: number = 0;
  /** Longest wait for an answer since it was last read, ms. */
  waitMsMax: number = 0;

  /** `index`: of several loads on one cluster, each with accounts and transfers of its own. */
  constructor(cluster: TemporaryCluster, index: number = 0) {
    this.#debtor = BigInt(2 * index + 1);
    this.#creditor = this.#debtor + 1n;
    this.#base = BigInt(index) << 64n;
    this.#client = createClient({
      cluster_id: 0n,
      replica_addresses: cluster.addresses.split(','),
    });
  }

  /** Makes the accounts and begins to send. */
  async start(): Promise<void> {
    const accounts = [account(this.#debtor), account(this.#creditor)];
    const results = await this.#client.createAccounts(accounts);
    for (const { status } of results) assert.equal(status, CREATED);
    this.#running = this.#run();
    // Who waits for progress notices; `finish` tells.
    this.#running.catch(() => {});
  }

  /** Waits until so many more batches are answered; returns the milliseconds. */
  async progress(batches: number, timeoutMs: number): Promise<number> {
    const wanted = this.batches + batches;
    const startMs = performance.now();
    while (this.batches < wanted) {
      const elapsedMs = performance.now() - startMs;
      assert.ok(elapsedMs < timeoutMs, `only ${this.batches} of ${wanted} in ${timeoutMs} ms`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    return performance.now() - startMs;
  }

  /** Stops sending, waits for the last answer, and looks for every transfer. */
  async finish(): Promise<number> {
    this.#isStopping = true;
    await this.#running;
    const last = this.#next - 1n;
    for (let id = 1n; id <= last; id += 200n) {
      const ids: bigint[] = [];
      for (let one = id; one <= last && one < id + 200n; one++) ids.push(this.#base + one);
      const found = await this.#client.lookupTransfers(ids);
      assert.equal(found.length, ids.length, `transfers from ${id} on are lost`);
    }
    const [debtor, creditor] = await this.#client.lookupAccounts([this.#debtor, this.#creditor]);
    assert.equal(debtor?.debits_posted, last);
    assert.equal(creditor?.credits_posted, last);
    return Number(last);
  }

  close(): void {
    this.#client.destroy();
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      const batch = Array.from({ length: BATCH }, () => {
        return transfer(this.#base + this.#next++, this.#debtor, this.#creditor);
      });
      const startMs = performance.now();
      const results = await this.#client.createTransfers(batch);
      this.waitMsMax = Math.max(this.waitMsMax, performance.now() - startMs);
      assert.equal(results.length, BATCH);
      for (const { status } of results) assert.equal(status, CREATED);
      this.batches += 1;
    }
  }
}

/** All replicas have executed the same and hold the same. */
export async function converged(
  cluster: TemporaryCluster,
  timeoutMs: number = 20_000,
): Promise<void> {
  const startMs = performance.now();
  for (;;) {
    const statuses = await cluster.statuses();
    const digests = statuses.map(
      (one) => `${String(one?.['commitMin'])} ${String(one?.['digest'])}`,
    );
    const isWhole = statuses.every((one) => one !== null);
    if (isWhole && new Set(digests).size === 1) return;
    assert.ok(performance.now() - startMs < timeoutMs, `not the same: ${digests.join(', ')}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
