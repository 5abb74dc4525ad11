/**
 * A replica of a Raft cluster whose members are fixed: the same face, the same clients, the same
 * machines as a replica of Viewstamped Replication. It makes the parts, hands each event to the
 * part it is for, and lets them go on in a fixed order; it decides nothing.
 *
 * The life of a replica: a driver reads the head of the file, makes a pool and a replica from it,
 * and steps it with `open`. The file is read, the state put back, the log executed as far as it is
 * known to be committed; the effect `ready` follows. After the effects `halt` and `restart` it does
 * nothing any more.
 */
import {
  Admission,
  Counters,
  type Effect,
  type Event,
  HeldRequests,
  type Instant,
  type Machine,
  RELEASE,
  RELEASE_CLIENT_MIN,
  type ReplicaEngine,
  StepOutbox,
} from '../../engine/index.ts';
import { assert, unreachable } from '../../stdx/index.ts';
import {
  Command,
  type Message,
  type MessagePool,
  readCommand,
  requestProblem,
} from '../../wire/index.ts';
import { appendBytesMax, Dialect } from '../dialect/index.ts';
import { RaftFile, type RaftHead } from '../file/index.ts';
import type { Msg } from '../message.ts';
import { POLICY_OWN, type Policy } from '../options.ts';
import type { Parts } from '../parts.ts';
import { Applier } from './applier.ts';
import { Core } from './core.ts';
import { type DeadlineName, Deadlines } from './deadlines.ts';
import { NS_PER_MS, SNAPSHOT_RETRY_TIMERS } from './limits.ts';
import { Links } from './links.ts';
import { Office } from './office.ts';
import type { ReplicaParts } from './parts.ts';
import { Proposals } from './proposals.ts';
import { readSnapshotData } from './snapshot-data.ts';
import { Snapshots } from './snapshots.ts';
import { RaftState } from './state.ts';
import { type RaftReplicaStatus, statusOf } from './status.ts';

export interface RaftReplicaOptions {
  /** Made with `raftPoolSizes(head.geometry, head.replicaCount)`; shared with the framers. */
  readonly pool: MessagePool;
  /** A machine that has applied nothing. */
  readonly machine: Machine;
  /** What `readRaftHead` found, successfully. */
  readonly head: RaftHead;
  /** Seed of election deadlines; a driver draws it anew for each life. Default 0. */
  readonly seed?: number;
  /** What differs from the policy for our own dialect. */
  readonly policy?: Partial<Policy>;
  /** A snapshot is made when the log is this long, bytes, or twice the last snapshot. */
  readonly snapshotBytesMin?: number;
  /** Announced to clients, which must not be newer. Default {@link RELEASE}. */
  readonly release?: number;
  /** Default {@link RELEASE_CLIENT_MIN}. */
  readonly releaseClientMin?: number;
  /** For tests that plant bugs: gets Raft's parts before anything runs. */
  readonly onParts?: (parts: Parts<Uint8Array>) => void;
  /** The same for the parts around Raft. */
  readonly onReplicaParts?: (parts: ReplicaParts) => void;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export class RaftReplica implements ReplicaEngine {
  readonly #parts: ReplicaParts;
  readonly #release: number;
  /** Recovered, and said so. */
  #isReady: boolean = false;
  /** The commit timer runs; and it has come in this step. */
  #isArmed: boolean = false;
  #isTurn: boolean = false;

  constructor(options: RaftReplicaOptions) {
    const { head, pool } = options;
    assert(pool.requestSlotSize >= head.geometry.requestSizeMax, 'RaftReplica: pool and geometry');
    this.#release = options.release ?? RELEASE;
    this.#parts = makeParts(options, this.#release);
    options.onReplicaParts?.(this.#parts);
  }

  step(event: Event, now: Instant): readonly Effect[] {
    const { outbox, pool } = this.#parts;
    outbox.begin(now);
    if (outbox.halted) {
      if ('message' in event) pool.release(event.message);
      return outbox.effects();
    }
    return this.#run(() => this.#on(event));
  }

  /** A leader asks whoever has the most of the log to lead; nothing depends on its working. */
  handOver(now: Instant): readonly Effect[] {
    const { outbox, core } = this.#parts;
    outbox.begin(now);
    if (outbox.halted || !core.isOpen || !core.inside.member.isLeader) return outbox.effects();
    return this.#run(() => {
      core.push({ type: 'transfer', command: 0, target: null, reason: 'stopping' });
    });
  }

