/**
 * Records what an engine is told and what it answers, so that the same steps can be made again
 * somewhere else. It stands between driver and engine as an engine itself: where nothing is
 * recorded there is no trace of it.
 *
 * A server does not fail because its recording does: that ends with a line in the log, and the
 * server goes on. What is recorded is written in pieces; a process that is killed loses the last.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import type { Effect, Engine, Event, Instant } from '../../engine/index.ts';
import { type LogSink, systemCode } from '../../io/index.ts';
import { assert } from '../../stdx/index.ts';
import { type Message, MessagePool, type SlotClass } from '../../wire/index.ts';
import { BytesWriter } from './bytes-writer.ts';
import { RecordingError } from './errors.ts';
import {
  EndReason,
  FILE_HEAD_SIZE,
  type LifeRecord,
  MAGIC,
  NOTE_ACQUIRE,
  payloadSum,
  RECORD_HEAD_SIZE,
  RECORDING_SIZE_MAX,
  RecordKind,
  THREW,
  toJson,
  VERSION,
  writeEvent,
} from './format.ts';
import { Marker } from './marks.ts';

export interface RecorderOptions {
  /** A file that does not exist yet; readable by its owner only, for it holds what clients send. */
  readonly path: string;
  /** Bytes; more is not recorded. Default {@link RECORDING_SIZE_MAX}. */
  readonly sizeMax?: number | undefined;
  /** The pool that driver and engine share. */
  readonly pool: MessagePool;
  readonly log: LogSink;
}

export type RecorderMaker = (options: RecorderOptions) => Recorder;

/** @throws RecordingError */
export const makeRecorder: RecorderMaker = (options) => new Recorder(options);

/** Recorded bytes that wait to be written; more is written at once. */
const WAITING_MAX = 262_144;
/** How long what was recorded may wait, milliseconds. */
const WAIT_MS = 100;

export class Recorder {
  readonly #options: RecorderOptions;
  readonly #marker: Marker;
  readonly #out: BytesWriter = new BytesWriter();
  readonly #sizeMax: number;
  /** `null`: the recording is over. */
  #file: number | null;
  /** Bytes in the file and on their way. */
  #size: number = 0;
  #timer: NodeJS.Timeout | null = null;
  /** What the pool answers during a step; `null` outside of one. */
  #notes: number[] | null = null;
  #acquires: number = 0;

  /** @throws RecordingError */
  constructor(options: RecorderOptions) {
    const { path, pool, sizeMax = RECORDING_SIZE_MAX } = options;
    assert(sizeMax >= FILE_HEAD_SIZE, 'Recorder: no room for anything');
    this.#options = options;
    this.#sizeMax = sizeMax;
    this.#marker = new Marker(pool.checksum);
    this.#file = createFile(path);
    this.#out.bytes(MAGIC);
    this.#out.u32(VERSION);
    this.#out.u32(0);
    this.#size = FILE_HEAD_SIZE;
    this.#flush();
    this.#watch(pool);
  }

  /** Bytes recorded so far. */
  get size(): number {
    return this.#size;
  }

  get isOver(): boolean {
    return this.#file === null;
  }

  /** A life begins with this engine: the one that a driver is to step in its place. */
  record(life: LifeRecord, engine: Engine): Engine {
    if (this.#file === null) return engine;
    const start = this.#begin(RecordKind.life);
    this.#out.text(toJson(life));
    this.#finish(start);
    return {
      step: (event, now) => this.#step(engine, event, now),
      invariants: () => engine.invariants(),
    };
  }

  close(): void {
    this.#end(EndReason.closed);
  }

