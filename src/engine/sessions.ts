/**
 * Client sessions: what makes every request happen exactly once. A client numbers its requests and
 * has one under way at a time; the table remembers, per client, the last reply. A request that
 * comes again is answered from it, unchanged; one that skips ahead, forks or continues another
 * history is not executed.
 *
 * The table is replicated state. It changes only when an operation commits, in the same way on
 * every replica, never when a request arrives: what was merely seen may still be lost. When it is
 * full, a new client takes the place of the one whose last reply is oldest.
 *
 * Replies are kept by reference to the message that was sent. They are canonical: their view is
 * that of their prepare.
 */
import { assert, bytesEqual, isZero, readSafeU64, readU32, writeSafeU64 } from '../stdx/index.ts';
import {
  type Checksum,
  Command,
  type Message,
  type MessagePool,
  Offset,
  OPERATION_REGISTER,
  PrepareOffset,
  ReplyOffset,
  RequestOffset,
  readCommand,
  readRelease,
} from '../wire/index.ts';
import { CLIENTS_MAX } from './limits.ts';

/** What to do with a request, as far as sessions are concerned. */
export type SessionVerdict =
  | 'accept'
  /** It is the last one again: answer with the stored reply. */
  | 'resend'
  /** Evict: the client is not in the table; it was evicted, or registered elsewhere. */
  | 'no-session'
  /** Evict: the client has registered again since. */
  | 'session-too-low'
  /** Evict: a session belongs to one release of the client. */
  | 'session-release-mismatch'
  /** Drop: a session that this replica has not committed yet. */
  | 'session-newer'
  | 'request-older'
  | 'request-forked'
  | 'request-gap'
  | 'request-parent';

/** What a commit did to the table. */
export type SessionChange = 'none' | 'replied' | 'registered' | 'registered-evicting';

export class Sessions {
  readonly #pool: MessagePool;
  readonly #checksum: Checksum;
  readonly #clients: Uint8Array = new Uint8Array(CLIENTS_MAX * 16);
  readonly #sessions: Float64Array = new Float64Array(CLIENTS_MAX);
  readonly #replies: (Message | null)[] = new Array<Message | null>(CLIENTS_MAX).fill(null);
  readonly #changed: Uint8Array = new Uint8Array(CLIENTS_MAX);
  #count: number = 0;

  constructor(pool: MessagePool) {
    this.#pool = pool;
    this.#checksum = pool.checksum;
  }

  /** Clients in the table. */
  get count(): number {
    return this.#count;
  }

