/**
 * A Raft server as a step function: makes the parts, hands each event to the part it is for, lets
 * every part finish at the end of the step, and asserts what must hold between them. It decides
 * nothing; each file of this room owns one sub-protocol and its state.
 *
 * The life of a server: a driver reads its file, folds it with `recover`, makes a `Raft` and steps
 * it with `open`. Before that the file has to be synced once, since what was read may be in a cache
 * only. A server that has left or failed does nothing any more; its status tells.
 */
import { assert, Prng, unreachable } from '../stdx/index.ts';
import { Commands } from './commands.ts';
import { Deadlines } from './deadlines.ts';
import type { Effect } from './effect.ts';
import type { ServerId } from './entry.ts';
import type { Event } from './event.ts';
import { Election } from './leadership/election.ts';
import { ElectionTimer } from './leadership/election-timer.ts';
import { Transfer } from './leadership/transfer.ts';
import { Log } from './log/log.ts';
import { emptySnapshot, type RecoveredState } from './log/recovery.ts';
import { Storage } from './log/storage.ts';
import { Member } from './member.ts';
import { Changes } from './membership/changes.ts';
import { Joining } from './membership/joining.ts';
import { Sessions } from './membership/sessions.ts';
import { type Msg, termOf } from './message.ts';
import { assertPolicy, POLICY_OWN, type Policy } from './options.ts';
import { Outbox } from './outbox.ts';
import type { Parts } from './parts.ts';
import { Reads } from './reads.ts';
import { AckCopies } from './replication/ack-copies.ts';
import { Commits } from './replication/commits.ts';
import { Follower } from './replication/follower.ts';
import { Leader } from './replication/leader.ts';
import { Snapshots } from './replication/snapshots.ts';
import { type RaftStatus, statusOf } from './status.ts';

