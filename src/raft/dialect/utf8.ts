/**
 * Text as UTF-8 and back, strictly: what was written comes back the same, and bytes that are no
 * UTF-8 (overlong forms and surrogates among them) are no text. The platform's own coders replace
 * what they do not like and swallow a byte order mark; names must not change on their way.
 *
 * Made for names and addresses: short, nearly always ASCII.
 */
import { assert } from '../../stdx/index.ts';

/** Bytes that `text` takes. Asserts that it has no half of a surrogate pair. */
export function utf8Size(text: string): number {
  let size = 0;
  for (let i = 0; i < text.length; i++) {
    const point = text.codePointAt(i) as number;
    assert(point < 0xd800 || point > 0xdfff, 'utf8Size: half of a surrogate pair');
    size += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x1_0000 ? 3 : 4;
    if (point >= 0x1_0000) i++;
  }
  return size;
}

/** Writes `text` and returns the offset behind it. */
export function writeUtf8(bytes: Uint8Array, offset: number, text: string): number {
  let at = offset;
  for (let i = 0; i < text.length; i++) {
    const point = text.codePointAt(i) as number;
    if (point < 0x80) {
      bytes[at++] = point;
      continue;
    }
    if (point >= 0x1_0000) i++;
    const tail = point < 0x800 ? 1 : point < 0x1_0000 ? 2 : 3;
    bytes[at++] = LEADS[tail] | (point >>> (6 * tail));
    for (let k = tail - 1; k >= 0; k--) bytes[at++] = 0x80 | ((point >>> (6 * k)) & 0x3f);
  }
  assert(at <= bytes.length, 'writeUtf8: no room');
  return at;
}

/** The text in `bytes[offset, end)`; `null` when that is no UTF-8. */
export function readUtf8(bytes: Uint8Array, offset: number, end: number): string | null {
  let text = '';
  let at = offset;
  while (at < end) {
    const lead = bytes[at++];
    if (lead < 0x80) {
      text += String.fromCharCode(lead);
      continue;
    }
    const tail = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc0 || lead > 0xf7 || at + tail > end) return null;
    let point = lead & (0x3f >> tail);
    for (let k = 0; k < tail; k++) {
      const byte = bytes[at++];
      if ((byte & 0xc0) !== 0x80) return null;
      point = (point << 6) | (byte & 0x3f);
    }
    if (point < POINTS_MIN[tail] || point > 0x10_ffff) return null;
    if (point >= 0xd800 && point <= 0xdfff) return null;
    text += String.fromCodePoint(point);
  }
  return text;
}

/** By the number of bytes that follow: the mark of the first byte, the least that needs so many. */
const LEADS = [0, 0xc0, 0xe0, 0xf0];
const POINTS_MIN = [0, 0x80, 0x800, 0x1_0000];
