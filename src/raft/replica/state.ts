/**
 * The replicated state of a Raft replica: the machine, the client sessions around it, the digest,
 * and how far all three have come. An operation is an index of the log; entries that say nothing to
 * the machine count too.
 *
 * A data entry is a prepare as the leader made it, which cannot know its index nor, for certain,
 * its timestamp. Both are filled in here, the same on every replica. An entry whose request has
 * been executed already, or whose session has gone, does nothing: requests may be in the log twice.
 */
import {
  buildReply,
  Digest,
  Execution,
  type Machine,
  type SessionChange,
  Sessions,
} from '../../engine/index.ts';
import {
  assert,
  bytesEqual,
  isZero,
  readSafeU64,
  readU32,
  readU64,
  type U64,
  U64_ZERO,
  u64Add,
  u64Max,
  writeSafeU64,
  writeU64,
} from '../../stdx/index.ts';
import {
  type Checksum,
  Command,
  HEADER_SIZE,
  type Message,
  type MessagePool,
  OPERATION_REGISTER,
  PrepareOffset,
  ReplyOffset,
  readCommand,
  readRelease,
  readSize,
  readView,
} from '../../wire/index.ts';
import type { SnapshotPoint } from './snapshot-data.ts';

/** Operations for which the digest is remembered: more than a leader has under way. */
const DIGESTS = 256;
/** Where a machine may begin to read words. */
const ALIGNMENT = 16;

export class RaftState {
  readonly machine: Machine;
  readonly sessions: Sessions;
  readonly #digest: Digest;
  readonly #checksum: Checksum;
  readonly #execution: Execution;
  #commitMin: number = 0;
  #timestamp: U64 = U64_ZERO;
  #view: number = 0;
  /** The header of the operation at hand, with everything filled in. */
  readonly #header: Uint8Array = new Uint8Array(HEADER_SIZE);
  /** The digest after op k, at k mod DIGESTS. */
  readonly #digests: Uint8Array = new Uint8Array(DIGESTS * 16);
  readonly #digestOps: Float64Array = new Float64Array(DIGESTS).fill(-1);

  /** `requestSizeMax`: the request limit, header included; told to clients when they register. */
  constructor(machine: Machine, pool: MessagePool, requestSizeMax: number) {
    this.machine = machine;
    this.sessions = new Sessions(pool);
    this.#digest = new Digest(pool.checksum);
    this.#checksum = pool.checksum;
    this.#execution = new Execution(machine, requestSizeMax);
  }

  /** The last operation executed. */
  get commitMin(): number {
    return this.#commitMin;
  }

  /** Its timestamp, or that of the last one that had one. */
  get timestamp(): U64 {
    return this.#timestamp;
  }

  /** The newest view in which something executed here was put into the log. */
  get view(): number {
    return this.#view;
  }

  /** A copy, 16 bytes. */
  get digest(): Uint8Array {
    return this.#digest.value;
  }

  /** Goes to the state of a snapshot; the blocks of machine and sessions are restored apart. */
  restore(point: SnapshotPoint): void {
    assert(this.#commitMin === 0, 'RaftState: restore comes first');
    this.#commitMin = point.op;
    this.#timestamp = point.timestamp;
    this.#digest.restore(point.digest);
  }

  /** An entry that changes nothing. */
  pass(op: number): void {
    assert(op === this.#commitMin + 1 || this.#commitMin === 0, 'RaftState: order');
    this.#commitMin = op;
    this.#digestOps[op % DIGESTS] = op;
    this.#digests.set(this.#digest.value, (op % DIGESTS) * 16);
  }

  /** Whether the request in an entry is the next of its session; otherwise it does nothing. */
  isNext(data: Uint8Array): boolean {
    if (isZero(data, PrepareOffset.client, 16)) return true;
    const entry = this.sessions.find(data, PrepareOffset.client);
    if (data[PrepareOffset.operation] === OPERATION_REGISTER) return entry < 0;
    if (entry < 0) return false;
    const session = readSafeU64(data, PrepareOffset.session);
    const { bytes: reply } = this.sessions.reply(entry);
    if (session !== this.sessions.session(entry)) return false;
    if (readRelease(reply) !== readRelease(data)) return false;
    return readU32(data, PrepareOffset.request) === readU32(reply, ReplyOffset.request) + 1;
  }

  /** Whether the leader that made this entry had executed the same as this replica. */
  agrees(data: Uint8Array): boolean {
    const op = readSafeU64(data, PrepareOffset.commit);
    if (op === null || op === 0 || this.#digestOps[op % DIGESTS] !== op) return true;
    return bytesEqual(this.#digests, (op % DIGESTS) * 16, data, PrepareOffset.parent, 16);
  }

  /**
   * Executes the entry at `op` and fills `reply`, a message of the reply class. A machine that
   * throws is broken, and so is the replica: nothing is caught here.
   */
  apply(op: number, data: Uint8Array, reply: Message): SessionChange {
    assert(op === this.#commitMin + 1, 'RaftState: order');
    assert(readCommand(data) === Command.prepare, 'RaftState: not a prepare');
    assert(readSize(data) === data.length, 'RaftState: not a whole prepare');
    assert(reply.slotClass === 'reply', 'RaftState: not a reply slot');
    const operation = data[PrepareOffset.operation];
    const body = bodyOf(data);
    const isMachines = this.#execution.isMachines(operation);
    const reserveNs = isMachines ? this.machine.reserve(operation, body) : 0;
    const floor = u64Add(this.#timestamp, 1 + reserveNs);
    this.#timestamp = u64Max(floor, readU64(data, PrepareOffset.timestamp));
    const header = this.#header;
    for (let i = 0; i < HEADER_SIZE; i++) header[i] = data[i];
    writeSafeU64(header, PrepareOffset.op, op);
    writeU64(header, PrepareOffset.timestamp, this.#timestamp);
    const context = { op, timestamp: this.#timestamp };
    const bodySize = this.#execution.run(context, operation, body, reply.bytes);
    buildReply(reply.bytes, header, bodySize, this.#checksum);
    const change = this.sessions.commit(header, reply);
    this.#digest.update(data, reply.bytes);
    this.#view = Math.max(this.#view, readView(data));
    this.pass(op);
    return change;
  }
}

/** The body of a prepare, where a machine may read words; copied only if it lies elsewhere. */
function bodyOf(data: Uint8Array): Uint8Array {
  const body = data.subarray(HEADER_SIZE);
  return body.byteOffset % ALIGNMENT === 0 ? body : body.slice();
}
