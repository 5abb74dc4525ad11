/**
 * The smallest machine: a number that clients add to. It exists so that the machine contract is
 * never shaped for the ledger alone, and as the first example to read. Its reply says at which
 * operation it was made, so a test sees a request that was executed twice.
 */
import {
  assert,
  readSafeU64,
  readU32,
  type U64,
  writeSafeU64,
  writeU64,
} from '../../stdx/index.ts';
import type { ApplyContext, Block, Machine, ReadRequest, Validity } from '../machine.ts';

/** Adds a u32 (the body, 4 bytes); the reply is as for {@link COUNTER_READ}. */
export const COUNTER_ADD = 128;
/** No body. Reply, 24 bytes: u64 total, u64 op, u64 timestamp. */
export const COUNTER_READ = 129;

const REPLY_SIZE = 24;
const BLOCK_KIND = 1;
const BLOCK_SIZE = 16;

export class CounterMachine implements Machine {
  #total: number = 0;
  #additions: number = 0;
  #isChanged: boolean = false;
  #cut: Uint8Array | null = null;
  #cutRoot: Uint8Array = new Uint8Array(BLOCK_SIZE);

  get total(): number {
    return this.#total;
  }

  validate(operation: number, body: Uint8Array, _bodySizeMax: number): Validity {
    if (operation !== COUNTER_ADD && operation !== COUNTER_READ) return 'invalid-operation';
    return body.length === (operation === COUNTER_ADD ? 4 : 0) ? 'valid' : 'invalid-body';
  }

  reserve(_operation: number, _body: Uint8Array): number {
    return 0;
  }

  prefetch(_operation: number, _body: Uint8Array): readonly ReadRequest[] {
    return [];
  }

  apply(context: ApplyContext, operation: number, body: Uint8Array, reply: Uint8Array): number {
    if (operation === COUNTER_ADD) {
      this.#total += readU32(body, 0);
      this.#additions++;
      this.#isChanged = true;
    }
    assert(Number.isSafeInteger(this.#total), 'CounterMachine: the total is no longer exact');
    writeSafeU64(reply, 0, this.#total);
    writeSafeU64(reply, 8, context.op);
    writeU64(reply, 16, context.timestamp);
    return REPLY_SIZE;
  }

  query(_operation: number, _body: Uint8Array, reply: Uint8Array): number {
    reply.fill(0, 0, REPLY_SIZE);
    writeSafeU64(reply, 0, this.#total);
    return REPLY_SIZE;
  }

  due(_timestamp: U64): boolean {
    return false;
  }

  cut(_op: number): number {
    assert(this.#cut === null, 'CounterMachine: the last cut is not taken yet');
    this.#cutRoot = this.root();
    if (this.#isChanged) this.#cut = this.#cutRoot;
    this.#isChanged = false;
    return this.#cut === null ? 0 : 1;
  }

  slice(): Block | null {
    const bytes = this.#cut;
    this.#cut = null;
    return bytes === null ? null : { kind: BLOCK_KIND, index: 0, bytes };
  }

  rootOfCut(): Uint8Array {
    return this.#cutRoot;
  }

  sliceAhead(): Block | null {
    return null;
  }

  restore(block: Block): void {
    assert(block.kind === BLOCK_KIND && block.index === 0, 'CounterMachine: not my block');
    assert(block.bytes.length === BLOCK_SIZE, 'CounterMachine: wrong size');
    const total = readSafeU64(block.bytes, 0);
    const additions = readSafeU64(block.bytes, 8);
    assert(total !== null && additions !== null, 'CounterMachine: not my block');
    this.#total = total;
    this.#additions = additions;
  }

  restored(): void {}

  /** Total and number of additions: the state is smaller than any hash of it. */
  root(): Uint8Array {
    const root = new Uint8Array(BLOCK_SIZE);
    writeSafeU64(root, 0, this.#total);
    writeSafeU64(root, 8, this.#additions);
    return root;
  }
}
