/**
 * A backup: takes the primary's prepares into its log, passes them on, and acknowledges what is
 * durable. It acknowledges an operation only when a crash cannot make it forget that it did: the
 * prepare is on disk, and so is the view whose log this is.
 *
 * Every prepare is handled here, whatever the role: one that is not the next of the current view
 * goes to repair.
 */

import { CHECKPOINT_SLACK_OPS, PIPELINE_MAX, REPLICAS_MAX } from '../../engine/index.ts';
import { assert, bytesEqual, isZero } from '../../stdx/index.ts';
import {
  Command,
  HEADER_SIZE,
  type Message,
  PeerOffset,
  PrepareOffset,
  readView,
} from '../../wire/index.ts';
import { commitOf } from '../commits.ts';
import { checkpointAfter } from '../file/geometry.ts';
import { opOf } from '../log/log.ts';
import type { Parts } from '../parts.ts';
import { buildPeerMessage, peerNumber } from '../peer-message.ts';
import { FaultDetector } from '../timing/fault-detector.ts';
import { DETECTOR_LIMITS } from '../timing/intervals.ts';

/** Operations of which it is known that they were passed on. */
const FORWARDED = 64;

export class Backup {
  readonly #parts: Parts;
  /** Patience with the primary. */
  readonly #detector: FaultDetector = new FaultDetector(DETECTOR_LIMITS);
  /** The primary's clock in the last commit message of this view. */
  #heartbeatNs: number = 0;
  /** Operations that were passed on, each at its number mod FORWARDED. */
  readonly #forwarded: Float64Array = new Float64Array(FORWARDED).fill(-1);
  /** The last prepare of this view that came from each replica the way the topology foresees. */
  readonly #passed: Float64Array = new Float64Array(REPLICAS_MAX).fill(-1);
  /** Something durable could not be acknowledged yet. */
  #hasWithheld: boolean = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Begins to follow a primary. */
  open(): void {
    const { outbox } = this.#parts;
    this.#heartbeatNs = 0;
    this.#passed.fill(-1);
    this.#forwarded.fill(-1);
    this.#detector.reset(outbox.now.monoNs);
    this.#watch();
  }

  close(): void {
    this.#parts.deadlines.clear('detector');
  }

  /** The primary itself, or the end of the link to it, says that it is gone. */
  suspect(): void {
    const { member, viewChange } = this.#parts;
    if (!member.isNormalBackup) return;
    this.#detector.fail();
    viewChange.vote();
  }

  onDetector(): void {
    const { member, outbox, viewChange } = this.#parts;
    if (!member.isNormalBackup) return;
    const nowNs = outbox.now.monoNs;
    if (this.#detector.color(nowNs) === 'red') {
      viewChange.vote();
      // Not again until it has been given another chance.
      this.#detector.signal(nowNs);
    }
    this.#watch();
  }

  /** A prepare, over the link from `from`; takes over the reference. */
  onPrepare(from: number, message: Message): void {
    const { pool, member, log, viewChange, repair } = this.#parts;
    const view = readView(message.bytes);
    if (view > member.view) {
      viewChange.onNewerView(view);
    } else if (!member.isNormalBackup || view < member.view || opOf(message.bytes) <= log.head) {
      repair.onPrepare(from, message);
    } else {
      this.#append(from, message);
    }
    pool.release(message);
  }