export interface RaftOptions<T> {
  readonly id: ServerId;
  /** Where others find this server. */
  readonly address: string;
  /** Seed of deadlines and names; a driver draws it anew for each life. */
  readonly seed: number;
  /** Default {@link POLICY_OWN}. */
  readonly policy?: Policy;
  /** For tests that plant bugs: gets the parts before anything runs. */
  readonly onParts?: (parts: Parts<T>) => void;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export class Raft<T> {
  readonly #parts: Parts<T>;
  readonly #lastMessageMs: Map<ServerId, number> = new Map();
  #isOpen: boolean = false;
  /** What watchers were told last. */
  #told: string = '';

  constructor(options: RaftOptions<T>) {
    const policy = options.policy ?? POLICY_OWN;
    assertPolicy(policy);
    this.#parts = this.#makeParts(options, policy);
    options.onParts?.(this.#parts);
  }

  /** `nowMs`: monotonic. Returns what to do, in order. */
  step(event: Event<T>, nowMs: number): readonly Effect<T>[] {
    return this.stepAll([event], nowMs);
  }

  /** Several events of one turn: what they bring shares appends and syncs. */
  stepAll(events: readonly Event<T>[], nowMs: number): readonly Effect<T>[] {
    const { outbox, member, deadlines, changes, reads, leader, storage } = this.#parts;
    assert(nowMs >= outbox.nowMs, 'Raft: time goes back');
    outbox.begin(nowMs);
    for (const event of events) {
      assert(this.#isOpen === (event.type !== 'open'), 'Raft: opened once, before all else');
      if (member.isStopped) this.#onStopped(event);
      else this.#on(event);
    }
    if (!member.isStopped) {
      changes.settle();
      reads.settle();
      leader.settle();
      storage.settle();
      const isTick = events.some((event) => event.type === 'tick');
      deadlines.arm(outbox, isTick);
    }
    this.#tell();
    return outbox.effects();
  }

  status(): RaftStatus {
    return statusOf(this.#parts);
  }

  invariants(): void {
    const { member, log, storage, commits, leader } = this.#parts;
    if (!this.#isOpen || member.isStopped) return;
    member.invariants();
    log.invariants();
    storage.invariants();
    commits.invariants();
    leader.invariants();
  }

  #on(event: Event<T>): void {
    const { sessions, commands, ackCopies, reads, changes, joining, transfer, electionTimer } =
      this.#parts;
    switch (event.type) {
      case 'open':
        this.#onOpen(event.state);
        break;
      case 'tick':
        this.#onTick();
        break;
      case 'connected':
        sessions.onConnected(event);
        break;
      case 'disconnected':
        sessions.onDisconnected(event.peer);
        break;
      case 'refused':
        this.#onRefused(event.peer);
        break;
      case 'message':
        this.#onMessage(event.peer, event.message);
        break;
      case 'synced':
        this.#onSynced(event.seq);
        break;
      case 'write-failed':
        this.#parts.stop('failed');
        break;
      case 'propose':
        commands.onPropose(event);
        break;
      case 'expedite':
        ackCopies.ask();
        break;
      case 'read':
        reads.onRead(event);
        break;
      case 'add-server':
        changes.add(event.server, event.address, { command: event.command });
        break;
      case 'kick':
        this.#onKick(event);
        break;
      case 'leave':
        joining.onLeave(event.command);
        break;
      case 'transfer':
        transfer.onTransfer(event);
        break;
      case 'change-election-timer':
        electionTimer.onChange(event);
        break;
      case 'snapshot-ready':
        this.#parts.snapshots.onReady(event);
        break;
      case 'applied':
        this.#parts.commits.onApplied(event.index);
        break;
      default:
        unreachable(event);
    }
  }

  #onOpen(state: RecoveredState<T>): void {
    const { member, log, electionTimer, commits, joining, sessions, election } = this.#parts;
    this.#isOpen = true;
    log.reset(state.snapshot, 0);
    for (const entry of state.entries) log.append(entry, 0);
    const committed = state.entries.filter((entry) => entry.index <= state.commitIndex);
    const timer = committed.findLast((entry) => entry.kind === 'timer');
    electionTimer.adopt(timer?.electionTimerMs ?? state.snapshot.electionTimerMs);
    member.open(state.term, state.vote, state.remotes !== null);
    commits.open(state.commitIndex);
    if (state.remotes === null) joining.openMember();
    else joining.open(state.remotes);
    election.resetDeadline();
    this.#armUpkeep();
    sessions.reconcile();
    const isAlone = log.servers.size === 1 && log.servers.has(member.id);
    if (isAlone && !member.isJoining) election.start({ isTransfer: false });
  }

  #onTick(): void {
    const { deadlines, outbox, election, leader, joining, member } = this.#parts;
    const { nowMs } = outbox;
    if (deadlines.take('upkeep', nowMs)) this.#onUpkeep();
    if (deadlines.take('ping', nowMs) && member.isLeader) leader.onPing();
    if (deadlines.take('join', nowMs)) joining.onJoinDeadline();
    if (deadlines.take('leave', nowMs)) joining.onLeaveDeadline();
    if (deadlines.take('election', nowMs)) election.onDeadline();
  }

  #onUpkeep(): void {
    const { commands, reads, snapshots, member } = this.#parts;
    commands.upkeep();
    reads.upkeep();
    if (member.isLeader) snapshots.upkeep();
    this.#armUpkeep();
  }

  #onRefused(peer: ServerId): void {
    const { policy, member, election } = this.#parts;
    if (policy.suspectOnRefused && peer === member.leader) election.onLeaderRefused();
  }

