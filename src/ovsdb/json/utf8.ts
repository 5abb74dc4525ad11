/**
 * Bytes to text and back. The original keeps a string's bytes as they came and refuses bad UTF-8
 * only where a string becomes the value of a column; so a byte that is not part of valid UTF-8
 * travels as one lone low surrogate, U+DC80 … U+DCFF, and leaves as the same byte.
 */

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

const ESCAPE_BASE = 0xdc00;

/** Never fails: bytes that are not UTF-8 become lone surrogates. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return strict.decode(bytes);
  } catch {
    return decodeDamaged(bytes);
  }
}

/** The inverse of {@link decodeUtf8}; any other lone surrogate becomes its three-byte form. */
export function encodeUtf8(text: string): Uint8Array {
  if (text.isWellFormed()) return encoder.encode(text);
  const bytes: number[] = [];
  for (const character of text) {
    const code = character.codePointAt(0) as number;
    if (code >= 0xdc80 && code <= 0xdcff) bytes.push(code - ESCAPE_BASE);
    else if (code >= 0xd800 && code <= 0xdfff) {
      bytes.push(0xed, 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f));
    } else for (const byte of encoder.encode(character)) bytes.push(byte);
  }
  return Uint8Array.from(bytes);
}

/** Bytes that `text` takes in the stream. */
export function utf8Length(text: string): number {
  let length = 0;
  for (const character of text) {
    const code = character.codePointAt(0) as number;
    if (code < 0x80 || (code >= 0xdc80 && code <= 0xdcff)) length += 1;
    else if (code < 0x800) length += 2;
    else length += code < 0x1_0000 ? 3 : 4;
  }
  return length;
}

function decodeDamaged(bytes: Uint8Array): string {
  const parts: string[] = [];
  let start = 0;
  for (let i = 0; i < bytes.length; ) {
    const length = sequenceLength(bytes, i);
    if (length > 0) {
      i += length;
      continue;
    }
    parts.push(strict.decode(bytes.subarray(start, i)));
    parts.push(String.fromCharCode(ESCAPE_BASE + bytes[i]));
    i += 1;
    start = i;
  }
  parts.push(strict.decode(bytes.subarray(start)));
  return parts.join('');
}

/** Bytes of the well-formed sequence at `i` (Unicode 3.9, table 3-7); 0 when there is none. */
export function sequenceLength(bytes: Uint8Array, i: number): number {
  const lead = bytes[i];
  if (lead < 0x80) return 1;
  const trail = (at: number, min: number, max: number): boolean =>
    i + at < bytes.length && bytes[i + at] >= min && bytes[i + at] <= max;
  if (lead >= 0xc2 && lead <= 0xdf) return trail(1, 0x80, 0xbf) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const min = lead === 0xe0 ? 0xa0 : 0x80;
    const max = lead === 0xed ? 0x9f : 0xbf;
    return trail(1, min, max) && trail(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const min = lead === 0xf0 ? 0x90 : 0x80;
    const max = lead === 0xf4 ? 0x8f : 0xbf;
    return trail(1, min, max) && trail(2, 0x80, 0xbf) && trail(3, 0x80, 0xbf) ? 4 : 0;
  }
  return 0;
}
