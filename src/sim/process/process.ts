/**
 * The driver of one engine: a process that has a disk and a network, lives, dies and lives again
 * over the same disk. It does with virtual means what a host does with real ones: hands events in,
 * carries effects out, in order, and watches that the rules of messages are kept.
 *
 * It may be one of several replicas, with peers, and it may be paused: then everything that happens
 * to it waits, while time goes on.
 */
import type {
  ConnectionId,
  Effect,
  Engine,
  Event,
  HaltCode,
  TimerName,
  TraceValue,
} from '../../engine/index.ts';
import { assert, type Prng } from '../../stdx/index.ts';
import type { Message } from '../../wire/index.ts';
import type { History } from '../checks/history.ts';
import type { Network, NetworkServer } from '../clients/network.ts';
import type { Disk } from '../disk/disk.ts';
import type { CrashOutcome } from '../disk/sector-store.ts';
import { check, SimulationFailure } from '../world/failure.ts';
import { effectText, eventText } from '../world/trace-line.ts';
import { Stream, type World } from '../world/world.ts';
import { Clock } from './clock.ts';
import { Departures } from './departures.ts';
import { Intake } from './intake.ts';
import type { Life, Member, Progress } from './life.ts';

export interface ProcessOptions {
  /** 16 bytes. */
  readonly cluster: Uint8Array;
  /** Largest request, header included, bytes. */
  readonly requestSizeMax: number;
  /** Accept connections before the engine is ready; it has to drop what comes too early. */
  readonly listensEarly: boolean;
  /** Its index in a cluster. Default 0. */
  readonly replica?: number;
  /** How traces call it; its lives are counted behind it. Default `life `. */
  readonly name?: string;
  /** Default: a clock that is right. */
  readonly clock?: Clock;
}

/** What the process tells the run that owns it. */
export interface ProcessListener {
  onReady(): void;
  onHalt(code: HaltCode, reason: string): void;
  /** The engine has asked for another life over the same file; this one is over. */
  onRestart?(): void;
  onTrace?(event: string, fields: { readonly [name: string]: TraceValue }): void;
  /** The engine hands a message to a peer; `bytes` is valid during the call. */
  onPeerSend?(to: number, bytes: Uint8Array): void;
  /** The engine asks for a write; `bytes` is valid during the call. */
  onWrite?(bytes: Uint8Array): void;
  /** After each step, when invariants hold. */
  onStepped?(): void;
}

/** The network between replicas, as one of them sees it. */
export interface PeerNetwork {
  /** Takes `bytes`. */
  send(from: number, to: number, bytes: Uint8Array): void;
  onStarted(replica: number): void;
  /** `isSilent`: nobody is left to tell the others. */
  onEnded(replica: number, isSilent: boolean): void;
}

const RETRY_NS = 500_000;
const DEPARTURE_NS_MAX = 100_000;
/** Inputs that wait for a paused process; what peers send beyond that is lost. */
const HELD_MAX = 512;

export class Process implements NetworkServer {
  readonly #world: World;
  readonly #disk: Disk;
  readonly #options: ProcessOptions;
  readonly #listener: ProcessListener;
  readonly #clock: Clock;
  readonly #prng: Prng;
  readonly #replica: number;
  #network: Network | null = null;
  #peers: PeerNetwork | null = null;
  #life: Life | null = null;
  #lives: number = 0;
  #isReady: boolean = false;
  #isPaused: boolean = false;
  #isStepping: boolean = false;
  /** What has happened during a pause, in order. */
  #held: (() => void)[] = [];
  readonly #intake: Intake;
  readonly #departures: Departures = new Departures();
  /** When the last message to each peer leaves: they leave in order. */
  readonly #departNs: Map<number, number> = new Map();
  readonly #timers: Map<TimerName, number> = new Map();
  #timerNext: number = 0;

