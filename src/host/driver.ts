/**
 * Runs one engine against the real world: completions become events, events are stepped one after
 * another, and the effects of each step are carried out in order before the next. The driver has no
 * opinion of its own; the simulator's process does the same with virtual means.
 *
 * An engine is never entered twice: what happens during a step waits in a queue. When an engine
 * asks to halt, or breaks one of its own assertions, nothing is stepped any more.
 *
 * An engine may also ask to begin again. Then what its storage operations still bring is waited for
 * and dropped, and another engine is made for the next life. Until an engine says that it is ready
 * it gets its storage and its timers only; what clients and peers send is dropped, and sent again.
 */
import type {
  ConnectionId,
  Effect,
  Engine,
  Event,
  HaltCode,
  Instant,
  ReplicaEngine,
  StorageError,
  TimerName,
} from '../engine/index.ts';
import type { ClientHandler, PeerHandler, Storage } from '../io/index.ts';
import { assert, unreachable } from '../stdx/index.ts';
import { Command, type Message, type MessagePool, readCommand } from '../wire/index.ts';
import { Timers } from './timers.ts';

/** What the driver sends through: the client server, or a test's stand-in. */
export interface Network {
  /** Takes over one reference. */
  send(connection: ConnectionId, message: Message): void;
  close(connection: ConnectionId, reason: string): void;
  /** Takes over one reference. */
  sendPeer(replica: number, message: Message): void;
  /** Messages may have been released. */
  resume(): void;
}

export interface DriverListener {
  /** Once per life: from now on it wants to hear of clients and peers. */
  onReady(): void;
  /** The life is over and none of its storage operations is under way: `begin` the next. */
  onRestart(): void;
  onTrace(trace: Effect & { readonly type: 'trace' }): void;
  /** A status request; answered outside the engine, so it is answered in any state. */
  onStatus(connection: ConnectionId): void;
  /** The engine wants to stop; nothing is stepped afterwards. */
  onHalt(code: HaltCode, reason: string): void;
  /** The engine threw: a bug. Nothing is stepped afterwards. */
  onCrash(error: unknown): void;
}

export interface DriverOptions {
  readonly pool: MessagePool;
  readonly storage: Storage;
  readonly network: Network;
  /** Reads both clocks. */
  readonly now: () => Instant;
  readonly listener: DriverListener;
}

export class Driver implements ClientHandler, PeerHandler {
  readonly #options: DriverOptions;
  readonly #timers: Timers;
  /** `null` before the first life and between two. */
  #engine: Engine | null = null;
  /** Counts lives, so that completions of an earlier one are known. */
  #life: number = 0;
  #isReady: boolean = false;
  /** A life has ended, and the next cannot begin yet. */
  #isBetween: boolean = false;
  /** Storage operations under way, of all lives. */
  #inFlight: number = 0;
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

