/**
 * The driver of one engine: a process that has a disk and a network, lives, dies and lives again
 * over the same disk. It does with virtual means what a host does with real ones: hands events in,
 * carries effects out, in order, and watches that the rules of messages are kept.
 */
import type { ConnectionId, Effect, Engine, Event, HaltCode, TimerName } from '../engine/index.ts';
import { assert, bytesEqual, type Prng } from '../stdx/index.ts';
import { Framer, type Message, type MessagePool, readSize } from '../wire/index.ts';
import type { History } from './checks/history.ts';
import type { Network, NetworkServer } from './clients/network.ts';
import type { Disk } from './disk/disk.ts';
import type { CrashOutcome } from './disk/sector-store.ts';
import { check, SimulationFailure } from './world/failure.ts';
import { effectText, eventText } from './world/trace-line.ts';
import { Stream, type World } from './world/world.ts';

/** One life of an engine, from its first event to a crash. */
export interface Life {
  readonly engine: Engine;
  readonly pool: MessagePool;
  /** Gives back every message that the engine holds; nothing is stepped afterwards. */
  releaseMessages(): void;
  /** How far the engine says it is, and its digest there. */
  progress?(): Progress;
  /** Looks into a quiet file: fails the run when it does not hold what it should. */
  audit?(history: History): void;
}

export interface Progress {
  readonly commitMin: number;
  /** Hexadecimal. */
  readonly digest: string;
}

export interface ProcessOptions {
  /** 16 bytes. */
  readonly cluster: Uint8Array;
  /** Largest request, header included, bytes. */
  readonly requestSizeMax: number;
  /** Accept connections before the engine is ready; it has to drop what comes too early. */
  readonly listensEarly: boolean;
}

/** What the process tells the run that owns it. */
export interface ProcessListener {
  onReady(): void;
  onHalt(code: HaltCode, reason: string): void;
}

interface Connection {
  readonly framer: Framer;
  /** Bytes that found the pool full. */
  readonly backlog: Uint8Array[];
}

const RETRY_NS = 500_000;
const DEPARTURE_NS_MAX = 100_000;

export class Process implements NetworkServer {
  readonly #world: World;
  readonly #disk: Disk;
  readonly #options: ProcessOptions;
  readonly #listener: ProcessListener;
  readonly #prng: Prng;
  #network: Network | null = null;
  #life: Life | null = null;
  #lives: number = 0;
  #isReady: boolean = false;
  #isStepping: boolean = false;
  readonly #connections: Map<ConnectionId, Connection> = new Map();
  /** Messages handed over by `send` that have not left yet, and how often each. */
  readonly #departing: Map<Message, number> = new Map();
  readonly #timers: Map<TimerName, number> = new Map();
  #timerNext: number = 0;

  constructor(world: World, disk: Disk, options: ProcessOptions, listener: ProcessListener) {
    this.#world = world;
    this.#disk = disk;
    this.#options = options;
    this.#listener = listener;
    this.#prng = world.prng(Stream.process);
  }

  get isUp(): boolean {
    return this.#life !== null;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  get isListening(): boolean {
    return this.#isReady || (this.isUp && this.#options.listensEarly);
  }

  /** Lives begun so far. */
  get lives(): number {
    return this.#lives;
  }

