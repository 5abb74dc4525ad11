/**
 * The fingerprint of a run: every event and every effect is folded into 64 bits, so that "the same
 * seed gives the same run" is one comparison, also between machines and between versions of Node.
 *
 * It is made of 32-bit integer operations only, which JavaScript defines exactly. It protects
 * against accidents, not against adversaries: two multiply-rotate lanes that feed each other, each
 * step a bijection of the state, so nothing that was folded in is ever absorbed again.
 *
 * Of what is large, the beginning is folded in and a word here and there: messages and records
 * begin with checksums over the rest.
 */
import type { Effect, Event } from '../../engine/index.ts';
import { assert, readU32 } from '../../stdx/index.ts';
import { HEADER_SIZE, type Message } from '../../wire/index.ts';

const SIZE_OFFSET = 96;
/** Content of up to so many bytes is folded in as a whole. */
const WHOLE_SIZE_MAX = 512;
/** Bytes from one sampled word to the next: no multiple of anything. */
const SAMPLE_STRIDE = 212;

export class EventHash {
  #a: number = 0x243f6a88;
  #b: number = 0x85a308d3;
  #count: number = 0;

  /** 32 bits. */
  word(value: number): void {
    this.#a = Math.imul(this.#a ^ value, 0x9e3779b1);
    this.#a = (((this.#a << 15) | (this.#a >>> 17)) + this.#b) | 0;
    this.#b = Math.imul(this.#b ^ ((value << 16) | (value >>> 16)), 0x85ebca6b);
    this.#b = (((this.#b << 13) | (this.#b >>> 19)) + this.#a) | 0;
    this.#count++;
  }

  /** A safe integer. */
  integer(value: number): void {
    assert(Number.isSafeInteger(value), 'EventHash: not a safe integer');
    this.word(value | 0);
    this.word(Math.floor(value / 0x1_0000_0000) | 0);
  }

  text(value: string): void {
    this.word(value.length);
    for (let i = 0; i < value.length; i++) this.word(value.charCodeAt(i));
  }

  bytes(value: Uint8Array): void {
    this.word(value.length);
    const whole = value.length & ~3;
    // The same as a call of `word` for each; most of what is folded are bytes of writes.
    let a = this.#a;
    let b = this.#b;
    const isAligned = (value.byteOffset & 3) === 0;
    const words = isAligned ? new Int32Array(value.buffer, value.byteOffset, whole / 4) : null;
    for (let i = 0; i < whole; i += 4) {
      const word = words === null ? readU32(value, i) : (words[i >>> 2] as number);
      a = Math.imul(a ^ word, 0x9e3779b1);
      a = (((a << 15) | (a >>> 17)) + b) | 0;
      b = Math.imul(b ^ ((word << 16) | (word >>> 16)), 0x85ebca6b);
      b = (((b << 13) | (b >>> 19)) + a) | 0;
    }
    this.#a = a;
    this.#b = b;
    this.#count += whole / 4;
    for (let i = whole; i < value.length; i++) this.word(value[i]);
  }

  event(event: Event): void {
    this.text(event.type);
    switch (event.type) {
      case 'open':
        return;
      case 'message':
        this.integer(event.connection);
        this.#message(event.message);
        return;
      case 'oversize':
        this.integer(event.connection);
        this.bytes(event.message.bytes.subarray(0, HEADER_SIZE));
        return;
      case 'disconnected':
        this.integer(event.connection);
        return;
      case 'peer-up':
        this.integer(event.replica);
        this.bytes(event.replicaId);
        this.word(event.isRecovered ? 1 : 0);
        return;
      case 'peer-down':
        this.integer(event.replica);
        return;
      case 'peer-message':
        this.integer(event.replica);
        this.#message(event.message);
        return;
      case 'timer':
        this.text(event.timer);
        return;
      case 'read':
        this.#content(event.bytes);
        this.#completion(event.token, event.error);
        return;
      case 'written':
      case 'flushed':
        this.#completion(event.token, event.error);
        return;
    }
  }

  effect(effect: Effect): void {
    this.text(effect.type);
    switch (effect.type) {
      case 'send':
        this.integer(effect.connection);
        this.#message(effect.message);
        return;
      case 'send-peer':
        this.integer(effect.replica);
        this.#message(effect.message);
        return;
      case 'close':
        this.integer(effect.connection);
        this.text(effect.reason);
        return;
      case 'write':
        this.integer(effect.token);
        this.integer(effect.offset);
        this.#content(effect.bytes);
        this.word(effect.durable ? 1 : 0);
        return;
      case 'read':
        this.integer(effect.token);
        this.integer(effect.offset);
        this.integer(effect.length);
        return;
      case 'flush':
        this.integer(effect.token);
        return;
      case 'timer':
        this.text(effect.timer);
        this.integer(effect.afterNs ?? -1);
        return;
      case 'ready':
      case 'restart':
        return;
      case 'trace':
        this.text(effect.event);
        for (const [name, value] of Object.entries(effect.fields)) this.text(`${name}=${value}`);
        return;
      case 'halt':
        this.text(effect.code);
        return;
    }
  }

  /** 16 hexadecimal digits. The state goes on unchanged. */
  digest(): string {
    const a = avalanche(this.#a ^ this.#count);
    const b = avalanche(this.#b ^ a);
    return (a >>> 0).toString(16).padStart(8, '0') + (b >>> 0).toString(16).padStart(8, '0');
  }

  #message(message: Message): void {
    const size = readU32(message.bytes, SIZE_OFFSET);
    assert(size <= message.bytes.length, 'EventHash: message larger than its slot');
    this.#content(message.bytes.subarray(0, size));
  }

  #content(value: Uint8Array): void {
    if (value.length <= WHOLE_SIZE_MAX) {
      this.bytes(value);
      return;
    }
    this.word(value.length);
    this.bytes(value.subarray(0, HEADER_SIZE));
    const last = value.length - 4;
    for (let i = HEADER_SIZE; i <= last; i += SAMPLE_STRIDE) this.word(readU32(value, i));
    this.word(readU32(value, last));
  }

  #completion(token: number, error: string | null): void {
    this.integer(token);
    this.text(error ?? '');
  }
}

function avalanche(value: number): number {
  value = Math.imul(value ^ (value >>> 16), 0x7feb352d);
  value = Math.imul(value ^ (value >>> 15), 0x846ca68b);
  return value ^ (value >>> 16);
}
