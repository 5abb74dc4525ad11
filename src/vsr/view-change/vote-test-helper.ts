/** Prepare headers and votes for tests of view changes. */
import { U64_ZERO, writeSafeU64 } from '../../stdx/index.ts';
import { type Checksum, HEADER_SIZE } from '../../wire/index.ts';
import { buildPrepare } from '../message.ts';
import type { Vote } from './log-selection.ts';

export interface HeaderFields {
  readonly op: number;
  readonly view: number;
  readonly commit: number;
  readonly parent: Uint8Array;
}

/** A header with its true checksum. */
export function sealedHeader(fields: HeaderFields, checksum: Checksum): Uint8Array {
  const bytes = new Uint8Array(HEADER_SIZE);
  const author = { cluster: new Uint8Array(16).fill(1), view: fields.view, replica: 0, release: 1 };
  const checkpointId = new Uint8Array(16).fill(7);
  const { op, parent, commit } = fields;
  const position = { op, parent, checkpointId, commit, timestamp: U64_ZERO };
  buildPrepare(bytes, op === 0 ? 1 : 128, author, position, checksum);
  return bytes;
}

let headersMade = 0;
/** The checksum is a number that no other header has: much faster, good enough for selections. */
const numbering: Checksum = {
  kind: 'typescript',
  digest: (_source, _offset, _length, target, targetOffset) => {
    target.fill(0, targetOffset, targetOffset + 16);
    headersMade++;
    writeSafeU64(target, targetOffset, headersMade);
  },
} as Checksum;

/** A header unlike any other. */
export function uniqueHeader(fields: HeaderFields): Uint8Array {
  return sealedHeader(fields, numbering);
}

/** `count` headers of one chain, by ascending op. */
export function chain(
  above: Uint8Array,
  first: number,
  count: number,
  view: number,
  commit: number = 0,
): Uint8Array[] {
  const headers: Uint8Array[] = [];
  let parent = above.subarray(0, 16);
  for (let op = first; op < first + count; op++) {
    const header = uniqueHeader({ op, view, commit, parent });
    headers.push(header);
    parent = header.subarray(0, 16);
  }
  return headers;
}

/** A vote; `headers` ascending, the last one at the head. All are present unless said otherwise. */
export function vote(fields: {
  readonly replica: number;
  readonly logView?: number;
  readonly op: number;
  readonly commitMax?: number;
  readonly commitMin?: number;
  readonly headers: readonly (Uint8Array | null)[];
  /** Ops. */
  readonly absent?: readonly number[];
  readonly nacks?: readonly number[];
}): Vote {
  const headers = [...fields.headers].reverse();
  const bits = (ops: readonly number[]): number =>
    ops.reduce((sum, op) => sum | (1 << (fields.op - op)), 0);
  let present = 0;
  headers.forEach((header, i) => {
    if (header !== null) present |= 1 << i;
  });
  return {
    replica: fields.replica,
    logView: fields.logView ?? 1,
    op: fields.op,
    commitMin: fields.commitMin ?? 0,
    commitMax: fields.commitMax ?? fields.commitMin ?? 0,
    checkpointOp: 0,
    headers,
    present: present & ~bits(fields.absent ?? []),
    nack: bits(fields.nacks ?? []),
  };
}
