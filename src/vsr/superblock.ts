/**
 * The superblock as a replica holds it: what was read when it opened, and updates of it. An update
 * writes the copies one after another, each durable before the next is begun, so that at any moment
 * two copies agree, even if a crash tears the one being written. One update is written at a time;
 * what is asked for meanwhile is merged into one update that follows.
 *
 * That only holds when all four agreed before. So the first update of a life begins with writing
 * the current record to the places that do not hold it (an earlier crash, or damage): two crashes
 * in a row must not cost more than one.
 */
import { assert, bytesEqual } from '../stdx/index.ts';
import type { Checksum } from '../wire/index.ts';
import { SUPERBLOCK_COPIES, SUPERBLOCK_COPY_SIZE } from './file/geometry.ts';
import {
  encodeSuperblock,
  type Superblock,
  type SuperblockRead,
  superblockProblem,
} from './file/superblock-codec.ts';
import { type Outbox, Part } from './outbox.ts';

/** What an update may change. */
export type SuperblockChange = Partial<
  Pick<
    Superblock,
    | 'view'
    | 'logView'
    | 'viewHeaders'
    | 'commitMax'
    | 'fileSize'
    | 'checkpoint'
    | 'release'
    | 'members'
    | 'isRecovered'
  >
>;

export class SuperblockStore {
  readonly #outbox: Outbox;
  readonly #checksum: Checksum;
  readonly #buffer: Uint8Array;
  #current: Superblock;
  /** What is being written. */
  #next: Superblock | null = null;
  /** What is to be written after that: the whole record, its place in the sequence still open. */
  #pending: Superblock | null = null;
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

  /** What is durable once everything that was asked for is. */
  get newest(): Superblock {
    return this.#pending ?? this.#next ?? this.#current;
  }

  /** Nothing is being written: `current` and `newest` are the same. */
  get isIdle(): boolean {
    return this.#next === null;
  }

  /**
   * Begins to make `change` durable, at once or together with other changes after the update that
   * is being written. {@link onWritten} says when `current` has moved on. What is given is not
   * copied and must not change any more.
   */
  update(change: SuperblockChange): void {
    const { newest } = this;
    // Who asks for an update knows what was durable then; others may have learned more since.
    const commitMax = Math.max(newest.commitMax, change.commitMax ?? 0);
    const next = { ...newest, ...change, commitMax };
    assert(next.view >= newest.view, 'SuperblockStore: view goes back');
    assert(next.logView >= newest.logView, 'SuperblockStore: log view goes back');
    assert(next.checkpoint.op >= newest.checkpoint.op, 'SuperblockStore: checkpoint goes back');
    assert(superblockProblem(next) === null, 'SuperblockStore: inconsistent');
    this.#pending = next;
    if (this.#next === null) this.#begin();
  }

  /** One copy is durable. Returns whether that completes an update; another may begin at once. */
  onWritten(token: number): boolean {
    assert(this.#next !== null, 'SuperblockStore: nothing is written');
    assert(token === this.#token, 'SuperblockStore: not the copy that is written');
    if (this.#repairs.length > 0 || this.#copies.length > 0) {
      this.#writeNext();
      return false;
    }
    this.#current = this.#next;
    this.#next = null;
    if (this.#pending !== null) this.#begin();
    return true;
  }

  #begin(): void {
    assert(this.#pending !== null && this.#next === null, 'SuperblockStore: one update at a time');
    const { sequence, checksum } = this.#current;
    this.#next = { ...this.#pending, sequence: sequence + 1, parent: checksum };
    this.#pending = null;
    this.#repairs = [...this.#stale];
    this.#copies = allCopies.slice();
    if (this.#repairs.length > 0) {
      const encoded = encodeSuperblock(this.#current, this.#buffer, this.#checksum);
      const isSame = bytesEqual(encoded, 0, checksum, 0, 16);
      assert(isSame, 'SuperblockStore: what was read is not what would be written');
    }
    this.#writeNext();
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
