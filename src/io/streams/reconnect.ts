/**
 * When to connect, when to ask whether the other side is still there, when to give up and how long
 * to wait then: the life of one connection that is made again whenever it breaks. Pure; the owner
 * tells what happens and what time it is, asks for the deadline, and does what {@link run} says.
 *
 * Waiting doubles from the least to the most backoff with every failure. A connection that was
 * good for longer than the last wait starts again with the least.
 */
import { assert } from '../../stdx/index.ts';
import { BACKOFF_MAX_MS, BACKOFF_MIN_MS, PROBE_INTERVAL_MIN_MS } from './limits.ts';

export type ReconnectState = 'VOID' | 'BACKOFF' | 'CONNECTING' | 'ACTIVE' | 'IDLE' | 'RECONNECT';

export type ReconnectAction = 'connect' | 'disconnect' | 'probe';

export interface ReconnectOptions {
  /** 0: never asks. */
  readonly probeIntervalMs: number;
  readonly backoffMinMs?: number;
  readonly backoffMaxMs?: number;
  /** The other side has connected to this one: when it breaks, that is the end. */
  readonly isAccepted?: boolean;
}

export interface ReconnectStatus {
  readonly state: ReconnectState;
  readonly isConnected: boolean;
  /** Whole seconds; `null`: never was. */
  readonly secSinceConnect: number | null;
  readonly secSinceDisconnect: number | null;
  readonly lastError: string | null;
}

export class Reconnect {
  #backoffMinMs: number;
  #backoffMaxMs: number;
  #probeIntervalMs: number;
  readonly #isAccepted: boolean;
  #state: ReconnectState;
  #stateEnteredMs: number;
  #backoffMs: number = 0;
  #lastActivityMs: number;
  #lastConnectedMs: number | null = null;
  #lastDisconnectedMs: number | null = null;
  #lastError: string | null = null;

  constructor(options: ReconnectOptions, nowMs: number) {
    this.#backoffMinMs = options.backoffMinMs ?? BACKOFF_MIN_MS;
    this.#backoffMaxMs = options.backoffMaxMs ?? BACKOFF_MAX_MS;
    this.#isAccepted = options.isAccepted ?? false;
    this.#probeIntervalMs = probeInterval(options.probeIntervalMs);
    assert(this.#backoffMinMs <= this.#backoffMaxMs, 'Reconnect: least backoff above the most');
    this.#state = this.#isAccepted ? 'ACTIVE' : 'BACKOFF';
    this.#stateEnteredMs = nowMs;
    this.#lastActivityMs = nowMs;
    if (this.#isAccepted) this.#lastConnectedMs = nowMs;
  }

  get state(): ReconnectState {
    return this.#state;
  }

  get isConnected(): boolean {
    return this.#state === 'ACTIVE' || this.#state === 'IDLE';
  }

  /** The present wait between attempts, ms. */
  get backoffMs(): number {
    return this.#backoffMs;
  }

  configure(options: { readonly probeIntervalMs: number; readonly backoffMaxMs: number }): void {
    this.#probeIntervalMs = probeInterval(options.probeIntervalMs);
    this.#backoffMaxMs = Math.max(options.backoffMaxMs, BACKOFF_MIN_MS);
    this.#backoffMinMs = Math.min(this.#backoffMinMs, this.#backoffMaxMs);
    this.#backoffMs = Math.min(this.#backoffMs, this.#backoffMaxMs);
  }

  /** When {@link run} has something to say, ms; `null`: not before something happens. */
  deadlineMs(): number | null {
    switch (this.#state) {
      case 'VOID':
        return null;
      case 'RECONNECT':
        return this.#stateEnteredMs;
      case 'BACKOFF':
        return this.#stateEnteredMs + this.#backoffMs;
      case 'CONNECTING':
        return this.#stateEnteredMs + Math.max(BACKOFF_MIN_MS, this.#backoffMs);
      case 'ACTIVE':
      case 'IDLE': {
        if (this.#probeIntervalMs === 0) return null;
        const active = this.#state === 'ACTIVE';
        const since = active ? this.#lastActivityMs : 0;
        return Math.max(since, this.#stateEnteredMs) + this.#probeIntervalMs;
      }
    }
  }

  /** What is to be done now; after `connect` and `disconnect` the owner tells what came of it. */
  run(nowMs: number): ReconnectAction | null {
    const deadline = this.deadlineMs();
    if (deadline === null || nowMs < deadline) return null;
    switch (this.#state) {
      case 'BACKOFF':
        return 'connect';
      case 'ACTIVE':
        this.#enter('IDLE', nowMs);
        return 'probe';
      default:
        return 'disconnect';
    }
  }

  connecting(nowMs: number): void {
    this.#enter('CONNECTING', nowMs);
  }

  connected(nowMs: number): void {
    this.#lastConnectedMs = nowMs;
    this.#lastActivityMs = nowMs;
    this.#enter('ACTIVE', nowMs);
  }

  /** Something came from the other side, or it took what it had not taken. */
  activity(nowMs: number): void {
    this.#lastActivityMs = nowMs;
    if (this.#state === 'IDLE') this.#enter('ACTIVE', nowMs);
  }

  /** Break the connection at the next {@link run}. */
  forceReconnect(nowMs: number): void {
    if (this.isConnected || this.#state === 'CONNECTING') this.#enter('RECONNECT', nowMs);
  }

  /** The attempt has failed, or the connection is gone; `error` in words, `null`: closed. */
  disconnected(error: string | null, nowMs: number): void {
    const wasConnected = this.isConnected || this.#state === 'RECONNECT';
    this.#lastError = error ?? 'End of file';
    if (wasConnected) this.#lastDisconnectedMs = nowMs;
    if (this.#isAccepted) {
      this.#enter('VOID', nowMs);
      return;
    }
    const goodMs = this.#lastActivityMs - (this.#lastConnectedMs ?? nowMs);
    if (wasConnected && goodMs >= this.#backoffMs) this.#backoffMs = this.#backoffMinMs;
    else if (this.#backoffMs < this.#backoffMinMs) this.#backoffMs = this.#backoffMinMs;
    else this.#backoffMs = Math.min(this.#backoffMs * 2, this.#backoffMaxMs);
    this.#enter('BACKOFF', nowMs);
  }

  /** No more attempts. */
  stop(nowMs: number): void {
    this.#enter('VOID', nowMs);
  }

  status(nowMs: number): ReconnectStatus {
    const since = (at: number | null) =>
      at === null ? null : Math.max(0, Math.floor((nowMs - at) / 1000));
    return {
      state: this.#state,
      isConnected: this.isConnected,
      secSinceConnect: since(this.#lastConnectedMs),
      secSinceDisconnect: since(this.#lastDisconnectedMs),
      lastError: this.#lastError,
    };
  }

  #enter(state: ReconnectState, nowMs: number): void {
    this.#state = state;
    this.#stateEnteredMs = nowMs;
  }
}

function probeInterval(intervalMs: number): number {
  return intervalMs <= 0 ? 0 : Math.max(PROBE_INTERVAL_MIN_MS, intervalMs);
}
