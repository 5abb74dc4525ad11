/**
 * The primary of a view: gives requests their place in the log, sends prepares on their way,
 * collects acknowledgements, and says what is committed. What is prepared and not executed yet is
 * the pipeline, at most P operations.
 *
 * Nothing waits for a timer while the cluster is well: the commit number leaves in the step in
 * which it advances, with the next prepare or in a message of its own. Timers are for losses: a
 * prepare without a quorum is sent again to everybody who has not acknowledged it.
 */
import {
  OP_MAX,
  OPERATION_MACHINE_MIN,
  OPERATION_PULSE,
  PIPELINE_MAX,
  PULSE_INTERVAL_NS,
} from '../../engine/index.ts';
import { assert, readU64, type U64, u64Add, u64Compare, u64Max } from '../../stdx/index.ts';
import {
  Command,
  HEADER_SIZE,
  type Message,
  PeerOffset,
  PrepareOffset,
  RequestOffset,
  readSize,
} from '../../wire/index.ts';
import { checkpointInterval } from '../file/geometry.ts';
import { opOf } from '../log/log.ts';
import { buildPrepare, type Position, prepareFromRequest } from '../message.ts';
import type { Parts } from '../parts.ts';
import { buildPeerMessage, peerBits, peerNumber } from '../peer-message.ts';
import { FaultDetector } from '../timing/fault-detector.ts';
import { ABDICATE_NS, DETECTOR_LIMITS, HEARTBEAT_NS, LAG_PING_NS } from '../timing/intervals.ts';
import { QuorumTime } from '../timing/quorum-time.ts';

interface Entry {
  readonly op: number;
  /** Replicas that have acknowledged it: bit i ↔ replica i. */
  acks: number;
  /**
   * Replicas to which it was sent again because their acknowledgements showed that they lack it.
   */
  inferred: number;
  /** When it was first sent. */
  readonly firstNs: number;
  /** When it was last sent to everybody who needs it. */
  sentNs: number;
  isQuorum: boolean;
}

interface Early {
  readonly from: number;
  readonly op: number;
  /** 16 bytes. */
  readonly checksum: Uint8Array;
}

/** More than all replicas have to acknowledge at the beginning of a view. */
const EARLY_MAX: number = 8 * PIPELINE_MAX;
/** A prepare's timeout doubles no more often than this. */
const ATTEMPTS_MAX = 6;

export class Primary {
  readonly #parts: Parts;
  readonly #hasPulses: boolean;
  readonly #pipeline: Entry[] = [];
  /** As backups see us: when to speak lest they lose patience. */
  readonly #detector: FaultDetector = new FaultDetector(DETECTOR_LIMITS);
  /** Acknowledgements that came before everything else was ready to begin. */
  readonly #early: Early[] = [];
  #timestamp: U64 = { hi: 0, lo: 0 };
  /** The highest commit number that has been sent. */
  #announced: number = 0;
  /** A prepare or commit leaves in this step. */
  #hasSpoken: boolean = false;
  readonly #quorumTime: QuorumTime = new QuorumTime();
  #attempts: number = 0;
  #attemptsOp: number = 0;
  #isAbdicating: boolean = false;

  constructor(parts: Parts, hasPulses: boolean) {
    this.#parts = parts;
    this.#hasPulses = hasPulses;
  }

  /** Prepared and not executed. */
  get pipelineLength(): number {
    return this.#pipeline.length;
  }

  /** It answers the clients of what it executes. */
  get answers(): boolean {
    return this.#parts.member.isNormalPrimary;
  }

  get isAbdicating(): boolean {
    return this.#isAbdicating;
  }

  /** The prepares under way, borrowed. */
  *prepares(): Generator<Uint8Array, void, void> {
    for (const { op } of this.#pipeline) {
      const header = this.#parts.log.header(op);
      assert(header !== null, 'Primary: a hole in the pipeline');
      yield header;
    }
  }