  #step(engine: Engine, event: Event, now: Instant): readonly Effect[] {
    if (this.#file === null) return engine.step(event, now);
    // Before the step: afterwards its message may be another one.
    const start = this.#begin(RecordKind.step);
    const sizeAt = this.#out.length;
    this.#out.u32(0);
    writeEvent(this.#out, event, now);
    this.#out.patchU32(sizeAt, this.#out.length - sizeAt - 4);
    const notes: number[] = [];
    this.#notes = notes;
    this.#acquires = 0;
    try {
      const effects = engine.step(event, now);
      this.#putNotes(notes);
      assert(effects.length < THREW, 'Recorder: too many effects');
      this.#out.u16(effects.length);
      for (const effect of effects) this.#marker.write(this.#out, effect);
      this.#finish(start);
      return effects;
    } catch (error) {
      this.#putNotes(notes);
      this.#out.u16(THREW);
      this.#out.text(error instanceof Error ? error.message : String(error));
      this.#finish(start);
      throw error;
    } finally {
      this.#notes = null;
    }
  }

  #putNotes(notes: readonly number[]): void {
    assert(notes.length < THREW, 'Recorder: too many notes');
    this.#out.u16(notes.length);
    for (const note of notes) this.#out.u32(note);
  }

  /** Listens to what the pool answers while the engine is in a step. */
  #watch(pool: MessagePool): void {
    const { acquire, available } = MessagePool.prototype;
    pool.acquire = (slotClass: SlotClass): Message | null => {
      const message = acquire.call(pool, slotClass);
      if (this.#notes !== null) {
        if (message === null) this.#notes.push((NOTE_ACQUIRE | this.#acquires) >>> 0);
        this.#acquires++;
      }
      return message;
    };
    pool.available = (slotClass: SlotClass): number => {
      const count = available.call(pool, slotClass);
      this.#notes?.push(count);
      return count;
    };
  }

  /** Returns where the record begins. */
  #begin(kind: number): number {
    const start = this.#out.length;
    this.#out.u32(0);
    this.#out.u32(0);
    this.#out.u8(kind);
    return start;
  }

  #finish(start: number): void {
    this.#seal(start);
    const size = this.#out.length - start;
    if (this.#size + size > this.#sizeMax) {
      this.#out.truncate(start);
      this.#end(EndReason.full);
      return;
    }
    this.#size += size;
    if (this.#out.length >= WAITING_MAX) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), WAIT_MS).unref();
  }

  #seal(start: number): void {
    const payload = this.#out.written.subarray(start + RECORD_HEAD_SIZE);
    this.#out.patchU32(start, payload.length);
    this.#out.patchU32(start + 4, payloadSum(payload, this.#options.pool.checksum));
  }

  #end(reason: (typeof EndReason)[keyof typeof EndReason]): void {
    if (this.#file === null) return;
    const start = this.#begin(RecordKind.end);
    this.#out.u8(reason);
    this.#seal(start);
    this.#flush();
    this.#stop();
    if (reason !== EndReason.full) return;
    const { path, log } = this.#options;
    const message = `recording ${path} is full and ends here`;
    log({ level: 'warn', event: 'recording-full', message, fields: { sizeMax: this.#sizeMax } });
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#file === null) return;
    const bytes = this.#out.written;
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at);
    } catch (error) {
      this.#fail(error);
    }
    this.#out.truncate(0);
  }

  #fail(error: unknown): void {
    this.#stop();
    const { path, log } = this.#options;
    const code = systemCode(error) || String(error);
    const message = `recording ${path} cannot be written (${code}) and ends here`;
    log({ level: 'warn', event: 'recording-failed', message, fields: { code } });
  }

  #stop(): void {
    const { pool } = this.#options;
    Reflect.deleteProperty(pool, 'acquire');
    Reflect.deleteProperty(pool, 'available');
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }
}

function createFile(path: string): number {
  try {
    return openSync(path, 'wx', 0o600);
  } catch (error) {
    if (systemCode(error) === 'EEXIST') {
      throw new RecordingError('ERR_RECORDING_EXISTS', path, 'exists already and is kept', error);
    }
    const reason = `cannot be created: ${systemCode(error) || String(error)}`;
    throw new RecordingError('ERR_RECORDING_NOT_WRITABLE', path, reason, error);
  }
}
