/**
 * lookup_accounts and lookup_transfers: the records of the ids asked for, in the order asked,
 * missing ones left out. Hashes first, as in create_transfers, so that loads overlap.
 */
import { assert } from '../../stdx/index.ts';
import { RECORD_WORDS } from '../format/constants.ts';
import type { Rows } from '../rows.ts';
import type { IdIndex } from '../store/id-index.ts';
import type { BatchPlace } from './event-batch.ts';

const ID_WORDS = 4;
const LOOKUPS_MAX = 8192;

export class Lookup {
  readonly #rows: Rows;
  readonly #index: IdIndex;
  readonly #hashes: Int32Array = new Int32Array(LOOKUPS_MAX);
  /** Keeps the loads of the first walk from being optimised away. */
  #touched: number = 0;

  constructor(rows: Rows, index: IdIndex) {
    this.#rows = rows;
    this.#index = index;
  }

  /** Looks up the ids of one batch and returns the number of records written to its reply. */
  execute(place: BatchPlace): number {
    const { words, offset, count } = place;
    assert(count <= LOOKUPS_MAX, 'Lookup: too many ids');
    this.#touched ^= this.#index.hashAll(words, offset, ID_WORDS, count, this.#hashes);
    let found = 0;
    for (let i = 0; i < count; i++) {
      const row = this.#index.find(this.#hashes[i], words, offset + i * ID_WORDS);
      if (row < 0) continue;
      this.#copyRecord(row, place.reply, place.replyOffset + found * RECORD_WORDS);
      found++;
    }
    return found;
  }

  #copyRecord(row: number, reply: Uint32Array, to: number): void {
    const record = this.#rows.chunkOf(row);
    const from = this.#rows.baseOf(row);
    for (let word = 0; word < RECORD_WORDS; word++) reply[to + word] = record[from + word];
  }
}
