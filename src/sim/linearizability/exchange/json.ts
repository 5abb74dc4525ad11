/**
 * Events as JSON: an array of objects with the fields of an event, one a line.
 */
import { demand, HistoryError } from '../history-error.ts';
import { TEXT_LENGTH_MAX } from '../limits.ts';
import { checkEvents, eventsFromValues, type HistoryEvent } from './events.ts';
import type { Value } from './value.ts';

export function eventsToJson(events: readonly HistoryEvent[]): string {
  checkEvents(events);
  return `[${events.map((event) => `\n${JSON.stringify(event)}`).join(',')}\n]\n`;
}

/** Throws a `HistoryError`. Unknown fields are ignored. */
export function eventsFromJson(text: string): HistoryEvent[] {
  demand(text.length <= TEXT_LENGTH_MAX, 'limit', () => {
    return `cannot read ${text.length} characters: at most ${TEXT_LENGTH_MAX}`;
  });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new HistoryError('syntax', `not JSON: ${reason}`);
  }
  demand(Array.isArray(value), 'event', () => 'an array of events wanted');
  return eventsFromValues(value as readonly Value[], '');
}