  attach(network: Network): void {
    assert(this.#network === null, 'Process: has a network already');
    this.#network = network;
  }

  /** A new life over whatever the disk holds. */
  start(life: Life): void {
    assert(this.#life === null, 'Process: is running');
    this.#life = life;
    this.#lives++;
    if (this.#lives > 1) this.#world.coverage.add('restarts');
    this.#world.note(this.#name, 'start', '');
    this.#deliver({ type: 'open' });
  }

  /** Power cut: the engine is gone in the middle of whatever it was waiting for. */
  crash(outcome: CrashOutcome): void {
    assert(this.#life !== null, 'Process: is not running');
    this.#world.coverage.add('crashes');
    if (!this.#isReady) this.#world.coverage.add('crashesInRecovery');
    this.#world.note(this.#name, 'crash', outcome);
    this.#end(outcome);
  }

  onConnected(connection: ConnectionId): void {
    const { cluster, requestSizeMax } = this.#options;
    const framer = new Framer({ pool: this.#living.pool, cluster, requestSizeMax });
    this.#connections.set(connection, { framer, backlog: [] });
  }

  onBytes(connection: ConnectionId, bytes: Uint8Array): void {
    const target = this.#connections.get(connection);
    if (target === undefined) return;
    target.backlog.push(bytes);
    if (target.backlog.length === 1) this.#drain(connection, target);
  }

  onDisconnected(connection: ConnectionId): void {
    const known = this.#connections.get(connection);
    if (known === undefined) return;
    known.framer.destroy();
    this.#connections.delete(connection);
    this.#deliver({ type: 'disconnected', connection });
  }

  /** Has the file looked at, if the engine's setup can do that. */
  audit(history: History): void {
    this.#life?.audit?.(history);
  }

  /** How far the engine says it is; `null` when it is down or does not say. */
  progress(): Progress | null {
    return this.#life?.progress?.() ?? null;
  }

  get #living(): Life {
    assert(this.#life !== null, 'Process: is not running');
    return this.#life;
  }

  get #name(): string {
    return `life ${this.#lives}`;
  }

  #drain(connection: ConnectionId, target: Connection): void {
    while (target.backlog.length > 0 && this.#connections.get(connection) === target) {
      const bytes = target.backlog[0] as Uint8Array;
      const { outcome, message, consumed, error } = target.framer.push(bytes, 0);
      if (outcome === 'blocked') {
        this.#world.coverage.add('poolExhausted');
        target.backlog[0] = bytes.subarray(consumed);
        this.#after(RETRY_NS, () => this.#drain(connection, target));
        return;
      }
      check(error === null, 'message-misuse', () => `framer refuses a message: ${error?.kind}`);
      target.backlog.shift();
      if (message === null) continue;
      const type = outcome === 'oversize' ? 'oversize' : 'message';
      this.#deliver({ type, connection, message });
    }
  }

  #deliver(event: Event): void {
    if (this.#life === null) return;
    assert(!this.#isStepping, 'Process: a step within a step');
    const { engine } = this.#life;
    this.#world.coverage.add('events');
    this.#world.hash.event(event);
    this.#world.line(this.#name, `> ${event.type}`, () => eventText(event));
    this.#isStepping = true;
    const effects = this.#guard(() => engine.step(event, this.#world.instant()));
    for (const effect of effects) {
      if (this.#life === null) break;
      this.#execute(effect);
    }
    this.#isStepping = false;
    if (this.#life === null) return;
    const failed = 'error' in event && event.error === 'io';
    check(!failed, 'engine-halt', () => 'the engine goes on after an I/O error');
    this.#guard(() => engine.invariants());
  }

  #guard<T>(call: () => T): T {
    try {
      return call();
    } catch (error) {
      if (error instanceof SimulationFailure) throw error;
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      throw new SimulationFailure('engine-crash', text, error);
    }
  }

  #execute(effect: Effect): void {
    this.#world.coverage.add('effects');
    this.#world.hash.effect(effect);
    this.#world.line(this.#name, `< ${effect.type}`, () => effectText(effect));
    switch (effect.type) {
      case 'send':
        this.#send(effect.connection, effect.message);
        return;
      case 'send-peer':
        this.#living.pool.release(effect.message);
        return;
      case 'restart':
        assert(false, 'Process: one replica never restarts itself');
        return;
      case 'close':
        this.#close(effect.connection);
        return;
      case 'write': {
        const { token, offset, bytes, durable } = effect;
        this.#disk.write(offset, bytes, durable, (error) => {
          this.#deliver({ type: 'written', token, error });
        });
        return;
      }
      case 'read': {
        const { token, offset, length } = effect;
        this.#disk.read(offset, length, (bytes, error) => {
          this.#deliver({ type: 'read', token, bytes, error });
        });
        return;
      }
      case 'flush': {
        const { token } = effect;
        this.#disk.flush((error) => this.#deliver({ type: 'flushed', token, error }));
        return;
      }
      case 'timer':
        this.#arm(effect.timer, effect.afterNs);
        return;
      case 'ready':
        check(!this.#isReady, 'engine-halt', () => 'the engine is ready a second time');
        this.#isReady = true;
        this.#listener.onReady();
        return;
      case 'trace':
        return;
      case 'halt':
        this.#world.coverage.add('halts');
        this.#end('mixed');
        this.#listener.onHalt(effect.code, effect.reason);
        return;
    }
  }

  #send(connection: ConnectionId, message: Message): void {
    const { pool } = this.#living;
    const bytes = message.bytes.slice(0, readSize(message.bytes));
    this.#departing.set(message, (this.#departing.get(message) ?? 0) + 1);
    const delayNs = this.#prng.below(DEPARTURE_NS_MAX);
    this.#after(delayNs, () => {
      const isSame = bytesEqual(bytes, 0, message.bytes, 0, bytes.length);
      check(isSame, 'message-misuse', () => 'a message changed after it was sent');
      const left = (this.#departing.get(message) ?? 0) - 1;
      if (left === 0) this.#departing.delete(message);
      else this.#departing.set(message, left);
      pool.release(message);
      this.#network?.toClient(connection, bytes);
    });
  }

  /** Not within the step: an engine hears of its own `close` as of any other end. */
  #close(connection: ConnectionId): void {
    this.#after(0, () => this.#network?.disconnect(connection));
  }

  #arm(timer: TimerName, afterNs: number | null): void {
    const epoch = this.#timerNext++;
    this.#timers.set(timer, epoch);
    if (afterNs === null) return;
    this.#after(afterNs, () => {
      if (this.#timers.get(timer) === epoch) this.#deliver({ type: 'timer', timer });
    });
  }

  /** Does `action` unless this life has ended by then. */
  #after(delayNs: number, action: () => void): void {
    const life = this.#life;
    this.#world.after(delayNs, () => {
      if (this.#life === life) action();
    });
  }

  #end(outcome: CrashOutcome): void {
    const life = this.#living;
    this.#life = null;
    this.#isReady = false;
    this.#putBack(life);
    this.#timers.clear();
    this.#disk.crash(outcome);
    this.#network?.serverDown();
  }

  /** Every message has a holder that gives it back at the end; what is left over was leaked. */
  #putBack(life: Life): void {
    for (const { framer } of this.#connections.values()) framer.destroy();
    this.#connections.clear();
    this.#guard(() => life.releaseMessages());
    for (const [message, times] of this.#departing) {
      for (let i = 0; i < times; i++) life.pool.release(message);
    }
    this.#departing.clear();
    const leaked = life.pool.leaked();
    check(leaked === 0, 'message-leak', () => `${leaked} messages were never put back`);
  }
}
