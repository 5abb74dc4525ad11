/**
 * `connectOvsdb`: a client of an OVSDB server's or cluster's database, ours or the original's.
 *
 *     await using client = await connectOvsdb({ remote: 'tcp:127.0.0.1:6640', database: 'D' });
 *     await client.transact([{ op: 'insert', table: 'T', row: { name: 'x' } }]);
 *     for await (const change of client.monitor({ T: true })) …
 */
import { BACKOFF_MAX_MS, BACKOFF_MIN_MS, noTlsFiles, TlsContext } from '../../io/streams/index.ts';
import { parseAddress } from './channel.ts';
import { type ClientOptions, OvsdbClient } from './client.ts';
import { OvsdbClientError, OvsdbErrorCode } from './errors.ts';
import type { SchemaShape } from './schema-types.ts';

/** Paths of PEM files; they are read again when they change. */
export interface TlsOptions {
  readonly privateKey: string;
  readonly certificate: string;
  /** Of the authority that the server's certificate must be signed by. */
  readonly caCert: string;
}

export interface ConnectOvsdbOptions<S extends SchemaShape = SchemaShape> {
  /** `tcp:HOST[:PORT]`, `ssl:HOST[:PORT]` or `unix:PATH`; of a cluster, several. */
  readonly remote: string | readonly string[];
  readonly database: string;
  /** For the types of rows only, see `SchemaShape`: what counts is the server's. */
  readonly schema?: S;
  /** Of a cluster only the leader will do. Default: true. */
  readonly leaderOnly?: boolean;
  /** For `ssl:`. */
  readonly tls?: TlsOptions;
  /** The first connection by then, ms. Default: 10,000. */
  readonly connectTimeoutMs?: number;
  /** A transaction is connected, sent and answered by then, ms. Default: 30,000. */
  readonly requestTimeoutMs?: number;
  /** A silent server is asked for a sign of life, ms; 0: never. Default: 5000, Unix sockets 0. */
  readonly probeMs?: number;
  /** Between rounds of attempts to connect, ms: the first, and the longest. 1000 and 8000. */
  readonly backoffMinMs?: number;
  readonly backoffMaxMs?: number;
  /** Aborting closes the client. */
  readonly signal?: AbortSignal;
}

const CONNECT_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** Servers that a client may be told of. */
const REMOTES_MAX = 64;

/** Rejects when no server will do in time. */
export async function connectOvsdb<const S extends SchemaShape = SchemaShape>(
  options: ConnectOvsdbOptions<S>,
): Promise<OvsdbClient<S>> {
  const { signal } = options;
  if (signal?.aborted === true) throw connectError('the signal has aborted', signal.reason);
  const client = new OvsdbClient<S>(clientOptions(options));
  const timeoutMs = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
  const limits = [AbortSignal.timeout(timeoutMs), ...(signal === undefined ? [] : [signal])];
  try {
    await client.start(AbortSignal.any(limits));
  } catch (error) {
    await client.close();
    const reason = error instanceof Error ? error.message : String(error);
    throw connectError(`cannot connect to ${options.database}: ${reason}`, error);
  }
  signal?.addEventListener('abort', () => void client.close(), { once: true });
  return client;
}

function connectError(message: string, cause: unknown): OvsdbClientError {
  return new OvsdbClientError(OvsdbErrorCode.connect, message, { cause });
}

function clientOptions(options: ConnectOvsdbOptions<SchemaShape>): ClientOptions {
  const remotes = typeof options.remote === 'string' ? [options.remote] : options.remote;
  if (remotes.length === 0 || remotes.length > REMOTES_MAX) {
    const message = `there must be 1 to ${REMOTES_MAX} remotes, not ${remotes.length}`;
    throw new OvsdbClientError(OvsdbErrorCode.address, message);
  }
  const tls = options.tls === undefined ? null : new TlsContext({ ...noTlsFiles, ...options.tls });
  const backoffMinMs = options.backoffMinMs ?? BACKOFF_MIN_MS;
  return {
    addresses: remotes.map((remote) => parseAddress(remote, tls)),
    database: options.database,
    leaderOnly: options.leaderOnly ?? true,
    tls,
    probeMs: options.probeMs ?? null,
    backoffMinMs,
    backoffMaxMs: Math.max(backoffMinMs, options.backoffMaxMs ?? BACKOFF_MAX_MS),
    attemptMs: CONNECT_TIMEOUT_MS,
    requestTimeoutMs: options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
  };
}
