/**
 * Histories as events, and back: one event when an operation begins, one when it ends. This is the
 * form in which histories are written down, see `json` and `edn`.
 */
import { assert } from '../../../stdx/index.ts';
import { demand, HistoryError } from '../history-error.ts';
import { EVENTS_MAX } from '../limits.ts';
import { type Operation, type OperationHistory, validateHistory } from '../operation.ts';
import type { HistoryFormat } from './format.ts';
import { checkValue, type Value, type ValueMap } from './value.ts';

const TYPES = ['invoke', 'ok', 'fail', 'info'] as const;
export type EventType = (typeof TYPES)[number];

export interface HistoryEvent {
  /** A safe integer, 0 or more. */
  readonly process: number;
  readonly type: EventType;
  /** Name of the function, without a colon. */
  readonly f: string;
  readonly value: Value;
  /** A safe integer that never goes back. All events of a history have one, or none. */
  readonly time?: number;
  /** Why it failed, or why nothing is known. */
  readonly error?: Value;
}

interface Edge {
  readonly time: number;
  /** Place of the operation among all, by call. */
  readonly place: number;
  readonly events: readonly HistoryEvent[];
}

/**
 * The events of a history, in the order of time. An unknown outcome is told right after the call.
 * Throws a `HistoryError` when the operations of a process overlap (`process-busy`).
 */
export function historyToEvents<I, O>(
  history: OperationHistory<I, O>,
  format: HistoryFormat<I, O>,
): HistoryEvent[] {
  validateHistory(history);
  const endOf = (operation: Operation<I, O>): number => operation.return ?? operation.call;
  const ordered = history.toSorted((a, b) => a.call - b.call || endOf(a) - endOf(b));
  const edges: Edge[] = [];
  const busyUntil = new Map<number, number>();
  for (const [place, operation] of ordered.entries()) {
    const { process, input, call } = operation;
    demand(call >= (busyUntil.get(process) ?? call), 'process-busy', () => {
      return `process ${process} begins an operation at ${call} while another is open`;
    });
    const head = { process, f: format.invocation(input).f };
    const { value } = format.invocation(input);
    const invoke: HistoryEvent = { ...head, type: 'invoke', value, time: call };
    if (operation.return === null) {
      const info: HistoryEvent = { ...head, type: 'info', value, time: call };
      edges.push({ time: call, place, events: [invoke, info] });
      continue;
    }
    const time = operation.return;
    busyUntil.set(process, time);
    const completion = format.completion(input, operation.output);
    edges.push({ time: call, place, events: [invoke] });
    edges.push({ time, place, events: [{ ...head, ...completion, time }] });
  }
  // Stable: a call stays before its own return, and what ends before what the process does next.
  edges.sort((a, b) => a.time - b.time || a.place - b.place);
  return edges.flatMap(({ events }) => events);
}

interface Open {
  readonly place: number;
  readonly event: HistoryEvent;
}

/**
 * The history that events tell of. Without times, the order of the events is that of time. What
 * failed is left out unless the format makes an answer of it; what has not ended by the end is of
 * unknown outcome. Throws a `HistoryError`.
 */
export function eventsToHistory<I, O>(
  events: readonly HistoryEvent[],
  format: HistoryFormat<I, O>,
): Operation<I, O>[] {
  checkEvents(events);
  const hasTimes = events[0]?.time !== undefined;
  const timeOf = (index: number): number => (hasTimes ? events[index]!.time! : index);
  const operations: (Operation<I, O> | null)[] = [];
  const open = new Map<number, Open>();
  for (const [index, event] of events.entries()) {
    const { process, type, f, value, error = null } = event;
    const begun = open.get(process);
    if (type === 'invoke') {
      demand(begun === undefined, 'process-busy', () => `process ${process} is busy`, { index });
      const input = located(index, () => format.input({ f, value }));
      open.set(process, { place: operations.length, event });
      operations.push({ process, input, call: timeOf(index), return: null });
      continue;
    }
    demand(begun !== undefined, 'process-idle', () => `process ${process} is idle`, { index });
    demand(
      begun.event.f === f,
      'mismatch',
      () => {
        return `process ${process} ends "${f}": "${begun.event.f}" is open`;
      },
      { index },
    );
    open.delete(process);
    if (type === 'info') continue;
    const operation = operations[begun.place];
    assert(operation !== undefined && operation !== null, 'eventsToHistory: nothing was begun');
    const { input, call } = operation;
    const output = located(index, () => format.output(input, { type, value, error }));
    operations[begun.place] =
      output === undefined ? null : { process, input, call, return: timeOf(index), output };
  }
  return operations.filter((operation) => operation !== null);
}

/** Events from a parsed text. `mark` is what names of fields begin with: a colon in EDN. */
export function eventsFromValues(values: readonly Value[], mark: '' | ':'): HistoryEvent[] {
  const events: HistoryEvent[] = [];
  for (const [index, value] of values.entries()) {
    demand(
      typeof value === 'object' && value !== null && !Array.isArray(value),
      'event',
      () => {
        return 'a map wanted';
      },
      { index },
    );
    const event = eventFrom(value as ValueMap, mark, index);
    if (event !== null) events.push(event);
  }
  checkEvents(events);
  return events;
}

/** `null`: an event of somebody who is no client, such as a nemesis. */
function eventFrom(map: ValueMap, mark: '' | ':', index: number): HistoryEvent | null {
  const field = (name: string): Value | undefined => {
    return Object.hasOwn(map, mark + name) ? map[mark + name] : undefined;
  };
  const process = field('process');
  if (typeof process === 'string') return null;
  const type = nameOf(field('type'));
  const f = nameOf(field('f'));
  const time = field('time');
  demand(isCount(process), 'event', () => 'a process of 0 or more wanted', { index });
  demand(isType(type), 'event', () => `a type wanted, one of ${TYPES.join(', ')}`, { index });
  demand(f !== null && f !== '', 'event', () => 'the name of a function (f) wanted', { index });
  const isTime = time === undefined || time === null || Number.isSafeInteger(time);
  demand(isTime, 'time', () => 'a safe integer wanted as time', { index });
  const value = field('value') ?? null;
  const error = field('error') ?? null;
  return {
    process,
    type,
    f,
    value,
    ...(typeof time === 'number' ? { time } : {}),
    ...(error === null ? {} : { error }),
  };
}

/** What events have to be whether they come or go: not too many, in order, of good values. */
export function checkEvents(events: readonly HistoryEvent[]): void {
  demand(events.length <= EVENTS_MAX, 'limit', () => {
    return `cannot take ${events.length} events: at most ${EVENTS_MAX}`;
  });
  for (let index = 0; index < events.length; index++) {
    const { time, value, error = null } = events[index]!;
    checkValue(value, index);
    checkValue(error, index);
    if (index === 0) continue;
    const before = events[index - 1]!.time;
    const isAlike = (time === undefined) === (before === undefined);
    demand(isAlike, 'time', () => 'times wanted for all events or for none', { index });
    if (time === undefined || before === undefined) continue;
    demand(time >= before, 'time', () => `time goes back from ${before} to ${time}`, { index });
  }
}

function isType(name: string | null): name is EventType {
  return TYPES.some((type) => type === name);
}

function isCount(value: Value | undefined): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** A name with or without a colon; `null`: no name. */
function nameOf(value: Value | undefined): string | null {
  return typeof value === 'string' ? value.replace(/^:/, '') : null;
}

/** What goes wrong in a format says at which event. */
function located<T>(index: number, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof HistoryError) || error.index !== null) throw error;
    throw new HistoryError(error.code, error.message, { index });
  }
}
