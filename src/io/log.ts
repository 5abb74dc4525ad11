/**
 * What the edge and the engine have to say, as records that a program hands to its logger. The
 * rooms below print nothing themselves. Lines that a stranger can provoke are rate limited, so that
 * nobody can fill a disk by connecting often.
 */
import type { TraceValue } from '../engine/index.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface LogRecord {
  readonly level: LogLevel;
  /** Stable kebab-case name, for machines. */
  readonly event: string;
  /** One line without control characters, for people. */
  readonly message: string;
  readonly fields: { readonly [name: string]: TraceValue };
}

export type LogSink = (record: LogRecord) => void;

/** The text on one line: control characters, line separators and lone surrogates become `?`. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cs}\u2028\u2029]/gu, '?');
}

/** Lets one line per key and interval through and counts the rest. */
export class RateLimit {
  readonly #intervalMs: number;
  readonly #states: Map<string, { lastMs: number; suppressed: number }> = new Map();

  /** Keys come from a small closed set (event names), never from a peer. */
  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** How many lines were held back since the last one, or `null`: hold this one back too. */
  pass(key: string, nowMs: number): number | null {
    const state = this.#states.get(key);
    if (state === undefined) {
      this.#states.set(key, { lastMs: nowMs, suppressed: 0 });
      return 0;
    }
    if (nowMs - state.lastMs < this.#intervalMs) {
      state.suppressed += 1;
      return null;
    }
    const { suppressed } = state;
    state.lastMs = nowMs;
    state.suppressed = 0;
    return suppressed;
  }
}
