/**
 * A vote as bytes: one DoViewChange message. Its body is the headers by descending op, one for each
 * op; where none is known stands a blank, a header that has nothing but the op. What comes in is
 * checked as far as it says something about itself: a vote that could lead {@link selectLog} astray
 * is not one.
 */
import { OP_MAX, PIPELINE_MAX, REPLICAS_MAX } from '../../engine/index.ts';
import {
  assert,
  bytesEqual,
  isZero,
  readSafeU64,
  readU32,
  writeSafeU64,
  writeU32,
} from '../../stdx/index.ts';
import {
  type Checksum,
  Command,
  HEADER_SIZE,
  headerValid,
  initHeader,
  Offset,
  PeerOffset,
  PrepareOffset,
  readCommand,
  readReplica,
  readSize,
  readView,
  sealBody,
  sealHeader,
} from '../../wire/index.ts';
import { type Author, OPERATION_RESERVED } from '../message.ts';
import { VOTE_HEADERS_MAX, type Vote } from './log-selection.ts';

/** Bytes of the largest vote, header included. */
export const VOTE_SIZE_MAX: number = HEADER_SIZE * (1 + VOTE_HEADERS_MAX);

export type VoteRead =
  | { readonly ok: true; readonly vote: Vote }
  | { readonly ok: false; readonly problem: string };

/** Fills a message with a vote, sealed; `author.view` is the view that is voted for. */
export function encodeVote(
  bytes: Uint8Array,
  author: Author,
  vote: Vote,
  checksum: Checksum,
): void {
  const problem = voteProblem(vote) ?? (vote.logView >= author.view ? 'no newer view' : null);
  assert(problem === null && author.replica === vote.replica, 'encodeVote: not a vote');
  const size = HEADER_SIZE + encodeVoteBody(vote, bytes.subarray(HEADER_SIZE));
  initHeader(bytes, { ...author, command: Command.doViewChange, size });
  writeSafeU64(bytes, PeerOffset.op, vote.op);
  writeSafeU64(bytes, PeerOffset.commitMax, vote.commitMax);
  writeSafeU64(bytes, PeerOffset.commitMin, vote.commitMin);
  writeSafeU64(bytes, PeerOffset.checkpointOp, vote.checkpointOp);
  writeSafeU64(bytes, PeerOffset.logView, vote.logView);
  writeU32(bytes, PeerOffset.bits, vote.present);
  writeU32(bytes, PeerOffset.bits2, vote.nack);
  sealBody(bytes, checksum);
  sealHeader(bytes, checksum);
}

/** The headers of a vote, blanks included; returns their bytes. */
export function encodeVoteBody(
  vote: { readonly op: number; readonly headers: readonly (Uint8Array | null)[] },
  target: Uint8Array,
): number {
  assert(target.length >= vote.headers.length * HEADER_SIZE, 'encodeVoteBody: no room');
  vote.headers.forEach((header, i) => {
    const place = target.subarray(i * HEADER_SIZE, (i + 1) * HEADER_SIZE);
    if (header === null) writeBlank(place, vote.op - i);
    else place.set(header.subarray(0, HEADER_SIZE));
  });
  return vote.headers.length * HEADER_SIZE;
}

