/**
 * An encoded state as blocks of a checkpoint: cut every 64 KiB, compared with the last cut by MAC,
 * so that what has not changed is not written again and nothing has to be kept but 16 bytes a
 * block. The root is the MAC over those MACs.
 */
import { assert, bytesEqual } from '../../stdx/index.ts';
import { CHECKSUM_SIZE, type Checksum } from '../../wire/index.ts';
import { BLOCK_SIZE_MAX } from '../limits.ts';
import type { Block } from '../machine.ts';

const BLOCK_KIND = 1;
/** Bytes of all blocks but the last: small, so that a small change is a small checkpoint. */
export const STATE_BLOCK_SIZE = 65_536;

assert(STATE_BLOCK_SIZE <= BLOCK_SIZE_MAX);

export class StateBlocks {
  readonly #checksum: Checksum;
  /** MACs of the blocks as they were handed out, one after another. */
  #macs: Uint8Array = new Uint8Array(0);
  /** The cut that is being handed out, and which of its blocks are left, last one first. */
  #bytes: Uint8Array = new Uint8Array(0);
  #changed: number[] = [];
  readonly #restored: Block[] = [];

  constructor(checksum: Checksum) {
    this.#checksum = checksum;
  }

  /** Whether there was no cut yet, nor anything restored. */
  get isEmpty(): boolean {
    return this.#macs.length === 0;
  }

  /** Takes the bytes over. Returns how many blocks {@link slice} is going to hand out. */
  cut(bytes: Uint8Array): number {
    assert(this.#changed.length === 0, 'StateBlocks: the last cut is not taken yet');
    assert(bytes.length > 0, 'StateBlocks: a state of no bytes');
    const before = this.#macs;
    this.#macs = this.#macsOf(bytes);
    this.#bytes = bytes;
    const count = Math.max(before.length, this.#macs.length) / CHECKSUM_SIZE;
    for (let index = count - 1; index >= 0; index--) {
      if (!isSame(before, this.#macs, index)) this.#changed.push(index);
    }
    return this.#changed.length;
  }

  /** The next changed block, ascending; an empty one where there is none any more. */
  slice(): Block | null {
    const index = this.#changed.pop();
    if (index === undefined) {
      this.#bytes = new Uint8Array(0);
      return null;
    }
    const bytes = pieceOf(this.#bytes, index);
    if (bytes.length === 0) return { kind: BLOCK_KIND, index, bytes };
    const start = index * CHECKSUM_SIZE;
    const checksum = this.#macs.slice(start, start + CHECKSUM_SIZE);
    return { kind: BLOCK_KIND, index, bytes, checksum };
  }

  /** Of the last cut, or of what was restored. */
  root(): Uint8Array {
    return this.#rootOf(this.#macs);
  }

  rootOf(bytes: Uint8Array): Uint8Array {
    return this.#rootOf(this.#macsOf(bytes));
  }

  restore(block: Block): void {
    assert(block.kind === BLOCK_KIND, 'StateBlocks: not my block');
    assert(block.index === this.#restored.length, 'StateBlocks: a block is missing');
    this.#restored.push({ ...block, bytes: block.bytes.slice() });
  }

  /** The bytes of all restored blocks; `null` without any. */
  restored(): Uint8Array | null {
    const blocks = this.#restored.splice(0);
    if (blocks.length === 0) return null;
    const size = blocks.reduce((sum, { bytes }) => sum + bytes.length, 0);
    const all = new Uint8Array(size);
    for (const { index, bytes } of blocks) all.set(bytes, index * STATE_BLOCK_SIZE);
    this.#macs = this.#macsOf(all);
    return all;
  }

  #macsOf(bytes: Uint8Array): Uint8Array {
    const count = Math.ceil(bytes.length / STATE_BLOCK_SIZE);
    const macs = new Uint8Array(count * CHECKSUM_SIZE);
    for (let index = 0; index < count; index++) {
      const piece = pieceOf(bytes, index);
      this.#checksum.digest(piece, 0, piece.length, macs, index * CHECKSUM_SIZE);
    }
    return macs;
  }

  #rootOf(macs: Uint8Array): Uint8Array {
    const root = new Uint8Array(CHECKSUM_SIZE);
    this.#checksum.digest(macs, 0, macs.length, root, 0);
    return root;
  }
}

function pieceOf(bytes: Uint8Array, index: number): Uint8Array {
  return bytes.subarray(index * STATE_BLOCK_SIZE, (index + 1) * STATE_BLOCK_SIZE);
}

function isSame(a: Uint8Array, b: Uint8Array, index: number): boolean {
  const start = index * CHECKSUM_SIZE;
  if (start >= a.length || start >= b.length) return false;
  return bytesEqual(a, start, b, start, CHECKSUM_SIZE);
}
