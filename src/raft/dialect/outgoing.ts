/**
 * Snapshots on their way to others: offered, then handed out piece by piece as the receiver asks
 * for them. One per peer. A transfer lasts until the peer has answered that it has the snapshot, a
 * newer snapshot or term takes its place, or the link goes; so the engine need not send it again
 * while the link stands, whatever is lost. If it does, the transfer goes on; and while the receiver
 * asks, a newer snapshot has to wait until the engine sends it again: else a leader that makes
 * them faster than they arrive would never get one across.
 *
 * The data stay where they are and are copied into slots, a piece at a time.
 */
import { HEADER_SIZE, type Message } from '../../wire/index.ts';
import type { InstallSnapshotReply, InstallSnapshotRequest } from '../message.ts';
import { bodySizeMax, type FrameOptions, newFrame, sealFrame } from './frame.ts';
import {
  OFFER_RETRY_MS_MAX,
  OFFER_RETRY_MS_MIN,
  PIECE_RETRY_MS_MAX,
  PIECE_SLOTS_RESERVE,
  SNAPSHOT_SIZE_MAX,
} from './limits.ts';
import { messageSize, writeMessage } from './message-codec.ts';

/** Whoever receives asks at least this often, ms, unless it is gone or has all. */
const ALIVE_MS: number = 2 * PIECE_RETRY_MS_MAX;

type Request = InstallSnapshotRequest<Uint8Array>;

interface Transfer {
  readonly id: number;
  /** The engine's message, with the data. */
  readonly request: Request;
  /** Waits double as long as nothing comes back. */
  waitMs: number;
  offerMs: number;
  /** When the receiver asked for a piece last. */
  askedMs: number;
}

export interface OutgoingOptions extends FrameOptions {
  /** Takes over the reference. */
  readonly send: (peer: number, message: Message) => void;
  /** A number that no transfer of this server has had, in this life or another. */
  readonly newId: () => number;
}

export class Outgoing {
  readonly #options: OutgoingOptions;
  readonly #transfers: Map<number, Transfer> = new Map();
  /** Of the pieces that we hand out, bytes. */
  readonly #unit: number;

  constructor(options: OutgoingOptions) {
    this.#options = options;
    this.#unit = bodySizeMax(options.pool.requestSlotSize);
  }

  /** Transfers under way. */
  get count(): number {
    return this.#transfers.size;
  }

  /** When there is something to be done without anybody asking, ms. */
  get deadlineMs(): number {
    let deadlineMs = Number.POSITIVE_INFINITY;
    for (const { offerMs } of this.#transfers.values()) deadlineMs = Math.min(deadlineMs, offerMs);
    return deadlineMs;
  }

  /** False: the snapshot is larger than any may be. */
  begin(peer: number, request: Request, nowMs: number): boolean {
    if ((request.snapshot.data?.length ?? 0) > SNAPSHOT_SIZE_MAX) return false;
    const running = this.#transfers.get(peer);
    const isAlive = running !== undefined && nowMs < running.askedMs + ALIVE_MS;
    if (isAlive) return true;
    if (running !== undefined && isSame(running.request, request)) {
      this.#offer(peer, running, nowMs);
      return true;
    }
    const transfer: Transfer = {
      id: this.#options.newId(),
      request,
      waitMs: OFFER_RETRY_MS_MIN,
      offerMs: nowMs,
      askedMs: Number.NEGATIVE_INFINITY,
    };
    this.#transfers.set(peer, transfer);
    this.#offer(peer, transfer, nowMs);
    return true;
  }

  /** Hands out a piece; nothing when it is of no transfer that is under way. */
  onWant(peer: number, id: number, offset: number, nowMs: number): boolean {
    const transfer = this.#transfers.get(peer);
    const data = transfer?.request.snapshot.data ?? null;
    if (transfer === undefined || transfer.id !== id || data === null) return false;
    if (offset >= data.length || offset % this.#unit !== 0) return false;
    // Whoever asks has heard the offer.
    transfer.waitMs = OFFER_RETRY_MS_MAX;
    transfer.offerMs = nowMs + transfer.waitMs;
    transfer.askedMs = nowMs;
    if (this.#options.pool.available('request') <= PIECE_SLOTS_RESERVE) return false;
    const size = Math.min(this.#unit, data.length - offset);
    const frame = { kind: 'piece', flags: 0, unit: 0, id, offset, total: 0 } as const;
    const message = newFrame(this.#options, frame, size);
    if (message === null) return false;
    message.bytes.set(data.subarray(offset, offset + size), HEADER_SIZE);
    this.#seal(peer, message);
    return true;
  }

  /** The peer has it. */
  onReply(peer: number, reply: InstallSnapshotReply): void {
    const transfer = this.#transfers.get(peer);
    if (transfer?.request.snapshot.index === reply.lastIndex) this.#transfers.delete(peer);
  }

  /** The engine is in this term; what it said in older ones does not hold any more. */
  onTerm(term: number): void {
    for (const [peer, { request }] of this.#transfers) {
      if (request.term < term) this.#transfers.delete(peer);
    }
  }

  onPeerDown(peer: number): void {
    this.#transfers.delete(peer);
  }

  tick(nowMs: number): void {
    for (const [peer, transfer] of this.#transfers) {
      if (nowMs < transfer.offerMs) continue;
      this.#offer(peer, transfer, nowMs);
      transfer.waitMs = Math.min(2 * transfer.waitMs, OFFER_RETRY_MS_MAX);
    }
  }

  #offer(peer: number, transfer: Transfer, nowMs: number): void {
    const { id, request } = transfer;
    const { snapshot } = request;
    transfer.offerMs = nowMs + transfer.waitMs;
    const total = snapshot.data?.length ?? 0;
    const flags = snapshot.data === null ? 0 : 1;
    const bare: Request = { ...request, snapshot: { ...snapshot, data: null } };
    const size = messageSize(bare);
    if (size > this.#unit) return;
    const frame = { kind: 'offer', flags, unit: this.#unit, id, offset: 0, total } as const;
    const message = newFrame(this.#options, frame, size);
    if (message === null) return;
    writeMessage(bare, message.bytes, HEADER_SIZE);
    this.#seal(peer, message);
  }

  #seal(peer: number, message: Message): void {
    sealFrame(this.#options, message);
    this.#options.send(peer, message);
  }
}

/** The same bytes, said in the same term. */
function isSame(a: Request, b: Request): boolean {
  const { snapshot } = a;
  if (a.term !== b.term || snapshot.data !== b.snapshot.data) return false;
  return snapshot.index === b.snapshot.index && snapshot.term === b.snapshot.term;
}
