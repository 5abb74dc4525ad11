/**
 * Execution: what is known to be committed is applied in order, whatever the role. Here stands how
 * far the cluster has come (commitMax) and, with the state, how far this replica has (commitMin).
 *
 * An operation may be executed when its header is canonical and its prepare is at hand: in memory,
 * whether its own write is done or not, or read back from the log. The order inside a step is what
 * makes it fast: first the next log write leaves, then (in a step of its own, asked for with the
 * commit timer) an operation is executed while the disk works.
 *
 * What others executed is compared through the digest: it sums up all prepares and replies so far.
 */
import { CLIENTS_MAX } from '../engine/index.ts';
import { assert, bytesEqual, isZero, readSafeU64 } from '../stdx/index.ts';
import { type Message, PrepareOffset } from '../wire/index.ts';
import { opOf } from './log/log.ts';
import type { Parts } from './parts.ts';
import { LOOKED_AT_MAX } from './repair/repair.ts';

/** Operations for which the digest is remembered; others lag or lead by less, mostly. */
const DIGESTS = 64;
/** Operations that are read back from the log at once, the next ones to be executed. */
const READ_AHEAD = 8;

export class Commits {
  readonly #parts: Parts;
  #commitMax: number = 0;
  #isArmed: boolean = false;
  /** This step has executed an operation. */
  #hasCommitted: boolean = false;
  /** Operations that are being read from the log. */
  readonly #reading: Set<number> = new Set();
  /** The digest after op k, at k mod DIGESTS. */
  readonly #digests: Uint8Array = new Uint8Array(DIGESTS * 16);
  readonly #digestOps: Float64Array = new Float64Array(DIGESTS).fill(-1);
  /** What the primary says of an operation that is not executed here yet. */
  readonly #claim: Uint8Array = new Uint8Array(16);
  #claimOp: number = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get commitMax(): number {
    return this.#commitMax;
  }

  /** Nothing is being read: what is executed next is decided anew. */
  get isReading(): boolean {
    return this.#reading.size > 0;
  }

  /** The cluster has committed up to `op`. */
  learn(op: number): void {
    this.#commitMax = Math.max(this.#commitMax, op);
  }

  onTimer(): void {
    assert(this.#isArmed, 'Commits: the commit timer was not armed');
    this.#isArmed = false;
    this.#hasCommitted = this.#commitNext();
  }

  /**
   * Goes on; called at the end of every step, of which each executes one operation at most: who has
   * many to execute must not be deaf meanwhile, and asks for more as it gets on.
   */
  advance(): void {
    const { outbox } = this.#parts;
    let hasCommitted = this.#hasCommitted;
    this.#hasCommitted = false;
    for (;;) {
      if (this.#isArmed || outbox.halted || !this.#mayCommit()) return;
      this.#readAhead();
      const message = this.#nextPrepare();
      if (message === null) return;
      if (hasCommitted || outbox.hasWrites) {
        outbox.timer('commit', 0);
        this.#isArmed = true;
        return;
      }
      this.#commit(message);
      hasCommitted = true;
    }
  }

  /** Another replica says what it has executed; `true` unless it is something else than here. */
  agrees(op: number, digest: Uint8Array, offset: number): boolean {
    if (op === 0 || this.#digestOps[op % DIGESTS] !== op) return true;
    return bytesEqual(this.#digests, (op % DIGESTS) * 16, digest, offset, 16);
  }

  /** The primary's word counts: whoever has executed something else must stop. */
  claim(op: number, digest: Uint8Array, offset: number): void {
    if (op > this.#parts.state.commitMin) {
      this.#claimOp = op;
      this.#claim.set(digest.subarray(offset, offset + 16));
    } else if (!this.agrees(op, digest, offset)) {
      this.#diverged(op);
    }
  }

  invariants(): void {
    const { state, log, cache, member } = this.#parts;
    if (member.status === 'recovering') return;
    assert(state.commitMin <= this.#commitMax, 'Commits: executed what is not committed');
    assert(state.commitMin <= log.head, 'Commits: executed above the head');
    cache.invariants(state.commitMin);
  }

  #mayCommit(): boolean {
    const { state, checkpoints, pool, member, sync } = this.#parts;
    if (state.commitMin >= this.#commitMax || !checkpoints.mayCommit) return false;
    if (sync.isActive) return false;
    if (member.status === 'recovering' || member.status === 'recovering-head') return false;
    // Replies that are still on their way to slow clients hold slots; they come back.
    return pool.available('reply') > 0;
  }

  /** The prepare to be executed next, borrowed, if it is known and at hand. */
  #nextPrepare(): Message | null {
    const { state, log, cache, journal } = this.#parts;
    const op = state.commitMin + 1;
    if (!log.isCanonical(op)) return null;
    const header = log.header(op);
    assert(header !== null, 'Commits: canonical and not there');
    return cache.find(op, header, 0) ?? journal.writing(op, header, 0);
  }

  /** What is durable here and not in memory any more comes back before it is needed. */
  #readAhead(): void {
    const { state, log, cache, journal } = this.#parts;
    const high = Math.min(this.#commitMax, state.commitMin + READ_AHEAD);
    for (let op = state.commitMin + 1; op <= high && journal.canRead; op++) {
      if (this.#reading.has(op) || !log.isClean(op) || !log.isCanonical(op)) continue;
      const header = log.header(op);
      assert(header !== null, 'Commits: clean and not there');
      if (cache.find(op, header, 0) === null) this.#beginRead(op);
    }
  }

  #beginRead(op: number): void {
    const { journal, cache, pool, state } = this.#parts;
    this.#reading.add(op);
    journal.read(op, (message) => {
      this.#reading.delete(op);
      if (message === null) return;
      cache.put(message, state.commitMin);
      pool.release(message);
    });
  }

  /** Returns whether there was something to execute. */
  #commitNext(): boolean {
    if (this.#parts.outbox.halted || !this.#mayCommit()) return false;
    const message = this.#nextPrepare();
    if (message !== null) this.#commit(message);
    return message !== null;
  }

  #commit(prepare: Message): void {
    const { pool, state, cache, admission, outbox, checkpoints, primary, heldRequests } =
      this.#parts;
    const { log, repair } = this.#parts;
    const op = state.commitMin + 1;
    assert(opOf(prepare.bytes) === op, 'Commits: order');
    if (!state.follows(prepare.bytes)) {
      outbox.halt('diverged', `operation ${op} does not continue what was executed here`);
      return;
    }
    const reply = pool.acquire('reply');
    assert(reply !== null, 'Commits: no slot for the reply');
    const change = state.apply(prepare, reply);
    if (change === 'registered-evicting') {
      outbox.trace('warn', 'session-evicted', { sessionsMax: CLIENTS_MAX });
    }
    if (isZero(prepare.bytes, PrepareOffset.client, 16)) pool.release(reply);
    else if (primary.answers || heldRequests.answers(prepare.bytes)) {
      admission.sendReply(reply, prepare.bytes, PrepareOffset.client);
    } else pool.release(reply);
    this.#parts.history.put(prepare.bytes, this.#parts.peers.isAnyLagging());
    this.#remember(op);
    primary.onCommitted(op);
    // After that: its client's next request may have waited for it, and is admitted here.
    heldRequests.onCommitted(prepare.bytes);
    cache.drop(op);
    if (log.head > op + LOOKED_AT_MAX) repair.onArrival();
    checkpoints.onCommit();
  }

  #remember(op: number): void {
    const digest = this.#parts.state.digest;
    this.#digestOps[op % DIGESTS] = op;
    this.#digests.set(digest, (op % DIGESTS) * 16);
    if (op !== this.#claimOp) return;
    this.#claimOp = 0;
    if (!bytesEqual(digest, 0, this.#claim, 0, 16)) this.#diverged(op);
  }

  #diverged(op: number): void {
    const { outbox } = this.#parts;
    if (outbox.halted) return;
    outbox.halt('diverged', `after operation ${op} the state differs from the primary's`);
  }
}

/** Highest committed op that the author of a prepare knew of. */
export function commitOf(header: Uint8Array): number {
  const commit = readSafeU64(header, PrepareOffset.commit);
  assert(commit !== null, 'commitOf: not a position');
  return commit;
}
