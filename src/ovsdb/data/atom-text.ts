/**
 * Atoms as people write them, on command lines and in messages: a string is quoted only when it
 * could be taken for something else.
 */
import { formatReal } from '../json/real.ts';
import { quote } from '../json/serialize.ts';
import type { Atom, AtomicType } from './atom.ts';
import { parseUuid } from './uuid.ts';

export function atomToText(atom: Atom, type: AtomicType): string {
  if (type === 'real') return formatReal(atom as number);
  if (type !== 'string') return String(atom);
  const text = atom as string;
  return needsQuotes(text) ? quote(text) : text;
}

function needsQuotes(text: string): boolean {
  if (!/^[A-Za-z_][A-Za-z0-9_.-]*$/.test(text)) return true;
  return text === 'true' || text === 'false' || parseUuid(text) !== null;
}
