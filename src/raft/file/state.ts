/**
 * What a data file holds at this moment, for tools and checkers: the reading that a replica does
 * when it opens, without a replica.
 */
import type { Checksum } from '../../wire/index.ts';
import type { FileHeader, LogRecord } from '../entry.ts';
import type { RaftHead, RaftHeadError } from './head-codec.ts';
import { readRaftFile } from './reading.ts';

export type RaftFileState =
  | {
      readonly ok: true;
      readonly head: RaftHead;
      readonly header: FileHeader<Uint8Array>;
      readonly records: readonly LogRecord<Uint8Array>[];
      readonly generation: number;
      /** Frames of the generation that count. */
      readonly frames: number;
      /** Something lies behind the end of the log that a crash has cut short. */
      readonly isTorn: boolean;
    }
  | { readonly ok: false; readonly error: RaftHeadError };

/** `read` gives [offset, offset + length), less at the end of the file. */
export function readRaftState(
  read: (offset: number, length: number) => Uint8Array,
  checksum: Checksum,
): RaftFileState {
  const reading = readRaftFile(checksum);
  let step = reading.next();
  while (step.done !== true) step = reading.next(read(step.value.offset, step.value.length));
  if (!step.value.ok) return step.value;
  const { head, header, records, end, isTorn } = step.value.content;
  const { generation, number } = end;
  return { ok: true, head, header, records, generation, frames: number, isTorn };
}
