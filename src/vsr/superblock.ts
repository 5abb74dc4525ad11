/**
 * The superblock as a replica holds it: what was read when it opened, and updates of it. An update
 * writes the copies one after another, each durable before the next is begun, so that at any moment
 * two copies agree. One update at a time.
 */
import { assert } from '../stdx/index.ts';
import { type Checksum, createMemory } from '../wire/index.ts';
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
  #sequenceMax: number;
  #token: number = 0;
  #copy: number = 0;

  constructor(read: SuperblockRead & { ok: true }, outbox: Outbox, checksum: Checksum) {
    this.#outbox = outbox;
    this.#checksum = checksum;
    this.#current = read.superblock;
    this.#sequenceMax = read.sequenceMax;
    this.#buffer = new Uint8Array(
      createMemory(SUPERBLOCK_COPY_SIZE).buffer,
      0,
      SUPERBLOCK_COPY_SIZE,
    );
  }

  /** What is durable. */
  get current(): Superblock {
    return this.#current;
  }

  get isUpdating(): boolean {
    return this.#next !== null;
  }

  /** Begins to make `change` durable; {@link onWritten} says when it is. */
  update(change: SuperblockChange): void {
    assert(this.#next === null, 'SuperblockStore: one update at a time');
    const next = {
      ...this.#current,
      ...change,
      sequence: this.#sequenceMax + 1,
      parent: this.#current.checksum,
    };
    assert(next.view >= this.#current.view, 'SuperblockStore: view goes back');
    assert(next.commitMax >= this.#current.commitMax, 'SuperblockStore: commit goes back');
    assert(next.checkpoint.op >= this.#current.checkpoint.op, 'SuperblockStore: checkpoint');
    const checksum = encodeSuperblock(next, this.#buffer, this.#checksum);
    this.#next = { ...next, checksum };
    this.#sequenceMax = next.sequence;
    this.#copy = 0;
    this.#write();
  }

  /** One copy is durable. Returns whether that completes the update. */
  onWritten(token: number): boolean {
    assert(this.#next !== null, 'SuperblockStore: nothing is written');
    assert(token === this.#token, 'SuperblockStore: not the copy that is written');
    this.#copy++;
    if (this.#copy < SUPERBLOCK_COPIES) {
      this.#write();
      return false;
    }
    this.#current = this.#next;
    this.#next = null;
    return true;
  }

  #write(): void {
    const offset = this.#copy * SUPERBLOCK_COPY_SIZE;
    this.#token = this.#outbox.write(Part.superblock, offset, this.#buffer, true);
  }
}
