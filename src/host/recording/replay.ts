/**
 * Makes the steps of a recording again: a new engine of the same kind is told the same, event by
 * event, and must answer the same. Nothing is written, nothing is sent, no time passes; what the
 * recorded engine read from its file, it was told by events.
 */
import type {
  AnyMachineDefinition,
  Effect,
  Engine,
  Event,
  Instant,
  Machine,
  ReplicaEngine,
} from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';
import { type Checksum, MessagePool, type PoolOptions, type SlotClass } from '../../wire/index.ts';
import { BytesReader } from './bytes-reader.ts';
import { RecordingError } from './errors.ts';
import { fromJson, type LifeRecord, NOTE_ACQUIRE, readEvent, THREW } from './format.ts';
import { type Mark, Marker, markFrom } from './marks.ts';
import { openEngine } from './open-engine.ts';
import { RecordFile, type RecordingEnd } from './record-file.ts';

export interface ReplayOptions {
  readonly path: string;
  /** What was recorded; or what makes a machine that has applied nothing, by its name. */
  readonly machine: AnyMachineDefinition | ((name: string, checksum: Checksum) => Machine | null);
  /** After each step that was the same; `effects` is valid during the call. */
  readonly onStep?: (step: ReplayStep) => void;
  /** The first step that was not; its effects are valid during the call. */
  readonly onDifference?: (difference: Difference) => void;
  /** For tests that plant bugs: wraps the engine of each life. */
  readonly wrap?: (engine: Engine) => Engine;
}

export interface ReplayStep {
  /** Counted from 1, through all lives. */
  readonly number: number;
  /** Counted from 1. */
  readonly life: number;
  readonly event: Event;
  readonly now: Instant;
  readonly effects: readonly Effect[];
}

export interface ReplayReport {
  /** Steps that were the same. */
  readonly steps: number;
  readonly lives: number;
  readonly life: LifeRecord | null;
  /** How the recording ends; `null`: the replay did not come so far. */
  readonly end: RecordingEnd | null;
  /** What the engine threw in the last step, in the recording as well as here. */
  readonly threw: string | null;
  readonly difference: Difference | null;
}

/** The first step at which the engine did something else than it had done. */
export interface Difference {
  readonly step: ReplayStep;
  /** Index of the first effect that differs. */
  readonly index: number;
  readonly recorded: readonly Mark[];
  readonly replayed: readonly Mark[];
  /** One sentence. */
  readonly text: string;
}

/** @throws RecordingError */
export async function replayRecording(options: ReplayOptions): Promise<ReplayReport> {
  const file = new RecordFile(options.path);
  try {
    return await new Replay(options, file).run();
  } finally {
    file.close();
  }
}

/** What a step was told to have answered. */
interface Outcome {
  readonly marks: readonly Mark[];
  readonly threw: string | null;
}

class Replay {
  readonly #options: ReplayOptions;
  readonly #file: RecordFile;
  #pool: ReplayPool | null = null;
  #engine: ReplicaEngine | null = null;
  #stepped: Engine | null = null;
  #life: LifeRecord | null = null;
  #lives: number = 0;
  #steps: number = 0;
  #threw: string | null = null;
  #difference: Difference | null = null;

  constructor(options: ReplayOptions, file: RecordFile) {
    this.#options = options;
    this.#file = file;
  }

