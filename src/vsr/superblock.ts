/**
 * The superblock as a replica holds it: what was read when it opened, and updates of it. An update
 * writes the copies one after another, each durable before the next is begun, so that at any moment
 * two copies agree, even if a crash tears the one being written. One update at a time.
 *
 * That only holds when all four agreed before. So the first update of a life begins with writing
 * the current record to the places that do not hold it (an earlier crash, or damage): two crashes
 * in a row must not cost more than one.
 */
import { assert, bytesEqual } from '../stdx/index.ts';
import type { Checksum } from '../wire/index.ts';
import { SUPERBLOCK_COPIES, SUPERBLOCK_COPY_SIZE } from './file/geometry.ts';
import { encodeSuperblock, type Superblock, type SuperblockRead } from './file/superblock-codec.ts';
import { type Outbox, Part } from './outbox.ts';

/** What an update may change. */
export type SuperblockChange = Partial<
  Pick<Superblock, 'view' | 'logView' | 'commitMax' | 'fileSize' | 'checkpoint' | 'release'>
>;

export class SuperblockStore {
  readonly #outbox: Outbox;
  readonly #checksum: Checksum;
  readonly #buffer: Uint8Array;
  #current: Superblock;
  #next: Superblock | null = null;
  /** Places that do not hold the current record. */
  #stale: readonly number[];
  /** Places still to be written, in order; first the stale ones with the current record. */
  #repairs: number[] = [];
  #copies: number[] = [];
  #token: number = 0;

  /** `buffer`: room for one copy, at an address that direct I/O accepts. */
  constructor(
    read: SuperblockRead & { ok: true },
    outbox: Outbox,
    checksum: Checksum,
    buffer: Uint8Array,
  ) {
    assert(buffer.length === SUPERBLOCK_COPY_SIZE, 'SuperblockStore: buffer');
    this.#outbox = outbox;
    this.#checksum = checksum;
    this.#current = read.superblock;
    this.#stale = read.stale;
    this.#buffer = buffer;
  }

  /** What is durable. */
  get current(): Superblock {
    return this.#current;
  }

  /** Begins to make `change` durable; {@link onWritten} says when it is. */
  update(change: SuperblockChange): void {
    assert(this.#next === null, 'SuperblockStore: one update at a time');
    const next = {
      ...this.#current,
      ...change,
      sequence: this.#current.sequence + 1,
      parent: this.#current.checksum,
    };
    assert(next.view >= this.#current.view, 'SuperblockStore: view goes back');
    assert(next.commitMax >= this.#current.commitMax, 'SuperblockStore: commit goes back');
    assert(next.checkpoint.op >= this.#current.checkpoint.op, 'SuperblockStore: checkpoint');
    this.#next = next;
    this.#repairs = [...this.#stale];
    this.#copies = allCopies.slice();
    if (this.#repairs.length > 0) {
      const checksum = encodeSuperblock(this.#current, this.#buffer, this.#checksum);
      const isSame = bytesEqual(checksum, 0, this.#current.checksum, 0, 16);
      assert(isSame, 'SuperblockStore: what was read is not what would be written');
    }
    this.#writeNext();
  }

  /** One copy is durable. Returns whether that completes the update. */
  onWritten(token: number): boolean {
    assert(this.#next !== null, 'SuperblockStore: nothing is written');
    assert(token === this.#token, 'SuperblockStore: not the copy that is written');
    if (this.#repairs.length > 0 || this.#copies.length > 0) {
      this.#writeNext();
      return false;
    }
    this.#current = this.#next;
    this.#next = null;
    return true;
  }

  #writeNext(): void {
    assert(this.#next !== null, 'SuperblockStore: nothing to write');
    let copy = this.#repairs.shift();
    if (copy === undefined) {
      if (this.#copies.length === SUPERBLOCK_COPIES) this.#encodeNext(this.#next);
      copy = this.#copies.shift();
    }
    assert(copy !== undefined, 'SuperblockStore: no copy left');
    const offset = copy * SUPERBLOCK_COPY_SIZE;
    this.#token = this.#outbox.write(Part.superblock, offset, this.#buffer, true);
  }

  /** All places hold the current record: from here on the next one replaces it. */
  #encodeNext(next: Superblock): void {
    this.#stale = [];
    this.#next = { ...next, checksum: encodeSuperblock(next, this.#buffer, this.#checksum) };
  }
}

const allCopies: readonly number[] = Array.from({ length: SUPERBLOCK_COPIES }, (_, i) => i);
