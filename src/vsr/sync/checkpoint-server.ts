/**
 * The replica that has a checkpoint, for one that needs it: tells what its last checkpoint is, and
 * reads from its file whatever place it is asked for. It remembers nothing: a place that has been
 * reused since shows in the checksum, and the other one asks again what the checkpoint is.
 */
import { BLOCK_SIZE_MAX, SECTOR_SIZE } from '../../engine/index.ts';
import { writeSafeU64, writeU32 } from '../../stdx/index.ts';
import {
  Command,
  HEADER_SIZE,
  initHeader,
  type Message,
  PeerOffset,
  sealBody,
  sealHeader,
} from '../../wire/index.ts';
import { fixedSize, sectorCeil } from '../file/geometry.ts';
import { Part } from '../outbox.ts';
import type { Parts } from '../parts.ts';
import { peerBits, peerNumber } from '../peer-message.ts';
import { encodeCheckpoint } from './checkpoint-message.ts';

/** Reads for others at once. */
const READS_MAX = 8;

/** What a request asks for, in its field `bits2`. */
export const Wanted = { checkpoint: 0, place: 1 } as const;

interface Read {
  readonly replica: number;
  readonly offset: number;
  readonly size: number;
}

export class CheckpointServer {
  readonly #parts: Parts;
  readonly #reads: Map<number, Read> = new Map();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  onRequest(from: number, bytes: Uint8Array): void {
    const { superblock, geometry, outbox } = this.#parts;
    const { checkpoint, fileSize } = superblock.current;
    if (checkpoint.op === 0) return;
    if (peerBits(bytes, PeerOffset.bits2) === Wanted.checkpoint) {
      this.#sendCheckpoint(from);
      return;
    }
    // The other one's checkpoint is gone: it has to hear of the new one.
    if (peerNumber(bytes, PeerOffset.op) !== checkpoint.op) {
      this.#sendCheckpoint(from);
      return;
    }
    const offset = peerNumber(bytes, PeerOffset.opHead);
    const size = peerBits(bytes, PeerOffset.bits);
    const isPlace = offset % SECTOR_SIZE === 0 && size >= 1 && size <= BLOCK_SIZE_MAX;
    if (!isPlace || offset < fixedSize(geometry) || offset + size > fileSize) return;
    if (this.#reads.size >= READS_MAX) return;
    const token = outbox.read(Part.sync, offset, sectorCeil(size));
    this.#reads.set(token, { replica: from, offset, size });
  }

  onRead(token: number, bytes: Uint8Array): void {
    const read = this.#reads.get(token);
    this.#reads.delete(token);
    if (read === undefined || bytes.length < read.size) return;
    const message = this.#parts.pool.acquire('reply');
    if (message === null) return;
    message.bytes.set(bytes.subarray(0, read.size), HEADER_SIZE);
    this.#send(read.replica, message, read.size, Wanted.place, read.offset);
  }

  #sendCheckpoint(replica: number): void {
    const { pool, superblock } = this.#parts;
    const message = pool.acquire('reply');
    if (message === null) return;
    const body = message.bytes.subarray(HEADER_SIZE);
    const size = encodeCheckpoint(superblock.current.checkpoint, body);
    this.#send(replica, message, size, Wanted.checkpoint, 0);
  }

  #send(replica: number, message: Message, size: number, what: number, offset: number): void {
    const { member, peers, pool, superblock } = this.#parts;
    const { bytes } = message;
    const author = member.authorDurable();
    initHeader(bytes, { ...author, command: Command.block, size: HEADER_SIZE + size });
    writeSafeU64(bytes, PeerOffset.op, superblock.current.checkpoint.op);
    writeSafeU64(bytes, PeerOffset.opHead, offset);
    writeU32(bytes, PeerOffset.bits, size);
    writeU32(bytes, PeerOffset.bits2, what);
    sealBody(bytes, pool.checksum);
    sealHeader(bytes, pool.checksum);
    peers.send(replica, message);
  }
}
