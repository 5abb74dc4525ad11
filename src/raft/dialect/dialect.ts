/**
 * Our own binary dialect: between the messages of a `Raft<Uint8Array>` and frames in slots of a
 * pool, for the servers of a replica cluster, whose names are their indexes. Messages go out as one
 * frame (see `frame`); an append that is too large is cut between its entries, a message that is
 * too large as it is goes in parts (`assembly`), a snapshot in pieces that the receiver asks for
 * (`outgoing`, `incoming`).
 *
 * Nothing waits: what finds no slot is dropped and counted, and Raft makes good of it; a transfer
 * makes good of it by itself. What a peer sends and no server of ours would send is counted and
 * dropped, never an error.
 *
 * How it is used, with one `nowMs` for all of a step: `tick(nowMs)` first; `onMessage` for each
 * frame; the engine's step; `send` for each of its messages; `endTurn()`; and again not later than
 * `deadlineMs`.
 */
import { assert } from '../../stdx/index.ts';
import { HEADER_SIZE, type Message, readSize } from '../../wire/index.ts';
import type { AppendRequest, Msg } from '../message.ts';
import { termOf } from '../message.ts';
import { Assemblies, detach } from './assembly.ts';
import { ENTRIES_HEAD_SIZE, entrySize } from './codec.ts';
import {
  bodySizeMax,
  type Frame,
  type FrameOptions,
  newFrame,
  readFrame,
  sealFrame,
} from './frame.ts';
import { Incoming } from './incoming.ts';
import { RAFT_MESSAGE_SIZE_MAX } from './limits.ts';
import { APPEND_HEAD_SIZE, messageSize, readMessage, writeMessage } from './message-codec.ts';
import { Outgoing } from './outgoing.ts';

type Append = AppendRequest<Uint8Array>;

export interface DialectOptions extends FrameOptions {
  readonly replicaCount: number;
  /** Drawn anew for each life, so that what an earlier life has sent is told apart. 32 bits. */
  readonly seed: number;
  /** Takes over the reference. */
  readonly send: (peer: number, message: Message) => void;
}

/** Since the beginning of this life. */
export interface DialectCounters {
  sent: number;
  received: number;
  /** Copies of an append that were sent to further peers without making a frame again. */
  shared: number;
  /** Appends that were cut, and messages that went in parts. */
  cut: number;
  parted: number;
  piecesSent: number;
  piecesReceived: number;
  snapshotsBegun: number;
  snapshotsReceived: number;
  /** Messages that were not sent because no slot was free, or that are too large for any way. */
  droppedNoSlot: number;
  droppedTooLarge: number;
  /** Frames that no server of ours sends. */
  malformed: number;
}

/** Bytes around an entry's data, with a name of 24 bytes. */
const ENTRY_OVERHEAD = 48;
/** Entries of one append for which `appendBytesMax` leaves room; with more it may be cut. */
const ENTRIES_EXPECTED = 32;

/**
 * `batchBytesMax` for a policy, given the size of a `request` slot: appends of usual entries up to
 * that much data fit into one frame.
 */
export function appendBytesMax(slotSize: number): number {
  const fixed = APPEND_HEAD_SIZE + ENTRIES_HEAD_SIZE + ENTRIES_EXPECTED * ENTRY_OVERHEAD;
  assert(bodySizeMax(slotSize) > fixed, 'appendBytesMax: slots too small');
  return bodySizeMax(slotSize) - fixed;
}

export class Dialect {
  readonly #options: DialectOptions;
  /** Bytes of a message that fit into one frame. */
  readonly #unit: number;
  readonly #assemblies: Assemblies = new Assemblies();
  readonly #outgoing: Outgoing;
  readonly #incoming: Incoming;
  #lastId: number = 0;
  #nowMs: number = 0;
  /** Of the engine, as far as it has spoken. */
  #term: number = 0;
  /** The last append and its frames, for the next peer that gets the same; references are ours. */
  #shared: { readonly request: Append; readonly frames: readonly Message[] } | null = null;
  readonly counters: DialectCounters = {
    sent: 0,
    received: 0,
    shared: 0,
    cut: 0,
    parted: 0,
    piecesSent: 0,
    piecesReceived: 0,
    snapshotsBegun: 0,
    snapshotsReceived: 0,
    droppedNoSlot: 0,
    droppedTooLarge: 0,
    malformed: 0,
  };

