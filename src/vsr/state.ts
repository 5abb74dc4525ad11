/**
 * The replicated state: the machine, the client sessions around it, the digest, and how far all
 * three have come. One function, `apply`, takes them one operation further and makes the reply; the
 * same function serves live requests and the replay of the log, so replay cannot differ.
 *
 * It is deterministic and does no more than that: who sends the reply, and when to apply, is
 * decided elsewhere.
 */
import { Digest, Execution, type Machine, type SessionChange, Sessions } from '../engine/index.ts';
import { assert, bytesEqual, readSafeU64, readU64, type U64, U64_ZERO } from '../stdx/index.ts';
import {
  type Checksum,
  Command,
  HEADER_SIZE,
  type Message,
  type MessagePool,
  PrepareOffset,
  readCommand,
  readSize,
} from '../wire/index.ts';
import type { CheckpointReference } from './file/superblock-codec.ts';
import { buildReply } from './message.ts';

export class ReplicatedState {
  readonly machine: Machine;
  readonly sessions: Sessions;
  readonly #digest: Digest;
  readonly #checksum: Checksum;
  readonly #execution: Execution;
  #commitMin: number = 0;
  #timestamp: U64 = U64_ZERO;
  readonly #prepareChecksum: Uint8Array = new Uint8Array(16);

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

  /** Its timestamp. */
  get timestamp(): U64 {
    return this.#timestamp;
  }

  /** Checksum of its prepare: the parent of the next. A copy, 16 bytes. */
  get prepareChecksum(): Uint8Array {
    return this.#prepareChecksum.slice();
  }

  /** A copy, 16 bytes. */
  get digest(): Uint8Array {
    return this.#digest.value;
  }

  /** Goes to the state at a checkpoint; the blocks of machine and sessions are restored apart. */
  restore(checkpoint: CheckpointReference): void {
    assert(this.#commitMin === 0, 'ReplicatedState: restore comes first');
    this.#commitMin = checkpoint.op;
    this.#timestamp = checkpoint.timestamp;
    this.#prepareChecksum.set(checkpoint.prepareChecksum);
    this.#digest.restore(checkpoint.digest);
  }

  /** Pretends that operations up to `op` were executed and changed nothing; for test harnesses. */
  skipTo(op: number): void {
    assert(this.#commitMin === 0, 'ReplicatedState: skip comes first');
    this.#commitMin = op;
  }

  /** Whether `prepare` continues what was executed so far. */
  follows(prepare: Uint8Array): boolean {
    if (readSafeU64(prepare, PrepareOffset.op) !== this.#commitMin + 1) return false;
    return bytesEqual(prepare, PrepareOffset.parent, this.#prepareChecksum, 0, 16);
  }

  /**
   * Executes the next operation and fills `reply`, a message of the reply class. A machine that
   * throws is broken, and so is the replica: nothing is caught here.
   */
  apply(prepare: Message, reply: Message): SessionChange {
    const { bytes } = prepare;
    assert(readCommand(bytes) === Command.prepare, 'ReplicatedState: not a prepare');
    assert(this.follows(bytes), 'ReplicatedState: not the next operation');
    assert(reply.slotClass === 'reply', 'ReplicatedState: not a reply slot');
    const timestamp = readU64(bytes, PrepareOffset.timestamp);
    const context = { op: this.#commitMin + 1, timestamp };
    const body = bytes.subarray(HEADER_SIZE, readSize(bytes));
    const operation = bytes[PrepareOffset.operation];
    const bodySize = this.#execution.run(context, operation, body, reply.bytes);
    buildReply(reply.bytes, bytes, bodySize, this.#checksum);
    const change = this.sessions.commit(bytes, reply);
    this.#digest.update(bytes, reply.bytes);
    this.#commitMin++;
    this.#timestamp = timestamp;
    this.#prepareChecksum.set(bytes.subarray(0, 16));
    return change;
  }
}
