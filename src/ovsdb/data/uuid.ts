/**
 * UUIDs are text of 36 lower-case characters, so that equality is `===`, the order of text is the
 * order of the 128 bits, and a reference shares its target's string.
 */
import type { Prng } from '../../stdx/index.ts';

export type Uuid = string;

export const UUID_ZERO: Uuid = '00000000-0000-0000-0000-000000000000';

/** Gives a fresh random UUID at each call. Chance comes from outside this room. */
export type UuidSource = () => Uuid;

const form = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The canonical form; `null` when the text is not a UUID. Either case is read. */
export function parseUuid(text: string): Uuid | null {
  if (text.length !== 36) return null;
  if (form.test(text)) return text;
  const lower = text.toLowerCase();
  return form.test(lower) ? lower : null;
}

/** Version 4, variant 1 (RFC 4122 §4.4), from four random words. */
export function uuidFromWords(a: number, b: number, c: number, d: number): Uuid {
  const hex = [a, (b & 0xffff_0fff) | 0x4000, (c & 0x3fff_ffff) | 0x8000_0000, d]
    .map((word) => (word >>> 0).toString(16).padStart(8, '0'))
    .join('');
  const groups = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return `${groups.join('-')}-${hex.slice(20)}`;
}

export function uuidsFromPrng(prng: Prng): UuidSource {
  return () => uuidFromWords(prng.u32(), prng.u32(), prng.u32(), prng.u32());
}

/** How a row is called in a place that needs an <id>. */
export function rowNameOf(uuid: Uuid): string {
  return `row${uuid.replaceAll('-', '_')}`;
}