  async run(): Promise<ReplayReport> {
    for (;;) {
      const record = this.#file.next();
      if (record.kind === 'end') return this.#report(record.end);
      const { kind, payload } = record;
      const isRead = kind === 'life' ? await this.#begin(payload) : this.#step(payload);
      if (!isRead) return this.#report('damaged');
      if (this.#difference !== null || this.#threw !== null) return this.#report(null);
    }
  }

  #report(end: RecordingEnd | null): ReplayReport {
    const found = { threw: this.#threw, difference: this.#difference };
    return { steps: this.#steps, lives: this.#lives, life: this.#life, end, ...found };
  }

  async #begin(payload: Uint8Array): Promise<boolean> {
    const reader = new BytesReader(payload);
    reader.u8();
    const life = parseLife(reader.text());
    if (life === null) return false;
    const { path, machine, wrap } = this.#options;
    this.#engine?.releaseMessages();
    this.#pool ??= new ReplayPool(life.pool);
    const { pool } = this.#pool;
    const made = makeMachine(machine, life.machine, pool.checksum);
    if (made === null) {
      const reason = `is of a machine named ${life.machine}, which is not at hand here`;
      throw new RecordingError('ERR_RECORDING_MACHINE', path, reason);
    }
    this.#engine = await openEngine(path, life, made, pool);
    this.#stepped = wrap?.(this.#engine) ?? this.#engine;
    this.#life = life;
    this.#lives++;
    return true;
  }

  #step(payload: Uint8Array): boolean {
    if (this.#stepped === null || this.#pool === null) return false;
    const { pool } = this.#pool;
    const reader = new BytesReader(payload);
    reader.u8();
    const eventBytes = reader.bytes(reader.u32());
    const notes = Array.from({ length: reader.u16() }, () => reader.u32());
    const outcome = readOutcome(reader);
    if (reader.isShort || reader.left > 0) return false;
    const read = readEvent(new BytesReader(eventBytes), pool);
    if (read === null) return false;
    const head = { number: this.#steps + 1, life: this.#lives, ...read };
    this.#pool.answers(notes);
    let effects: readonly Effect[] = [];
    let threw: string | null = null;
    try {
      effects = this.#stepped.step(read.event, read.now);
    } catch (error) {
      threw = error instanceof Error ? error.message : String(error);
    }
    this.#pool.answers(null);
    const step = { ...head, effects };
    this.#difference = this.#compare(step, outcome, threw);
    if (this.#difference === null) {
      this.#steps++;
      this.#threw = threw;
      this.#options.onStep?.(step);
    } else {
      this.#options.onDifference?.(this.#difference);
    }
    for (const effect of effects) if ('message' in effect) pool.release(effect.message);
    return true;
  }

  #compare(step: ReplayStep, outcome: Outcome, threw: string | null): Difference | null {
    assert(this.#pool !== null, 'Replay: no pool');
    const { marker } = this.#pool;
    const replayed = step.effects.map((effect) => marker.mark(effect));
    const recorded = outcome.marks;
    const count = Math.max(replayed.length, recorded.length);
    let index = 0;
    while (index < count && isSame(recorded[index], replayed[index])) index++;
    if (threw === outcome.threw && index === count) return null;
    const text = differenceText(outcome, replayed, index, threw);
    return { step, index, recorded, replayed, text };
  }
}

function makeMachine(
  machine: ReplayOptions['machine'],
  name: string,
  checksum: Checksum,
): Machine | null {
  if (typeof machine === 'function') return machine(name, checksum);
  return machine.name === name ? machine.machine(checksum) : null;
}

function differenceText(
  { marks, threw: threwThen }: Outcome,
  replayed: readonly Mark[],
  index: number,
  threw: string | null,
): string {
  if (threw !== null && threwThen !== null) return `threw "${threwThen}", throws "${threw}" now`;
  if (threw !== null) return `throws "${threw}", which it did not`;
  if (threwThen !== null) return `threw "${threwThen}", which it does not now`;
  const then = marks[index]?.type;
  const now = replayed[index]?.type;
  const which = `effect ${index + 1}`;
  if (then === undefined) return `${which} is a ${now}, there were only ${marks.length}`;
  if (now === undefined) return `${which} was a ${then}, there are only ${replayed.length} now`;
  if (then === now) return `${which} is a ${now} with other content`;
  return `${which} was a ${then}, now it is a ${now}`;
}

function isSame(a: Mark | undefined, b: Mark | undefined): boolean {
  return a !== undefined && b !== undefined && a.type === b.type && a.hash === b.hash;
}

function readOutcome(reader: BytesReader): Outcome {
  const count = reader.u16();
  if (count === THREW) return { marks: [], threw: reader.text() };
  const marks = Array.from({ length: count }, () => {
    const code = reader.u8();
    return markFrom(code, reader.u32());
  });
  return { marks, threw: null };
}

function parseLife(text: string): LifeRecord | null {
  try {
    const life = fromJson(text);
    const isLife = typeof life === 'object' && life !== null && 'engine' in life && 'head' in life;
    return isLife ? (life as LifeRecord) : null;
  } catch {
    return null;
  }
}

/** A pool that answers as the recorded one did, whatever is free in it. */
class ReplayPool {
  readonly pool: MessagePool;
  readonly marker: Marker;
  /** Calls of `acquire` that find nothing, and answers of `available`; `null`: as it is. */
  #refused: ReadonlySet<number> | null = null;
  #counts: number[] = [];
  #acquires: number = 0;

  constructor(options: PoolOptions) {
    this.pool = new MessagePool(options);
    this.marker = new Marker(this.pool.checksum);
    const { acquire, available } = MessagePool.prototype;
    this.pool.acquire = (slotClass: SlotClass) => {
      if (this.#refused?.has(this.#acquires++) === true) return null;
      return acquire.call(this.pool, slotClass);
    };
    this.pool.available = (slotClass: SlotClass) => {
      return this.#counts.shift() ?? available.call(this.pool, slotClass);
    };
  }

  /** For one step; `null`: it is over. */
  answers(notes: readonly number[] | null): void {
    this.#acquires = 0;
    if (notes === null) this.#refused = null;
    else this.#refused = new Set(notes.filter(isRefusal).map((note) => note - NOTE_ACQUIRE));
    this.#counts = notes?.filter((note) => !isRefusal(note)) ?? [];
  }
}

function isRefusal(note: number): boolean {
  return note >= NOTE_ACQUIRE;
}