  /** Begins a life of this engine; the one before, if any, has ended with `onRestart`. */
  begin(engine: Engine): void {
    assert(this.#engine === null && this.#inFlight === 0, 'Driver: the last life is not over');
    if (this.#isStopped) return;
    this.#engine = engine;
    this.#deliver({ type: 'open' });
  }

  /** It will be stopped: the engine may give up its office first, if it has one. */
  handOver(engine: ReplicaEngine): void {
    assert(!this.#isPumping, 'Driver: entered twice');
    // One that is recorded is known by another face, and ends without.
    if (this.#isStopped || !this.#isReady || this.#engine !== engine) return;
    this.#isPumping = true;
    this.#carryOut((now) => engine.handOver?.(now) ?? []);
    this.#isPumping = false;
    this.#pump();
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

  onPeerUp(replica: number, replicaId: Uint8Array, isRecovered: boolean): void {
    this.#deliver({ type: 'peer-up', replica, replicaId, isRecovered });
  }

  onPeerDown(replica: number): void {
    this.#deliver({ type: 'peer-down', replica });
  }

  onPeerMessage(replica: number, message: Message): void {
    this.#deliver({ type: 'peer-message', replica, message });
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
      const engine = this.#engine;
      if (engine === null || !this.#isWanted(event)) this.#drop(event);
      else this.#step(engine, event);
    }
    this.#queue.length = 0;
    this.#isPumping = false;
    this.#options.network.resume();
    this.#settle();
  }

  /** Whether the engine of this life wants to hear of it, now. */
  #isWanted(event: Event): boolean {
    if (this.#isStopped) return false;
    return this.#isReady || !fromOutside.has(event.type);
  }

  #step(engine: Engine, event: Event): void {
    this.#carryOut((now) => engine.step(event, now));
  }

  #carryOut(step: (now: Instant) => readonly Effect[]): void {
    const { now, listener } = this.#options;
    try {
      const instant = now();
      for (const effect of step(instant)) {
        if (this.#isStopped || this.#engine === null) this.#dropEffect(effect);
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
        network.sendPeer(effect.replica, effect.message);
        break;
      case 'restart':
        this.#endLife();
        break;
      case 'close':
        network.close(effect.connection, effect.reason);
        break;
      case 'write': {
        const { token, offset, bytes, durable } = effect;
        const done = this.#completion(token, 'written');
        storage.write(offset, bytes, durable, done);
        break;
      }
      case 'read': {
        const { token, offset, length } = effect;
        const life = this.#beginOperation();
        storage.read(offset, length, (bytes, error) => this.#onRead(life, token, bytes, error));
        break;
      }
      case 'flush':
        storage.flush(this.#completion(effect.token, 'flushed'));
        break;
      case 'timer':
        this.#onTimer(effect.timer, effect.afterNs, now);
        break;
      case 'ready':
        this.#isReady = true;
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

  #beginOperation(): number {
    this.#inFlight += 1;
    return this.#life;
  }

  /** Whether the completion is for the life that goes on; lets the next begin after the last. */
  #endOperation(life: number): boolean {
    this.#inFlight -= 1;
    assert(this.#inFlight >= 0, 'Driver: completed twice');
    if (life === this.#life) return true;
    if (!this.#isPumping) this.#settle();
    return false;
  }

  #completion(token: number, type: 'written' | 'flushed'): (error: StorageError | null) => void {
    const life = this.#beginOperation();
    return (error) => {
      if (this.#endOperation(life)) this.#deliver({ type, token, error });
    };
  }

  #onRead(life: number, token: number, bytes: Uint8Array, error: StorageError | null): void {
    // The bytes are valid until we return, so the event must not wait behind another.
    assert(!this.#isPumping, 'Driver: a read completed during a step');
    if (this.#endOperation(life)) this.#deliver({ type: 'read', token, bytes, error });
  }

  #endLife(): void {
    this.#life += 1;
    this.#engine = null;
    this.#isReady = false;
    this.#isBetween = true;
    this.#timers.clear();
  }

  /** The next life begins when the last has nothing under way any more. */
  #settle(): void {
    if (!this.#isBetween || this.#inFlight > 0 || this.#isStopped) return;
    this.#isBetween = false;
    this.#options.listener.onRestart();
  }

  #onTimer(timer: TimerName, afterNs: number | null, now: Instant): void {
    if (afterNs === null) this.#timers.disarm(timer);
    else this.#timers.arm(timer, now.monoNs, afterNs);
  }

  #drop(event: Event): void {
    if ('message' in event) this.#options.pool.release(event.message);
  }

  #dropEffect(effect: Effect): void {
    if ('message' in effect) this.#options.pool.release(effect.message);
  }
}

/** What an engine hears of only when it is ready. */
const fromOutside: ReadonlySet<Event['type']> = new Set<Event['type']>([
  'message',
  'oversize',
  'disconnected',
  'peer-up',
  'peer-down',
  'peer-message',
]);
