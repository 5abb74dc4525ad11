/**
 * Logs go to standard error, one record a line: for people when a terminal watches, JSON otherwise.
 * The library is loaded when the first record is written, not when the program starts.
 */
import type { Logger } from 'pino';
import { type LogLevel, type LogRecord, type LogSink, printable } from '../io/index.ts';

export interface LogOptions {
  readonly level: LogLevel;
  /** Force JSON, or the form for people; default: whether standard error is a terminal. */
  readonly json?: boolean;
}

/** A sink for the rooms below. Records before the library is there wait for it, in order. */
export function openLog(options: LogOptions): LogSink {
  let logger: Logger | null = null;
  let waiting: LogRecord[] | null = null;
  return (record) => {
    if (logger !== null) return write(logger, record);
    if (waiting !== null) {
      waiting.push(record);
      return;
    }
    waiting = [record];
    void load(options).then((loaded) => {
      logger = loaded;
      for (const early of waiting ?? []) write(loaded, early);
      waiting = null;
    });
  };
}

async function load(options: LogOptions): Promise<Logger> {
  const { default: pino } = await import('pino');
  const json = options.json ?? !process.stderr.isTTY;
  const { level } = options;
  const base = { pid: process.pid };
  if (json) return pino({ level, base }, pino.destination({ fd: 2, sync: true }));
  return pino({ level, base: null }, { write: (line) => process.stderr.write(readable(line)) });
}

function write(logger: Logger, record: LogRecord): void {
  logger[record.level]({ event: record.event, ...record.fields }, record.message);
}

const levels = new Map<unknown, string>([
  [20, 'debug'],
  [30, 'info'],
  [40, 'warn'],
  [50, 'error'],
]);

/** `12:34:56.789 warn  message  name=value …` from a line of JSON. */
function readable(line: string): string {
  const record: { readonly [name: string]: unknown } = JSON.parse(line);
  const { level, time, msg, event: _event, ...fields } = record;
  const clock = new Date(Number(time)).toISOString().slice(11, 23);
  const pairs = Object.entries(fields).map(([name, value]) => `  ${name}=${String(value)}`);
  const word = (levels.get(level) ?? String(level)).padEnd(5);
  return `${printable(`${clock} ${word} ${String(msg)}${pairs.join('')}`)}\n`;
}
