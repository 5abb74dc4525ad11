/**
 * Values of events in text. JSON's, so that both syntaxes can hold them. EDN knows keywords as
 * well: they are strings that begin with a colon here, and such strings are keywords there, so
 * nothing is lost on the way through either.
 */
import { demand } from '../history-error.ts';
import { VALUE_DEPTH_MAX } from '../limits.ts';

export type Value = null | boolean | number | string | readonly Value[] | ValueMap;

export interface ValueMap {
  readonly [key: string]: Value;
}

/** A string that EDN holds as a keyword: `:name` or `:space/name`. */
export const KEYWORD: RegExp =
  /^:[A-Za-z*!_?$%&=<>.+-][\w*!?$%&=<>.+'#-]*(\/[\w*!?$%&=<>.+'#-]+)?$/;

export function isList(value: Value | undefined): value is readonly Value[] {
  return Array.isArray(value);
}

/** Numbers are finite and collections not too deep. Throws a `HistoryError` with the index. */
export function checkValue(value: Value, index: number, depth: number = 0): void {
  const isNumber = typeof value === 'number';
  demand(!isNumber || Number.isFinite(value), 'value', () => `${value} cannot be told`, { index });
  if (typeof value !== 'object' || value === null) return;
  const isDeep = depth >= VALUE_DEPTH_MAX;
  const deep = (): string => `a value is deeper than ${VALUE_DEPTH_MAX} collections`;
  demand(!isDeep, 'limit', deep, { index });
  for (const inner of Object.values(value)) checkValue(inner, index, depth + 1);
}
