/**
 * Runs one engine against the real world: completions become events, events are stepped one after
 * another, and the effects of each step are carried out in order before the next. The driver has no
 * opinion of its own; the simulator's process does the same with virtual means.
 *
 * An engine is never entered twice: what happens during a step waits in a queue. When an engine
 * asks to halt, or breaks one of its own assertions, nothing is stepped any more.
 */
import type {
  ConnectionId,
  Effect,
  Engine,
  Event,
  HaltCode,
  Instant,
  TimerName,
} from '../engine/index.ts';
import type { ClientHandler, Storage } from '../io/index.ts';
import { assert, unreachable } from '../stdx/index.ts';
import { Command, type Message, type MessagePool, readCommand } from '../wire/index.ts';
import { Timers } from './timers.ts';

/** What the driver sends through: the client server, or a test's stand-in. */
export interface Network {
  /** Takes over one reference. */
  send(connection: ConnectionId, message: Message): void;
  close(connection: ConnectionId, reason: string): void;
  /** Messages may have been released. */
  resume(): void;
}

export interface DriverListener {
  onReady(): void;
  onTrace(trace: Effect & { readonly type: 'trace' }): void;
  /** A status request; answered outside the engine, so it is answered in any state. */
  onStatus(connection: ConnectionId): void;
  /** The engine wants to stop; nothing is stepped afterwards. */
  onHalt(code: HaltCode, reason: string): void;
  /** The engine threw: a bug. Nothing is stepped afterwards. */
  onCrash(error: unknown): void;
}

export interface DriverOptions {
  readonly engine: Engine;
  readonly pool: MessagePool;
  readonly storage: Storage;
  readonly network: Network;
  /** Reads both clocks. */
  readonly now: () => Instant;
  readonly listener: DriverListener;
}

export class Driver implements ClientHandler {
  readonly #options: DriverOptions;
  readonly #timers: Timers;
  #queue: Event[] = [];
  #isPumping: boolean = false;
  #isStopped: boolean = false;

  constructor(options: DriverOptions) {
    this.#options = options;
    const monoNs = (): number => options.now().monoNs;
    this.#timers = new Timers(monoNs, (timer) => this.#deliver({ type: 'timer', timer }));
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Begins the engine's life. */
  start(): void {
    this.#deliver({ type: 'open' });
  }

  /** Ends it: nothing is stepped afterwards, and what waits is dropped. */
  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#timers.clear();
    if (this.#isPumping) return;
    for (const event of this.#queue.splice(0)) this.#drop(event);
  }

  onMessage(connection: ConnectionId, message: Message): void {
    if (readCommand(message.bytes) !== Command.status) {
      this.#deliver({ type: 'message', connection, message });
      return;
    }
    this.#options.pool.release(message);
    this.#options.listener.onStatus(connection);
  }

  onOversize(connection: ConnectionId, message: Message): void {
    this.#deliver({ type: 'oversize', connection, message });
  }

  onDisconnected(connection: ConnectionId): void {
    this.#deliver({ type: 'disconnected', connection });
  }

  #deliver(event: Event): void {
    this.#queue.push(event);
    if (!this.#isPumping) this.#pump();
  }

  #pump(): void {
    assert(!this.#isPumping, 'Driver: entered twice');
    this.#isPumping = true;
    // The loop sees what is appended while it runs.
    for (const event of this.#queue) {
      if (this.#isStopped) this.#drop(event);
      else this.#step(event);
    }
    this.#queue.length = 0;
    this.#isPumping = false;
    this.#options.network.resume();
  }

  #step(event: Event): void {
    const { engine, now, listener } = this.#options;
    try {
      const instant = now();
      for (const effect of engine.step(event, instant)) {
        if (this.#isStopped) this.#dropEffect(effect);
        else this.#execute(effect, instant);
      }
    } catch (error) {
      this.stop();
      listener.onCrash(error);
    }
  }

  #execute(effect: Effect, now: Instant): void {
    const { storage, network, listener } = this.#options;
    switch (effect.type) {
      case 'send':
        network.send(effect.connection, effect.message);
        break;
      case 'send-peer':
        this.#options.pool.release(effect.message);
        break;
      case 'restart':
        assert(false, 'Driver: one replica never restarts itself');
        break;
      case 'close':
        network.close(effect.connection, effect.reason);
        break;
      case 'write': {
        const { token, offset, bytes, durable } = effect;
        storage.write(offset, bytes, durable, (error) =>
          this.#deliver({ type: 'written', token, error }),
        );
        break;
      }
      case 'read': {
        const { token, offset, length } = effect;
        storage.read(offset, length, (bytes, error) => this.#onRead(token, bytes, error));
        break;
      }
      case 'flush': {
        const { token } = effect;
        storage.flush((error) => this.#deliver({ type: 'flushed', token, error }));
        break;
      }
      case 'timer':
        this.#onTimer(effect.timer, effect.afterNs, now);
        break;
      case 'ready':
        listener.onReady();
        break;
      case 'trace':
        listener.onTrace(effect);
        break;
      case 'halt':
        this.stop();
        listener.onHalt(effect.code, effect.reason);
        break;
      default:
        unreachable(effect);
    }
  }

  #onRead(token: number, bytes: Uint8Array, error: 'no-space' | 'io' | null): void {
    // The bytes are valid until we return, so the event must not wait behind another.
    assert(!this.#isPumping, 'Driver: a read completed during a step');
    this.#deliver({ type: 'read', token, bytes, error });
  }

  #onTimer(timer: TimerName, afterNs: number | null, now: Instant): void {
    if (afterNs === null) this.#timers.disarm(timer);
    else this.#timers.arm(timer, now.monoNs, afterNs);
  }

  #drop(event: Event): void {
    if (event.type !== 'message' && event.type !== 'oversize') return;
    this.#options.pool.release(event.message);
  }

  #dropEffect(effect: Effect): void {
    if (effect.type === 'send') this.#options.pool.release(effect.message);
  }
}