  /** A step: `begin` brings what happens. */
  #run(begin: () => void): readonly Effect[] {
    const { outbox, dialect, deadlines } = this.#parts;
    this.#isTurn = false;
    dialect.tick(Math.floor(outbox.now.monoNs / NS_PER_MS));
    begin();
    this.#advance();
    this.#write();
    dialect.endTurn();
    if (!outbox.halted) this.#goOn();
    if (!outbox.halted) {
      this.#armDialect();
      deadlines.arm(outbox);
    }
    return outbox.effects();
  }

  status(): RaftReplicaStatus {
    return statusOf(this.#parts, this.#release);
  }

  invariants(): void {
    const { core, admission, member, primary, state, outbox, file } = this.#parts;
    if (outbox.halted) return;
    admission.invariants();
    file.invariants();
    if (!core.isOpen) return;
    core.invariants();
    member.invariants();
    primary.invariants();
    const isBehind = state.commitMin <= core.inside.commits.index;
    assert(isBehind, 'RaftReplica: executed what is not committed');
  }

  /** At the end of a life: gives back every message that the replica holds. */
  releaseMessages(): void {
    const { admission, heldRequests, snapshots, state, file, dialect } = this.#parts;
    admission.releaseMessages();
    heldRequests.releaseMessages();
    snapshots.releaseMessages();
    state.sessions.releaseMessages();
    dialect.endTurn();
    file.releaseMessages();
  }

  #on(event: Event): void {
    const { admission, file, pool, peers } = this.#parts;
    switch (event.type) {
      case 'open':
        file.open();
        break;
      case 'message':
        if (this.#isReady) admission.onMessage(event.connection, event.message);
        else pool.release(event.message);
        break;
      case 'oversize':
        admission.onOversize(event.connection, event.message);
        break;
      case 'disconnected':
        admission.onDisconnected(event.connection);
        break;
      case 'peer-up':
        peers.onUp(event.replica, event.replicaId);
        break;
      case 'peer-down':
        peers.onDown(event.replica);
        break;
      case 'peer-message':
        this.#onPeerMessage(event.replica, event.message);
        break;
      case 'timer':
        if (event.timer === 'commit') this.#onCommitTimer();
        else this.#onWake();
        break;
      case 'written':
        file.onWritten(event.token, event.error);
        break;
      case 'read':
        file.onRead(event.token, event.bytes, event.error);
        break;
      case 'flushed':
        file.onFlushed(event.token, event.error);
        break;
      default:
        unreachable(event);
    }
  }

  /** A message over a proven link; takes over the reference. */
  #onPeerMessage(from: number, message: Message): void {
    const { pool, peers, dialect, core, outbox } = this.#parts;
    // Whoever recovers cannot judge what it hears; strangers have nothing to say.
    if (!this.#isReady || !peers.isUp(from)) {
      pool.release(message);
      return;
    }
    const command = readCommand(message.bytes);
    if (command === Command.request) {
      this.#onForwarded(message);
    } else if (command === Command.raft) {
      const heard = dialect.onMessage(from, message);
      if (heard === null) return;
      const data = heard.type === 'install-snapshot-request' ? heard.snapshot.data : null;
      if (data !== null && data.length > 0 && readSnapshotData(data) === null) {
        outbox.trace('error', 'snapshot-malformed', { from });
        return;
      }
      core.push({ type: 'message', peer: String(from), message: this.#relieved(heard) });
    } else {
      outbox.trace('warn', 'unexpected-command', { from, command });
      pool.release(message);
    }
  }

  /** Who executes too slowly hears its leader, and takes nothing more: it will be sent again. */
  #relieved(heard: Msg<Uint8Array>): Msg<Uint8Array> {
    const { applier, outbox } = this.#parts;
    if (heard.type !== 'append-request' || heard.entries.length === 0) return heard;
    if (!applier.isFull) return heard;
    outbox.trace('debug', 'backlog-full', { entries: heard.entries.length });
    return { ...heard, entries: [] };
  }

  /** Whoever passed it on may have heard of this leader before it is in office. */
  #onForwarded(message: Message): void {
    const { admission, member, core, heldRequests, pool } = this.#parts;
    if (member.isNormalPrimary || !core.inside.member.isLeader) {
      admission.onForwarded(message);
      return;
    }
    if (requestProblem(message.bytes) === null) heldRequests.hold(message);
    pool.release(message);
  }

  #onCommitTimer(): void {
    assert(this.#isArmed, 'RaftReplica: the commit timer was not armed');
    this.#isArmed = false;
    this.#isTurn = true;
  }

  #onWake(): void {
    const { deadlines, outbox } = this.#parts;
    for (const name of deadlines.take(outbox.now.monoNs)) {
      if (outbox.halted) return;
      this.#onDeadline(name);
    }
  }

  #onDeadline(name: DeadlineName): void {
    const { core, primary, heldRequests, snapshots, file } = this.#parts;
    switch (name) {
      case 'raft':
        core.onDeadline();
        break;
      case 'dialect':
        // Every step tells it the time.
        break;
      case 'pulse':
        primary.onPulse();
        break;
      case 'held-requests':
        heldRequests.onDeadline();
        break;
      case 'snapshot':
        snapshots.onDeadline();
        break;
      case 'disk-full':
        file.retry();
        break;
      default:
        unreachable(name);
    }
  }

  /** Lets every part go on as far as it can with what the event has brought. */
  #advance(): void {
    const { core, outbox, member, primary, applier, snapshots } = this.#parts;
    if (outbox.halted || !core.isOpen) return;
    core.run();
    if (outbox.halted) return;
    member.update();
    // First what has to go far; execution has a step of its own while disks and others work.
    if (this.#isTurn && primary.isDue) primary.propose();
    else if (this.#isTurn) applier.advance();
    if (outbox.halted) return;
    if (!this.#isReady && applier.isIdle) this.#becomeReady();
    snapshots.advance();
    // What was executed, or made, Raft hears of in the same step.
    core.run();
    if (!outbox.halted) member.update();
  }

  #becomeReady(): void {
    const { outbox, member, primary } = this.#parts;
    this.#isReady = true;
    member.ready();
    primary.onPulse();
    outbox.ready();
  }

  /** What the step has brought goes to the file; what that says, Raft hears at once. */
  #write(): void {
    const { outbox, file, core, member } = this.#parts;
    if (!outbox.halted) file.advance();
    while (core.hasEvents && !outbox.halted) {
      core.run();
      if (outbox.halted) return;
      member.update();
      file.advance();
    }
  }

  /** Comes back at once if there is more to do: writes and messages of this step leave first. */
  #goOn(): void {
    const { outbox, primary, applier, core } = this.#parts;
    if (this.#isArmed || !core.isOpen) return;
    if (!primary.isDue && !applier.canGoOn) return;
    this.#isArmed = true;
    outbox.timer('commit', 0);
  }

  #armDialect(): void {
    const { deadlines, dialect } = this.#parts;
    const { deadlineMs } = dialect;
    if (Number.isFinite(deadlineMs)) deadlines.set('dialect', deadlineMs * NS_PER_MS);
    else deadlines.clear('dialect');
  }
}