  /** The header of a prepare that comes over another way, from the primary of the view. */
  onAnnounced(header: Uint8Array): void {
    const { log, commits } = this.#parts;
    assert(opOf(header) > log.head, 'Backup: announced too late');
    this.#signal();
    commits.learn(commitOf(header));
    if (!this.#fits(header)) return;
    log.append(header);
  }

  /** What the primary says is committed. */
  onCommit(bytes: Uint8Array): void {
    const { member, viewChange, commits, peers, log, outbox } = this.#parts;
    const view = readView(bytes);
    if (view > member.view || (view === member.view && member.status === 'view-change')) {
      viewChange.onNewerView(view);
      return;
    }
    if (!member.isNormalBackup || view < member.view) return;
    const sentNs = peerNumber(bytes, PeerOffset.monotonic);
    if (sentNs <= this.#heartbeatNs) return;
    this.#heartbeatNs = sentNs;
    this.#signal();
    const commitMax = peerNumber(bytes, PeerOffset.commitMax);
    const commitMin = peerNumber(bytes, PeerOffset.commitMin);
    peers.heardOf(member.primary, commitMin);
    commits.learn(commitMax);
    const isKnown = log.isCanonical(commitMax) && !isZero(bytes, PeerOffset.checksum, 16);
    if (isKnown && !log.has(commitMax, bytes, PeerOffset.checksum)) {
      outbox.halt('diverged', `operation ${commitMax} is another one at the primary`);
      return;
    }
    commits.claim(commitMin, bytes, PeerOffset.digest);
  }

  onDurable(op: number): void {
    // What is committed long since is in nobody's pipeline; now and then it shows our progress.
    const isOld = op + PIPELINE_MAX <= this.#parts.commits.commitMax;
    if (!isOld || op % PIPELINE_MAX === 0) this.sendOk(op);
  }

  /** The superblock has moved on: what had to wait for that is acknowledged. */
  onSuperblock(): void {
    if (!this.#hasWithheld) return;
    this.#hasWithheld = false;
    this.sendOks();
  }

  /** Acknowledges everything that the primary may not know to be here. */
  sendOks(): void {
    const { member, log } = this.#parts;
    if (!member.isNormalBackup) return;
    // A new primary may not know yet that some of these are committed.
    const low = Math.max(log.head - PIPELINE_MAX, 0) + 1;
    for (let op = low; op <= log.head; op++) this.sendOk(op);
  }

  /** Acknowledges `op` to the primary, if that may be done now. */
  sendOk(op: number): void {
    const { member, log, pool, state, peers } = this.#parts;
    if (!member.isNormalBackup || !log.isClean(op) || !log.isCanonical(op)) return;
    if (!this.mayAcknowledge(op)) {
      this.#hasWithheld = true;
      return;
    }
    const message = pool.acquire('small');
    if (message === null) return;
    const header = log.header(op);
    assert(header !== null, 'Backup: nothing to acknowledge');
    const fields = {
      op,
      checksum: header.subarray(0, 16),
      commitMin: state.commitMin,
      digest: state.digest,
      opHead: log.head,
      bits: this.#received(op),
    };
    buildPeerMessage(message.bytes, Command.prepareOk, member.author(), fields, pool.checksum);
    peers.send(member.primary, message);
  }

  /**
   * Whether an acknowledgement of `op`, which is durable, would be true for ever. Those that lie
   * far beyond the next checkpoint wait for it: when one of them commits, a quorum has that
   * checkpoint, and the log before it may be overwritten.
   */
  mayAcknowledge(op: number): boolean {
    return this.#parts.member.isLogViewDurable && op <= this.acknowledgeMax;
  }

  get acknowledgeMax(): number {
    const { superblock, geometry } = this.#parts;
    const next = checkpointAfter(geometry, superblock.current.checkpoint.op);
    return next + CHECKPOINT_SLACK_OPS + PIPELINE_MAX;
  }

  /** Passes a prepare on, if it has come the way that the topology foresees. */
  forward(from: number, message: Message): void {
    const { topology, member, outbox, pool } = this.#parts;
    const { bytes } = message;
    const view = readView(bytes);
    const op = opOf(bytes);
    const path = topology.path(view, op, member.replica);
    const upstream = path.at(-1) ?? member.primaryOf(view);
    if (from !== upstream) return;
    this.#passed[from] = Math.max(this.#passed[from], op);
    if (this.#forwarded[op % FORWARDED] === op) return;
    this.#forwarded[op % FORWARDED] = op;
    for (const replica of topology.next(view, op, member.replica)) {
      pool.retain(message);
      outbox.sendPeer(replica, message);
    }
  }

  /** Whether `replica` has handed over something later than `op`: links keep their order. */
  hasPassed(replica: number, op: number): boolean {
    return this.#passed[replica] > op;
  }

  #append(from: number, message: Message): void {
    const { log, commits, cache, journal, state, repair, heldRequests, outbox } = this.#parts;
    const { bytes } = message;
    const header = bytes.subarray(0, HEADER_SIZE);
    const op = opOf(bytes);
    this.#signal();
    commits.learn(commitOf(bytes));
    this.forward(from, message);
    // Also of what does not fit here yet it shows that the primary has the request.
    heldRequests.onPrepared(bytes);
    if (!this.#fits(header) || !journal.canWrite) return;
    if (op > log.head + 1) outbox.trace('debug', 'commit-gap', { op, head: log.head });
    log.append(header);
    cache.put(message, state.commitMin);
    journal.write(message);
    repair.onArrival();
  }

  /** Whether the log has room for the operation, which must continue it. */
  #fits(header: Uint8Array): boolean {
    const { log, checkpoints, outbox, superblock } = this.#parts;
    const op = opOf(header);
    if (op > checkpoints.prepareMax || op <= superblock.current.checkpoint.op) return false;
    const head = op === log.head + 1 ? log.header(log.head) : null;
    if (head !== null && !bytesEqual(header, PrepareOffset.parent, head, 0, 16)) {
      outbox.halt('diverged', `operation ${op} does not continue the log of its view`);
      return false;
    }
    if (op > checkpoints.authorMax) return true;
    if (!bytesEqual(header, PrepareOffset.checkpoint, checkpoints.idFor(op), 0, 16)) {
      outbox.halt('diverged', `operation ${op} belongs to another checkpoint`);
      return false;
    }
    return true;
  }

  /** Which of the 32 operations up to `op` are here: bit i ↔ op − i. */
  #received(op: number): number {
    const { log, cache, journal, state } = this.#parts;
    let bits = 0;
    for (let i = 0; i < 32 && op - i > 0; i++) {
      const at = op - i;
      const header = log.header(at);
      const isHere =
        at <= state.commitMin ||
        (header !== null &&
          (log.isClean(at) || cache.at(at) !== null || journal.isWriting(at, header, 0)));
      if (isHere) bits |= 1 << i;
    }
    return bits;
  }

  #signal(): void {
    const { outbox, viewChange } = this.#parts;
    this.#detector.signal(outbox.now.monoNs);
    viewChange.onPrimaryHeard();
    this.#watch();
  }

  #watch(): void {
    const { deadlines, outbox } = this.#parts;
    const atNs = this.#detector.nextChangeNs(outbox.now.monoNs);
    if (Number.isFinite(atNs)) deadlines.set('detector', atNs);
    else deadlines.clear('detector');
  }
}