  constructor(world: World, disk: Disk, options: ProcessOptions, listener: ProcessListener) {
    this.#world = world;
    this.#disk = disk;
    this.#options = options;
    this.#listener = listener;
    this.#replica = options.replica ?? 0;
    this.#clock = options.clock ?? new Clock(world);
    this.#prng = world.prng(Stream.process, this.#replica);
    this.#intake = new Intake(world, options, {
      onMessage: (source, outcome, message) => this.#onMessage(source, outcome, message),
      retryLater: (action) => this.#after(RETRY_NS, action),
    });
  }

  get isUp(): boolean {
    return this.#life !== null;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  get isListening(): boolean {
    return this.#isReady || (this.isUp && this.#options.listensEarly);
  }

  /** Lives begun so far. */
  get lives(): number {
    return this.#lives;
  }

  get clock(): Clock {
    return this.#clock;
  }

  /** Who it is to its peers; only while it is up. */
  get member(): Member {
    const { member } = this.#living;
    assert(member !== undefined, 'Process: has no peers');
    return member;
  }

  attach(network: Network): void {
    assert(this.#network === null, 'Process: has a network already');
    this.#network = network;
  }

  attachPeers(peers: PeerNetwork): void {
    assert(this.#peers === null, 'Process: has peers already');
    this.#peers = peers;
  }

  /** A new life over whatever the disk holds. */
  start(life: Life): void {
    assert(this.#life === null, 'Process: is running');
    this.#life = life;
    this.#lives++;
    if (this.#lives > 1) this.#world.coverage.add('restarts');
    this.#world.note(this.#name, 'start', '');
    this.#peers?.onStarted(this.#replica);
    this.#deliver({ type: 'open' });
  }

  /** Power cut: the engine is gone in the middle of whatever it was waiting for. */
  crash(outcome: CrashOutcome, isSilent: boolean = false): void {
    assert(this.#life !== null, 'Process: is not running');
    this.#world.coverage.add('crashes');
    if (this.#peers !== null && this.progress()?.isPrimary === true) {
      this.#world.coverage.add('crashesOfPrimary');
    }
    if (!this.#isReady) this.#world.coverage.add('crashesInRecovery');
    this.#world.note(this.#name, 'crash', outcome);
    this.#end(outcome, isSilent);
  }

  /** From now on everything that happens to it waits. Its disk and what has left go on. */
  pause(): void {
    assert(this.#life !== null && !this.#isPaused, 'Process: cannot be paused');
    this.#isPaused = true;
    this.#world.coverage.add('pauses');
    this.#world.note(this.#name, 'pause', '');
  }

  resume(): void {
    assert(this.#isPaused, 'Process: is not paused');
    this.#isPaused = false;
    this.#world.note(this.#name, 'resume', `${this.#held.length} held`);
    const life = this.#life;
    const held = this.#held;
    this.#held = [];
    for (const action of held) {
      if (this.#life !== life) break;
      action();
    }
  }

  onConnected(connection: ConnectionId): void {
    this.#input(() => this.#intake.open(connection, this.#living.pool));
  }

  onBytes(connection: ConnectionId, bytes: Uint8Array): void {
    this.#input(() => this.#intake.push(connection, bytes));
  }

  onDisconnected(connection: ConnectionId): void {
    this.#input(() => {
      if (!this.#intake.close(connection)) return;
      this.#deliver({ type: 'disconnected', connection });
    });
  }

  onPeerUp(replica: number, { replicaId, isRecovered }: Member): void {
    this.#input(() => {
      this.#intake.open(peerSource(replica), this.#living.pool);
      this.#deliver({ type: 'peer-up', replica, replicaId, isRecovered });
    });
  }

  onPeerDown(replica: number): void {
    this.#input(() => {
      this.#intake.close(peerSource(replica));
      this.#deliver({ type: 'peer-down', replica });
    });
  }

  onPeerBytes(replica: number, bytes: Uint8Array): void {
    if (this.#isPaused && this.#held.length >= HELD_MAX) {
      this.#world.coverage.add('overflows');
      return;
    }
    this.#input(() => this.#intake.push(peerSource(replica), bytes));
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
    return `${this.#options.name ?? 'life '}${this.#lives}`;
  }

  /** Something happens to the process: now, or when it runs again. */
  #input(action: () => void): void {
    if (this.#life === null) return;
    if (this.#isPaused) this.#held.push(action);
    else action();
  }

  #onMessage(source: number, outcome: 'message' | 'oversize', message: Message): void {
    if (source >= 0) this.#deliver({ type: outcome, connection: source, message });
    else this.#deliver({ type: 'peer-message', replica: -1 - source, message });
  }

  #deliver(event: Event): void {
    if (this.#life === null) return;
    assert(!this.#isStepping, 'Process: a step within a step');
    const { engine } = this.#life;
    this.#world.coverage.add('events');
    this.#world.hash.event(event);
    if (this.#world.isTraced) {
      this.#world.line(this.#name, `> ${event.type}`, () => eventText(event));
    }
    this.#isStepping = true;
    const effects = this.#step(engine, event);
    for (const effect of effects) {
      if (this.#life === null) break;
      this.#execute(effect);
    }
    this.#isStepping = false;
    if (this.#life === null) return;
    const failed = 'error' in event && event.error === 'io';
    check(!failed, 'engine-halt', () => 'the engine goes on after an I/O error');
    try {
      engine.invariants();
    } catch (error) {
      throw crashed(error);
    }
    this.#listener.onStepped?.();
  }

  #step(engine: Engine, event: Event): readonly Effect[] {
    try {
      return engine.step(event, this.#clock.instant());
    } catch (error) {
      throw crashed(error);
    }
  }

  #execute(effect: Effect): void {
    this.#world.coverage.add('effects');
    this.#world.hash.effect(effect);
    if (this.#world.isTraced) {
      this.#world.line(this.#name, `< ${effect.type}`, () => effectText(effect));
    }
    switch (effect.type) {
      case 'send':
        this.#send(effect.connection, effect.message);
        return;
      case 'send-peer':
        this.#sendPeer(effect.replica, effect.message);
        return;
      case 'close':
        this.#close(effect.connection);
        return;
      case 'write': {
        const { token, offset, bytes, durable } = effect;
        this.#listener.onWrite?.(bytes);
        this.#disk.write(offset, bytes, durable, (error) => {
          this.#input(() => this.#deliver({ type: 'written', token, error }));
        });
        return;
      }
      case 'read': {
        const { token, offset, length } = effect;
        this.#disk.read(offset, length, (bytes, error) => {
          this.#input(() => this.#deliver({ type: 'read', token, bytes, error }));
        });
        return;
      }
      case 'flush': {
        const { token } = effect;
        this.#disk.flush((error) => {
          this.#input(() => this.#deliver({ type: 'flushed', token, error }));
        });
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
        this.#listener.onTrace?.(effect.event, effect.fields);
        return;
      case 'restart':
        check(this.#listener.onRestart !== undefined, 'engine-halt', () => 'restarts itself');
        this.#end(null, false);
        this.#listener.onRestart?.();
        return;
      case 'halt':
        this.#world.coverage.add('halts');
        this.#end('mixed', false);
        this.#listener.onHalt(effect.code, effect.reason);
        return;
    }
  }

  #send(connection: ConnectionId, message: Message): void {
    const departed = this.#departures.begin(message, this.#living.pool);
    const delayNs = this.#prng.below(DEPARTURE_NS_MAX);
    this.#after(delayNs, () => this.#network?.toClient(connection, departed()));
  }

  #sendPeer(to: number, message: Message): void {
    const { pool } = this.#living;
    const { bytes } = message;
    check(this.#peers !== null && to !== this.#replica, 'message-misuse', () => {
      return `a message for replica ${to}, which is nobody else`;
    });
    this.#listener.onPeerSend?.(to, bytes);
    const departed = this.#departures.begin(message, pool);
    const { nowNs } = this.#world;
    const soonestNs = nowNs + this.#prng.below(DEPARTURE_NS_MAX);
    const atNs = Math.max(soonestNs, this.#departNs.get(to) ?? 0);
    this.#departNs.set(to, atNs);
    this.#after(atNs - nowNs, () => this.#peers?.send(this.#replica, to, departed()));
  }

  /** Not within the step: an engine hears of its own `close` as of any other end. */
  #close(connection: ConnectionId): void {
    this.#after(0, () => this.#network?.disconnect(connection));
  }

  #arm(timer: TimerName, afterNs: number | null): void {
    const epoch = this.#timerNext++;
    this.#timers.set(timer, epoch);
    if (afterNs === null) return;
    check(Number.isSafeInteger(afterNs) && afterNs >= 0, 'engine-crash', () => {
      return `timer ${timer} is armed with ${afterNs} ns`;
    });
    this.#after(this.#clock.worldNs(afterNs), () => {
      this.#input(() => {
        if (this.#timers.get(timer) === epoch) this.#deliver({ type: 'timer', timer });
      });
    });
  }

  /** Does `action` unless this life has ended by then. */
  #after(delayNs: number, action: () => void): void {
    const life = this.#life;
    this.#world.after(delayNs, () => {
      if (this.#life === life) action();
    });
  }

  /** `outcome` of the power cut; `null`: only the process ends. */
  #end(outcome: CrashOutcome | null, isSilent: boolean): void {
    const life = this.#living;
    this.#life = null;
    this.#isReady = false;
    this.#isPaused = false;
    this.#held = [];
    this.#putBack(life);
    this.#timers.clear();
    this.#departNs.clear();
    if (outcome === null) this.#disk.settle();
    else this.#disk.crash(outcome);
    this.#network?.serverDown();
    this.#peers?.onEnded(this.#replica, isSilent);
  }

  /** Every message has a holder that gives it back at the end; what is left over was leaked. */
  #putBack(life: Life): void {
    this.#intake.clear();
    try {
      life.releaseMessages();
    } catch (error) {
      throw crashed(error);
    }
    this.#departures.clear(life.pool);
    const leaked = life.pool.leaked();
    check(leaked === 0, 'message-leak', () => `${leaked} messages were never put back`);
  }
}

/** What an engine throws is a finding; what a checker threw within its step is one already. */
function crashed(error: unknown): SimulationFailure {
  if (error instanceof SimulationFailure) return error;
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new SimulationFailure('engine-crash', text, error);
}

/** Sources of bytes are numbers: connections from 0 up, peers from −1 down. */
function peerSource(replica: number): number {
  return -1 - replica;
}
