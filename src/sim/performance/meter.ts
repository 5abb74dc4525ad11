/**
 * Counts what replicas do, where they do it: between each engine and its driver. Engines and
 * drivers know nothing of it.
 */
import type { Effect, Engine, Event } from '../../engine/index.ts';
import { assert, readSafeU64, readU32 } from '../../stdx/index.ts';
import type { Parts } from '../../vsr/index.ts';
import { Command, commandName, PrepareOffset, readCommand, readSize } from '../../wire/index.ts';
import type { EngineSetup } from '../engine-setup.ts';

export interface Traffic {
  messages: number;
  bytes: number;
}

/** How one operation became committed at its primary. */
export interface Commitment {
  readonly op: number;
  /** From its prepare's making to the moment when the primary knew of a quorum, nanoseconds. */
  readonly ns: number;
  /** Some message about it was sent again, or asked for. */
  readonly isHelped: boolean;
}

interface Writes {
  count: number;
  totalNs: number;
  /** When each that is under way was asked for, by token. */
  readonly begunNs: Map<number, number>;
}

/** Makes the setup of a replica whose engine hands its parts to `onParts` before it runs. */
export type SetupMaker = (onParts: (parts: Parts) => void) => EngineSetup;

export class Meter {
  readonly #parts: (Parts | undefined)[] = [];
  readonly #arrivals: Set<string>[] = [];
  /** Replicas that nobody expects to keep up. */
  readonly ignored: Set<number> = new Set();
  /** Whether anything is counted. */
  isOn: boolean = false;

  /** What replicas send each other, by command. */
  readonly peers: Map<string, Traffic> = new Map();
  /** What they send to clients. */
  readonly replies: Traffic = { messages: 0, bytes: 0 };
  /** What primaries send to anybody, bytes. */
  primaryBytes: number = 0;
  /** Requests for a prepare or for headers. */
  repairs: number = 0;
  /** Prepares that came to a replica which had been sent the same before. */
  duplicates: number = 0;
  /** Prepares that a primary sent again, whatever made it do so. */
  resent: number = 0;
  /** Times that a primary sent prepares again because no quorum had answered in time. */
  timeouts: number = 0;
  /** Operations that a backup was behind the head of its primary, at most. */
  lagMax: number = 0;
  readonly commitments: Commitment[] = [];
  /** Checkpoints that were copied from another replica, begun at any time. */
  copies: number = 0;

  /** Clocks of replicas are right, and show the same. */
  #nowNs: number = 0;
  readonly #writes: Writes[] = [];
  #primary: number = -1;
  #view: number = -1;
  #head: number = 0;
  #commit: number = 0;
  readonly #preparedNs: Map<number, number> = new Map();
  readonly #isHelped: Set<number> = new Set();

  /** The setup that `make` makes, with every engine of it watched. */
  watch(replica: number, make: SetupMaker): EngineSetup {
    const setup = make((parts) => {
      this.#parts[replica] = parts;
    });
    this.#arrivals[replica] = new Set();
    return {
      ...setup,
      open: (machine, context) => {
        const life = setup.open(machine, context);
        return { ...life, engine: this.#watched(replica, life.engine) };
      },
    };
  }

  /** Index of the newest primary; −1: there was none yet. */
  get primary(): number {
    return this.#primary;
  }

  /** Its view, and the head of its log. */
  get view(): number {
    return this.#view;
  }

  get head(): number {
    return this.#head;
  }

  /** The mean time of a write, nanoseconds. */
  writeNs(replica: number): number {
    const { count, totalNs } = this.#writesOf(replica);
    return count === 0 ? 0 : totalNs / count;
  }

  /** The parts of the life that a replica leads now, or led last. */
  parts(replica: number): Parts {
    const parts = this.#parts[replica];
    assert(parts !== undefined, 'Meter: it has never lived');
    return parts;
  }

  #watched(replica: number, engine: Engine): Engine {
    return {
      step: (event, now) => {
        this.#nowNs = now.monoNs;
        if (this.isOn) this.#onEvent(replica, event);
        const effects = engine.step(event, now);
        this.#onEffects(replica, event, effects);
        this.#look(replica);
        return effects;
      },
      invariants: () => engine.invariants(),
    };
  }