  /** Begins to lead: the log is complete, everything known to be committed is executed. */
  open(): void {
    const { member, state, log, commits, outbox } = this.#parts;
    assert(member.isNormalPrimary, 'Primary: does not lead');
    assert(this.#pipeline.length === 0, 'Primary: opened twice');
    assert(state.commitMin === commits.commitMax, 'Primary: not everything is executed');
    assert(log.head <= state.commitMin + PIPELINE_MAX, 'Primary: too much is uncommitted');
    this.#timestamp = state.timestamp;
    for (let op = state.commitMin + 1; op <= log.head; op++) {
      const header = log.header(op);
      assert(header !== null && log.isClean(op), 'Primary: the log is not complete');
      this.#timestamp = u64Max(this.#timestamp, readU64(header, PrepareOffset.timestamp));
      const firstNs = outbox.now.monoNs;
      const entry = { op, acks: 0, inferred: 0, firstNs, sentNs: firstNs, isQuorum: false };
      this.#pipeline.push(entry);
    }
    this.#isAbdicating = false;
    this.#announced = 0;
    this.#detector.reset(outbox.now.monoNs);
    this.acknowledgeOwn();
    for (const { from, op, checksum } of this.#early.splice(0)) {
      if (log.has(op, checksum, 0)) this.#acknowledge(op, from);
    }
  }

  /** Leads no more: acknowledgements of this view mean nothing in another. */
  close(): void {
    const { deadlines } = this.#parts;
    this.#pipeline.length = 0;
    this.#early.length = 0;
    deadlines.clear('prepare');
    deadlines.clear('heartbeat');
    deadlines.clear('abdicate');
  }

  /** Time has passed: {@link advance} looks whether something is due. */
  onPulse(): void {
    const { deadlines, outbox } = this.#parts;
    deadlines.set('pulse', outbox.now.monoNs + PULSE_INTERVAL_NS);
  }

  /** Makes prepares of what waits. */
  advance(): void {
    const { member, admission, state, peers } = this.#parts;
    if (!member.isNormalPrimary) return;
    while (this.#hasRoom()) {
      const wall = peers.realtime();
      // What waits makes a primary without a clock abdicate in the end.
      if (wall === null) return;
      // A pulse goes first: it is due, while clients can wait for one more operation.
      if (this.#hasPulses && !this.#hasPulse()) {
        const timestamp = this.#next(wall, state.machine.reserve(OPERATION_PULSE, EMPTY));
        if (state.machine.due(timestamp)) {
          if (!this.#preparePulse(timestamp)) return;
          continue;
        }
      }
      const request = admission.next();
      if (request === null) return;
      this.#prepareRequest(request, wall);
    }
  }

  /** At the end of a step: what the step has committed leaves with it; timers follow. */
  settle(): void {
    const { member, commits, deadlines, outbox } = this.#parts;
    if (!member.isNormalPrimary || member.isSolo) return;
    if (commits.commitMax > this.#announced && member.isLogViewDurable) this.#sendCommit();
    const nowNs = outbox.now.monoNs;
    if (this.#hasSpoken || !deadlines.isSet('heartbeat')) {
      this.#hasSpoken = false;
      this.#detector.signal(nowNs);
      const atNs = Math.min(nowNs + HEARTBEAT_NS, this.#detector.nextChangeNs(nowNs));
      deadlines.set('heartbeat', atNs);
    }
    this.#armPrepare();
  }

  onHeartbeat(): void {
    const { member } = this.#parts;
    if (!member.isNormalPrimary || this.#isAbdicating || !member.isLogViewDurable) return;
    this.#sendCommit();
  }

  /** Counts our own copies, where a backup might acknowledge them. */
  acknowledgeOwn(): void {
    const { member, log, backup } = this.#parts;
    const own = 1 << member.replica;
    for (const entry of this.#pipeline) {
      if ((entry.acks & own) !== 0 || !log.isClean(entry.op)) continue;
      if (entry.op <= backup.acknowledgeMax) this.#acknowledge(entry.op, member.replica);
    }
  }

  /** A backup has a prepare of this view's log durably. */
  onPrepareOk(from: number, bytes: Uint8Array): void {
    const { log, commits, outbox, peers, viewChange } = this.#parts;
    const op = peerNumber(bytes, PeerOffset.op);
    peers.heardOf(from, peerNumber(bytes, PeerOffset.commitMin));
    if (!commits.agrees(peerNumber(bytes, PeerOffset.commitMin), bytes, PeerOffset.digest)) {
      outbox.trace('error', 'peer-diverged', { replica: from });
      return;
    }
    if (viewChange.isRepairing && this.#early.length < EARLY_MAX) {
      const checksum = bytes.slice(PeerOffset.checksum, PeerOffset.checksum + 16);
      this.#early.push({ from, op, checksum });
    }
    const entry = this.#entry(op);
    if (entry === null || !log.has(op, bytes, PeerOffset.checksum)) return;
    this.#parts.topology.onAck(op, from, outbox.now.monoNs - entry.sentNs);
    this.#inferLosses(from, op, peerBits(bytes, PeerOffset.bits));
    this.#acknowledge(op, from);
  }

  /** No quorum in time: once more to all that have not acknowledged. */
  onPrepareTimeout(): void {
    const { outbox, member, peers } = this.#parts;
    if (!member.isNormalPrimary) return;
    if (peers.isDeaf && !this.#isAbdicating) {
      this.abdicate('silence');
      return;
    }
    const nowNs = outbox.now.monoNs;
    const timeoutNs = this.#timeoutNs();
    outbox.trace('debug', 'prepare-timeout', { attempts: this.#attempts });
    this.#attempts = Math.min(this.#attempts + 1, ATTEMPTS_MAX);
    for (const entry of this.#pipeline) {
      if (entry.isQuorum || nowNs < entry.sentNs + timeoutNs) continue;
      entry.sentNs = nowNs;
      for (let replica = 0; replica < member.replicaCount; replica++) {
        if ((entry.acks & (1 << replica)) === 0) this.#resend(entry.op, replica);
      }
    }
  }

  /** What was on its way when the link broke is lost. */
  onPeerUp(replica: number): void {
    if (!this.#parts.member.isNormalPrimary) return;
    this.#attempts = 0;
    for (const { op, acks } of this.#pipeline) {
      if ((acks & (1 << replica)) === 0) this.#resend(op, replica);
    }
  }

  /** Nothing gets done here, so somebody else should lead. */
  onAbdicate(): void {
    const { member, relief, checkpoints } = this.#parts;
    if (!member.isNormalPrimary || relief.isHopeless) return;
    this.abdicate(checkpoints.isReadOnly ? 'disk-full' : 'no-progress');
  }

  /** Falls silent, and calls for another primary. */
  abdicate(reason: 'silence' | 'no-progress' | 'disk-full'): void {
    const { outbox, member, viewChange } = this.#parts;
    if (!this.#isAbdicating) outbox.trace('warn', 'abdicated', { view: member.view, reason });
    this.#isAbdicating = true;
    viewChange.vote();
  }

  /** The operation is executed. */
  onCommitted(op: number): void {
    if (this.#pipeline[0]?.op !== op) return;
    this.#pipeline.shift();
    const { deadlines, outbox } = this.#parts;
    if (deadlines.isSet('abdicate')) deadlines.set('abdicate', outbox.now.monoNs + ABDICATE_NS);
  }

  invariants(): void {
    const { member, state, log, commits, checkpoints, cache } = this.#parts;
    if (!member.isNormalPrimary) {
      assert(this.#pipeline.length === 0, 'Primary: a pipeline without an office');
      return;
    }
    assert(log.head === state.commitMin + this.#pipeline.length, 'Primary: pipeline and log');
    assert(this.#pipeline.length <= PIPELINE_MAX, 'Primary: pipeline too long');
    assert(commits.commitMax <= log.head, 'Primary: committed above the head');
    assert(log.head <= checkpoints.prepareMax, 'Primary: overwrites what replay needs');
    assert(u64Compare(this.#timestamp, state.timestamp) >= 0, 'Primary: timestamps go back');
    for (const { op } of this.#pipeline) {
      const header = log.header(op);
      assert(header !== null && log.isCanonical(op), 'Primary: pipeline and log disagree');
      assert(cache.find(op, header, 0) !== null, 'Primary: a prepare that is not at hand');
    }
  }

  #hasRoom(): boolean {
    const { log, checkpoints, member, peers, geometry, journal } = this.#parts;
    const { deadlines, outbox } = this.#parts;
    if (this.#pipeline.length >= PIPELINE_MAX) return false;
    if (log.head >= checkpoints.authorMax || !member.isLogViewDurable) return false;
    if (member.isSolo) return true;
    if (!journal.canWrite) return false;
    // Slow replicas, as many as may fail, never hold the others up.
    const lagMax = Math.max(2 * PIPELINE_MAX, checkpointInterval(geometry) / 2);
    if (log.head - peers.commitMinOfQuorum() <= lagMax) return true;
    deadlines.setEarlier('ping', outbox.now.monoNs + LAG_PING_NS);
    return false;
  }

  #hasPulse(): boolean {
    for (const header of this.prepares()) {
      if (header[PrepareOffset.operation] === OPERATION_PULSE) return true;
    }
    return false;
  }

  #preparePulse(timestamp: U64): boolean {
    const { pool, member } = this.#parts;
    const message = pool.acquire('small');
    if (message === null) return false;
    const position = this.#position(timestamp);
    buildPrepare(message.bytes, OPERATION_PULSE, member.author(), position, pool.checksum);
    this.#append(message, timestamp);
    return true;
  }

  #prepareRequest(message: Message, wall: U64): void {
    const { pool, state, member } = this.#parts;
    const { bytes } = message;
    const operation = bytes[RequestOffset.operation];
    const isEngine = operation < OPERATION_MACHINE_MIN;
    const body = bytes.subarray(HEADER_SIZE, readSize(bytes));
    const timestamp = this.#next(wall, isEngine ? 0 : state.machine.reserve(operation, body));
    prepareFromRequest(bytes, member.author(), this.#position(timestamp), pool.checksum);
    this.#append(message, timestamp);
  }

  /** Above everything given out so far, not below the cluster's time, plus what is used up. */
  #next(wall: U64, reserveNs: number): U64 {
    assert(Number.isSafeInteger(reserveNs) && reserveNs >= 0, 'Primary: bad reserve');
    return u64Add(u64Max(u64Add(this.#timestamp, 1), wall), reserveNs);
  }

  #position(timestamp: U64): Position {
    const { log, commits, checkpoints, state } = this.#parts;
    const op = log.head + 1;
    assert(op < OP_MAX, 'Primary: log positions are used up');
    const head = log.header(log.head);
    assert(head !== null || log.head === state.commitMin, 'Primary: nothing to continue');
    const parent = head?.slice(0, 16) ?? state.prepareChecksum;
    const checkpointId = checkpoints.idFor(op);
    return { op, parent, checkpointId, commit: commits.commitMax, timestamp };
  }

  /** Takes over the reference. */
  #append(message: Message, timestamp: U64): void {
    const { log, cache, journal, state, member, topology, outbox, pool } = this.#parts;
    const op = opOf(message.bytes);
    this.#timestamp = timestamp;
    log.append(message.bytes);
    cache.put(message, state.commitMin);
    const sentNs = outbox.now.monoNs;
    this.#pipeline.push({ op, acks: 0, inferred: 0, firstNs: sentNs, sentNs, isQuorum: false });
    for (const replica of topology.next(member.view, op, member.replica)) {
      pool.retain(message);
      outbox.sendPeer(replica, message);
    }
    for (const replica of topology.announce(member.view, op, member.replica)) {
      this.#parts.responder.sendHeaders(replica, [message.bytes.subarray(0, HEADER_SIZE)]);
    }
    journal.write(message);
    this.#announced = this.#parts.commits.commitMax;
    this.#hasSpoken = true;
    pool.release(message);
  }

  #entry(op: number): Entry | null {
    const first = this.#pipeline[0];
    if (first === undefined || op < first.op) return null;
    return this.#pipeline[op - first.op] ?? null;
  }

  #acknowledge(op: number, replica: number): void {
    const { deadlines, outbox } = this.#parts;
    const entry = this.#entry(op);
    if (entry === null || (entry.acks & (1 << replica)) !== 0) return;
    entry.acks |= 1 << replica;
    this.#isAbdicating = false;
    if (deadlines.isSet('abdicate')) deadlines.set('abdicate', outbox.now.monoNs + ABDICATE_NS);
    this.#countQuorums();
  }

  #countQuorums(): void {
    const { member, commits } = this.#parts;
    const quorum = member.quorums.replication;
    let isCommitted = true;
    for (const entry of this.#pipeline) {
      if (!entry.isQuorum && bitCount(entry.acks) >= quorum) {
        entry.isQuorum = true;
        this.#measure(entry);
      }
      isCommitted &&= entry.isQuorum;
      if (isCommitted) commits.learn(entry.op);
    }
  }

  /** How long a quorum takes, and how much that varies. */
  #measure({ firstNs, sentNs }: Entry): void {
    const nowNs = this.#parts.outbox.now.monoNs;
    // What was sent twice says something only if nobody can have answered the second time.
    if (sentNs !== firstNs && nowNs - sentNs >= this.#parts.peers.clock.roundTripNs) return;
    this.#quorumTime.measure(nowNs - firstNs);
  }

  /** Who has a later prepare that we sent it, and not this one, has lost it. */
  #inferLosses(from: number, op: number, received: number): void {
    const { topology, member } = this.#parts;
    // It came another way, which may be the quicker one.
    if (!topology.next(member.view, op, member.replica).includes(from)) return;
    for (const entry of this.#pipeline) {
      if (entry.op >= op) return;
      const bit = 1 << from;
      const isThere = op - entry.op > 31 || (received & (1 << (op - entry.op))) !== 0;
      if (isThere || ((entry.acks | entry.inferred) & bit) !== 0) continue;
      if (!topology.next(member.view, entry.op, member.replica).includes(from)) continue;
      entry.inferred |= bit;
      this.#resend(entry.op, from);
    }
  }

  #resend(op: number, replica: number): void {
    const { cache, pool, outbox, member, peers } = this.#parts;
    if (replica === member.replica || !peers.isUp(replica)) return;
    const message = cache.at(op);
    assert(message !== null, 'Primary: a prepare that is not at hand');
    pool.retain(message);
    outbox.sendPeer(replica, message);
    outbox.trace('debug', 'prepare-resent', { op, replica });
  }

  #timeoutNs(): number {
    const { roundTripMaxNs } = this.#parts.peers;
    return this.#quorumTime.timeoutNs(roundTripMaxNs) * 2 ** this.#attempts;
  }

  #armPrepare(): void {
    const { deadlines, outbox } = this.#parts;
    const { admission } = this.#parts;
    // A broken disk, a full one, or clocks that disagree: what is begun must also be executed.
    const isWaiting = this.#pipeline.length > 0 || admission.queueLength > 0;
    if (!isWaiting) deadlines.clear('abdicate');
    else if (!deadlines.isSet('abdicate')) {
      deadlines.set('abdicate', outbox.now.monoNs + ABDICATE_NS);
    }
    const first = this.#pipeline.find(({ isQuorum }) => !isQuorum);
    if (first === undefined) {
      deadlines.clear('prepare');
      return;
    }
    if (first.op !== this.#attemptsOp) {
      this.#attemptsOp = first.op;
      this.#attempts = 0;
    }
    deadlines.set('prepare', first.sentNs + this.#timeoutNs());
  }

  #sendCommit(): void {
    const { commits, state, log, member, outbox, pool, peers, superblock } = this.#parts;
    const message = pool.acquire('small');
    if (message === null) return;
    const { commitMax } = commits;
    const fields = {
      commitMax,
      commitMin: state.commitMin,
      digest: state.digest,
      monotonic: outbox.now.monoNs,
      checkpointOp: superblock.current.checkpoint.op,
      checksum: log.header(commitMax)?.subarray(0, 16) ?? ZERO,
    };
    buildPeerMessage(message.bytes, Command.commit, member.author(), fields, pool.checksum);
    peers.broadcast(message);
    this.#announced = commitMax;
    this.#hasSpoken = true;
  }
}

const EMPTY: Uint8Array = new Uint8Array(0);
const ZERO: Uint8Array = new Uint8Array(16);

function bitCount(bits: number): number {
  let count = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++;
  return count;
}
