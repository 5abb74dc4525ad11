/**
 * Machines for tests of the engine: one that answers with what it was sent, one with much state.
 */
import {
  type ApplyContext,
  type Block,
  CounterMachine,
  type Validity,
} from '../../engine/index.ts';
import { assert, type U64 } from '../../stdx/index.ts';

export class Echo extends CounterMachine {
  override validate(operation: number): Validity {
    return operation === 128 ? 'valid' : 'invalid-operation';
  }

  override apply(_: ApplyContext, __: number, body: Uint8Array, reply: Uint8Array): number {
    assert(body.byteOffset % 16 === 0 && reply.byteOffset % 16 === 0, 'Echo: not aligned');
    reply.set(body);
    return body.length;
  }
}

/**
 * Blocks of which an operation changes one: operation 128, body: index and contents, a byte each.
 */
export class Blocks extends CounterMachine {
  readonly contents: Uint8Array[];
  #changed: Set<number> = new Set();
  #cutBlocks: Map<number, Uint8Array> = new Map();

  constructor(count: number) {
    super();
    this.contents = Array.from({ length: count }, () => new Uint8Array(0));
  }

  override validate(operation: number, body: Uint8Array): Validity {
    if (operation !== 128) return 'invalid-operation';
    return body.length === 2 && body[0]! < this.contents.length ? 'valid' : 'invalid-body';
  }

  override apply(_: ApplyContext, __: number, body: Uint8Array): number {
    const [index, byte] = [body[0] as number, body[1] as number];
    // Some shrink, some vanish.
    const size = byte % 5 === 0 ? 0 : 1 + byte * (index === 0 ? 500 : 4);
    this.contents[index] = new Uint8Array(size).fill(byte);
    this.#changed.add(index);
    return 0;
  }

  override due(_: U64): boolean {
    return false;
  }

  override cut(): number {
    this.#cutBlocks = new Map([...this.#changed].map((i) => [i, this.contents[i]!]));
    this.#changed = new Set();
    return this.#cutBlocks.size;
  }

  override slice(): Block | null {
    for (const [index, bytes] of this.#cutBlocks) {
      this.#cutBlocks.delete(index);
      return { kind: 7, index, bytes };
    }
    return null;
  }

  override restore(block: Block): void {
    assert(block.kind === 7 && block.bytes.byteOffset % 16 === 0, 'Blocks: not mine');
    this.contents[block.index] = block.bytes.slice();
  }

  override root(): Uint8Array {
    return Uint8Array.from(this.contents.flatMap((one) => [one[0] ?? 0, one.length % 251]));
  }
}