/** The vote in a DoViewChange whose frame and checksums are right. Copies what it keeps. */
export function decodeVote(bytes: Uint8Array, checksum: Checksum): VoteRead {
  assert(readCommand(bytes) === Command.doViewChange, 'decodeVote: not a vote');
  const count = readSize(bytes) / HEADER_SIZE - 1;
  if (!Number.isInteger(count) || count < 1 || count > VOTE_HEADERS_MAX) return failed('size');
  const op = numberAt(bytes, PeerOffset.op);
  const headers: (Uint8Array | null)[] = [];
  for (let i = 0; i < count; i++) {
    const header = bytes.slice((i + 1) * HEADER_SIZE, (i + 2) * HEADER_SIZE);
    if (isBlank(header)) {
      if (readSafeU64(header, PrepareOffset.op) !== op - i) return failed('blank for another op');
      headers.push(null);
    } else {
      if (!headerValid(header, checksum)) return failed('header checksum');
      if (!bytesEqual(header, Offset.cluster, bytes, Offset.cluster, 16)) return failed('cluster');
      headers.push(header);
    }
  }
  const vote: Vote = {
    replica: readReplica(bytes),
    logView: numberAt(bytes, PeerOffset.logView),
    op,
    commitMin: numberAt(bytes, PeerOffset.commitMin),
    commitMax: numberAt(bytes, PeerOffset.commitMax),
    checkpointOp: numberAt(bytes, PeerOffset.checkpointOp),
    headers,
    present: readU32(bytes, PeerOffset.bits),
    nack: readU32(bytes, PeerOffset.bits2),
  };
  const problem = voteProblem(vote);
  if (problem !== null) return failed(problem);
  return vote.logView < readView(bytes) ? { ok: true, vote } : failed('no newer view');
}

/** What a vote must fulfil: asserted before it is sent, checked when it comes in. */
export function voteProblem(vote: Vote): string | null {
  const { op, commitMin, commitMax, checkpointOp, headers } = vote;
  if (vote.replica >= REPLICAS_MAX) return 'replica';
  for (const number of [vote.logView, op, commitMin, commitMax, checkpointOp]) {
    if (!Number.isInteger(number) || number < 0 || number > OP_MAX) return 'not a number';
  }
  if (checkpointOp > commitMin || commitMin > commitMax || commitMin > op) return 'commit';
  if (headers.length < 1 || headers.length > VOTE_HEADERS_MAX) return 'header count';
  const opMin = op - headers.length + 1;
  if (opMin < 0) return 'header below the root';
  if (opMin > Math.max(commitMax, op - PIPELINE_MAX)) return 'ends too early';
  if ((vote.present | vote.nack) >>> headers.length !== 0) return 'bits without a header';
  return headersProblem(vote);
}

function headersProblem({ op, logView, headers, present }: Vote): string | null {
  for (let i = 0; i < headers.length; i++) {
    const header = headers[i];
    if (header === null) {
      if (((present >>> i) & 1) !== 0) return 'present without a header';
      continue;
    }
    if (header.length !== HEADER_SIZE || readCommand(header) !== Command.prepare) return 'header';
    if (header[PrepareOffset.operation] === OPERATION_RESERVED) return 'header of an empty slot';
    if (readSafeU64(header, PrepareOffset.op) !== op - i) return 'header of another op';
    if (readSafeU64(header, PrepareOffset.commit) === null) return 'header commit';
    if (readView(header) > logView) return 'header of a later view';
    const above = i > 0 ? headers[i - 1] : null;
    const isLinked = above === null || bytesEqual(above, PrepareOffset.parent, header, 0, 16);
    if (!isLinked) return 'chain';
  }
  return null;
}

/** Stands for the header at an op where none is known; also kept in superblocks. */
export function writeBlank(target: Uint8Array, op: number): void {
  assert(target.length === HEADER_SIZE, 'writeBlank: size');
  target.fill(0);
  target[Offset.command] = Command.prepare;
  writeSafeU64(target, PrepareOffset.op, op);
}

export function isBlank(header: Uint8Array): boolean {
  const { op } = PrepareOffset;
  if (readCommand(header) !== Command.prepare || !isZero(header, 0, Offset.command)) return false;
  if (!isZero(header, Offset.command + 1, op - Offset.command - 1)) return false;
  return isZero(header, op + 8, HEADER_SIZE - op - 8);
}

/** A 64-bit field; −1 when it cannot be one of ours, which {@link voteProblem} rejects. */
function numberAt(bytes: Uint8Array, offset: number): number {
  return readSafeU64(bytes, offset) ?? -1;
}

function failed(problem: string): VoteRead {
  return { ok: false, problem };
}
