/**
 * Several batches in one body: the elements of all batches back to back, then a trailer that is
 * read from the end: the number of batches, then one count per batch with the first batch nearest
 * the end, all 16-bit, then bytes of 0xff up to a whole number of elements.
 *
 * The trailer stands at the end so that the elements keep the alignment of the body. Replies use
 * the same form with the size of the results, and always have as many batches as the request.
 */
import { assert, readU16, writeU16 } from '../../stdx/index.ts';

/** Most batches in one body; 0xffff is not a count. */
export const BATCHES_MAX = 65_534;

/** Bytes of a trailer for `batches` batches of elements of `elementSize` bytes. */
export function trailerSize(batches: number, elementSize: number): number {
  assert(batches >= 1 && batches <= BATCHES_MAX, 'trailerSize: batch count');
  assert(elementSize >= 2, 'trailerSize: element size');
  return Math.ceil((2 * batches + 2) / elementSize) * elementSize;
}

/** Number of batches, from a body that was checked before. */
export function batchCount(body: Uint8Array): number {
  return readU16(body, body.length - 2);
}

/** Number of elements of batch `index`, from a body that was checked before. */
export function batchElements(body: Uint8Array, index: number): number {
  return readU16(body, body.length - 4 - 2 * index);
}

/** Bytes before the trailer, from a body that was checked before. */
export function payloadSize(body: Uint8Array, elementSize: number): number {
  return body.length - trailerSize(batchCount(body), elementSize);
}

/** The number of batches of any body, or 0 when it is not well formed for this element size. */
export function checkMultiBatch(body: Uint8Array, elementSize: number): number {
  if (body.length < 2) return 0;
  const batches = batchCount(body);
  if (batches === 0 || batches > BATCHES_MAX) return 0;
  const trailer = trailerSize(batches, elementSize);
  if (trailer > body.length) return 0;
  let elements = 0;
  for (let i = 0; i < batches; i++) elements += batchElements(body, i);
  if (elements * elementSize + trailer !== body.length) return 0;
  const paddingEnd = body.length - 2 - 2 * batches;
  for (let i = body.length - trailer; i < paddingEnd; i++) {
    if (body[i] !== 0xff) return 0;
  }
  return batches;
}

/**
 * Writes the trailer behind `size` bytes of elements; `counts[i]` is the number of elements of
 * batch i. Returns the size of the whole body.
 */
export function writeTrailer(
  target: Uint8Array,
  size: number,
  elementSize: number,
  counts: Uint16Array,
  batches: number,
): number {
  assert(size % elementSize === 0, 'writeTrailer: torn element');
  const trailer = trailerSize(batches, elementSize);
  const end = size + trailer;
  assert(end <= target.length, 'writeTrailer: no room');
  target.fill(0xff, size, end - 2 - 2 * batches);
  for (let i = 0; i < batches; i++) writeU16(target, end - 4 - 2 * i, counts[i]);
  writeU16(target, end - 2, batches);
  return end;
}

/** A body made of batches, each the bytes of whole elements. For clients and tests. */
export function encodeMultiBatch(batches: readonly Uint8Array[], elementSize: number): Uint8Array {
  let size = 0;
  for (const batch of batches) size += batch.length;
  const body = new Uint8Array(size + trailerSize(batches.length, elementSize));
  const counts = new Uint16Array(batches.length);
  let offset = 0;
  for (const [index, batch] of batches.entries()) {
    assert(batch.length % elementSize === 0, 'encodeMultiBatch: torn element');
    assert(batch.length / elementSize <= 0xffff, 'encodeMultiBatch: too many elements');
    body.set(batch, offset);
    counts[index] = batch.length / elementSize;
    offset += batch.length;
  }
  const end = writeTrailer(body, size, elementSize, counts, batches.length);
  assert(end === body.length);
  return body;
}

/** The batches of a body as views of it, or `null` when it is not well formed. */
export function decodeMultiBatch(body: Uint8Array, elementSize: number): Uint8Array[] | null {
  const batches = checkMultiBatch(body, elementSize);
  if (batches === 0) return null;
  const result: Uint8Array[] = [];
  let offset = 0;
  for (let i = 0; i < batches; i++) {
    const end = offset + batchElements(body, i) * elementSize;
    result.push(body.subarray(offset, end));
    offset = end;
  }
  assert(offset === payloadSize(body, elementSize));
  return result;
}