  #onSynced(seq: number): void {
    this.#parts.storage.onSynced(seq);
    this.#parts.commits.advance();
  }

  #onKick(event: Event<T> & { readonly type: 'kick' }): void {
    const { member, changes, joining, outbox, storage, log } = this.#parts;
    const { command, server } = event;
    if (server === member.id) joining.onLeave(command);
    else if (!log.servers.has(server) && !changes.isChanging(server)) {
      outbox.complete(command, 'unknown-server');
    } else if (member.isLeader) changes.remove(server, { command });
    else if (member.leader === null) outbox.complete(command, 'not-leader');
    else {
      storage.send(member.leader, { type: 'remove-server-request', server });
      outbox.complete(command, 'in-progress');
    }
  }

  /** The gate that every message passes: disruption, then term, then the part it is for. */
  #onMessage(from: ServerId, message: Msg<T>): void {
    const { member, election, outbox, follower, changes } = this.#parts;
    this.#lastMessageMs.set(from, outbox.nowMs);
    if (message.type === 'vote-request' && changes.isOutsider(from, message)) {
      changes.dismiss(from);
      return;
    }
    if (message.type === 'vote-request' && election.isDisruptive(message)) {
      election.refuse(from, message);
      return;
    }
    const term = termOf(message);
    if (term !== null && term > member.term) election.onTerm(term);
    if (term !== null && term < member.term) {
      if (message.type === 'append-request') follower.onStaleRequest(from, message);
      return;
    }
    this.#dispatch(from, message);
  }

  #dispatch(from: ServerId, message: Msg<T>): void {
    const { member, election, follower, leader, ackCopies, changes, joining } = this.#parts;
    const { snapshots, transfer, commands, reads } = this.#parts;
    switch (message.type) {
      case 'hello-request':
        break;
      case 'append-request':
        follower.onAppendRequest(from, message);
        break;
      case 'append-reply':
        if (member.isLeader) leader.onAppendReply(from, message);
        else ackCopies.onCopy(from, message);
        break;
      case 'ack-copies-request':
        ackCopies.onRequest(from);
        break;
      case 'vote-request':
        election.onVoteRequest(from, message);
        break;
      case 'vote-reply':
        election.onVoteReply(from, message);
        break;
      case 'add-server-request':
        changes.onAddRequest(from, message.address);
        break;
      case 'add-server-reply':
        joining.onAddReply(message);
        break;
      case 'remove-server-request':
        changes.onRemoveRequest(from, message);
        break;
      case 'remove-server-reply':
        joining.onRemoveReply(from, message);
        break;
      case 'install-snapshot-request':
        snapshots.onInstallRequest(from, message);
        break;
      case 'install-snapshot-reply':
        snapshots.onInstallReply(from, message);
        break;
      case 'become-leader':
        transfer.onBecomeLeader(from);
        break;
      case 'execute-command-request':
        commands.onRequest(from, message);
        break;
      case 'execute-command-reply':
        commands.onReply(message);
        break;
      case 'read-index-request':
        reads.onRequest(from, message.read);
        break;
      case 'read-index-reply':
        reads.onReply(message);
        break;
      default:
        unreachable(message);
    }
  }

  /** Whoever asks a server that has stopped is told so. */
  #onStopped(event: Event<T>): void {
    const { outbox } = this.#parts;
    if (event.type === 'read') {
      outbox.emit({ type: 'read-ready', read: event.read, success: false, index: 0 });
    } else if ('command' in event) outbox.complete(event.command, 'shutdown');
  }

  #stop(phase: 'left' | 'failed'): void {
    const { member, commands, reads, changes, deadlines, sessions, election, outbox } = this.#parts;
    election.becomeFollower();
    changes.onOfficeLost();
    commands.onStopped();
    reads.onStopped();
    member.stop(phase);
    deadlines.clearAll();
    sessions.reconcile();
    outbox.trace('warn', phase);
  }

  #armUpkeep(): void {
    const { deadlines, outbox, electionTimer } = this.#parts;
    deadlines.set('upkeep', outbox.nowMs + electionTimer.pingMs);
  }

  /** Tells watchers when something is not what it was. */
  #tell(): void {
    const { member, log, changes, outbox } = this.#parts;
    const { role, phase, term, leader, isConnected } = member;
    const changing = changes.changing().map((server) => server.id + changes.phaseOf(server.id));
    const now = [role, phase, term, leader, isConnected, log.configIndex, ...changing].join(' ');
    if (now === this.#told) return;
    this.#told = now;
    outbox.emit({ type: 'status-changed' });
  }

  #makeParts(options: RaftOptions<T>, policy: Policy): Parts<T> {
    const parts = { policy } as Mutable<Parts<T>>;
    parts.outbox = new Outbox();
    parts.deadlines = new Deadlines();
    parts.prng = new Prng(options.seed);
    parts.member = new Member(parts, options.id, options.address);
    parts.log = new Log(emptySnapshot<T>(policy.electionTimerMs));
    parts.storage = new Storage(parts);
    parts.electionTimer = new ElectionTimer(parts, policy.electionTimerMs);
    parts.election = new Election(parts);
    parts.transfer = new Transfer(parts);
    parts.leader = new Leader(parts);
    parts.follower = new Follower(parts);
    parts.commits = new Commits(parts);
    parts.ackCopies = new AckCopies(parts);
    parts.snapshots = new Snapshots(parts);
    parts.commands = new Commands(parts);
    parts.reads = new Reads(parts);
    parts.changes = new Changes(parts);
    parts.joining = new Joining(parts);
    parts.sessions = new Sessions(parts);
    parts.onConfigChanged = () => {
      if (parts.member.isLeader) parts.leader.reconfigure();
      parts.sessions.reconcile();
    };
    parts.stop = (phase) => this.#stop(phase);
    parts.lastMessageMs = (server) => this.#lastMessageMs.get(server) ?? null;
    return parts;
  }
}
