/**
 * Several batches in one body. The events of all batches come first, back to back; the trailer
 * behind them is read from the end: u16 number of batches, then one u16 per batch (first batch
 * nearest the end) with its number of elements, then bytes 0xff up to the trailer's front. The
 * trailer is the smallest multiple of the element size that has room for that, so the body is a
 * multiple of the element size as a whole.
 */
import { assert } from '../../stdx/index.ts';

/** Most batches in one body; the numbers 0 and 65535 are not a count. */
export const BATCHES_MAX = 65_534;

export function trailerSize(batchCount: number, elementSize: number): number {
  return Math.ceil((2 * batchCount + 2) / elementSize) * elementSize;
}

/** The batches' bytes in order, or null when the body is not well formed. */
export function decodeBatches(body: Uint8Array, elementSize: number): Uint8Array[] | null {
  if (body.length < 2) return null;
  const word = (index: number): number => {
    const at = body.length - 2 * (index + 1);
    return (body[at] as number) + 256 * (body[at + 1] as number);
  };
  const batchCount = word(0);
  if (batchCount === 0 || batchCount > BATCHES_MAX) return null;
  const trailer = trailerSize(batchCount, elementSize);
  if (trailer > body.length) return null;
  for (let at = body.length - trailer; at < body.length - 2 * (batchCount + 1); at++) {
    if (body[at] !== 0xff) return null;
  }

  const batches: Uint8Array[] = [];
  let start = 0;
  for (let batch = 1; batch <= batchCount; batch++) {
    const end = start + word(batch) * elementSize;
    if (end > body.length - trailer) return null;
    batches.push(body.subarray(start, end));
    start = end;
  }
  return start === body.length - trailer ? batches : null;
}

/** The inverse: each batch's bytes are a multiple of the element size. */
export function encodeBatches(batches: readonly Uint8Array[], elementSize: number): Uint8Array {
  assert(batches.length >= 1 && batches.length <= BATCHES_MAX, 'encodeBatches: batch count');
  const payload = batches.reduce((sum, batch) => sum + batch.length, 0);
  const body = new Uint8Array(payload + trailerSize(batches.length, elementSize)).fill(0xff);
  const setWord = (index: number, value: number): void => {
    body[body.length - 2 * (index + 1)] = value % 256;
    body[body.length - 2 * (index + 1) + 1] = Math.floor(value / 256);
  };
  setWord(0, batches.length);
  let start = 0;
  batches.forEach((batch, index) => {
    assert(batch.length % elementSize === 0, 'encodeBatches: partial element');
    setWord(index + 1, batch.length / elementSize);
    body.set(batch, start);
    start += batch.length;
  });
  return body;
}

/** One array of bytes from many. */
export function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
