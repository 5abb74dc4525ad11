/**
 * The frames in which servers of our own dialect speak: the 256-byte header of all messages with
 * the command `raft`, then a body. Fields that a kind does not name are zero.
 *
 * | kind | id | offset | total | unit | flags | body |
 * |---|---|---|---|---|---|---|
 * | message | of the message | of this part | bytes of the message | of a part | | part |
 * | offer | of the transfer | | bytes of the snapshot's data | of a piece | 1: has data | request |
 * | want | of the transfer | of the piece | | | | |
 * | piece | of the transfer | of the piece | | | | piece |
 *
 * `unit`: bytes of all parts or pieces but the last. A message that fits into a frame is its own
 * only part. The body of an offer is the `install-snapshot-request` without the data.
 */
import {
  isZero,
  readSafeU64,
  readU32,
  unreachable,
  writeSafeU64,
  writeU32,
} from '../../stdx/index.ts';
import {
  Command,
  HEADER_SIZE,
  initHeader,
  MESSAGE_SIZE_MAX,
  type Message,
  type MessagePool,
  Offset,
  readCommand,
  readReplica,
  readSize,
  SMALL_SLOT_SIZE,
  sealBody,
  sealHeader,
} from '../../wire/index.ts';
import { RAFT_MESSAGE_SIZE_MAX, SNAPSHOT_SIZE_MAX, UNIT_MIN } from './limits.ts';

const RaftOffset = {
  kind: 128,
  flags: 129,
  padding: 130,
  unit: 132,
  id: 136,
  offset: 144,
  total: 152,
  reserved: 160,
} as const;

const KINDS = ['message', 'offer', 'want', 'piece'] as const;

export interface Frame {
  readonly kind: (typeof KINDS)[number];
  readonly flags: number;
  readonly unit: number;
  readonly id: number;
  readonly offset: number;
  readonly total: number;
}

/** Who writes frames, and what into. */
export interface FrameOptions {
  readonly pool: MessagePool;
  /** 16 bytes. */
  readonly cluster: Uint8Array;
  readonly replica: number;
  readonly release: number;
}

/** Room for a body in the largest frame that fits into a slot of this size, bytes. */
export function bodySizeMax(slotSize: number): number {
  return slotSize - HEADER_SIZE;
}

/** A frame without its body and unsealed; `null`: no slot is free. */
export function newFrame(options: FrameOptions, frame: Frame, bodySize: number): Message | null {
  const { pool, cluster, replica, release } = options;
  const size = HEADER_SIZE + bodySize;
  const message = pool.acquire(size <= SMALL_SLOT_SIZE ? 'small' : 'request');
  if (message === null) return null;
  const { bytes } = message;
  initHeader(bytes, { command: Command.raft, size, cluster, view: 0, release, replica });
  bytes[RaftOffset.kind] = KINDS.indexOf(frame.kind);
  bytes[RaftOffset.flags] = frame.flags;
  writeU32(bytes, RaftOffset.unit, frame.unit);
  writeSafeU64(bytes, RaftOffset.id, frame.id);
  writeSafeU64(bytes, RaftOffset.offset, frame.offset);
  writeSafeU64(bytes, RaftOffset.total, frame.total);
  return message;
}

/** The last thing before a frame leaves. */
export function sealFrame(options: FrameOptions, message: Message): void {
  sealBody(message.bytes, options.pool.checksum);
  sealHeader(message.bytes, options.pool.checksum);
}

/** What a frame from this replica says; `null`: it is none that we would send. */
export function readFrame(bytes: Uint8Array, replica: number): Frame | null {
  if (readCommand(bytes) !== Command.raft || readReplica(bytes) !== replica) return null;
  if (!isZero(bytes, RaftOffset.reserved, HEADER_SIZE - RaftOffset.reserved)) return null;
  if (!isZero(bytes, Offset.reservedFrame, RaftOffset.kind - Offset.reservedFrame)) return null;
  const kind = KINDS[bytes[RaftOffset.kind]];
  const flags = bytes[RaftOffset.flags];
  const unit = readU32(bytes, RaftOffset.unit);
  const id = readSafeU64(bytes, RaftOffset.id);
  const offset = readSafeU64(bytes, RaftOffset.offset);
  const total = readSafeU64(bytes, RaftOffset.total);
  if (kind === undefined || id === null || offset === null || total === null) return null;
  const frame: Frame = { kind, flags, unit, id, offset, total };
  return isPlausible(frame, readSize(bytes) - HEADER_SIZE) ? frame : null;
}

/** `bodySize`: bytes behind the header. */
function isPlausible(frame: Frame, bodySize: number): boolean {
  const { kind, flags, unit, offset, total } = frame;
  const isUnit = unit >= UNIT_MIN && unit <= MESSAGE_SIZE_MAX;
  switch (kind) {
    case 'message':
      if (flags !== 0 || !isUnit || total === 0 || total > RAFT_MESSAGE_SIZE_MAX) return false;
      return offset < total && offset % unit === 0 && bodySize === Math.min(unit, total - offset);
    case 'offer':
      if (flags > 1 || !isUnit || offset !== 0 || bodySize === 0) return false;
      return total <= (flags === 1 ? SNAPSHOT_SIZE_MAX : 0);
    case 'want':
      return flags === 0 && unit === 0 && total === 0 && bodySize === 0;
    case 'piece':
      return flags === 0 && unit === 0 && total === 0 && bodySize > 0;
    default:
      return unreachable(kind);
  }
}
