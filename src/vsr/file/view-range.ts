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
  const op = readSafeU64(header, PrepareOffset.op);
  const view = readView(header);
  let viewMax = logView;
  let isAboveAll = true;
  for (const known of viewHeaders) {
    if (known[PrepareOffset.operation] === OPERATION_RESERVED) continue;
    const knownOp = readSafeU64(known, PrepareOffset.op);
    assert(op !== null && knownOp !== null, 'isPossible: not a position');
    if (knownOp === op) return bytesEqual(known, 0, header, 0, 16);
    if (knownOp < op) {
      // Behind everything that was taken over: this log's own. Else between its neighbours.
      return view <= viewMax && view >= (isAboveAll ? logView : readView(known));
    }
    viewMax = readView(known);
    isAboveAll = false;
  }
  return view <= viewMax;
}
