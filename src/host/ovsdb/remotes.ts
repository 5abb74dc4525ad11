/**
 * The server's remotes: where it listens for clients and where it connects to them. What is wanted
 * is told as a whole, again and again; the difference to what is there is made good. A target that
 * cannot be listened on is tried again every second.
 */
import {
  AcceptedStream,
  ActiveStream,
  type Connected,
  isPassive,
  listenStream,
  needsProbes,
  PROBE_INTERVAL_MS,
  parseTarget,
  type StreamListener,
  type Target,
  TargetError,
  type TlsContext,
} from '../../io/streams/index.ts';
import { JsonFramer, type JsonResult, type OvsdbCore } from '../../ovsdb/index.ts';
import { Client, PROBE_TEXT } from './client.ts';
import type { CoreRunner } from './core-runner.ts';
import type { OvsdbLogLevel, RemoteOptions, RemoteStatus } from './options.ts';

export interface RemotesOptions {
  readonly core: OvsdbCore;
  readonly runner: CoreRunner;
  readonly tls: TlsContext;
  readonly runDirectory: string | undefined;
  readonly backlogMax: number | undefined;
  readonly log: (module: string, level: OvsdbLogLevel, text: string) => void;
}

interface Remote {
  readonly target: string;
  options: RemoteOptions;
  listener: StreamListener | null;
  active: ActiveStream<JsonResult> | null;
  /** Each with how to change its probes. */
  readonly clients: Map<Client, (options: RemoteOptions) => void>;
  /** Why it does not listen. */
  problem: string | null;
  closed: boolean;
}

const RETRY_MS = 1_000;

export class Remotes {
  readonly #options: RemotesOptions;
  readonly #remotes: Map<string, Remote> = new Map();
  /** The end of the latest change. */
  #changed: Promise<void> = Promise.resolve();
  #retryTimer: NodeJS.Timeout | null = null;
  #closed: boolean = false;

  constructor(options: RemotesOptions) {
    this.#options = options;
  }

  /** Resolves when everything listens that can be listened on. Changes are made one by one. */
  set(wanted: ReadonlyMap<string, RemoteOptions>): Promise<void> {
    this.#changed = this.#changed.then(() => this.#set(wanted));
    return this.#changed;
  }

