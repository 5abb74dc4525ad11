/**
 * Which prepares can be in a log, by the headers that the superblock keeps of it. A log that was
 * taken over from a primary may have been cut: operations of older views that lay behind the cut
 * are still on disk, complete, and must not come back. The headers of the cut say which view an
 * operation must be of. Pure.
 */
import { assert, bytesEqual, readSafeU64 } from '../../stdx/index.ts';
import { HEADER_SIZE, PrepareOffset, readView } from '../../wire/index.ts';
import { OPERATION_RESERVED } from '../message.ts';

/**
 * Whether a prepare belongs to the log of `logView` as far as can be told. `viewHeaders`: as in the
 * superblock, by descending op, blanks among them.
 */
export function isPossible(
  header: Uint8Array,
  viewHeaders: readonly Uint8Array[],
  logView: number,
): boolean {
  assert(header.length === HEADER_SIZE, 'isPossible: not a header');
  const op = opOf(header);
  const view = readView(header);
  let above: Uint8Array | null = null;
  for (const known of viewHeaders) {
    if (known[PrepareOffset.operation] === OPERATION_RESERVED) continue;
    const knownOp = opOf(known);
    if (knownOp === op) return bytesEqual(known, 0, header, 0, 16);
    if (knownOp < op) {
      // Behind everything that was taken over: this log's own. Else between its neighbours.
      const viewMin = above === null ? logView : readView(known);
      const isLinked = knownOp < op - 1 || bytesEqual(header, PrepareOffset.parent, known, 0, 16);
      return isLinked && view >= viewMin && isBelow(header, above, logView);
    }
    above = known;
  }
  return isBelow(header, above, logView);
}

/** Whether `header` can lie somewhere below `above`; without one, below the end of the log. */
function isBelow(header: Uint8Array, above: Uint8Array | null, logView: number): boolean {
  if (above === null) return readView(header) <= logView;
  if (readView(header) > readView(above)) return false;
  const isNext = opOf(above) === opOf(header) + 1;
  return !isNext || bytesEqual(above, PrepareOffset.parent, header, 0, 16);
}

function opOf(header: Uint8Array): number {
  const op = readSafeU64(header, PrepareOffset.op);
  assert(op !== null, 'isPossible: not a position');
  return op;
}
