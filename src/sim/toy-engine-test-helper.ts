/**
 * A toy engine for testing the simulator: a write-ahead log that never wraps, sessions in memory,
 * nothing else. It speaks the clients' protocol and is right when no bug is planted; each planted
 * bug is one that real engines had, and a checker of the simulator must catch it.
 *
 * Slot of op n: one header sector (magic, op, timestamp, size, fingerprint, the request's header)
 * and body sectors with the request. Writes go strictly one after another: body, then header.
 */
import {
  type Effect,
  type Engine,
  type Event,
  type Instant,
  type Machine,
  REPLY_BODY_SIZE_MAX,
  SECTOR_SIZE,
} from '../engine/index.ts';
import {
  assert,
  bytesEqual,
  readSafeU64,
  readU32,
  readU64,
  type U64,
  u64Add,
  u64Max,
  writeSafeU64,
  writeU32,
  writeU64,
} from '../stdx/index.ts';
import {
  Command,
  EvictionOffset,
  EvictionReason,
  HEADER_SIZE,
  initHeader,
  type Message,
  MessagePool,
  PingClientOffset,
  PongClientOffset,
  ReplyOffset,
  RequestOffset,
  readCommand,
  readRelease,
  readSize,
  readView,
  requestProblem,
  sealBody,
  sealHeader,
  sealReply,
} from '../wire/index.ts';
import type { EngineSetup } from './engine-setup.ts';
import { EventHash } from './world/event-hash.ts';

export type ToyBug =
  | 'ack-before-durable'
  | 'writes-not-durable'
  | 'torn-header-trusted'
  | 'torn-body-trusted'
  | 'lost-session'
  | 'double-apply'
  | 'repeated-reply-differs'
  | 'reply-release'
  | 'timestamps-follow-the-clock'
  | 'message-leak'
  | 'message-changed-after-send'
  | 'buffer-changed-under-write'
  | 'overlapping-writes'
  | 'io-error-ignored'
  | 'invalid-applied'
  | 'forgery-accepted'
  | 'evicts-the-newest'
  | 'goes-silent'
  | 'invariant';

const SLOT_SIZE = 8192;
const SLOTS = 400;
const REQUEST_SIZE_MAX = SLOT_SIZE - SECTOR_SIZE;
const MAGIC = 0x746f7931;
const RELEASE = 0x1109;
const SESSIONS_MAX = 64;
const CLUSTER: Uint8Array = new Uint8Array(16).fill(7);

interface ToySession {
  readonly number: number;
  request: number;
  lastOp: number;
  reply: Uint8Array;
}

/** What is between its admission and its reply. */
interface Prepare {
  readonly op: number;
  readonly timestamp: U64;
  readonly connection: number | null;
  /** The request, whole. */
  readonly bytes: Uint8Array;
}

export function toySetup(bug: ToyBug | null = null): EngineSetup {
  return {
    cluster: CLUSTER,
    release: RELEASE,
    requestSizeMax: REQUEST_SIZE_MAX,
    slots: SLOTS,
    hasPulses: false,
    // A sector of zeros ends the log; the rest is noise until it is written.
    format: () => [{ offset: 0, bytes: new Uint8Array(2 * SLOT_SIZE) }],
    open: (machine) => {
      const pool = new MessagePool({
        requestSlotSize: REQUEST_SIZE_MAX,
        requestSlots: 16,
        replySlots: 4,
        smallSlots: 16,
        poison: true,
      });
      const engine = new ToyEngine(machine, pool, bug);
      return { engine, pool, releaseMessages: () => {} };
    },
  };
}

class ToyEngine implements Engine {
  readonly #machine: Machine;
  readonly #pool: MessagePool;
  readonly #bug: ToyBug | null;
  readonly #effects: Effect[] = [];
  readonly #sessions: Map<string, ToySession> = new Map();
  readonly #queue: Prepare[] = [];
  readonly #scratch: Uint8Array = new Uint8Array(SLOT_SIZE);
  readonly #shared: Uint8Array = new Uint8Array(SLOT_SIZE - SECTOR_SIZE);
  readonly #reply: Uint8Array = new Uint8Array(REPLY_BODY_SIZE_MAX);
  #isReady: boolean = false;
  #isWriting: boolean = false;
  #op: number = 0;
  #timestamp: U64 = { hi: 0, lo: 0 };
  #token: number = 0;
  #repeats: number = 0;
  #sent: Message | null = null;

  constructor(machine: Machine, pool: MessagePool, bug: ToyBug | null) {
    this.#machine = machine;
    this.#pool = pool;
    this.#bug = bug;
  }

