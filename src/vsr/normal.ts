/**
 * Normal operation: a request gets its place in the log, the log gets it on disk, it is executed
 * and answered. What is prepared and not executed yet is the pipeline, at most P operations.
 *
 * The order inside a step is what makes it fast: first the next log write leaves, then (in a step
 * of its own, asked for with the commit timer) an operation is executed while the disk works.
 */
import {
  CLIENTS_MAX,
  OP_MAX,
  OPERATION_MACHINE_MIN,
  OPERATION_PULSE,
  PIPELINE_MAX,
  PULSE_INTERVAL_NS,
} from '../engine/index.ts';
import {
  assert,
  bytesEqual,
  isZero,
  readSafeU64,
  type U64,
  u64Add,
  u64Compare,
  u64Max,
} from '../stdx/index.ts';
import {
  HEADER_SIZE,
  type Message,
  type MessagePool,
  PrepareOffset,
  RequestOffset,
  readSize,
} from '../wire/index.ts';
import type { Admission, Standing } from './admission.ts';
import type { Checkpoints } from './checkpoint.ts';
import type { Journal } from './journal.ts';
import { type Author, buildPrepare, type Position, prepareFromRequest } from './message.ts';
import type { Outbox } from './outbox.ts';
import type { ReplicatedState } from './state.ts';

export interface NormalOptions {
  readonly pool: MessagePool;
  readonly outbox: Outbox;
  readonly state: ReplicatedState;
  readonly journal: Journal;
  readonly admission: Admission;
  readonly checkpoints: Checkpoints;
  /** `false` only in test harnesses: no operation but those that clients ask for. */
  readonly hasPulses: boolean;
}

export class Normal {
  readonly #options: NormalOptions;
  /** Prepared and not executed, in op order; holds the references. */
  readonly #pipeline: Message[] = [];
  #op: number = 0;
  readonly #parent: Uint8Array = new Uint8Array(16);
  #timestamp: U64 = { hi: 0, lo: 0 };
  #isCommitArmed: boolean = false;

  constructor(options: NormalOptions) {
    this.#options = options;
  }

  /** The head of the log. */
  get op(): number {
    return this.#op;
  }

  get pipeline(): readonly Message[] {
    return this.#pipeline;
  }

