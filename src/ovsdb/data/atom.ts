/**
 * Atoms: the single values of RFC 7047 §5.1. What kind an atom is of, its column says; the atom
 * itself is a bare value, so that columns cost no wrappers.
 */
import { compareText } from '../json/serialize.ts';
import type { Integer } from '../json/value.ts';
import { UUID_ZERO, type Uuid } from './uuid.ts';

export type AtomicType = 'integer' | 'real' | 'boolean' | 'string' | 'uuid';

export const atomicTypes: readonly AtomicType[] = ['integer', 'real', 'boolean', 'string', 'uuid'];

/** integer: {@link Integer}; real: a finite number; uuid: {@link Uuid}. */
export type Atom = Integer | boolean | string | Uuid;

export function defaultAtom(type: AtomicType): Atom {
  switch (type) {
    case 'integer':
    case 'real':
      return 0;
    case 'boolean':
      return false;
    case 'string':
      return '';
    case 'uuid':
      return UUID_ZERO;
  }
}

/** Negative, zero or positive; strings by their bytes, false before true. */
export function compareAtoms(a: Atom, b: Atom): number {
  if (a === b) return 0;
  if (typeof a === 'string') return compareText(a, b as string);
  return a < b ? -1 : a > b ? 1 : 0;
}