  constructor(options: DialectOptions) {
    const { pool, replica, replicaCount } = options;
    assert(replica < replicaCount, 'Dialect: own index out of range');
    this.#options = options;
    this.#unit = bodySizeMax(pool.requestSlotSize);
    const send = (peer: number, message: Message): void => this.#sendFrame(peer, message);
    this.#outgoing = new Outgoing({ ...options, send, newId: () => this.#newId() });
    this.#incoming = new Incoming({ ...options, send });
  }

  /** When `tick` has to come at the latest, ms; infinite: nothing is to be done. */
  get deadlineMs(): number {
    return Math.min(this.#outgoing.deadlineMs, this.#incoming.deadlineMs);
  }

  /** Peers to which a snapshot is on its way: a good time to wait with the next. */
  get snapshotsSending(): number {
    return this.#outgoing.count;
  }

  /** What has come of a snapshot that this server receives; `null`: none is under way. */
  get snapshotReceiving(): { readonly pieces: number; readonly of: number } | null {
    return this.#incoming.progress;
  }

  /** The time of this step; does what is due. */
  tick(nowMs: number): void {
    assert(nowMs >= this.#nowMs, 'Dialect: time goes back');
    this.#nowMs = nowMs;
    this.#outgoing.tick(nowMs);
    this.#incoming.tick(nowMs);
  }

  /** On its way, or dropped. */
  send(peer: number, message: Msg<Uint8Array>): void {
    this.#assertPeer(peer);
    this.#onOwnTerm(termOf(message));
    if (message.type === 'install-snapshot-request') {
      this.counters.snapshotsBegun++;
      const isSent = this.#outgoing.begin(peer, message, this.#nowMs);
      if (!isSent) this.counters.droppedTooLarge++;
    } else if (message.type === 'append-request') {
      this.#sendAppend(peer, message);
    } else {
      const frames = this.#encode(message);
      for (const frame of frames ?? []) this.#sendFrame(peer, frame);
    }
  }

  /** After the last `send` of a step: gives back what was kept for sharing. */
  endTurn(): void {
    if (this.#shared === null) return;
    for (const frame of this.#shared.frames) this.#options.pool.release(frame);
    this.#shared = null;
  }

  /**
   * A verified frame from a proven link; takes over the reference. Returns what the engine is to
   * be told, in memory of its own; `null`: nothing yet.
   */
  onMessage(peer: number, message: Message): Msg<Uint8Array> | null {
    this.#assertPeer(peer);
    this.counters.received++;
    const frame = readFrame(message.bytes, peer);
    const result = frame === null ? undefined : this.#onFrame(peer, frame, message.bytes);
    this.#options.pool.release(message);
    if (result === undefined) this.counters.malformed++;
    else if (result?.type === 'install-snapshot-reply') this.#outgoing.onReply(peer, result);
    return result ?? null;
  }

  /** The link is gone, and what was under way on it. */
  onPeerDown(peer: number): void {
    this.#assertPeer(peer);
    this.#assemblies.forget(peer);
    this.#outgoing.onPeerDown(peer);
    this.#incoming.onPeerDown(peer);
  }

  /** `undefined`: malformed. */
  #onFrame(peer: number, frame: Frame, bytes: Uint8Array): Msg<Uint8Array> | null | undefined {
    const { id, offset } = frame;
    switch (frame.kind) {
      case 'message':
        return this.#onPart(peer, frame, bytes);
      case 'want':
        if (this.#outgoing.onWant(peer, id, offset, this.#nowMs)) this.counters.piecesSent++;
        return null;
      case 'offer':
        return this.#received(this.#incoming.onOffer(peer, frame, bytes, this.#nowMs));
      default:
        this.counters.piecesReceived++;
        return this.#received(this.#incoming.onPiece(peer, frame, bytes, this.#nowMs));
    }
  }

  #received(result: Msg<Uint8Array> | null | undefined): Msg<Uint8Array> | null | undefined {
    if (result !== null && result !== undefined) this.counters.snapshotsReceived++;
    return result;
  }

  #onPart(peer: number, frame: Frame, bytes: Uint8Array): Msg<Uint8Array> | null | undefined {
    const isWhole = frame.total <= frame.unit;
    if (isWhole) return this.#decode(bytes, HEADER_SIZE, readSize(bytes));
    const whole = this.#assemblies.add(peer, frame, bytes, HEADER_SIZE);
    return whole === null ? null : this.#decode(whole, 0, whole.length);
  }

  #decode(bytes: Uint8Array, offset: number, end: number): Msg<Uint8Array> | undefined {
    const message = readMessage(bytes, offset, end);
    // Snapshots have a way of their own.
    if (message === null || message.type === 'install-snapshot-request') return undefined;
    return detach(message);
  }

  #sendAppend(peer: number, request: Append): void {
    if (this.#shared === null || !isSame(this.#shared.request, request)) {
      this.endTurn();
      const frames = this.#encodeAppend(request);
      if (frames === null) return;
      this.#shared = { request, frames };
    } else this.counters.shared++;
    for (const frame of this.#shared.frames) {
      this.#options.pool.retain(frame);
      this.#sendFrame(peer, frame);
    }
  }