  /** Begins to serve, from the state that recovery has brought back. */
  open(): void {
    const { state, journal } = this.#options;
    assert(this.#op === 0 && this.#pipeline.length === 0, 'Normal: opened twice');
    assert(journal.opDurable === state.commitMin, 'Normal: the log is not executed');
    this.#op = state.commitMin;
    this.#parent.set(state.prepareChecksum);
    this.#timestamp = state.timestamp;
  }

  /** Time has passed: {@link advance} looks whether something is due. */
  onPulse(): void {
    this.#options.outbox.timer('wake', PULSE_INTERVAL_NS);
  }

  onCommitTimer(): void {
    assert(this.#isCommitArmed, 'Normal: the commit timer was not armed');
    this.#isCommitArmed = false;
    if (this.#canCommit()) this.#commit();
  }

  /** Goes on as far as it can; called at the end of every step of a replica that serves. */
  advance(standing: Standing): void {
    const { journal, outbox } = this.#options;
    for (;;) {
      this.#prepareWaiting(standing);
      journal.pump();
      if (!this.#canCommit() || this.#isCommitArmed) return;
      if (outbox.hasWrites) {
        outbox.timer('commit', 0);
        this.#isCommitArmed = true;
        return;
      }
      this.#commit();
    }
  }

  /** Gives back every message it holds. */
  releaseMessages(): void {
    for (const message of this.#pipeline) this.#options.pool.release(message);
    this.#pipeline.length = 0;
  }

  invariants(): void {
    const { state, journal, checkpoints } = this.#options;
    assert(this.#op === state.commitMin + this.#pipeline.length, 'Normal: op');
    assert(this.#pipeline.length <= PIPELINE_MAX, 'Normal: pipeline too long');
    assert(state.commitMin <= journal.opDurable, 'Normal: executed before it was durable');
    assert(journal.opDurable + journal.pending === this.#op, 'Normal: log and head disagree');
    assert(this.#op <= checkpoints.prepareMax, 'Normal: overwrites what replay needs');
    assert(u64Compare(this.#timestamp, state.timestamp) >= 0, 'Normal: timestamps go back');
    const last = this.#pipeline.at(-1);
    if (last !== undefined) {
      assert(bytesEqual(last.bytes, 0, this.#parent, 0, 16), 'Normal: head checksum');
    }
  }

  #prepareWaiting(standing: Standing): void {
    const { admission, state } = this.#options;
    const { machine } = state;
    while (this.#hasRoom()) {
      // A pulse goes first: it is due, while clients can wait for one more operation.
      if (this.#options.hasPulses && !this.#hasPulse()) {
        const timestamp = this.#nextTimestamp(machine.reserve(OPERATION_PULSE, EMPTY));
        if (machine.due(timestamp)) {
          if (!this.#preparePulse(timestamp, standing.author)) return;
          continue;
        }
      }
      const request = admission.next(standing);
      if (request === null) return;
      this.#prepareRequest(request, standing.author);
    }
  }

  #hasRoom(): boolean {
    if (this.#pipeline.length >= PIPELINE_MAX) return false;
    return this.#op < this.#options.checkpoints.prepareMax;
  }

  #hasPulse(): boolean {
    for (const { bytes } of this.#pipeline) {
      if (bytes[PrepareOffset.operation] === OPERATION_PULSE) return true;
    }
    return false;
  }

  #preparePulse(timestamp: U64, author: Author): boolean {
    const { pool } = this.#options;
    const message = pool.acquire('small');
    if (message === null) return false;
    const { bytes } = message;
    buildPrepare(bytes, OPERATION_PULSE, author, this.#position(timestamp), pool.checksum);
    this.#append(message, timestamp);
    return true;
  }

  #prepareRequest(message: Message, author: Author): void {
    const { pool, state } = this.#options;
    const { bytes } = message;
    const operation = bytes[RequestOffset.operation];
    const isEngine = operation < OPERATION_MACHINE_MIN;
    const body = bytes.subarray(HEADER_SIZE, readSize(bytes));
    const timestamp = this.#nextTimestamp(isEngine ? 0 : state.machine.reserve(operation, body));
    prepareFromRequest(bytes, author, this.#position(timestamp), pool.checksum);
    this.#append(message, timestamp);
  }

  /** Above everything given out so far, not below the wall clock, plus what the operation uses. */
  #nextTimestamp(reserveNs: number): U64 {
    assert(Number.isSafeInteger(reserveNs) && reserveNs >= 0, 'Normal: bad reserve');
    const first = u64Max(u64Add(this.#timestamp, 1), this.#options.outbox.now.wall);
    return u64Add(first, reserveNs);
  }

  #position(timestamp: U64): Position {
    const { state, checkpoints } = this.#options;
    const op = this.#op + 1;
    assert(op < OP_MAX, 'Normal: log positions are used up');
    const checkpointId = checkpoints.idFor(op);
    return { op, parent: this.#parent, checkpointId, commit: state.commitMin, timestamp };
  }

  #append(message: Message, timestamp: U64): void {
    this.#op++;
    this.#timestamp = timestamp;
    this.#parent.set(message.bytes.subarray(0, 16));
    this.#pipeline.push(message);
    this.#options.journal.append(message);
  }

  /** Whether the next operation may be executed now. */
  #canCommit(): boolean {
    const { state, journal, checkpoints, pool } = this.#options;
    if (state.commitMin >= journal.opDurable || checkpoints.isBusy) return false;
    // Replies that are still on their way to slow clients hold slots; they come back.
    return pool.available('reply') > 0;
  }

  #commit(): void {
    const { pool, state, admission, checkpoints, outbox } = this.#options;
    const prepare = this.#pipeline.shift();
    const reply = pool.acquire('reply');
    assert(prepare !== undefined, 'Normal: nothing to execute');
    assert(reply !== null, 'Normal: no slot for the reply');
    assert(readSafeU64(prepare.bytes, PrepareOffset.op) === state.commitMin + 1, 'Normal: order');
    const change = state.apply(prepare, reply);
    if (change === 'registered-evicting') {
      outbox.trace('warn', 'session-evicted', { sessionsMax: CLIENTS_MAX });
    }
    if (isZero(prepare.bytes, PrepareOffset.client, 16)) pool.release(reply);
    else admission.sendReply(reply, prepare.bytes, PrepareOffset.client);
    pool.release(prepare);
    checkpoints.onCommit();
  }
}

const EMPTY: Uint8Array = new Uint8Array(0);