  /** Entry of the client whose id is `bytes[offset, +16)`; −1 when there is none. */
  find(bytes: Uint8Array, offset: number): number {
    assert(!isZero(bytes, offset, 16), 'Sessions: client id is zero');
    for (let entry = 0; entry < CLIENTS_MAX; entry++) {
      if (this.#replies[entry] === null) continue;
      if (bytesEqual(this.#clients, entry * 16, bytes, offset, 16)) return entry;
    }
    return -1;
  }

  /** Whether the entry is taken; entries are 0 … CLIENTS_MAX − 1. */
  has(entry: number): boolean {
    return this.#replies[entry] !== null;
  }

  /** The last reply of an entry; borrowed. */
  reply(entry: number): Message {
    const reply = this.#replies[entry];
    assert(reply !== null && reply !== undefined, 'Sessions: empty entry');
    return reply;
  }

  /** Session number of an entry: the op at which it registered. */
  session(entry: number): number {
    assert(this.has(entry), 'Sessions: empty entry');
    return this.#sessions[entry];
  }

  /** Checks a request whose fields are known to be well formed, in the protocol's order. */
  check(request: Uint8Array): SessionVerdict {
    assert(readCommand(request) === Command.request, 'Sessions: not a request');
    const isRegister = request[RequestOffset.operation] === OPERATION_REGISTER;
    const entry = this.find(request, RequestOffset.client);
    if (entry < 0) return isRegister ? 'accept' : 'no-session';
    if (!isRegister) {
      const session = readSafeU64(request, RequestOffset.session);
      if (session === null || session > this.#sessions[entry]) return 'session-newer';
      if (session < this.#sessions[entry]) return 'session-too-low';
    }
    const reply = this.reply(entry).bytes;
    if (readRelease(reply) !== readRelease(request)) return 'session-release-mismatch';
    const number = readU32(request, RequestOffset.request);
    const numberLast = readU32(reply, ReplyOffset.request);
    if (number < numberLast) return 'request-older';
    if (number === numberLast) {
      const at = ReplyOffset.requestChecksum;
      return bytesEqual(reply, at, request, Offset.checksum, 16) ? 'resend' : 'request-forked';
    }
    if (number > numberLast + 1) return 'request-gap';
    const follows = bytesEqual(reply, ReplyOffset.context, request, RequestOffset.parent, 16);
    return follows ? 'accept' : 'request-parent';
  }

  /**
   * Takes in a committed operation and its sealed reply; keeps a reference to the reply. Operations
   * of the cluster itself (client 0) change nothing. Nor does one whose client was evicted while it
   * was under way: its reply is sent once, the next request learns of the eviction.
   */
  commit(prepare: Uint8Array, reply: Message): SessionChange {
    assert(readCommand(prepare) === Command.prepare, 'Sessions: not a prepare');
    assert(readCommand(reply.bytes) === Command.reply, 'Sessions: not a reply');
    if (isZero(prepare, PrepareOffset.client, 16)) return 'none';
    const entry = this.find(prepare, PrepareOffset.client);
    if (prepare[PrepareOffset.operation] === OPERATION_REGISTER) {
      assert(entry === -1, 'Sessions: registered twice');
      return this.#register(prepare, reply);
    }
    if (entry < 0) return 'none';
    this.#replace(entry, reply);
    return 'replied';
  }

  /** 16 bytes over the table: client, session and reply of every entry. */
  root(): Uint8Array {
    const row = 40;
    const table = new Uint8Array(CLIENTS_MAX * row);
    for (let entry = 0; entry < CLIENTS_MAX; entry++) {
      const reply = this.#replies[entry];
      if (reply === null || reply === undefined) continue;
      table.set(this.#clients.subarray(entry * 16, entry * 16 + 16), entry * row);
      writeSafeU64(table, entry * row + 16, this.#sessions[entry]);
      table.set(reply.bytes.subarray(0, 16), entry * row + 24);
    }
    const root = new Uint8Array(16);
    this.#checksum.digest(table, 0, table.length, root, 0);
    return root;
  }

  /** The client id of an entry, a copy. */
  client(entry: number): Uint8Array {
    assert(this.has(entry), 'Sessions: empty entry');
    return this.#clients.slice(entry * 16, entry * 16 + 16);
  }

  /** Fills an empty entry with what a checkpoint kept; takes over the reference to `reply`. */
  restore(entry: number, client: Uint8Array, session: number, reply: Message): void {
    assert(!this.has(entry), 'Sessions: entry restored twice');
    assert(session >= 1, 'Sessions: not a session number');
    this.#clients.set(client, entry * 16);
    this.#sessions[entry] = session;
    this.#replies[entry] = reply;
    this.#count++;
  }

  /** Entries that changed since they were last taken: 1 at their place; resets them. */
  takeChanged(): Uint8Array {
    const changed = this.#changed.slice();
    this.#changed.fill(0);
    return changed;
  }

  /** Gives back every reply. The table is unusable afterwards. */
  releaseMessages(): void {
    for (let entry = 0; entry < CLIENTS_MAX; entry++) {
      const reply = this.#replies[entry];
      if (reply !== null && reply !== undefined) this.#pool.release(reply);
      this.#replies[entry] = null;
    }
    this.#count = 0;
  }

  #register(prepare: Uint8Array, reply: Message): SessionChange {
    const session = readSafeU64(prepare, PrepareOffset.op);
    assert(session !== null && session >= 1, 'Sessions: op is not a session number');
    const free = this.#replies.indexOf(null);
    const entry = free >= 0 ? free : this.#oldest();
    this.#replace(entry, reply);
    this.#clients.set(
      prepare.subarray(PrepareOffset.client, PrepareOffset.client + 16),
      entry * 16,
    );
    this.#sessions[entry] = session;
    if (free >= 0) this.#count++;
    return free >= 0 ? 'registered' : 'registered-evicting';
  }

  /** The entry that makes room: lowest op of the last reply; ops are unique. */
  #oldest(): number {
    let oldest = -1;
    let opMin = Number.POSITIVE_INFINITY;
    for (let entry = 0; entry < CLIENTS_MAX; entry++) {
      const op = readSafeU64(this.reply(entry).bytes, ReplyOffset.op);
      assert(op !== null && op !== opMin, 'Sessions: two replies of one op');
      if (op < opMin) {
        oldest = entry;
        opMin = op;
      }
    }
    assert(oldest >= 0, 'Sessions: nobody to evict');
    return oldest;
  }

  #replace(entry: number, reply: Message): void {
    this.#pool.retain(reply);
    const previous = this.#replies[entry];
    if (previous !== null && previous !== undefined) this.#pool.release(previous);
    this.#replies[entry] = reply;
    this.#changed[entry] = 1;
  }
}
