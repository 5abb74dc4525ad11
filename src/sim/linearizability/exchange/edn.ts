/**
 * Events as EDN, the way Jepsen and Knossos write and read histories: one map a line, such as
 * `{:process 0, :type :invoke, :f :read, :value nil}`.
 */
import { demand } from '../history-error.ts';
import { EVENTS_MAX, TEXT_LENGTH_MAX } from '../limits.ts';
import { EdnReader } from './edn-reader.ts';
import { checkEvents, eventsFromValues, type HistoryEvent } from './events.ts';
import { isList, KEYWORD, type Value } from './value.ts';

export function eventsToEdn(events: readonly HistoryEvent[]): string {
  checkEvents(events);
  return events.map((event) => `${writeEvent(event)}\n`).join('');
}

/**
 * Maps one after another, or all of them in a vector. Throws a `HistoryError`. Unknown fields are
 * ignored, and so are events of processes that are no numbers, such as `:nemesis`.
 */
export function eventsFromEdn(text: string): HistoryEvent[] {
  demand(text.length <= TEXT_LENGTH_MAX, 'limit', () => {
    return `cannot read ${text.length} characters: at most ${TEXT_LENGTH_MAX}`;
  });
  const reader = new EdnReader(text);
  const values: Value[] = [];
  for (let value = reader.next(); value !== undefined; value = reader.next()) {
    demand(values.length < EVENTS_MAX, 'limit', () => `more than ${EVENTS_MAX} events`);
    values.push(value);
  }
  const [first] = values;
  return eventsFromValues(values.length === 1 && isList(first) ? first : values, ':');
}

function writeEvent({ process, type, f, value, time, error }: HistoryEvent): string {
  const fields = [
    `:process ${process}`,
    `:type :${type}`,
    `:f ${writeValue(`:${f}`)}`,
    `:value ${writeValue(value)}`,
  ];
  if (time !== undefined) fields.push(`:time ${time}`);
  if (error !== undefined) fields.push(`:error ${writeValue(error)}`);
  return `{${fields.join(', ')}}`;
}

/** A value as EDN. Numbers are finite. */
export function writeValue(value: Value): string {
  switch (typeof value) {
    case 'string':
      return KEYWORD.test(value) ? value : writeString(value);
    case 'number':
      return writeNumber(value);
    case 'boolean':
      return String(value);
    default:
      break;
  }
  if (value === null) return 'nil';
  if (isList(value)) return `[${value.map(writeValue).join(' ')}]`;
  const entries = Object.entries(value);
  return `{${entries.map(([key, inner]) => `${writeValue(key)} ${writeValue(inner)}`).join(', ')}}`;
}

/** What is no safe integer is written as a decimal, for it would be refused as an integer. */
function writeNumber(value: number): string {
  const text = String(value);
  return Number.isSafeInteger(value) || /[.e]/.test(text) ? text : `${text}.0`;
}

/** JSON's escapes, of which EDN has all but two. */
function writeString(text: string): string {
  return JSON.stringify(text).replaceAll(/\\./g, (escaped) => {
    return escaped === '\\b' ? '\\u0008' : escaped === '\\f' ? '\\u000c' : escaped;
  });
}
