/**
 * The benchmark as a whole: a cluster (given, or a temporary one), the calibration of the machine,
 * the load, and what the servers used up while it ran. Prints nothing; the command does.
 */
import { tmpdir } from 'node:os';
import { parseAddresses } from '../io/index.ts';
import { type Calibration, calibrate } from './calibration.ts';
import type { Launcher } from './cluster-processes.ts';
import { type LoadResult, runLoad } from './load.ts';
import type { LoadOptions } from './load-clients.ts';
import { findListener, type ProcessReading, readProcess } from './process-meter.ts';
import { TemporaryCluster } from './temporary-cluster.ts';

export interface BenchmarkOptions extends Omit<LoadOptions, 'addresses' | 'onLoadStart'> {
  /** `null`: a temporary cluster of one replica. */
  readonly addresses: string | null;
  /** Folder of the temporary cluster and of the durable writes of the calibration. */
  readonly directory: string | null;
  readonly launcher?: Launcher;
}

/** What one replica's process used between the first transfer and the last answer. */
export interface ServerUse {
  readonly address: string;
  readonly pid: number;
  readonly rssBytes: number;
  readonly rssPeakBytes: number;
  readonly writtenBytes: number;
  readonly writtenBytesPerTransfer: number;
  readonly cpuSeconds: number;
}

export interface BenchmarkResult extends LoadResult {
  readonly addresses: string;
  readonly temporary: boolean;
  readonly clients: number;
  readonly accounts: number;
  readonly idOrder: string;
  readonly seed: number;
  /** Per replica on this machine whose process may be looked at. */
  readonly servers: readonly ServerUse[];
  readonly calibration: Calibration;
}

/** Runs a benchmark; the temporary cluster is gone when the promise settles, either way. */
export async function runBenchmark(
  options: BenchmarkOptions,
  signal: AbortSignal | null = null,
): Promise<BenchmarkResult> {
  const directory = options.directory ?? tmpdir();
  const calibration = await calibrate(directory);
  const { launcher } = options;
  const cluster =
    options.addresses === null
      ? await TemporaryCluster.start({ directory, ...(launcher === undefined ? {} : { launcher }) })
      : null;
  try {
    signal?.throwIfAborted();
    const addresses = options.addresses ?? cluster?.addresses ?? '';
    const signals = [signal, cluster?.failed ?? null].filter((one) => one !== null);
    const any = AbortSignal.any(signals);
    return await measure(options, addresses, calibration, cluster !== null, any);
  } finally {
    await cluster?.stop();
  }
}

async function measure(
  options: BenchmarkOptions,
  addresses: string,
  calibration: Calibration,
  temporary: boolean,
  signal: AbortSignal | null,
): Promise<BenchmarkResult> {
  const meters = new ServerMeters(addresses);
  const onLoadStart = (): void => meters.start();
  const result = await runLoad({ ...options, addresses, onLoadStart }, signal);
  const { clients, accountCount, idOrder, seed } = options;
  return {
    ...result,
    addresses,
    temporary,
    clients,
    accounts: accountCount,
    idOrder,
    seed,
    servers: meters.stop(result.transfers),
    calibration,
  };
}

/** Readings of the servers' processes before and after a load. */
class ServerMeters {
  readonly #servers: readonly { readonly address: string; readonly pid: number }[];
  #before: readonly (ProcessReading | null)[] = [];

  constructor(addresses: string) {
    this.#servers = parseAddresses(addresses).flatMap(({ host, port }) => {
      const local = host.startsWith('127.') || host === '::1';
      const pid = local ? findListener(port) : null;
      return pid === null ? [] : [{ address: `${host}:${port}`, pid }];
    });
  }

  start(): void {
    this.#before = this.#servers.map(({ pid }) => readProcess(pid));
  }

  stop(transfers: number): ServerUse[] {
    return this.#servers.flatMap(({ address, pid }, index) => {
      const before = this.#before[index] ?? null;
      const after = readProcess(pid);
      if (before === null || after === null) return [];
      const writtenBytes = after.writtenBytes - before.writtenBytes;
      return [
        {
          address,
          pid,
          rssBytes: after.rssBytes,
          rssPeakBytes: after.rssPeakBytes,
          writtenBytes,
          writtenBytesPerTransfer: Math.round(writtenBytes / Math.max(1, transfers)),
          cpuSeconds: Math.round(100 * (after.cpuSeconds - before.cpuSeconds)) / 100,
        },
      ];
    });
  }
}
