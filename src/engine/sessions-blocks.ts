/**
 * Sessions as blocks of a checkpoint: one block with the table and, per session, its last reply in
 * pieces of 256 KiB. Only what has changed since the last checkpoint is written again. The kinds
 * used here lie above those of any machine.
 *
 * A cut copies the table, which is small, and holds the replies, which never change. So sessions go
 * on while it is handed out; each that gets another reply meanwhile costs one reply slot more.
 */
import { assert, isZero, readSafeU64, readU32, writeSafeU64, writeU32 } from '../stdx/index.ts';
import { MESSAGE_SIZE_MAX, type Message, type MessagePool, readSize } from '../wire/index.ts';
import { BLOCK_SIZE_MAX, CLIENTS_MAX } from './limits.ts';
import type { Block } from './machine.ts';
import type { Sessions } from './sessions.ts';

/** Kinds from here on belong to the engine. */
export const BLOCK_KIND_ENGINE_MIN = 0x8000;
const KIND_TABLE: number = BLOCK_KIND_ENGINE_MIN;
const KIND_REPLY: number = BLOCK_KIND_ENGINE_MIN + 1;

/** A row of the table: client 16, session 8, reply size 4, zero 4. */
const ROW_SIZE = 32;
const PARTS_MAX: number = MESSAGE_SIZE_MAX / BLOCK_SIZE_MAX;

/** The next block to hand out: the table, then part `part` of entry `entry`. */
interface Cursor {
  isTableTaken: boolean;
  entry: number;
  part: number;
}

export class SessionBlocks {
  readonly #sessions: Sessions;
  readonly #pool: MessagePool;
  /** Pieces of each entry's reply in the last checkpoint. */
  readonly #partsStored: Uint8Array = new Uint8Array(CLIENTS_MAX);
  /** The table at the cut, and the replies that changed before it, until they are handed out. */
  #cutTable: Uint8Array = EMPTY;
  readonly #cutReplies: (Message | null)[] = new Array<Message | null>(CLIENTS_MAX).fill(null);
  #cursor: Cursor | null = null;
  /** The table as restored, until all replies are back. */
  #table: Uint8Array | null = null;
  #restoring: Message | null = null;

  constructor(sessions: Sessions, pool: MessagePool) {
    this.#sessions = sessions;
    this.#pool = pool;
  }

  /** Begins a checkpoint of what sessions are now. Returns the number of its blocks. */
  cut(): number {
    assert(this.#cursor === null, 'SessionBlocks: the last cut is not taken yet');
    const changed = this.#sessions.takeChanged();
    if (isZero(changed, 0, CLIENTS_MAX)) return 0;
    this.#cutTable = this.#encodeTable();
    this.#cursor = { isTableTaken: false, entry: 0, part: 0 };
    let count = 1;
    for (let entry = 0; entry < CLIENTS_MAX; entry++) {
      if (changed[entry] === 0) continue;
      const reply = this.#sessions.reply(entry);
      this.#pool.retain(reply);
      this.#cutReplies[entry] = reply;
      count += Math.max(partsOf(readSize(reply.bytes)), this.#partsStored[entry]);
    }
    return count;
  }

  /** The next changed block, or `null` after the last one. */
  slice(): Block | null {
    const cursor = this.#cursor;
    if (cursor === null) return null;
    if (!cursor.isTableTaken) {
      cursor.isTableTaken = true;
      return { kind: KIND_TABLE, index: 0, bytes: this.#cutTable };
    }
    for (; cursor.entry < CLIENTS_MAX; cursor.entry++, cursor.part = 0) {
      const reply = this.#cutReplies[cursor.entry];
      if (reply === null) continue;
      const block = this.#slicePart(cursor.entry, cursor.part, reply.bytes);
      if (block !== null) {
        cursor.part++;
        return block;
      }
      this.#pool.release(reply);
      this.#cutReplies[cursor.entry] = null;
    }
    this.#cursor = null;
    return null;
  }

  /** Gives back the replies of a cut that will not be handed out. */
  releaseMessages(): void {
    for (const reply of this.#cutReplies) if (reply !== null) this.#pool.release(reply);
    this.#cutReplies.fill(null);
    this.#cursor = null;
  }

  /** Puts back one block; the table comes first, then replies in ascending order. */
  restore(block: Block): void {
    if (block.kind === KIND_TABLE) {
      assert(block.index === 0 && this.#table === null, 'SessionBlocks: two tables');
      assert(block.bytes.length === CLIENTS_MAX * ROW_SIZE, 'SessionBlocks: wrong size');
      this.#table = block.bytes.slice();
      return;
    }
    assert(block.kind === KIND_REPLY, 'SessionBlocks: not my block');
    assert(this.#table !== null, 'SessionBlocks: a reply before the table');
    const entry = Math.floor(block.index / PARTS_MAX);
    const part = block.index % PARTS_MAX;
    if (part === 0) this.#restoring = this.#pool.acquire('reply');
    const reply = this.#restoring;
    assert(reply !== null, 'SessionBlocks: no slot for a reply');
    reply.bytes.set(block.bytes, part * BLOCK_SIZE_MAX);
    this.#partsStored[entry] = part + 1;
    const row = entry * ROW_SIZE;
    const size = readU32(this.#table, row + 24);
    if (part + 1 < partsOf(size)) return;
    assert(readSize(reply.bytes) === size, 'SessionBlocks: not the reply of the table');
    const session = readSafeU64(this.#table, row + 16);
    assert(session !== null, 'SessionBlocks: not a session number');
    this.#sessions.restore(entry, this.#table.subarray(row, row + 16), session, reply);
    this.#restoring = null;
  }

  /** All blocks are back. */
  restored(): void {
    assert(this.#restoring === null, 'SessionBlocks: a reply is incomplete');
    for (let entry = 0; entry < CLIENTS_MAX && this.#table !== null; entry++) {
      const isTaken = readU32(this.#table, entry * ROW_SIZE + 24) !== 0;
      assert(this.#sessions.has(entry) === isTaken, 'SessionBlocks: table and replies disagree');
    }
    this.#table = null;
  }

  #encodeTable(): Uint8Array {
    const table = new Uint8Array(CLIENTS_MAX * ROW_SIZE);
    for (let entry = 0; entry < CLIENTS_MAX; entry++) {
      if (!this.#sessions.has(entry)) continue;
      const row = entry * ROW_SIZE;
      table.set(this.#sessions.client(entry), row);
      writeSafeU64(table, row + 16, this.#sessions.session(entry));
      writeU32(table, row + 24, readSize(this.#sessions.reply(entry).bytes));
    }
    return table;
  }

  /** One piece of a reply, the deletion of one that is not needed any more, or `null`. */
  #slicePart(entry: number, part: number, bytes: Uint8Array): Block | null {
    const size = readSize(bytes);
    const index = entry * PARTS_MAX + part;
    const parts = partsOf(size);
    if (part < parts) {
      const end = Math.min(size, (part + 1) * BLOCK_SIZE_MAX);
      return { kind: KIND_REPLY, index, bytes: bytes.subarray(part * BLOCK_SIZE_MAX, end) };
    }
    if (part < this.#partsStored[entry]) return { kind: KIND_REPLY, index, bytes: EMPTY };
    this.#partsStored[entry] = parts;
    return null;
  }
}

const EMPTY: Uint8Array = new Uint8Array(0);

function partsOf(size: number): number {
  return Math.ceil(size / BLOCK_SIZE_MAX);
}