/** All parts, each of which has the list of all. */
function makeParts(options: RaftReplicaOptions, release: number): ReplicaParts {
  const { pool, machine, head } = options;
  const { requestSizeMax } = head.geometry;
  const seed = options.seed ?? 0;
  const outbox = new StepOutbox(1, (message) => pool.release(message));
  const parts = { pool, head, outbox } as Mutable<ReplicaParts>;
  const policy: Policy = {
    ...POLICY_OWN,
    batchBytesMax: appendBytesMax(pool.requestSlotSize),
    snapshotRetryTimers: SNAPSHOT_RETRY_TIMERS,
    ...options.policy,
  };
  parts.deadlines = new Deadlines();
  parts.counters = new Counters();
  parts.state = new RaftState(machine, pool, requestSizeMax);
  parts.core = new Core(parts, { policy, seed, onParts: options.onParts ?? null });
  parts.checkpoints = parts.core;
  parts.file = new RaftFile({
    head,
    pool,
    sink: {
      write: (offset, bytes, durable) => outbox.write(0, offset, bytes, durable),
      read: (offset, length) => outbox.read(0, offset, length),
      flush: () => outbox.flush(0),
    },
    handler: {
      onOpened: (header, records) => {
        if (parts.file.wasTorn) outbox.trace('info', 'log-torn', {});
        parts.core.open(header, records);
      },
      onCorrupt: (reason) => outbox.halt('storage-corrupt', reason),
      onSynced: (seq) => parts.core.onSynced(seq),
      onFailed: (error) => parts.core.onFailed(error),
    },
  });
  const { cluster, replica, replicaCount } = head;
  const send = (peer: number, message: Message): void => {
    if (parts.peers.isUp(peer)) outbox.sendPeer(peer, message);
    else pool.release(message);
  };
  parts.dialect = new Dialect({ pool, cluster, replica, replicaCount, release, seed, send });
  parts.member = new Office(parts, release);
  parts.peers = new Links(parts);
  parts.primary = new Proposals(parts);
  parts.applier = new Applier(parts);
  parts.snapshots = new Snapshots(parts, options.snapshotBytesMin);
  parts.admission = new Admission(parts, {
    requestSizeMax,
    releaseClientMin: options.releaseClientMin ?? RELEASE_CLIENT_MIN,
  });
  parts.heldRequests = new HeldRequests(parts);
  return parts;
}