  step(event: Event, now: Instant): readonly Effect[] {
    this.#effects.length = 0;
    // Keeps scribbling in a message that it has given away.
    if (this.#bug === 'message-changed-after-send') this.#sent?.bytes.fill(9, 200, 201);
    if (this.#bug === 'buffer-changed-under-write') this.#shared.fill(this.#token, 0, 1);
    switch (event.type) {
      case 'open':
        this.#readSlot(1);
        break;
      case 'read':
        if (event.error !== null) this.#halt();
        else this.#onSlot(event.bytes);
        break;
      case 'message':
        this.#onMessage(event.connection, event.message, now);
        if (this.#bug !== 'message-leak' || this.#op !== 20) this.#pool.release(event.message);
        break;
      case 'oversize':
        this.#evict(event.connection, event.message, EvictionReason.invalidRequestBodySize);
        this.#pool.release(event.message);
        break;
      case 'written':
        if (event.error !== null && this.#bug !== 'io-error-ignored') this.#halt();
        else this.#onWritten(event.token);
        break;
      default:
        break;
    }
    return this.#effects;
  }

  invariants(): void {
    assert(this.#isReady || this.#queue.length === 0, 'toy: serves before it is ready');
    assert(this.#bug !== 'invariant' || this.#op < 30, 'toy: planted');
  }

  // --- recovery -------------------------------------------------------------------------------

  #readSlot(op: number): void {
    this.#effects.push({ type: 'read', token: op, offset: op * SLOT_SIZE, length: SLOT_SIZE });
  }

  #onSlot(slot: Uint8Array): void {
    const op = this.#op + 1;
    const size = readU32(slot, 24);
    const isPlausible =
      readU32(slot, 0) === MAGIC && size >= HEADER_SIZE && size <= REQUEST_SIZE_MAX;
    const isTrusted = this.#bug === 'torn-header-trusted';
    if (!isPlausible || (!isTrusted && readSafeU64(slot, 8) !== op)) {
      this.#ready();
      return;
    }
    const bytes = slot.slice(SECTOR_SIZE, SECTOR_SIZE + size);
    bytes.set(slot.subarray(HEADER_SIZE, 2 * HEADER_SIZE));
    if (this.#bug !== 'torn-body-trusted' && !isTrusted) {
      if (readU32(slot, 28) !== fingerprint(slot, bytes)) {
        this.#ready();
        return;
      }
    }
    this.#op = op;
    this.#timestamp = readU64(slot, 16);
    this.#commit({ op, timestamp: this.#timestamp, connection: null, bytes });
    this.#readSlot(op + 1);
  }

  #ready(): void {
    this.#isReady = true;
    if (this.#bug === 'lost-session') this.#sessions.clear();
    this.#effects.push({ type: 'ready' });
  }

  // --- requests -------------------------------------------------------------------------------

  #onMessage(connection: number, message: Message, now: Instant): void {
    const { bytes } = message;
    if (!this.#isReady) return;
    if (readCommand(bytes) === Command.pingClient) {
      this.#pong(connection, bytes);
      return;
    }
    if (readCommand(bytes) !== Command.request || requestProblem(bytes) !== null) return;
    if (this.#bug === 'goes-silent' && this.#op >= 30) return;
    const operation = bytes[RequestOffset.operation];
    const body = bytes.subarray(HEADER_SIZE, readSize(bytes));
    const isMachines = operation >= 128 && this.#bug !== 'invalid-applied';
    const bodySizeMax = REQUEST_SIZE_MAX - HEADER_SIZE;
    const validity = isMachines ? this.#machine.validate(operation, body, bodySizeMax) : 'valid';
    if (validity !== 'valid') {
      const { invalidRequestBody, invalidRequestOperation } = EvictionReason;
      const isBody = validity === 'invalid-body';
      this.#evict(connection, message, isBody ? invalidRequestBody : invalidRequestOperation);
      return;
    }
    if (!this.#admits(connection, message)) return;
    this.#op++;
    const next = u64Add(this.#timestamp, 1);
    const isNaive = this.#bug === 'timestamps-follow-the-clock';
    const span = isMachines ? Math.max(0, this.#machine.reserve(operation, body) - 1) : 0;
    this.#timestamp = u64Add(isNaive ? now.wall : u64Max(next, now.wall), span);
    const copy = bytes.slice(0, readSize(bytes));
    this.#queue.push({ op: this.#op, timestamp: this.#timestamp, connection, bytes: copy });
    this.#writeNext();
  }

  #admits(connection: number, message: Message): boolean {
    const { bytes } = message;
    const id = clientId(bytes);
    if (this.#queue.some((prepare) => clientId(prepare.bytes) === id)) return false;
    const session = this.#sessions.get(id);
    const isRegister = bytes[RequestOffset.operation] === 2;
    if (session === undefined) {
      if (!isRegister && this.#bug !== 'lost-session') {
        this.#evict(connection, message, EvictionReason.noSession);
        return false;
      }
      return this.#queue.length < 8;
    }
    const number = readU32(bytes, RequestOffset.request);
    if (number === session.request) {
      if (this.#bug === 'double-apply' && !isRegister) return true;
      this.#repeat(connection, session);
      return false;
    }
    if (number !== session.request + 1 || this.#queue.length >= 8) return false;
    if (this.#bug === 'forgery-accepted') return true;
    if (readView(bytes) > 0) return false;
    if (readSafeU64(bytes, RequestOffset.session) !== session.number) return false;
    return bytesEqual(bytes, RequestOffset.parent, session.reply, ReplyOffset.context, 16);
  }

  // --- the log --------------------------------------------------------------------------------

  #writeNext(): void {
    const prepare = this.#queue[0];
    if (prepare === undefined || this.#isWriting) return;
    this.#isWriting = true;
    // A buffer for each write; the bug is to have one for all.
    const isShared = this.#bug === 'buffer-changed-under-write';
    const body = isShared ? this.#shared : new Uint8Array(SLOT_SIZE - SECTOR_SIZE);
    body.set(prepare.bytes);
    if (this.#bug === 'ack-before-durable') this.#commit(prepare);
    if (this.#bug === 'torn-body-trusted') {
      this.#writeHeader(prepare);
      return;
    }
    this.#write(prepare.op * SLOT_SIZE + SECTOR_SIZE, body);
    if (this.#bug === 'overlapping-writes' && prepare.op % 16 === 0) {
      this.#write(prepare.op * SLOT_SIZE + SECTOR_SIZE, body);
    }
  }

  #onWritten(token: number): void {
    const prepare = this.#queue[0];
    if (prepare === undefined || token !== this.#token) return;
    const isHeaderFirst = this.#bug === 'torn-body-trusted';
    if (isHeaderFirst && token % 2 === 1) {
      const body = new Uint8Array(SLOT_SIZE - SECTOR_SIZE);
      body.set(prepare.bytes);
      this.#write(prepare.op * SLOT_SIZE + SECTOR_SIZE, body);
      return;
    }
    if (!isHeaderFirst && token % 2 === 1) {
      this.#writeHeader(prepare);
      return;
    }
    this.#queue.shift();
    this.#isWriting = false;
    if (this.#bug !== 'ack-before-durable') this.#commit(prepare);
    this.#writeNext();
  }

  #writeHeader(prepare: Prepare): void {
    const header = new Uint8Array(SECTOR_SIZE);
    writeU32(header, 0, MAGIC);
    writeSafeU64(header, 8, prepare.op);
    writeU64(header, 16, prepare.timestamp);
    writeU32(header, 24, prepare.bytes.length);
    writeU32(header, 28, fingerprint(header, prepare.bytes));
    header.set(prepare.bytes.subarray(0, HEADER_SIZE), HEADER_SIZE);
    this.#write(prepare.op * SLOT_SIZE, header);
  }

  #write(offset: number, bytes: Uint8Array): void {
    const durable = this.#bug !== 'writes-not-durable';
    this.#effects.push({ type: 'write', token: ++this.#token, offset, bytes, durable });
  }

  // --- commit ---------------------------------------------------------------------------------

  #commit(prepare: Prepare): void {
    const { op, timestamp, bytes } = prepare;
    const operation = bytes[RequestOffset.operation];
    const isRegister = operation === 2;
    const body = this.#scratch.subarray(0, bytes.length - HEADER_SIZE);
    body.set(bytes.subarray(HEADER_SIZE));
    const result = this.#reply;
    let size = 64;
    if (isRegister) {
      result.fill(0, 0, 64);
      writeU32(result, 0, REQUEST_SIZE_MAX - HEADER_SIZE);
    } else {
      size = this.#machine.apply({ op, timestamp }, operation, body, result);
    }
    const reply = this.#makeReply(prepare, result.subarray(0, size));
    const id = clientId(bytes);
    const session = this.#sessions.get(id);
    if (isRegister || (session === undefined && this.#bug === 'lost-session')) {
      if (this.#sessions.size === SESSIONS_MAX) this.#forgetOne();
      this.#sessions.set(id, { number: op, request: 0, lastOp: op, reply });
    } else if (session !== undefined) {
      session.request = readU32(bytes, RequestOffset.request);
      session.lastOp = op;
      session.reply = reply;
    }
    if (prepare.connection !== null) this.#send(prepare.connection, reply);
  }

  #forgetOne(): void {
    const all = [...this.#sessions].sort((a, b) => a[1].lastOp - b[1].lastOp);
    const victim = this.#bug === 'evicts-the-newest' ? all.at(-1) : all[0];
    if (victim !== undefined) this.#sessions.delete(victim[0]);
  }

  #makeReply(prepare: Prepare, body: Uint8Array): Uint8Array {
    const { op, timestamp, bytes } = prepare;
    const size = HEADER_SIZE + body.length;
    const reply = new Uint8Array(size);
    const wrong = this.#bug === 'reply-release' && op === 20 ? 1 : 0;
    const release = readRelease(bytes) + wrong;
    const command = Command.reply;
    initHeader(reply, { command, size, cluster: CLUSTER, view: 0, release, replica: 0 });
    reply.set(bytes.subarray(0, 16), ReplyOffset.requestChecksum);
    reply.set(bytes.subarray(RequestOffset.client, RequestOffset.client + 16), ReplyOffset.client);
    writeSafeU64(reply, ReplyOffset.op, op);
    writeSafeU64(reply, ReplyOffset.commit, op);
    writeU64(reply, ReplyOffset.timestamp, timestamp);
    writeU32(reply, ReplyOffset.request, readU32(bytes, RequestOffset.request));
    reply[ReplyOffset.operation] = bytes[RequestOffset.operation];
    reply.set(body, HEADER_SIZE);
    sealReply(reply, this.#pool.checksum);
    return reply;
  }

  #repeat(connection: number, session: ToySession): void {
    const reply = session.reply.slice();
    // A server that recomputes instead of remembering.
    if (this.#bug === 'repeated-reply-differs') {
      writeU32(reply, ReplyOffset.timestamp, ++this.#repeats);
      sealReply(reply, this.#pool.checksum);
    }
    this.#send(connection, reply);
  }

  #pong(connection: number, ping: Uint8Array): void {
    const pong = new Uint8Array(HEADER_SIZE);
    this.#initSmall(pong, Command.pongClient);
    const from = PingClientOffset.pingTimestampMonotonic;
    pong.set(ping.subarray(from, from + 8), PongClientOffset.pingTimestampMonotonic);
    this.#sealAndSend(connection, pong);
  }

  #evict(connection: number, message: Message, reason: number): void {
    if (!this.#isReady || requestProblem(message.bytes) !== null) return;
    const eviction = new Uint8Array(HEADER_SIZE);
    this.#initSmall(eviction, Command.eviction);
    const from = RequestOffset.client;
    eviction.set(message.bytes.subarray(from, from + 16), EvictionOffset.client);
    eviction[EvictionOffset.reason] = reason;
    this.#sealAndSend(connection, eviction);
  }

  #initSmall(bytes: Uint8Array, command: Command): void {
    const size = HEADER_SIZE;
    initHeader(bytes, { command, size, cluster: CLUSTER, view: 0, release: RELEASE, replica: 0 });
  }

  #sealAndSend(connection: number, bytes: Uint8Array): void {
    sealBody(bytes, this.#pool.checksum);
    sealHeader(bytes, this.#pool.checksum);
    this.#send(connection, bytes);
  }

  #send(connection: number, bytes: Uint8Array): void {
    const slotClass = bytes.length <= SECTOR_SIZE ? 'small' : 'reply';
    const message = this.#pool.acquire(slotClass);
    if (message === null) return;
    message.bytes.set(bytes);
    this.#effects.push({ type: 'send', connection, message });
    this.#sent = message;
  }

  #halt(): void {
    this.#effects.push({ type: 'halt', code: 'storage-failed', reason: 'I/O error' });
  }
}

function clientId(request: Uint8Array): string {
  return request.subarray(RequestOffset.client, RequestOffset.client + 16).join('.');
}

/**
 * Over the header sector's fields and the request: a header that lies about either is found out.
 */
function fingerprint(header: Uint8Array, bytes: Uint8Array): number {
  const hash = new EventHash();
  hash.bytes(header.subarray(0, 28));
  hash.bytes(bytes);
  return Number.parseInt(hash.digest().slice(0, 8), 16);
}