  async #set(wanted: ReadonlyMap<string, RemoteOptions>): Promise<void> {
    for (const [target, remote] of this.#remotes) {
      const options = wanted.get(target);
      if (options === undefined || this.#closed) this.#remove(remote);
      else this.#change(remote, options);
    }
    if (this.#closed) return;
    const fresh: Promise<void>[] = [];
    for (const [target, options] of wanted) {
      if (this.#remotes.has(target)) continue;
      const clients: Remote['clients'] = new Map();
      const state = { listener: null, active: null, problem: null, closed: false };
      const remote: Remote = { target, options, clients, ...state };
      this.#remotes.set(target, remote);
      fresh.push(this.#open(remote));
    }
    await Promise.all(fresh);
  }

  #remove(remote: Remote): void {
    this.#remotes.delete(remote.target);
    remote.closed = true;
    remote.listener?.close();
    remote.active?.close();
    for (const client of [...remote.clients.keys()]) client.stream?.end();
  }

  /** Clients of another role, or that may write no more, have to come again. */
  #change(remote: Remote, options: RemoteOptions): void {
    const before = remote.options;
    remote.options = options;
    remote.active?.configure(probeMs(remote), options.maxBackoffMs);
    for (const configure of remote.clients.values()) configure(options);
    if (before.readOnly === options.readOnly && before.role === options.role) return;
    remote.active?.forceReconnect();
    for (const client of [...remote.clients.keys()]) client.stream?.end();
  }

  async #open(remote: Remote): Promise<void> {
    const { log, tls, runDirectory } = this.#options;
    const target = understood(remote.target);
    if (target === null || !isPassive(target)) {
      this.#dial(remote);
      return;
    }
    try {
      const listener = await listenStream(target as Parameters<typeof listenStream>[0], {
        accept: (connected) => this.#accept(remote, connected),
        tls,
        ...(runDirectory === undefined ? {} : { runDirectory }),
        onProblem: (text) => {
          log(text.includes('SSL_accept') ? 'stream_ssl' : 'stream', 'WARN', text);
        },
      });
      if (remote.closed) listener.close();
      else this.#listening(remote, target, listener);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== remote.problem) {
        log('ovsdb_jsonrpc_server', 'ERR', `${remote.target}: listen failed: ${reason}`);
      }
      remote.problem = reason;
      this.#retryLater();
    }
  }

  #listening(remote: Remote, target: Target, listener: StreamListener): void {
    remote.listener = listener;
    remote.problem = null;
    if (!('port' in target) || target.port !== 0) return;
    const text = `${remote.target.slice(target.kind.length + 1)}`;
    const where = `${text}: listening on port ${listener.boundPort}`;
    this.#options.log('socket_util', 'INFO', where);
  }

  #retryLater(): void {
    if (this.#retryTimer !== null || this.#closed) return;
    this.#retryTimer = setTimeout(() => {
      this.#retryTimer = null;
      for (const remote of this.#remotes.values()) {
        if (remote.problem !== null) void this.#open(remote);
      }
    }, RETRY_MS);
  }

  #accept(remote: Remote, connected: Connected): void {
    if (remote.closed) {
      connected.socket.destroy();
      return;
    }
    const { runner, backlogMax } = this.#options;
    const client = this.#client(remote, connected);
    const accepted = new AcceptedStream<JsonResult>({
      connected,
      framer: new JsonFramer(),
      handler: client.handler,
      probe: PROBE_TEXT,
      probeIntervalMs: probeMs(remote),
      nowMs: () => runner.nowMs,
      ...(backlogMax === undefined ? {} : { backlogMax }),
    });
    client.statusOf = () => accepted.status();
    client.attach(accepted.stream);
    remote.clients.set(client, (options) => {
      accepted.configure(probeMs(remote), options.maxBackoffMs);
    });
  }

  #client(remote: Remote, connected: Pick<Connected, 'name' | 'tlsIdentity'>): Client {
    const { core, runner, log } = this.#options;
    const { readOnly, role } = remote.options;
    const client: Client = new Client({
      core,
      runner,
      connected,
      readOnly,
      role,
      onClosed: (error) => {
        remote.clients.delete(client);
        if (error !== null) log('jsonrpc', 'WARN', `${connected.name}: receive error: ${error}`);
      },
    });
    return client;
  }

  #dial(remote: Remote): void {
    const { runner, tls, runDirectory } = this.#options;
    let client: Client | null = null;
    const active = new ActiveStream<JsonResult>({
      targets: [remote.target],
      framer: () => new JsonFramer(),
      probe: PROBE_TEXT,
      probeIntervalMs: probeMs(remote),
      backoffMaxMs: remote.options.maxBackoffMs,
      tls,
      ...(runDirectory === undefined ? {} : { runDirectory }),
      nowMs: () => runner.nowMs,
      handler: {
        connected: (stream) => {
          client = this.#client(remote, stream);
          client.statusOf = () => active.status();
          client.attach(stream);
          remote.clients.set(client, () => {});
        },
        messages: (messages) => client?.handler.messages(messages),
        drained: () => client?.handler.drained(),
        ended: () => client?.handler.ended(),
        disconnected: (error) => {
          client?.close(error);
          client = null;
        },
      },
    });
    remote.active = active;
  }

  /** `null`: there is no such remote, or it cannot be listened on. */
  status(target: string): RemoteStatus | null {
    const remote = this.#remotes.get(target);
    if (remote === undefined || (remote.listener === null && remote.active === null)) return null;
    const [client] = remote.clients.keys();
    const link = remote.active?.status() ?? client?.statusOf() ?? null;
    const locks = client === undefined ? null : this.#options.core.sessionLocks(client.id);
    return {
      isConnected: link?.isConnected ?? false,
      state: link?.state ?? null,
      secSinceConnect: link?.secSinceConnect ?? null,
      secSinceDisconnect: link?.secSinceDisconnect ?? null,
      lastError: link?.lastError ?? null,
      locksHeld: locks?.held ?? [],
      locksWaiting: locks?.waiting ?? [],
      locksLost: locks?.lost ?? [],
      connections: remote.clients.size,
      boundPort: remote.listener?.boundPort ?? null,
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    await this.set(new Map());
  }
}

/** `null`: nobody can say what it is, so it is tried for ever to no effect, as a far side would. */
function understood(target: string): Target | null {
  try {
    return parseTarget(target);
  } catch (error) {
    if (error instanceof TargetError) return null;
    throw error;
  }
}

function probeMs({ target, options }: Remote): number {
  return options.inactivityProbeMs ?? (needsProbes(target) ? PROBE_INTERVAL_MS : 0);
}
