/**
 * The message pool: all messages of one replica (or client) live in one fixed WebAssembly memory,
 * in slots aligned to 4096 bytes, so that the same bytes are checksummed, written to disk and sent
 * without a copy. Messages are counted by reference: whoever keeps one retains it, the last to
 * release it frees the slot. A full class answers `null`; nothing here waits or grows.
 *
 * In tests freed slots are poisoned, and a slot that was written to while free is noticed when it
 * is taken again.
 */
import { assert } from '../stdx/index.ts';
import {
  CHECKSUM_MEMORY_SIZE,
  CHECKSUM_OVERREAD,
  type Checksum,
  createChecksum,
} from './checksum.ts';
import { MESSAGE_SIZE_MAX } from './header.ts';
import type { Message, SlotClass } from './message.ts';
import { createMemory, type WasmMemory } from './webassembly.ts';

/** Slots are aligned to this and multiples of it, bytes: a disk sector. */
export const SLOT_ALIGNMENT = 4096;
/** Bytes of a `small` slot. */
export const SMALL_SLOT_SIZE = 4096;
/** Bytes of a `reply` slot: a reply may be large whatever the request limit is. */
export const REPLY_SLOT_SIZE: number = MESSAGE_SIZE_MAX;

const POISON_BYTE = 0xa5;
const POISON_WORD = 0xa5a5_a5a5;
/** Of a freed slot at most this much is poisoned, and the first sector checked, bytes. */
const POISON_SIZE_MAX = 65_536;

export interface PoolOptions {
  /** Bytes of a `request` slot: a multiple of 4096, at most 1 MiB, at least the request limit. */
  readonly requestSlotSize: number;
  readonly requestSlots: number;
  readonly replySlots: number;
  readonly smallSlots: number;
  /** Overwrite what is freed, and check it: for tests and the simulator. */
  readonly poison?: boolean;
  /** Forces an implementation of the checksum, for tests. */
  readonly checksumKind?: Checksum['kind'];
}

/** The views of one slot; they outlive the messages that come and go in it. */
interface Slot {
  readonly bytes: Uint8Array;
  readonly words: Uint32Array;
  poisoned: boolean;
}

class PooledMessage implements Message {
  readonly bytes: Uint8Array;
  readonly words: Uint32Array;
  readonly slotClass: SlotClass;
  readonly pool: MessagePool;
  readonly slot: Slot;
  references: number = 1;

  constructor(pool: MessagePool, slotClass: SlotClass, slot: Slot) {
    this.bytes = slot.bytes;
    this.words = slot.words;
    this.slotClass = slotClass;
    this.pool = pool;
    this.slot = slot;
  }
}

export class MessagePool {
  readonly memory: WasmMemory;
  readonly checksum: Checksum;
  /** Bytes of a `request` slot. */
  readonly requestSlotSize: number;
  readonly #poison: boolean;
  readonly #free: { readonly [slotClass in SlotClass]: Slot[] };
  readonly #capacity: { readonly [slotClass in SlotClass]: number };
  #held: number = 0;

  constructor(options: PoolOptions) {
    const { requestSlotSize, requestSlots, replySlots, smallSlots } = options;
    assert(requestSlotSize % SLOT_ALIGNMENT === 0, 'MessagePool: slot size is not aligned');
    assert(requestSlotSize > 0 && requestSlotSize <= MESSAGE_SIZE_MAX, 'MessagePool: slot size');
    this.#capacity = { request: requestSlots, reply: replySlots, small: smallSlots };
    this.requestSlotSize = requestSlotSize;
    this.#poison = options.poison ?? false;
    for (const count of Object.values(this.#capacity)) {
      assert(Number.isSafeInteger(count) && count >= 0, 'MessagePool: bad number of slots');
    }
    const smallSize = smallSlots * SMALL_SLOT_SIZE;
    const requestSize = requestSlots * requestSlotSize;
    const replySize = replySlots * REPLY_SLOT_SIZE;
    this.memory = createMemory(
      CHECKSUM_MEMORY_SIZE + smallSize + requestSize + replySize + CHECKSUM_OVERREAD,
    );
    this.checksum = createChecksum({
      memory: this.memory,
      ...(options.checksumKind === undefined ? {} : { kind: options.checksumKind }),
    });
    const requestStart = CHECKSUM_MEMORY_SIZE + smallSize;
    const replyStart = requestStart + requestSize;
    this.#free = {
      small: makeSlots(this.memory, CHECKSUM_MEMORY_SIZE, SMALL_SLOT_SIZE, smallSlots),
      request: makeSlots(this.memory, requestStart, requestSlotSize, requestSlots),
      reply: makeSlots(this.memory, replyStart, REPLY_SLOT_SIZE, replySlots),
    };
  }

  /** A message of undefined content with one reference, or `null` when the class is used up. */
  acquire(slotClass: SlotClass): Message | null {
    const slot = this.#free[slotClass].pop();
    if (slot === undefined) return null;
    if (slot.poisoned) {
      assert(stillPoisoned(slot), 'MessagePool: a freed message was written to');
      slot.poisoned = false;
    }
    this.#held++;
    return new PooledMessage(this, slotClass, slot);
  }

  /** One more holder. */
  retain(message: Message): void {
    const own = this.#own(message);
    own.references++;
  }

  /** One holder less; the last one frees the slot, and the message must not be touched again. */
  release(message: Message): void {
    const own = this.#own(message);
    own.references--;
    if (own.references > 0) return;
    const { slot } = own;
    if (this.#poison) {
      slot.bytes.fill(POISON_BYTE, 0, Math.min(slot.bytes.length, POISON_SIZE_MAX));
      slot.poisoned = true;
    }
    this.#free[own.slotClass].push(slot);
    this.#held--;
    assert(this.#held >= 0, 'MessagePool: more releases than messages');
  }

  /** Free slots of a class. */
  available(slotClass: SlotClass): number {
    return this.#free[slotClass].length;
  }

  /** All slots of a class. */
  capacity(slotClass: SlotClass): number {
    return this.#capacity[slotClass];
  }

  /** Messages still held by somebody: 0 when everything has been put back. */
  leaked(): number {
    return this.#held;
  }

  /** The message as this pool made it; asserts that it is ours and alive. */
  #own(message: Message): PooledMessage {
    assert(message instanceof PooledMessage, 'MessagePool: not a pooled message');
    assert(message.pool === this, 'MessagePool: a message of another pool');
    assert(message.references > 0, 'MessagePool: released too often');
    return message;
  }
}

function makeSlots(memory: WasmMemory, start: number, size: number, count: number): Slot[] {
  assert(start % SLOT_ALIGNMENT === 0, 'MessagePool: slots are not aligned');
  const slots: Slot[] = [];
  // Downwards, so that the first slot is on top of the stack: memory is touched from the front.
  for (let i = count - 1; i >= 0; i--) {
    const bytes = new Uint8Array(memory.buffer, start + i * size, size);
    const words = new Uint32Array(memory.buffer, start + i * size, size / 4);
    slots.push({ bytes, words, poisoned: false });
  }
  return slots;
}

function stillPoisoned(slot: Slot): boolean {
  for (let i = 0; i < SLOT_ALIGNMENT / 4; i++) {
    if (slot.words[i] !== POISON_WORD) return false;
  }
  return true;
}

// Words and wire bytes are the same memory, which only works one way round.
assert(new Uint8Array(new Uint32Array([1]).buffer)[0] === 1, 'host is not little-endian');