  #onEvent(replica: number, event: Event): void {
    if (event.type === 'written') this.#onWritten(replica, event.token);
    if (event.type !== 'peer-message' || readCommand(event.message.bytes) !== Command.prepare) {
      return;
    }
    const { bytes } = event.message;
    const key = `${readSafeU64(bytes, PrepareOffset.op)} ${readU32(bytes, 0)}`;
    const arrivals = this.#arrivals[replica] as Set<string>;
    if (arrivals.has(key)) this.duplicates++;
    arrivals.add(key);
  }

  #onEffects(replica: number, event: Event, effects: readonly Effect[]): void {
    let resent = 0;
    for (const effect of effects) {
      if (effect.type === 'trace') {
        const { op } = effect.fields;
        if (effect.event === 'prepare-resent') resent++;
        if (effect.event === 'sync') this.copies++;
        const isHelp = effect.event === 'prepare-resent' || effect.event === 'repair-asked';
        if (isHelp && typeof op === 'number') this.#isHelped.add(op);
      } else if (effect.type === 'write') {
        this.#writesOf(replica).begunNs.set(effect.token, this.#nowNs);
      } else if (this.isOn && (effect.type === 'send-peer' || effect.type === 'send')) {
        this.#onSend(replica, effect.type === 'send-peer', effect.message.bytes);
      }
    }
    if (!this.isOn || resent === 0) return;
    this.resent += resent;
    if (event.type === 'timer') this.timeouts++;
  }

  #onSend(replica: number, isToPeer: boolean, bytes: Uint8Array): void {
    const size = readSize(bytes);
    const command = readCommand(bytes);
    if (isToPeer) {
      const name = commandName(command);
      const traffic = this.peers.get(name) ?? { messages: 0, bytes: 0 };
      traffic.messages++;
      traffic.bytes += size;
      this.peers.set(name, traffic);
    } else {
      this.replies.messages++;
      this.replies.bytes += size;
    }
    if (this.parts(replica).member.isNormalPrimary) this.primaryBytes += size;
    if (command === Command.requestPrepare || command === Command.requestHeaders) this.repairs++;
  }

  #onWritten(replica: number, token: number): void {
    const writes = this.#writesOf(replica);
    const begunNs = writes.begunNs.get(token);
    if (begunNs === undefined) return;
    writes.begunNs.delete(token);
    writes.count++;
    writes.totalNs += this.#nowNs - begunNs;
  }

  #writesOf(replica: number): Writes {
    const writes = this.#writes[replica] ?? { count: 0, totalNs: 0, begunNs: new Map() };
    this.#writes[replica] = writes;
    return writes;
  }

  #look(replica: number): void {
    const { member, log, commits, state } = this.parts(replica);
    if (member.isNormalPrimary) {
      // It has been replaced and has not heard of it yet.
      if (member.view < this.#view) return;
      if (this.#primary !== replica || this.#view !== member.view) this.#begin(replica);
      const nowNs = this.#nowNs;
      while (this.#head < log.head) this.#preparedNs.set(++this.#head, nowNs);
      while (this.#commit < commits.commitMax) this.#onCommitted(++this.#commit, nowNs);
      return;
    }
    if (!this.isOn || this.#primary < 0 || this.ignored.has(replica)) return;
    if (member.view === this.#view) {
      this.lagMax = Math.max(this.lagMax, this.#head - state.commitMin);
    }
  }

  #begin(primary: number): void {
    const { member, log, commits } = this.parts(primary);
    this.#primary = primary;
    this.#view = member.view;
    this.#head = log.head;
    this.#commit = commits.commitMax;
    this.#preparedNs.clear();
  }

  #onCommitted(op: number, nowNs: number): void {
    const preparedNs = this.#preparedNs.get(op);
    this.#preparedNs.delete(op);
    if (preparedNs === undefined || !this.isOn) return;
    const isHelped = this.#isHelped.delete(op);
    this.commitments.push({ op, ns: nowNs - preparedNs, isHelped });
  }
}
