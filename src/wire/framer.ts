/**
 * The framer of one connection: turns a stream of bytes, cut anywhere, into verified messages. A
 * stream has no length prefix; each header says where its message ends, so nothing is believed
 * before the header's checksum holds. Order of validation: header checksum, command, size, body
 * checksum, cluster. After the first failure the stream is lost and the connection must be closed.
 *
 * Bytes are copied once, from the chunk into the pool's slot. A request above the request limit is
 * drained, header kept, so that its client can be told; a full pool stops the reading.
 */
import { assert, bytesEqual, readU32 } from '../stdx/index.ts';
import {
  bodyValid,
  Command,
  HEADER_SIZE,
  headerValid,
  isKnownCommand,
  MESSAGE_SIZE_MAX,
  Offset,
  readCommand,
} from './header.ts';
import type { Message, SlotClass } from './message.ts';
import { type MessagePool, SMALL_SLOT_SIZE } from './pool.ts';

/** Why a stream is lost. `kind` is stable, for counters. */
export type FramerError =
  | { readonly kind: 'header-checksum' }
  /** Also reserved and retired command numbers. */
  | { readonly kind: 'unknown-command'; readonly command: number }
  /** Known, but not among the `commands` of the options. */
  | { readonly kind: 'unexpected-command'; readonly command: number }
  | { readonly kind: 'size'; readonly command: number; readonly size: number }
  | { readonly kind: 'body-checksum'; readonly command: number }
  /** `cluster`: the 16 bytes of the foreign cluster's id. */
  | { readonly kind: 'cluster'; readonly cluster: Uint8Array };

export type FramerErrorKind = FramerError['kind'];

export type FramerOutcome = 'need-more' | 'message' | 'oversize' | 'blocked' | 'error';

export interface FramerResult {
  /** Bytes of the chunk that are dealt with, from `offset` on. */
  readonly consumed: number;
  readonly outcome: FramerOutcome;
  /** With `message` and `oversize`: one reference, the caller's. */
  readonly message: Message | null;
  /** With `error`. */
  readonly error: FramerError | null;
}

export interface FramerOptions {
  readonly pool: MessagePool;
  /** 16 bytes: messages of other clusters are refused. */
  readonly cluster: Uint8Array;
  /** The request limit, header included, bytes; at most the pool's request slot. */
  readonly requestSizeMax: number;
  /**
   * What may arrive here; anything else fails at its header, before it takes a slot. Default: all.
   */
  readonly commands?: readonly Command[];
  /**
   * Asked before a slot of this class is taken; `false` is the same as a pool without a free one.
   */
  readonly mayTake?: (slotClass: SlotClass) => boolean;
}

export class Framer {
  readonly #pool: MessagePool;
  readonly #cluster: Uint8Array;
  readonly #requestSizeMax: number;
  readonly #commands: readonly number[] | null;
  readonly #mayTake: ((slotClass: SlotClass) => boolean) | null;
  /** A header that came in pieces, or that waits for a slot. */
  readonly #header: Uint8Array = new Uint8Array(HEADER_SIZE);
  #headerFilled: number = 0;
  /** The message being filled, and how much of it has arrived (drained bytes count). */
  #message: Message | null = null;
  #filled: number = 0;
  #size: number = 0;
  #oversize: boolean = false;
  #slotClass: SlotClass = 'small';
  #error: FramerError | null = null;

  constructor(options: FramerOptions) {
    assert(options.cluster.length === 16, 'Framer: a cluster id has 16 bytes');
    assert(options.requestSizeMax >= HEADER_SIZE, 'Framer: request limit below a header');
    assert(options.requestSizeMax <= options.pool.requestSlotSize, 'Framer: limit above the slot');
    this.#pool = options.pool;
    this.#cluster = options.cluster.slice();
    this.#requestSizeMax = options.requestSizeMax;
    this.#commands = options.commands ?? null;
    this.#mayTake = options.mayTake ?? null;
  }

