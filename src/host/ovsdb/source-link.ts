/**
 * The connection to a server whose database is copied or relayed here: feeds a `Backup` or a
 * `Relay` with what comes, and does what it wants done.
 */
import {
  ActiveStream,
  needsProbes,
  PROBE_INTERVAL_MS,
  type TlsContext,
} from '../../io/streams/index.ts';
import { type Json, JsonFramer, type JsonResult, type SourceEffect } from '../../ovsdb/index.ts';
import { PROBE_TEXT } from './client.ts';
import type { CoreRunner } from './core-runner.ts';
import type { OvsdbLogLevel, OvsdbSource } from './options.ts';

/** What a `Backup` and a `Relay` have in common. */
export interface Follower {
  connected(nowMs: number): void;
  disconnected(nowMs: number): void;
  receive(json: Json, nowMs: number): void;
  tick?(nowMs: number): void;
  deadlineMs?(): number | null;
  takeEffects(): SourceEffect[];
}

export interface SourceLinkOptions {
  readonly follower: Follower;
  readonly source: OvsdbSource;
  readonly module: string;
  readonly runner: CoreRunner;
  readonly tls: TlsContext;
  readonly runDirectory: string | undefined;
  readonly log: (module: string, level: OvsdbLogLevel, text: string) => void;
  readonly onFailed: (reason: string) => void;
}

export class SourceLink {
  readonly #options: SourceLinkOptions;
  readonly #active: ActiveStream<JsonResult>;
  #timer: NodeJS.Timeout | null = null;
  #closed: boolean = false;

  constructor(options: SourceLinkOptions) {
    this.#options = options;
    const { source, runner, tls, runDirectory, follower, log, module } = options;
    const targets = source.target.split(',').filter((target) => target !== '');
    const probed = targets.some(needsProbes) ? PROBE_INTERVAL_MS : 0;
    this.#active = new ActiveStream<JsonResult>({
      targets: targets.length === 0 ? [source.target] : targets,
      framer: () => new JsonFramer(),
      probe: PROBE_TEXT,
      probeIntervalMs: source.options.inactivityProbeMs ?? probed,
      backoffMaxMs: source.options.maxBackoffMs,
      tls,
      ...(runDirectory === undefined ? {} : { runDirectory }),
      nowMs: () => runner.nowMs,
      handler: {
        connected: (stream) => {
          log('reconnect', 'INFO', `${stream.name}: connected`);
          follower.connected(runner.nowMs);
          this.settle();
        },
        messages: (results) => this.#onMessages(results),
        drained: () => {},
        ended: () => this.#active.stream?.end(),
        disconnected: (error) => {
          const text = error === null ? 'connection closed by peer' : `dropped (${error})`;
          log('reconnect', 'INFO', `${this.#active.target}: ${text}`);
          follower.disconnected(runner.nowMs);
          this.settle();
        },
        failed: (target, reason) => {
          log(module, 'DBG', `${target}: connection attempt failed (${reason})`);
        },
      },
    });
  }

  /** Connected, or trying to be. */
  get isAlive(): boolean {
    return !this.#closed;
  }

  #onMessages(results: readonly JsonResult[]): void {
    const { follower, runner } = this.#options;
    for (const result of results) {
      if (!result.ok) {
        this.#active.stream?.end();
        break;
      }
      follower.receive(result.value, runner.nowMs);
    }
    this.settle();
  }

  /** After every call to the follower. */
  settle(): void {
    const { follower, runner, log, module, onFailed } = this.#options;
    runner.drain();
    for (const effect of follower.takeEffects()) {
      switch (effect.kind) {
        case 'send':
          this.#active.stream?.send(effect.text);
          break;
        case 'reconnect':
          log(module, 'INFO', `${this.#active.target}: ${effect.reason}; reconnecting`);
          this.#active.forceReconnect();
          break;
        case 'log':
          log(module, effect.level, effect.text);
          break;
        case 'failed':
          log(module, 'WARN', effect.reason);
          this.close();
          onFailed(effect.reason);
      }
    }
    this.#active.stream?.flush();
    this.#arm();
  }

  #arm(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const { follower, runner } = this.#options;
    const deadline = this.#closed ? null : (follower.deadlineMs?.() ?? null);
    if (deadline === null) return;
    this.#timer = setTimeout(
      () => {
        follower.tick?.(runner.nowMs);
        this.settle();
      },
      Math.max(1, deadline - runner.nowMs),
    );
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#active.close();
  }
}
