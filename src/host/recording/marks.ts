/**
 * A short mark of each effect: its type and 32 bits over all that it asks for. Of a message its
 * header counts, which holds a checksum of the body; of a write every byte does.
 */
import type { Effect } from '../../engine/index.ts';
import { readU32 } from '../../stdx/index.ts';
import { type Checksum, HEADER_SIZE, type Message } from '../../wire/index.ts';
import { BytesWriter } from './bytes-writer.ts';

export interface Mark {
  readonly type: Effect['type'] | null;
  readonly hash: number;
}

const EFFECT_TYPES: readonly Effect['type'][] = [
  'send',
  'send-peer',
  'close',
  'write',
  'read',
  'flush',
  'timer',
  'ready',
  'trace',
  'restart',
  'halt',
];

export class Marker {
  readonly #checksum: Checksum;
  readonly #fields: BytesWriter = new BytesWriter();
  readonly #mac: Uint8Array = new Uint8Array(16);

  constructor(checksum: Checksum) {
    this.#checksum = checksum;
  }

  write(writer: BytesWriter, effect: Effect): void {
    writer.u8(EFFECT_TYPES.indexOf(effect.type));
    writer.u32(this.hash(effect));
  }

  mark(effect: Effect): Mark {
    return { type: effect.type, hash: this.hash(effect) };
  }

  hash(effect: Effect): number {
    const fields = this.#fields;
    fields.truncate(0);
    this.#put(fields, effect);
    this.#checksum.digest(fields.written, 0, fields.length, this.#mac, 0);
    return readU32(this.#mac, 0);
  }

  #put(fields: BytesWriter, effect: Effect): void {
    switch (effect.type) {
      case 'send':
        fields.f64(effect.connection);
        putMessage(fields, effect.message);
        return;
      case 'send-peer':
        fields.f64(effect.replica);
        putMessage(fields, effect.message);
        return;
      case 'close':
        fields.f64(effect.connection);
        fields.text(effect.reason);
        return;
      case 'write':
        fields.f64(effect.token);
        fields.f64(effect.offset);
        fields.u8(effect.durable ? 1 : 0);
        fields.u32(effect.bytes.length);
        this.#checksum.digest(effect.bytes, 0, effect.bytes.length, this.#mac, 0);
        fields.bytes(this.#mac);
        return;
      case 'read':
        fields.f64(effect.token);
        fields.f64(effect.offset);
        fields.f64(effect.length);
        return;
      case 'flush':
        fields.f64(effect.token);
        return;
      case 'timer':
        fields.text(effect.timer);
        fields.f64(effect.afterNs ?? -1);
        return;
      case 'ready':
      case 'restart':
        return;
      case 'trace':
        fields.text(`${effect.level} ${effect.event}`);
        for (const [name, value] of Object.entries(effect.fields)) fields.text(`${name}=${value}`);
        return;
      case 'halt':
        fields.text(`${effect.code} ${effect.reason}`);
        return;
    }
  }
}

export function markFrom(code: number, hash: number): Mark {
  return { type: EFFECT_TYPES[code] ?? null, hash };
}

function putMessage(fields: BytesWriter, message: Message): void {
  fields.bytes(message.bytes.subarray(0, HEADER_SIZE));
}
