/**
 * A whole cluster in this process, for examples, tests and laptops: real engines, sockets and (if
 * asked for) files, but one process, so it survives nothing that its process does not.
 */
import { AddressInUseError } from '../../io/index.ts';
import { freePorts } from '../free-ports.ts';
import { OptionError } from '../options.ts';
import type { ReplicaIdentityOptions } from './replica-plan.ts';
import { type StartedReplica, type StartReplicaOptions, startReplica } from './start-replica.ts';

export interface StartClusterOptions<S, C, R>
  extends Omit<ReplicaIdentityOptions<S, C, R>, 'addresses' | 'replica'>,
    Pick<StartReplicaOptions<S, C, R>, 'directory' | 'signal' | 'log'> {
  /** 1 to 6 with VSR, 1 to 7 with Raft. Default 3. They listen on free ports of 127.0.0.1. */
  readonly replicas?: number;
}

export interface StartedCluster<S, C, R> extends AsyncDisposable {
  /** For clients: `127.0.0.1:3000,127.0.0.1:3001,127.0.0.1:3002`. */
  readonly addresses: string;
  /** In order. One that was closed stays closed. */
  readonly replicas: readonly StartedReplica<S, C, R>[];
  close(): Promise<void>;
}

/** Others may take a port between our look and our listening. */
const ATTEMPTS = 3;

/**
 * Starts all replicas of a cluster, in memory or with their files in one folder. Resolves when each
 * is up; they find a leader meanwhile, and clients wait for it.
 * @throws as {@link startReplica}; then none is left
 */
export async function startCluster<S, C, R>(
  options: StartClusterOptions<S, C, R>,
): Promise<StartedCluster<S, C, R>> {
  const { replicas: count = 3, ...shared } = options;
  if (!Number.isInteger(count) || count < 1) {
    throw new OptionError('replicas', count, 'give a whole number from 1');
  }
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOn(await freePorts(count), shared);
    } catch (error) {
      if (!(error instanceof AddressInUseError) || attempt === ATTEMPTS) throw error;
    }
  }
}

async function startOn<S, C, R>(
  ports: readonly number[],
  shared: Omit<StartClusterOptions<S, C, R>, 'replicas'>,
): Promise<StartedCluster<S, C, R>> {
  const addresses = ports.map((port) => `127.0.0.1:${port}`);
  const starts = ports.map((_, replica) => startReplica({ ...shared, addresses, replica }));
  const settled = await Promise.allSettled(starts);
  const replicas = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const close = async (): Promise<void> => {
    await Promise.all(replicas.map((replica) => replica.close()));
  };
  const failed = settled.find((one) => one.status === 'rejected');
  if (failed !== undefined) {
    await close();
    throw failed.reason;
  }
  return { addresses: addresses.join(','), replicas, close, [Symbol.asyncDispose]: close };
}
