/** The two ways to start a ledger in this process: on a data file by name, or in one call. */
import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  type Address,
  addressText,
  DataFileExistsError,
  DEFAULT_HOST,
  fromSystemError,
  type LogSink,
} from '../io/index.ts';
import { Ledger } from '../ledger/index.ts';
import type { TopologyName } from '../vsr/index.ts';
import type { Checksum } from '../wire/index.ts';
import { formatLedger } from './format.ts';
import { vsrHome } from './homes/vsr-home.ts';
import { requireNode } from './node-version.ts';
import { type ClusterId, clusterBytes } from './options.ts';
import { openMemoryFile, openReplicaFile } from './replica-file.ts';
import { ReplicaServer } from './replica-server.ts';
import type { StatusReport } from './status.ts';

export interface StartReplicaServerOptions {
  /** The data file, which `formatLedger` has made. */
  readonly path: string;
  /** Of all replicas, in order; this one listens on its own. Port 0: the system chooses. */
  readonly addresses: readonly Address[];
  /** Refuse a file of another cluster. */
  readonly cluster?: ClusterId;
  /** Refuse a file that was not formatted so. */
  readonly development?: boolean;
  /** How prepares travel between the replicas; must be the same on all. */
  readonly topology?: TopologyName;
  /** Run the hot paths once while nobody asks for anything: worth it in a process of its own. */
  readonly warmUp?: boolean;
  readonly log?: LogSink;
  /** A file that does not exist yet: everything the engine is told goes there, to be replayed. */
  readonly record?: string;
  /** Bytes; more is not recorded. Default 1 GiB. */
  readonly recordSizeMax?: number;
}

const LEDGER = { machine: 'ledger' } as const;
const newLedger = (checksum: Checksum): Ledger => new Ledger({ checksum });
const silent: LogSink = () => {};

/**
 * Starts the replica of a data file. Resolves when it has recovered and accepts connections;
 * whether anything can be committed depends on the others.
 * @throws RoundelayError, by `code`: ERR_DATA_FILE_MISSING, _LOCKED, _CORRUPT, _MISMATCH,
 *   ERR_FORMAT_VERSION, ERR_READ_ONLY, ERR_STORAGE_FAILED, ERR_ADDRESS_IN_USE,
 *   ERR_ADDRESS_UNAVAILABLE, ERR_NO_MEMORY, ERR_NODE_VERSION, ERR_RECORDING_EXISTS,
 *   ERR_RECORDING_NOT_WRITABLE
 */
export async function startReplicaServer(
  options: StartReplicaServerOptions,
): Promise<ReplicaServer> {
  requireNode(process.versions.node);
  const { path, addresses, log = silent } = options;
  let server: ReplicaServer | null = null;
  const expected = {
    cluster: options.cluster,
    development: options.development,
    replicaCount: addresses.length,
  };
  const file = await openReplicaFile(path, expected, () => server?.lost());
  const { topology, warmUp, record: recording, recordSizeMax: sizeMax } = options;
  const home = vsrHome(file, topology);
  const record = recording === undefined ? undefined : { path: recording, sizeMax, ...LEDGER };
  const parts = { home, makeMachine: newLedger, addresses, log, warmUp, record };
  server = await ReplicaServer.start(parts);
  return server;
}

export interface StartLedgerOptions {
  /** Where the data file is, or will be made. Left out: in memory, gone at the end. */
  readonly directory?: string;
  /** Default 0: the system chooses. */
  readonly port?: number;
  /** An IP address of this machine. Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0. Clients must name the same. */
  readonly cluster?: ClusterId;
  /** A small file and small requests (32 KiB); in memory always so. */
  readonly development?: boolean;
  readonly log?: LogSink;
}

/** A running ledger. It ends with `close()`, or with the block in `await using ledger = …`. */
export interface StartedLedger extends AsyncDisposable {
  /** For clients: `127.0.0.1:3000`. */
  readonly address: string;
  readonly host: string;
  readonly port: number;
  readonly cluster: bigint;
  /** The data file; `null` in memory. */
  readonly path: string | null;
  /** Resolves when it has ended: with `null` after a close, else with the error that stopped it. */
  readonly ended: Promise<Error | null>;
  status(): StatusReport;
  /** Hexadecimal digest over everything the ledger holds. */
  root(): string;
  /** Ends within two seconds; what was acknowledged is safe. */
  close(): Promise<void>;
}

/**
 * A ledger in one call: makes the data file if there is none, recovers, listens. Resolves when
 * official clients can connect.
 * @throws RoundelayError as {@link startReplicaServer}, and ERR_NO_SPACE
 */
export async function startLedger(options: StartLedgerOptions = {}): Promise<StartedLedger> {
  requireNode(process.versions.node);
  const { cluster = 0, host = DEFAULT_HOST, port = 0, log = silent } = options;
  clusterBytes(cluster);
  const address = { host, port };
  if (options.directory === undefined) {
    const file = await openMemoryFile(cluster);
    const home = vsrHome(file, undefined);
    const addresses = [address];
    const server = await ReplicaServer.start({ home, makeMachine: newLedger, addresses, log });
    return startedLedger(server, cluster, null);
  }
  const path = await ensureFile(resolve(options.directory), cluster, options.development ?? false);
  const development = options.development === undefined ? {} : { development: options.development };
  const server = await startReplicaServer({
    path,
    addresses: [address],
    cluster,
    log,
    ...development,
  });
  return startedLedger(server, cluster, path);
}

async function ensureFile(
  directory: string,
  cluster: ClusterId,
  development: boolean,
): Promise<string> {
  const path = join(directory, `${cluster}_0.roundelay`);
  if (existsSync(path)) return path;
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    await formatLedger({ path, cluster, development });
  } catch (error) {
    // Somebody else was faster: then the lock decides.
    if (!(error instanceof DataFileExistsError)) throw fromSystemError(error, directory);
  }
  return path;
}

function startedLedger(
  server: ReplicaServer,
  cluster: ClusterId,
  path: string | null,
): StartedLedger {
  const { host, port } = server.address;
  const close = (): Promise<void> => server.close();
  return {
    address: addressText(server.address),
    host,
    port,
    cluster: BigInt(cluster),
    path,
    ended: server.ended,
    status: () => server.status(),
    root: () => server.root(),
    close,
    [Symbol.asyncDispose]: close,
  };
}
