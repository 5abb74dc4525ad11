/**
 * A few page-aligned buffers: what O_DIRECT wants and an ordinary array is not. Small writes from
 * elsewhere (a header sector, a superblock copy) are copied through here; large ones come from the
 * message pool, which is aligned itself.
 */
import { SECTOR_SIZE } from '../engine/index.ts';
import { assert } from '../stdx/index.ts';
import { createMemory, type WasmMemory } from '../wire/index.ts';

/** Largest write that is worth a copy, bytes. */
export const BOUNCE_SIZE = 65_536;

export class BouncePool {
  readonly #memory: WasmMemory;
  readonly #free: number[] = [];

  constructor(slots: number) {
    assert(slots > 0, 'BouncePool: no slots');
    this.#memory = createMemory(slots * BOUNCE_SIZE);
    for (let slot = 0; slot < slots; slot++) this.#free.push(slot);
  }

  /** An aligned copy, or `null` when it is too large or all buffers are in use. */
  copy(bytes: Uint8Array): Uint8Array | null {
    assert(bytes.length % SECTOR_SIZE === 0, 'BouncePool: length is not sector aligned');
    if (bytes.length > BOUNCE_SIZE) return null;
    const slot = this.#free.pop();
    if (slot === undefined) return null;
    const copy = new Uint8Array(this.#memory.buffer, slot * BOUNCE_SIZE, bytes.length);
    copy.set(bytes);
    return copy;
  }

  /** Gives back what `copy` returned. */
  free(copy: Uint8Array): void {
    assert(copy.buffer === this.#memory.buffer, 'BouncePool: not from here');
    const slot = copy.byteOffset / BOUNCE_SIZE;
    assert(!this.#free.includes(slot), 'BouncePool: freed twice');
    this.#free.push(slot);
  }
}
