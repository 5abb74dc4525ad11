/**
 * A snapshot on its way to this server: what is offered is asked for piece by piece, a few at a
 * time, each again when it does not come. One at a time, whoever sends it: there is one leader, and
 * its newest offer counts. The engine gets the whole as one message, the data in memory of their
 * own.
 *
 * What was received last is remembered for a while: if the engine's answer to it is lost, the offer
 * comes again, and the engine is given the same message once more instead of all the pieces.
 */
import { assert } from '../../stdx/index.ts';
import { HEADER_SIZE, type Message, readSize } from '../../wire/index.ts';
import type { InstallSnapshotRequest } from '../message.ts';
import { type Frame, type FrameOptions, newFrame, sealFrame } from './frame.ts';
import {
  COMPLETED_MS,
  PIECE_RETRY_MS_MAX,
  PIECE_RETRY_MS_MIN,
  PIECES_INFLIGHT_MAX,
  TRANSFER_SILENCE_MS,
} from './limits.ts';
import { readMessage } from './message-codec.ts';

type Request = InstallSnapshotRequest<Uint8Array>;

interface Transfer {
  readonly peer: number;
  readonly id: number;
  /** Without the data. */
  readonly request: Request;
  readonly data: Uint8Array;
  readonly unit: number;
  readonly count: number;
  /** By number of the piece: 1: it is here. */
  readonly has: Uint8Array;
  hasCount: number;
  /** First piece that was never asked for. */
  next: number;
  /** Piece → when it was asked for last, and whether that was not the first time. */
  readonly asked: Map<number, { readonly sentMs: number; readonly isAgain: boolean }>;
  retryMs: number;
  heardMs: number;
}

interface Completed {
  readonly peer: number;
  readonly id: number;
  readonly request: Request;
  untilMs: number;
}

/** The engine's message when all is there, `null` before; `undefined`: malformed. */
type Outcome = Request | null | undefined;

export interface IncomingOptions extends FrameOptions {
  /** Takes over the reference. */
  readonly send: (peer: number, message: Message) => void;
}

export class Incoming {
  readonly #options: IncomingOptions;
  #transfer: Transfer | null = null;
  #completed: Completed | null = null;
  /** Of this server's engine, as far as it has spoken or was told. */
  #term: number = 0;

  constructor(options: IncomingOptions) {
    this.#options = options;
  }

  /** What has come of the snapshot under way; `null`: none is. */
  get progress(): { readonly pieces: number; readonly of: number } | null {
    const transfer = this.#transfer;
    return transfer === null ? null : { pieces: transfer.hasCount, of: transfer.count };
  }

  get deadlineMs(): number {
    const forgetMs = this.#completed?.untilMs ?? Number.POSITIVE_INFINITY;
    const transfer = this.#transfer;
    if (transfer === null) return forgetMs;
    let deadlineMs = Math.min(forgetMs, transfer.heardMs + TRANSFER_SILENCE_MS);
    for (const { sentMs } of transfer.asked.values()) {
      deadlineMs = Math.min(deadlineMs, sentMs + transfer.retryMs);
    }
    return deadlineMs;
  }

  /** Begins or goes on. */
  onOffer(peer: number, frame: Frame, bytes: Uint8Array, nowMs: number): Outcome {
    const completed = this.#completed;
    if (completed?.peer === peer && completed.id === frame.id) {
      completed.untilMs = nowMs + COMPLETED_MS;
      return completed.request;
    }
    const request = readMessage(bytes, HEADER_SIZE, readSize(bytes));
    if (request?.type !== 'install-snapshot-request' || request.snapshot.data !== null) {
      return undefined;
    }
    if (!this.#isNews(peer, frame.id, request)) {
      if (this.#transfer?.id === frame.id) this.#transfer.heardMs = nowMs;
      return null;
    }
    // Nothing of an older one is kept beside the new one.
    this.#transfer = null;
    this.#completed = null;
    if (frame.flags === 0) return this.#complete(peer, frame.id, request, null, nowMs);
    const data = new Uint8Array(frame.total);
    if (data.length === 0) return this.#complete(peer, frame.id, request, data, nowMs);
    const count = Math.ceil(frame.total / frame.unit);
    this.#transfer = {
      peer,
      id: frame.id,
      request,
      data,
      unit: frame.unit,
      count,
      has: new Uint8Array(count),
      hasCount: 0,
      next: 0,
      asked: new Map(),
      retryMs: PIECE_RETRY_MS_MIN,
      heardMs: nowMs,
    };
    this.#askMore(this.#transfer, nowMs);
    return null;
  }

