/**
 * Bodies that are not what they should be, made from ones that are: cut, lengthened, trailers with
 * wrong counts or padding, plain noise, and operations that do not exist.
 */
import { type Prng, writeU16 } from '../../stdx/index.ts';
import { operationShapes, trailerSize } from '../ledger-model/index.ts';
import type { Request } from './requests.ts';

export function malformed(prng: Prng, { operation, body }: Request): Request {
  const copy = body.slice();
  const tail = (back: number): number => Math.max(0, copy.length - back);
  switch (prng.below(14)) {
    case 0:
      return { operation, body: copy.subarray(0, prng.below(copy.length + 1)) };
    case 1:
      return { operation, body: copy.subarray(0, tail(prng.pick([1, 2, 16, 64, 128]))) };
    case 2:
      return { operation, body: lengthened(copy, prng.pick([1, 16, 64, 128, 384])) };
    case 3:
      copy.fill(0xff, tail(2));
      return { operation, body: copy };
    case 4:
      copy.fill(0, tail(2));
      return { operation, body: copy };
    case 5:
    case 6:
    case 7:
      // Counts and padding are among the last bytes.
      if (copy.length > 0) copy[tail(prng.between(1, prng.pick([6, 24, 140])))] = prng.below(256);
      return { operation, body: copy };
    case 8:
      if (copy.length > 0) copy[prng.below(copy.length)] = prng.below(256);
      return { operation, body: copy };
    case 9:
      return { operation, body: noise(prng, prng.below(300)) };
    case 10:
      return { operation, body: noise(prng, 64 * prng.below(5)) };
    case 11:
      return { operation, body: emptyBatches(prng, operation) };
    case 12:
      // The body of another operation.
      return { operation: prng.between(137, 147), body: copy };
    default:
      return { operation: prng.between(128, 255), body: copy };
  }
}

/** No batch at all, the most that can be counted, one more; all of them empty. */
function emptyBatches(prng: Prng, operation: number): Uint8Array {
  const elementSize = operationShapes.get(operation)?.eventSize ?? 16;
  const count = prng.chance(7, 8) ? 0 : prng.pick([65_534, 65_535]);
  const body = new Uint8Array(trailerSize(count, elementSize)).fill(0xff);
  body.fill(0, body.length - 2 * count - 2);
  writeU16(body, body.length - 2, count);
  return body;
}

function lengthened(body: Uint8Array, extra: number): Uint8Array {
  const longer = new Uint8Array(body.length + extra);
  longer.set(body);
  return longer;
}

function noise(prng: Prng, size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  prng.fill(bytes);
  return bytes;
}
