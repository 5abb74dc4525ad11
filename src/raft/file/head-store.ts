/**
 * The head as an open file holds it. A new one is written to the pair that does not hold the
 * current one, copy after copy, each durable before the next is begun.
 */
import { assert } from '../../stdx/index.ts';
import type { Checksum } from '../../wire/index.ts';
import { copiesOf, encodeRaftHead, type RaftHead } from './head-codec.ts';
import { RAFT_HEAD_COPY_SIZE } from './layout.ts';

/** What a new head may change. */
export type HeadChange = Partial<Pick<RaftHead, 'generation' | 'firstExtent' | 'frames'>>;

export interface HeadWrite {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

export class HeadStore {
  readonly #buffer: Uint8Array;
  readonly #checksum: Checksum;
  readonly #damaged: Set<number>;
  #current: RaftHead;
  #next: RaftHead | null = null;
  #copies: number[] = [];

  /** `buffer`: room for one copy, at an address that direct I/O accepts. */
  constructor(
    current: RaftHead,
    damaged: readonly number[],
    buffer: Uint8Array,
    checksum: Checksum,
  ) {
    assert(buffer.length === RAFT_HEAD_COPY_SIZE, 'HeadStore: buffer');
    this.#current = current;
    this.#damaged = new Set(damaged);
    this.#buffer = buffer;
    this.#checksum = checksum;
  }

  /** What is durable. */
  get current(): RaftHead {
    return this.#current;
  }

  /** Begins to write a head; each write is to be durable before `written` is called. */
  begin(change: HeadChange): HeadWrite {
    assert(this.#next === null, 'HeadStore: one head at a time');
    this.#next = { ...this.#current, ...change, sequence: this.#current.sequence + 1 };
    encodeRaftHead(this.#next, this.#buffer, this.#checksum);
    // A crash may tear the first copy: the other one must be worth something then.
    const isDamaged = (copy: number): number => (this.#damaged.has(copy) ? 0 : 1);
    const copies = copiesOf(this.#next.sequence);
    this.#copies = copies.toSorted((a, b) => isDamaged(a) - isDamaged(b));
    return this.#write();
  }

  /** A copy is durable: the next one to write, or `null` when the head is. */
  written(): HeadWrite | null {
    assert(this.#next !== null, 'HeadStore: nothing is written');
    this.#damaged.delete(this.#copies[0]);
    this.#copies.shift();
    if (this.#copies.length > 0) return this.#write();
    this.#current = this.#next;
    this.#next = null;
    return null;
  }

  #write(): HeadWrite {
    return { offset: this.#copies[0] * RAFT_HEAD_COPY_SIZE, bytes: this.#buffer };
  }
}
