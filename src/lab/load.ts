/**
 * The load of the benchmark, a closed loop: a number of clients in one process, each with one
 * request in flight, creating transfers as fast as they are answered.
 */
import type { LedgerConnection } from '../client/index.ts';
import { assert } from '../stdx/index.ts';
import { type LoadClients, type LoadOptions, withLoadClients } from './load-clients.ts';
import { type Percentiles, percentiles } from './percentile.ts';

export interface LoadResult {
  readonly transfers: number;
  readonly batches: number;
  readonly batchSize: number;
  readonly seconds: number;
  readonly transfersPerSecond: number;
  readonly batchMs: Percentiles;
}

/** Runs a load to its end. Rejects with `LoadError`, `LedgerClientError` or the signal's reason. */
export function runLoad(
  options: LoadOptions,
  signal: AbortSignal | null = null,
): Promise<LoadResult> {
  return withLoadClients(options, signal, async (clients) => {
    const samplesMs: number[] = [];
    const startMs = performance.now();
    const runs = clients.connections.map((connection, client) =>
      runClient(clients, connection, client, startMs, samplesMs),
    );
    await Promise.all(runs);
    const seconds = (performance.now() - startMs) / 1000;
    return loadResult(clients, options, seconds, samplesMs);
  });
}

/** What a load that has come to its end amounts to. */
export function loadResult(
  clients: LoadClients,
  options: LoadOptions,
  seconds: number,
  samplesMs: readonly number[],
): LoadResult {
  const transfers = options.transferCount;
  assert(clients.done === transfers, 'Load: transfers are missing');
  return {
    transfers,
    batches: samplesMs.length,
    batchSize: clients.batchSize,
    seconds,
    transfersPerSecond: Math.round(transfers / seconds),
    batchMs: percentiles(samplesMs),
  };
}

async function runClient(
  clients: LoadClients,
  connection: LedgerConnection,
  client: number,
  loadStartMs: number,
  samplesMs: number[],
): Promise<void> {
  const ready = clients.open(connection);
  while (ready.count > 0) {
    const startMs = performance.now();
    const transfers = await clients.send(connection, ready);
    const endMs = performance.now();
    const ms = endMs - startMs;
    samplesMs.push(ms);
    clients.report({ client, transfers, ms, atMs: endMs - loadStartMs });
  }
  clients.release(connection, ready);
}
