/**
 * From a 128-bit id to a row number: a hash table over the rows of one table, linear probing.
 *
 * It is split into 256 small tables by the top byte of the hash, each of which doubles on its own
 * and at a load of its own (50 to 75 %): one big table would double in one go and stop the ledger
 * for hundreds of milliseconds at ten million rows. A slot is the hash and the row plus one (0 is
 * empty), so most misses and all doublings never look at a row.
 *
 * Callers hash a whole batch first and touch the first slot of each id: the memory loads of that
 * pass do not wait for each other, and the passes after it find the slots in the cache.
 *
 * The hash has no secret: machines are deterministic and have no source of chance. A client that
 * searches for ids with equal hashes can slow down its own ledger.
 */
import { assert } from '../../stdx/index.ts';
import type { Rows } from '../rows.ts';

const SLOTS_MIN = 64;
/** Rows that a rebuild adds in one go: a divisor of the rows of a chunk. */
const REBUILD_ROWS = 512;
/** Working space of a rebuild. */
const rebuildHashes = new Int32Array(REBUILD_ROWS);

/** Mixes all bits of an id into 32, as a signed integer. */
export function hashId(words: Uint32Array, offset: number): number {
  return mix(words, offset);
}

/** Not exported: V8 reads exported names of a module from memory each time. */
function mix(words: Uint32Array, offset: number): number {
  let hash = Math.imul(words[offset], 0x9e3779b1);
  hash ^= Math.imul(words[offset + 1], 0x85ebca77);
  hash ^= Math.imul(words[offset + 2], 0xc2b2ae3d);
  hash ^= Math.imul(words[offset + 3], 0x27d4eb2f);
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
  return hash ^ (hash >>> 16);
}

export class IdIndex {
  readonly #rows: Rows;
  /** The top bits of a hash choose the table. */
  readonly #tableShift: number;
  /** Pairs of words: hash, row + 1. */
  readonly #tables: Uint32Array[] = [];
  readonly #used: Int32Array;
  readonly #limits: Int32Array;
  /** Keeps loads from being optimised away. */
  #touched: number = 0;

  /** `rows` are records that begin with their id; `tables` is a power of two, 2 … 256. */
  constructor(rows: Rows, options: { tables: number }) {
    const { tables } = options;
    assert(rows.recordWords >= 4, 'IdIndex: records without an id');
    assert(tables >= 2 && tables <= 256 && (tables & (tables - 1)) === 0, 'IdIndex: tables');
    this.#rows = rows;
    this.#tableShift = Math.clz32(tables) + 1;
    this.#used = new Int32Array(tables);
    this.#limits = new Int32Array(tables);
    for (let table = 0; table < tables; table++) {
      this.#tables.push(new Uint32Array(2 * SLOTS_MIN));
    }
    for (let table = 0; table < tables; table++) {
      this.#limits[table] = this.#limitOf(table, SLOTS_MIN);
    }
  }

  /**
   * Hashes `count` ids, the i-th at `words[offset + i * stride]`, into `hashes`, and loads the
   * first slot of each. Add up the results so that the loads are not optimised away.
   */
  hashAll(
    words: Uint32Array,
    offset: number,
    stride: number,
    count: number,
    hashes: Int32Array,
  ): number {
    const tables = this.#tables;
    const shift = this.#tableShift;
    let touched = 0;
    for (let i = 0; i < count; i++) {
      const hash = mix(words, offset);
      const table = tables[hash >>> shift];
      hashes[i] = hash;
      touched ^= table[(hash << 1) & (table.length - 1)];
      offset += stride;
    }
    return touched;
  }

  /** Finds the ids of a {@link hashAll}: each hash is replaced by the row of its id, or −1. */
  findAll(
    words: Uint32Array,
    offset: number,
    stride: number,
    count: number,
    hashes: Int32Array,
  ): void {
    for (let i = 0; i < count; i++) {
      hashes[i] = this.find(hashes[i], words, offset);
      offset += stride;
    }
  }