  #encodeAppend(request: Append): Message[] | null {
    if (messageSize(request) <= this.#unit) return this.#encode(request);
    const frames: Message[] = [];
    const pieces = this.#cut(request);
    if (pieces.length > 1) this.counters.cut++;
    for (const piece of pieces) {
      const encoded = this.#encode(piece);
      // Nothing that follows a gap would be taken.
      if (encoded === null) break;
      frames.push(...encoded);
    }
    return frames.length === 0 ? null : frames;
  }

  /** The same as several appends, each as large as fits. */
  #cut(request: Append): Append[] {
    const { entries } = request;
    const roomMax = this.#unit - APPEND_HEAD_SIZE - ENTRIES_HEAD_SIZE;
    const appends: Append[] = [];
    let { prevIndex, prevTerm } = request;
    for (let from = 0; from < entries.length; ) {
      let to = from;
      let size = 0;
      while (to < entries.length) {
        size += entrySize(entries[to]);
        if (size > roomMax && to > from) break;
        to++;
      }
      appends.push({ ...request, prevIndex, prevTerm, entries: entries.slice(from, to) });
      prevIndex = entries[to - 1].index;
      prevTerm = entries[to - 1].term;
      from = to;
    }
    return appends;
  }

  /** One frame, or as many as it needs; `null`: dropped. */
  #encode(message: Msg<Uint8Array>): Message[] | null {
    const total = messageSize(message);
    if (total > RAFT_MESSAGE_SIZE_MAX) {
      this.counters.droppedTooLarge++;
      return null;
    }
    if (total <= this.#unit) {
      const frame = this.#newPart(0, 0, total);
      if (frame === null) return null;
      const end = writeMessage(message, frame.bytes, HEADER_SIZE);
      assert(end === HEADER_SIZE + total, 'Dialect: a message of another size');
      sealFrame(this.#options, frame);
      return [frame];
    }
    this.counters.parted++;
    const bytes = new Uint8Array(total);
    writeMessage(message, bytes, 0);
    const id = this.#newId();
    const frames: Message[] = [];
    for (let offset = 0; offset < total; offset += this.#unit) {
      const frame = this.#newPart(id, offset, total);
      if (frame === null) {
        for (const made of frames) this.#options.pool.release(made);
        return null;
      }
      frame.bytes.set(bytes.subarray(offset, offset + this.#unit), HEADER_SIZE);
      sealFrame(this.#options, frame);
      frames.push(frame);
    }
    return frames;
  }

  #newPart(id: number, offset: number, total: number): Message | null {
    const unit = this.#unit;
    const size = Math.min(unit, total - offset);
    const frame = { kind: 'message', flags: 0, unit, id, offset, total } as const;
    const message = newFrame(this.#options, frame, size);
    if (message === null) this.counters.droppedNoSlot++;
    return message;
  }

  #sendFrame(peer: number, frame: Message): void {
    this.counters.sent++;
    this.#options.send(peer, frame);
  }

  /** All that the engine says is of its current term, or of none. */
  #onOwnTerm(term: number | null): void {
    if (term === null || term <= this.#term) return;
    this.#term = term;
    this.#outgoing.onTerm(term);
    this.#incoming.onTerm(term);
  }

  #newId(): number {
    this.#lastId++;
    return (this.#options.seed & 0xf_ffff) * 0x1_0000_0000 + this.#lastId;
  }

  #assertPeer(peer: number): void {
    const { replica, replicaCount } = this.#options;
    assert(peer !== replica && peer >= 0 && peer < replicaCount, 'Dialect: no such peer');
  }
}

/** Logs only grow at their end, so the same first and last entry have the same between them. */
function isSame(a: Append, b: Append): boolean {
  return (
    a.term === b.term &&
    a.prevIndex === b.prevIndex &&
    a.prevTerm === b.prevTerm &&
    a.leaderCommit === b.leaderCommit &&
    a.round === b.round &&
    a.entries.length === b.entries.length &&
    a.entries[0] === b.entries[0] &&
    a.entries.at(-1) === b.entries.at(-1)
  );
}
