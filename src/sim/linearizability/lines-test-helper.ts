/** Histories as tables: a line is an operation. */
import type { Operation } from './operation.ts';

/** `end`: `null`, the outcome is unknown. */
export type Line<I, O> = readonly [
  process: number,
  call: number,
  end: number | null,
  I,
  (O | '?')?,
];

export function historyOf<I, O>(lines: readonly Line<I, O>[]): Operation<I, O>[] {
  return lines.map(([process, call, end, input, output]) => {
    if (end === null) return { process, input, call, return: null };
    return { process, input, call, return: end, output: output as O };
  });
}

/** What the compiler need not look into. */
// biome-ignore lint/suspicious/noExplicitAny: tests mix inputs of all models
export type Loose = any;

export function loose(lines: readonly Line<Loose, Loose>[]): Operation<Loose, Loose>[] {
  return historyOf(lines);
}

export const read = { f: 'read' } as const;

export function write(value: number): { readonly f: 'write'; readonly value: number } {
  return { f: 'write', value };
}

export function cas(
  from: number | null,
  to: number,
): { readonly f: 'cas'; readonly from: number | null; readonly to: number } {
  return { f: 'cas', from, to };
}

export function add(amount: number): { readonly f: 'add'; readonly amount: number } {
  return { f: 'add', amount };
}