  onPiece(peer: number, frame: Frame, bytes: Uint8Array, nowMs: number): Outcome {
    const transfer = this.#transfer;
    if (transfer === null || transfer.peer !== peer || transfer.id !== frame.id) return null;
    const { data, unit } = transfer;
    const { offset } = frame;
    const size = readSize(bytes) - HEADER_SIZE;
    if (offset >= data.length || offset % unit !== 0) return undefined;
    if (size !== Math.min(unit, data.length - offset)) return undefined;
    transfer.heardMs = nowMs;
    const piece = offset / unit;
    if (transfer.has[piece] === 1) return null;
    const asked = transfer.asked.get(piece);
    if (asked?.isAgain === false) {
      const tookMs = nowMs - asked.sentMs;
      transfer.retryMs = clampRetryMs(2 * tookMs);
    }
    data.set(bytes.subarray(HEADER_SIZE, HEADER_SIZE + size), offset);
    transfer.has[piece] = 1;
    transfer.hasCount++;
    transfer.asked.delete(piece);
    if (transfer.hasCount < transfer.count) {
      this.#askMore(transfer, nowMs);
      return null;
    }
    this.#transfer = null;
    return this.#complete(peer, transfer.id, transfer.request, data, nowMs);
  }

  onTerm(term: number): void {
    this.#term = Math.max(this.#term, term);
    if (this.#transfer !== null && this.#transfer.request.term < term) this.#transfer = null;
    if (this.#completed !== null && this.#completed.request.term < term) this.#completed = null;
  }

  onPeerDown(peer: number): void {
    if (this.#transfer?.peer === peer) this.#transfer = null;
    if (this.#completed?.peer === peer) this.#completed = null;
  }

  tick(nowMs: number): void {
    if (this.#completed !== null && nowMs >= this.#completed.untilMs) this.#completed = null;
    const transfer = this.#transfer;
    if (transfer === null) return;
    if (nowMs >= transfer.heardMs + TRANSFER_SILENCE_MS) {
      this.#transfer = null;
      return;
    }
    const dueMs = nowMs - transfer.retryMs;
    const late = [...transfer.asked].filter(([, asked]) => asked.sentMs <= dueMs);
    if (late.length === 0) return;
    transfer.retryMs = clampRetryMs(2 * transfer.retryMs);
    for (const [piece] of late) this.#ask(transfer, piece, nowMs, true);
  }

  /** Whether this offer takes the place of the transfer under way. */
  #isNews(peer: number, id: number, request: Request): boolean {
    if (request.term < this.#term) return false;
    const transfer = this.#transfer;
    if (transfer === null || request.term > transfer.request.term) return true;
    if (request.term < transfer.request.term || peer !== transfer.peer) return false;
    // Of the same leader in the same term: a late offer of an older snapshot is no news.
    return id !== transfer.id && request.snapshot.index >= transfer.request.snapshot.index;
  }

  #complete(
    peer: number,
    id: number,
    bare: Request,
    data: Uint8Array | null,
    nowMs: number,
  ): Request {
    const snapshot = { ...bare.snapshot, data, size: data?.length ?? 0 };
    const request: Request = { ...bare, snapshot };
    this.#completed = { peer, id, request, untilMs: nowMs + COMPLETED_MS };
    this.#term = Math.max(this.#term, request.term);
    return request;
  }

  #askMore(transfer: Transfer, nowMs: number): void {
    while (transfer.asked.size < PIECES_INFLIGHT_MAX && transfer.next < transfer.count) {
      // One that was asked for before this transfer was begun anew may be here already.
      if (transfer.has[transfer.next] === 0) this.#ask(transfer, transfer.next, nowMs, false);
      transfer.next++;
    }
  }

  #ask(transfer: Transfer, piece: number, nowMs: number, isAgain: boolean): void {
    const { peer, id, unit, asked } = transfer;
    assert(transfer.has[piece] === 0, 'Incoming: asks for what it has');
    asked.set(piece, { sentMs: nowMs, isAgain });
    const frame = { kind: 'want', flags: 0, unit: 0, id, offset: piece * unit, total: 0 } as const;
    const message = newFrame(this.#options, frame, 0);
    if (message === null) return;
    sealFrame(this.#options, message);
    this.#options.send(peer, message);
  }
}

function clampRetryMs(ms: number): number {
  return Math.min(Math.max(ms, PIECE_RETRY_MS_MIN), PIECE_RETRY_MS_MAX);
}