  /**
   * Consumes from `chunk`, starting at `offset`, until there is one outcome; call again with the
   * rest. `need-more`: all is consumed. `blocked`: no slot is free; push the rest (even if nothing
   * is left of the chunk) when one may be. `error`: close; everything pushed later is ignored.
   */
  push(chunk: Uint8Array, offset: number): FramerResult {
    assert(offset >= 0 && offset <= chunk.length, 'Framer.push: offset out of range');
    if (this.#error !== null) return this.#fail(this.#error, chunk.length - offset);
    let position = offset;
    if (this.#message === null) {
      position += this.#takeHeader(chunk, position);
      if (this.#error !== null) return this.#fail(this.#error, position - offset);
      if (this.#message === null) {
        const outcome = this.#headerFilled === HEADER_SIZE ? 'blocked' : 'need-more';
        return { consumed: position - offset, outcome, message: null, error: null };
      }
    }
    position += this.#takeBody(chunk, position);
    if (this.#filled < this.#size) {
      return { consumed: position - offset, outcome: 'need-more', message: null, error: null };
    }
    return this.#complete(position - offset);
  }

  /** Forgets a half-received message and any error; the framer is as new. */
  reset(): void {
    if (this.#message !== null) this.#pool.release(this.#message);
    this.#message = null;
    this.#headerFilled = 0;
    this.#filled = 0;
    this.#error = null;
  }

  /** Releases what it holds; pushing afterwards starts a new stream. */
  destroy(): void {
    this.reset();
  }

  /**
   * Gets a verified header into a slot. A header that lies in the chunk as a whole is verified
   * there and left for {@link #takeBody} to copy together with its body. Returns bytes consumed.
   */
  #takeHeader(chunk: Uint8Array, position: number): number {
    const whole = this.#headerFilled === 0 && chunk.length - position >= HEADER_SIZE;
    if (whole) {
      if (!this.#verifyHeader(chunk, position)) return HEADER_SIZE;
      if (this.#takeSlot()) return 0;
      this.#header.set(chunk.subarray(position, position + HEADER_SIZE));
      this.#headerFilled = HEADER_SIZE;
      return HEADER_SIZE;
    }
    const take = Math.min(HEADER_SIZE - this.#headerFilled, chunk.length - position);
    if (this.#headerFilled < HEADER_SIZE) {
      this.#header.set(chunk.subarray(position, position + take), this.#headerFilled);
      this.#headerFilled += take;
      if (this.#headerFilled < HEADER_SIZE) return take;
      if (!this.#verifyHeader(this.#header, 0)) return take;
    }
    if (this.#takeSlot()) {
      this.#message?.bytes.set(this.#header);
      this.#headerFilled = 0;
      this.#filled = HEADER_SIZE;
    }
    return take;
  }

  /** Checks what can be checked before the body; sets `#size` and `#oversize`, or `#error`. */
  #verifyHeader(bytes: Uint8Array, offset: number): boolean {
    if (!headerValid(bytes, this.#pool.checksum, offset)) {
      this.#error = { kind: 'header-checksum' };
      return false;
    }
    const command = bytes[offset + Offset.command];
    const size = readU32(bytes, offset + Offset.size);
    if (!isKnownCommand(command)) {
      this.#error = { kind: 'unknown-command', command };
      return false;
    }
    if (this.#commands !== null && !this.#commands.includes(command)) {
      this.#error = { kind: 'unexpected-command', command };
      return false;
    }
    if (size < HEADER_SIZE || size > MESSAGE_SIZE_MAX || !this.#fits(command, size)) {
      this.#error = { kind: 'size', command, size };
      return false;
    }
    this.#size = size;
    this.#oversize = command === Command.request && size > this.#requestSizeMax;
    this.#slotClass = this.#oversize ? 'small' : slotClassOf(command, size);
    return true;
  }

  /** Whether a message of this size can ever be received; requests may, if only to be drained. */
  #fits(command: number, size: number): boolean {
    if (command === Command.request) return true;
    // A stranger must not get a large slot, let alone keep it, with a command that needs none.
    if (bodiless.includes(command)) return size === HEADER_SIZE;
    if (command === Command.prepare) return size <= this.#requestSizeMax;
    if (command === Command.raft && size > this.#pool.requestSlotSize) return false;
    return this.#pool.capacity(slotClassOf(command, size)) > 0;
  }

  #takeSlot(): boolean {
    assert(this.#message === null, 'Framer: a slot is held already');
    this.#filled = 0;
    if (this.#mayTake !== null && !this.#mayTake(this.#slotClass)) return false;
    this.#message = this.#pool.acquire(this.#slotClass);
    return this.#message !== null;
  }

  /** One copy of all that the chunk has of this message; returns bytes consumed. */
  #takeBody(chunk: Uint8Array, position: number): number {
    assert(this.#message !== null, 'Framer: no slot');
    const take = Math.min(this.#size - this.#filled, chunk.length - position);
    const keep = this.#oversize ? Math.min(take, Math.max(0, HEADER_SIZE - this.#filled)) : take;
    if (keep > 0) this.#message.bytes.set(chunk.subarray(position, position + keep), this.#filled);
    this.#filled += take;
    return take;
  }

  #complete(consumed: number): FramerResult {
    const message = this.#message;
    assert(message !== null, 'Framer: nothing to complete');
    assert(this.#filled === this.#size, 'Framer: incomplete');
    const { bytes } = message;
    // What is drained is not checksummed: it gets the same answer, right or wrong.
    if (!this.#oversize && !bodyValid(bytes, this.#pool.checksum)) {
      return this.#fail({ kind: 'body-checksum', command: readCommand(bytes) }, consumed);
    }
    if (!bytesEqual(bytes, Offset.cluster, this.#cluster, 0, 16)) {
      const cluster = bytes.slice(Offset.cluster, Offset.cluster + 16);
      return this.#fail({ kind: 'cluster', cluster }, consumed);
    }
    this.#message = null;
    this.#filled = 0;
    return { consumed, outcome: this.#oversize ? 'oversize' : 'message', message, error: null };
  }

  #fail(error: FramerError, consumed: number): FramerResult {
    this.reset();
    this.#error = error;
    return { consumed, outcome: 'error', message: null, error };
  }
}

/** Commands of client connections that are a header and nothing else. */
const bodiless: readonly number[] = [
  Command.pingClient,
  Command.pongClient,
  Command.eviction,
  Command.status,
  Command.hello,
  Command.helloOk,
];

/**
 * Requests and prepares have slots of their own, so that acknowledgements always find one. Large
 * frames of Raft carry requests.
 */
function slotClassOf(command: number, size: number): SlotClass {
  if (command === Command.request || command === Command.prepare) return 'request';
  if (size <= SMALL_SLOT_SIZE) return 'small';
  return command === Command.raft ? 'request' : 'reply';
}