  /** The row of the id at `words[offset]`, or −1. `hash` is its hash. */
  find(hash: number, words: Uint32Array, offset: number): number {
    const table = this.#tables[hash >>> this.#tableShift];
    const mask = table.length - 1;
    let slot = (hash << 1) & mask;
    for (;;) {
      const row = table[slot + 1] - 1;
      if (row < 0) return -1;
      if ((table[slot] | 0) === hash && isAt(this.#rows, row, words, offset)) return row;
      slot = (slot + 2) & mask;
    }
  }

  /** The row of the id at `words[offset]`; if it has none, adds it as that of `newRow`: −1. */
  findOrInsert(hash: number, words: Uint32Array, offset: number, newRow: number): number {
    const index = hash >>> this.#tableShift;
    if (this.#used[index] >= this.#limits[index]) this.#double(index);
    const table = this.#tables[index];
    const mask = table.length - 1;
    let slot = (hash << 1) & mask;
    for (;;) {
      const row = table[slot + 1] - 1;
      if (row < 0) break;
      if ((table[slot] | 0) === hash && isAt(this.#rows, row, words, offset)) return row;
      slot = (slot + 2) & mask;
    }
    table[slot] = hash;
    table[slot + 1] = newRow + 1;
    this.#used[index]++;
    return -1;
  }

  /** Adds a row whose id is not in the index. */
  insert(hash: number, row: number): void {
    const index = hash >>> this.#tableShift;
    if (this.#used[index] >= this.#limits[index]) this.#double(index);
    place(this.#tables[index], hash, row + 1);
    this.#used[index]++;
  }

  /** Takes out a row that is in the index: a rolled-back chain. */
  remove(hash: number, row: number): void {
    const table = this.#tables[hash >>> this.#tableShift];
    const mask = table.length - 1;
    let hole = (hash << 1) & mask;
    while (table[hole + 1] !== row + 1) {
      assert(table[hole + 1] !== 0, 'IdIndex: row not found');
      hole = (hole + 2) & mask;
    }
    // Entries behind the hole move up unless that would put them before their first slot.
    let slot = hole;
    for (;;) {
      slot = (slot + 2) & mask;
      if (table[slot + 1] === 0) break;
      const home = (table[slot] << 1) & mask;
      if (((slot - home) & mask) < ((slot - hole) & mask)) continue;
      table[hole] = table[slot];
      table[hole + 1] = table[slot + 1];
      hole = slot;
    }
    table[hole + 1] = 0;
    this.#used[hash >>> this.#tableShift]--;
  }

  /** Fills an empty index with all rows of the table: after a restore. */
  rebuild(): void {
    const rows = this.#rows;
    const tables = this.#tables.length;
    for (let table = 0; table < tables; table++) {
      assert(this.#used[table] === 0, 'IdIndex: rebuild of an index in use');
      // Room for an even spread and a bit more, so that hardly any table doubles on the way.
      let slots = SLOTS_MIN;
      while (this.#limitOf(table, slots) < (rows.count / tables) * 1.1) slots *= 2;
      this.#tables[table] = new Uint32Array(2 * slots);
      this.#limits[table] = this.#limitOf(table, slots);
    }
    for (let row = 0; row < rows.count; row += REBUILD_ROWS) {
      this.#addRows(row, Math.min(REBUILD_ROWS, rows.count - row));
    }
  }

  /** Adds a few rows of one chunk, loading all of their slots first. */
  #addRows(first: number, count: number): void {
    const rows = this.#rows;
    const chunk = rows.chunkOf(first);
    const base = rows.baseOf(first);
    this.#touched ^= this.hashAll(chunk, base, rows.recordWords, count, rebuildHashes);
    for (let i = 0; i < count; i++) this.insert(rebuildHashes[i], first + i);
  }

  #double(index: number): void {
    const old = this.#tables[index];
    const table = new Uint32Array(2 * old.length);
    for (let slot = 0; slot < old.length; slot += 2) {
      if (old[slot + 1] !== 0) place(table, old[slot] | 0, old[slot + 1]);
    }
    this.#tables[index] = table;
    this.#limits[index] = this.#limitOf(index, table.length / 2);
    assert(this.#used[index] < this.#limits[index], 'IdIndex: still full');
  }

  /** Entries of a table at which it doubles: 50 to 75 % of its slots, later tables later. */
  #limitOf(table: number, slots: number): number {
    const tables = this.#tables.length;
    return Math.floor((slots * (2 * tables + table)) / (4 * tables));
  }
}

/** Whether the id at `words[offset]` is that of a row. */
function isAt(rows: Rows, row: number, words: Uint32Array, offset: number): boolean {
  const chunk = rows.chunks[row >>> rows.rowShift];
  const base = (row & rows.rowMask) * rows.recordWords;
  const differs =
    (chunk[base] ^ words[offset]) |
    (chunk[base + 1] ^ words[offset + 1]) |
    (chunk[base + 2] ^ words[offset + 2]) |
    (chunk[base + 3] ^ words[offset + 3]);
  return differs === 0;
}

/** Puts an entry into the first free slot. */
function place(table: Uint32Array, hash: number, value: number): void {
  const mask = table.length - 1;
  let slot = (hash << 1) & mask;
  while (table[slot + 1] !== 0) slot = (slot + 2) & mask;
  table[slot] = hash;
  table[slot + 1] = value;
}
