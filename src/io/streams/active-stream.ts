/**
 * A stream that this side opens, and opens again whenever it breaks, in turn to each of its
 * targets. Targets that cannot be understood fail like those that nobody listens on.
 */
import { assert } from '../../stdx/index.ts';
import { connectStream } from './connect.ts';
import type { Connected } from './connected.ts';
import { BACKOFF_MAX_MS } from './limits.ts';
import { Reconnect, type ReconnectAction, type ReconnectStatus } from './reconnect.ts';
import { type Framer, Stream, type StreamHandler } from './stream.ts';
import { type ActiveTarget, isPassive, parseTarget, TargetError } from './target.ts';
import type { TlsContext } from './tls-context.ts';
import { Watch } from './watch.ts';

export interface ActiveHandler<Message>
  extends Omit<StreamHandler<Message>, 'activity' | 'closed'> {
  connected(stream: Stream<Message>): void;
  /** Only after `connected`. It is tried again. */
  disconnected(error: string | null): void;
  /** An attempt has failed, in words. */
  failed?(target: string, reason: string): void;
}

export interface ActiveOptions<Message> {
  /** At least one. */
  readonly targets: readonly string[];
  readonly handler: ActiveHandler<Message>;
  readonly framer: () => Framer<Message>;
  readonly probe: string;
  readonly probeIntervalMs: number;
  readonly backoffMaxMs?: number;
  readonly tls?: TlsContext;
  readonly runDirectory?: string;
  readonly nowMs: () => number;
}

export class ActiveStream<Message> {
  readonly #options: ActiveOptions<Message>;
  readonly #reconnect: Reconnect;
  readonly #watch: Watch;
  readonly #nowMs: () => number;
  #stream: Stream<Message> | null = null;
  #giveUp: (() => void) | null = null;
  #attempts: number = 0;
  #closed: boolean = false;

  constructor(options: ActiveOptions<Message>) {
    assert(options.targets.length > 0, 'ActiveStream: no targets');
    const { nowMs, probeIntervalMs } = options;
    const backoffMaxMs = Math.max(options.backoffMaxMs ?? BACKOFF_MAX_MS, 1_000);
    this.#options = options;
    this.#nowMs = nowMs;
    this.#reconnect = new Reconnect({ probeIntervalMs, backoffMaxMs }, nowMs());
    this.#watch = new Watch(this.#reconnect, nowMs, (action) => this.#act(action));
  }

  /** `null`: there is no connection. */
  get stream(): Stream<Message> | null {
    return this.#stream;
  }

  /** The target of the present connection or attempt. */
  get target(): string {
    const { targets } = this.#options;
    const target = targets[Math.max(0, this.#attempts - 1) % targets.length];
    assert(target !== undefined, 'ActiveStream: no targets');
    return target;
  }

  configure(probeIntervalMs: number, backoffMaxMs: number): void {
    this.#reconnect.configure({ probeIntervalMs, backoffMaxMs });
    this.#watch.arm();
  }

  status(): ReconnectStatus {
    return this.#reconnect.status(this.#nowMs());
  }

  /** Breaks the connection, if there is one, when what was sent has left. */
  forceReconnect(): void {
    this.#stream?.end();
  }

  close(): void {
    this.#closed = true;
    this.#watch.stop();
    this.#giveUp?.();
    this.#giveUp = null;
    this.#stream?.end();
  }

  #act(action: ReconnectAction): void {
    switch (action) {
      case 'connect':
        this.#connect();
        break;
      case 'probe':
        this.#stream?.send(this.#options.probe);
        this.#stream?.flush();
        break;
      case 'disconnect':
        if (this.#stream === null) this.#failed('Connection timed out');
        else if (this.#stream.isPaused || this.#stream.isBacklogged) {
          this.#reconnect.activity(this.#nowMs());
        } else this.#stream.destroy('no response to inactivity probe');
    }
  }

  #connect(): void {
    this.#attempts += 1;
    this.#reconnect.connecting(this.#nowMs());
    const { target } = this;
    try {
      const parsed = parseTarget(target);
      if (isPassive(parsed)) throw new TargetError(target, 'this is listened on');
      const done = (result: Connected | string): void => this.#onResult(result);
      this.#giveUp = connectStream(parsed as ActiveTarget, this.#options, done);
    } catch (error) {
      if (!(error instanceof TargetError)) throw error;
      this.#failed('Address family not supported by protocol');
    }
  }

  #onResult(result: Connected | string): void {
    this.#giveUp = null;
    if (typeof result === 'string') this.#failed(result);
    else this.#connected(result);
  }

  #failed(reason: string): void {
    this.#giveUp?.();
    this.#giveUp = null;
    this.#reconnect.disconnected(reason, this.#nowMs());
    this.#watch.arm();
    this.#options.handler.failed?.(this.target, reason);
  }

  #connected(connected: Connected): void {
    const { handler, framer } = this.#options;
    const reconnect = this.#reconnect;
    reconnect.connected(this.#nowMs());
    const stream = new Stream<Message>({
      ...connected,
      framer: framer(),
      handler: {
        messages: (messages) => handler.messages(messages),
        drained: () => handler.drained(),
        ended: () => handler.ended(),
        activity: () => {
          if (this.#stream === stream) reconnect.activity(this.#nowMs());
        },
        closed: (error) => this.#onClosed(stream, error),
      },
    });
    this.#stream = stream;
    this.#watch.arm();
    handler.connected(stream);
  }

  #onClosed(stream: Stream<Message>, error: string | null): void {
    if (this.#stream !== stream) return;
    this.#stream = null;
    this.#reconnect.disconnected(error, this.#nowMs());
    if (!this.#closed) this.#watch.arm();
    this.#options.handler.disconnected(error);
  }
}
