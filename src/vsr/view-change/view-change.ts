/**
 * Leaving a view and beginning the next. Replicas that have lost patience with their primary vote
 * (StartViewChange); when enough have, all go to the next view and tell its primary what their logs
 * look like (DoViewChange). From a quorum of those it chooses the log of the view, gets what it
 * lacks of it, says so (StartView), and leads.
 *
 * Two rules carry the safety. What a replica says of its log in a view change is written down
 * before it is said, and said again after a crash, word for word; and the log view moves with the
 * choice of the log, not with the end of its repair.
 */
import { PIPELINE_MAX } from '../../engine/index.ts';
import { assert, bytesEqual } from '../../stdx/index.ts';
import { Command, HEADER_SIZE, PeerOffset, PrepareOffset, readView } from '../../wire/index.ts';
import { opOf } from '../log/log.ts';
import type { Parts } from '../parts.ts';
import { buildPeerMessage, peerNumber } from '../peer-message.ts';
import {
  VIEW_RESEND_NS,
  VIEW_STATUS_MAX_NS,
  VIEW_STATUS_NS,
  VOTES_EXPIRE_NS,
} from '../timing/intervals.ts';
import { type Selection, selectLog, type Vote } from './log-selection.ts';
import { decodeVote, encodeVote, isBlank, writeBlank } from './vote-codec.ts';

/** Between two requests for the same newer view. */
const ASK_INTERVAL_NS = 10_000_000;

type Phase = 'none' | 'collecting' | 'repairing';
type Selected = Selection & { readonly kind: 'selected' };

/** What a replica has said, or would say, of its log: as in a vote. */
export interface Account {
  readonly op: number;
  readonly headers: readonly (Uint8Array | null)[];
}

export class ViewChange {
  readonly #parts: Parts;
  /** Replicas that want to leave the current view: bit i ↔ replica i. */
  #exits: number = 0;
  /** What others say of their logs in this view, by replica; only for its primary. */
  readonly #votes: Map<number, Vote> = new Map();
  #account: Account | null = null;
  #phase: Phase = 'none';
  /** Operations of the pipeline-to-be that are being read from the log. */
  readonly #fetching: Set<number> = new Set();
  #askedNs: number = 0;
  #askedView: number = 0;
  #startNs: number = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** The primary-to-be has chosen its log and is getting what it lacks. */
  get isRepairing(): boolean {
    return this.#phase === 'repairing';
  }

  /** Wants to leave the current view, and says so. */
  vote(): void {
    const { member, outbox, deadlines } = this.#parts;
    if (!this.#isVoter()) return;
    const own = 1 << member.replica;
    if ((this.#exits & own) !== 0) return;
    outbox.trace('info', 'view-exit', { view: member.view, primary: member.primary });
    deadlines.set('view-resend', outbox.now.monoNs + VIEW_RESEND_NS);
    this.#count(own);
    if ((this.#exits & own) !== 0) this.#sendExit();
  }

  /** The primary has given a sign of life: our own vote was rash. */
  onPrimaryHeard(): void {
    this.#exits &= ~(1 << this.#parts.member.replica);
  }

  onStartViewChange(from: number, bytes: Uint8Array): void {
    const { member, peers, backup } = this.#parts;
    const view = readView(bytes);
    if (view < member.view || !this.#isVoter() || !peers.isTrusted(from)) return;
    if (view > member.view) this.enter(view);
    this.#count(1 << from);
    if (view !== member.view || from !== member.primary) return;
    // It knows best that it does not lead.
    if (member.isNormal) backup.suspect();
    else this.vote();
  }

  /** A sign of a view above ours, that need not have begun. */
  onViewSeen(view: number): void {
    if (view > this.#parts.member.view && this.#isVoter()) this.enter(view);
  }

  /** A sign of a view that has begun and in which we have no log yet: its primary has to tell. */
  onNewerView(view: number): void {
    const { member, outbox, startView } = this.#parts;
    const nowNs = outbox.now.monoNs;
    if (view === this.#askedView && nowNs < this.#askedNs + ASK_INTERVAL_NS) return;
    if (member.primaryOf(view) === member.replica || member.status === 'recovering') return;
    this.#askedView = view;
    this.#askedNs = nowNs;
    startView.request(member.primaryOf(view));
  }

  /** Gives up the current view for `view`. */
  enter(view: number): void {
    const { member, primary, backup, superblock, commits, outbox, deadlines, peers } = this.#parts;
    assert(view > member.view, 'ViewChange: not a newer view');
    if (member.logView === member.view) this.#account = this.collect();
    assert(this.#account !== null, 'ViewChange: nothing to say');
    primary.close();
    backup.close();
    member.enterViewChange(view);
    this.#exits = 0;
    this.#votes.clear();
    this.#phase = member.isPrimary ? 'collecting' : 'none';
    this.#startNs = outbox.now.monoNs;
    this.#parts.startView.reset();
    this.#parts.admission.onOfficeLost();
    superblock.update({
      view,
      viewHeaders: this.#account.headers.map((header, i) => encoded(header, this.#opAt(i))),
      commitMax: Math.max(superblock.newest.commitMax, commits.commitMax),
    });
    this.#watch();
    deadlines.clear('votes-expire');
    deadlines.clear('behind');
    outbox.trace('info', 'view-change', { view, logView: member.logView });
    if (peers.isDown(member.primary)) this.vote();
  }

  /** After a restart in the middle of a view change: what was said then is said again. */
  resume(): void {
    const { member, superblock } = this.#parts;
    const headers = superblock.current.viewHeaders;
    assert(headers.length > 0, 'ViewChange: nothing was said');
    this.#account = {
      op: opOf(headers[0]),
      headers: headers.map((header) => (isBlank(header) ? null : header)),
    };
    member.enterViewChange(member.view);
    this.#phase = member.isPrimary ? 'collecting' : 'none';
    this.#watch();
  }

  /** The view has begun. */
  onViewStarted(): void {
    const { deadlines, member, topology } = this.#parts;
    this.#phase = 'none';
    this.#exits = 0;
    this.#votes.clear();
    this.#account = null;
    deadlines.clear('view-status');
    deadlines.clear('view-resend');
    deadlines.clear('votes-expire');
    topology.onView(member.view);
  }

  onDoViewChange(from: number, bytes: Uint8Array): void {
    const { member, peers, pool, startView, outbox } = this.#parts;
    const view = readView(bytes);
    if (view < member.view || !this.#isVoter() || !peers.isTrusted(from)) return;
    if (view > member.view) this.enter(view);
    if (!member.isPrimary) return;
    if (this.#phase !== 'collecting') {
      startView.sendTo(from, null, peerNumber(bytes, PeerOffset.checkpointOp));
      return;
    }
    const read = decodeVote(bytes, pool.checksum);
    if (!read.ok || read.vote.replica !== from) {
      outbox.trace('error', 'vote-refused', { from, problem: read.ok ? 'author' : read.problem });
      return;
    }
    this.#votes.set(from, read.vote);
    peers.heardOf(from, read.vote.commitMin);
    this.#trySelect();
  }

  /** Something has become durable. */
  onSuperblock(): void {
    const { member } = this.#parts;
    if (member.status !== 'view-change' || !member.isViewDurable) return;
    if (member.isPrimary) this.#trySelect();
    else if (member.logView < member.view) this.#sendVote(this.#parts.peers.upMask);
  }

  onPeerUp(replica: number): void {
    const { member } = this.#parts;
    if ((this.#exits & (1 << member.replica)) !== 0) this.#sendExit();
    if (member.status === 'view-change' && replica === member.primary) {
      this.#sendVote(1 << replica);
    }
  }

  onPeerDown(replica: number): void {
    const { member, backup } = this.#parts;
    if (replica !== member.primary) return;
    if (member.isNormalBackup) backup.suspect();
    else if (member.status === 'view-change') this.vote();
  }

  onVotesExpire(): void {
    const { member, deadlines, outbox } = this.#parts;
    this.#exits &= 1 << member.replica;
    if (this.#exits === 0) return;
    deadlines.set('votes-expire', outbox.now.monoNs + VOTES_EXPIRE_NS);
  }

  /** Says again what may have been lost. */
  onResend(): void {
    const { member, deadlines, outbox, startView } = this.#parts;
    const isVoting = (this.#exits & (1 << member.replica)) !== 0;
    if (isVoting) this.#sendExit();
    if (member.status === 'view-change' && !member.isPrimary) this.#sendVote(1 << member.primary);
    if (member.status === 'recovering-head') startView.requestFromAll();
    if (member.isNormal && !isVoting) return;
    deadlines.set('view-resend', outbox.now.monoNs + VIEW_RESEND_NS);
  }

  /** The view change does not come to an end. */
  onStatus(): void {
    if (this.#parts.member.status !== 'view-change') return;
    this.vote();
    this.#watch();
  }

  /** The primary-to-be goes on as far as it can; called at the end of every step. */
  advance(): void {
    if (this.#phase !== 'repairing') return;
    const { member, repair, startView, state, log } = this.#parts;
    if (!member.isLogViewDurable || !repair.areHeadersComplete()) return;
    startView.announce();
    if (!this.isCaughtUp) return;
    if (log.head > state.commitMin + PIPELINE_MAX || !this.#isPipelineAtHand()) return;
    this.#begin();
  }

  /** Everything known to be committed is executed, and nothing is on its way to be. */
  get isCaughtUp(): boolean {
    const { commits, state } = this.#parts;
    return state.commitMin >= commits.commitMax && !commits.isReading;
  }

  /** Which log the view begins with, as far as these votes tell. */
  select(votes: readonly Vote[]): Selection {
    const { quorums, replicaCount } = this.#parts.member;
    return selectLog(votes, quorums, replicaCount);
  }

  #begin(): void {
    const { member, primary, outbox, heldRequests, admission } = this.#parts;
    member.enterNormal(member.view);
    this.onViewStarted();
    primary.open();
    const durationMs = (outbox.now.monoNs - this.#startNs) / 1_000_000;
    outbox.trace('info', 'view-started', { view: member.view, durationMs });
    admission.redirectClients();
    heldRequests.onOffice();
  }

  /** Whether every prepare that is not committed is durable here and in memory. */
  #isPipelineAtHand(): boolean {
    const { log, cache, state, journal } = this.#parts;
    let isAtHand = true;
    for (let op = state.commitMin + 1; op <= log.head; op++) {
      const header = log.header(op);
      assert(header !== null, 'ViewChange: headers are complete');
      if (!log.isClean(op)) return false;
      if (cache.find(op, header, 0) !== null) continue;
      isAtHand = false;
      if (!journal.canRead || this.#fetching.has(op)) continue;
      this.#fetching.add(op);
      journal.read(op, (message) => {
        this.#fetching.delete(op);
        if (message === null) return;
        cache.put(message, state.commitMin);
        this.#parts.pool.release(message);
      });
    }
    return isAtHand;
  }

  #isVoter(): boolean {
    const { member, sync } = this.#parts;
    if (member.isSolo || sync.isInstalling) return false;
    return member.status === 'normal' || member.status === 'view-change';
  }

  /** A replica wants to leave the view; if enough do, that is done. */
  #count(bit: number): void {
    const { member, deadlines, outbox } = this.#parts;
    if (this.#exits === 0) deadlines.set('votes-expire', outbox.now.monoNs + VOTES_EXPIRE_NS);
    this.#exits |= bit;
    let count = 0;
    for (let rest = this.#exits; rest !== 0; rest &= rest - 1) count++;
    if (count >= member.quorums.viewChange) this.enter(member.view + 1);
  }

  #sendExit(): void {
    const { member, pool, peers } = this.#parts;
    const message = member.isViewDurable ? pool.acquire('small') : null;
    if (message === null) return;
    const author = member.author();
    buildPeerMessage(message.bytes, Command.startViewChange, author, {}, pool.checksum);
    peers.broadcast(message);
  }

  /** From the head down to something certainly committed; blanks where nothing is known. */
  collect(): Account {
    const { log, commits, superblock } = this.#parts;
    const told = superblock.newest.viewHeaders;
    const toldOp = told.length > 0 ? opOf(told[0]) : 0;
    const op = Math.max(log.head, toldOp);
    const headers: (Uint8Array | null)[] = [];
    for (let at = op; at >= 0 && headers.length <= PIPELINE_MAX; at--) {
      const found = log.header(at) ?? told.find((header) => opOf(header) === at) ?? null;
      const above = headers.at(-1) ?? null;
      const isChained =
        found === null || above === null || bytesEqual(above, PrepareOffset.parent, found, 0, 16);
      headers.push(found !== null && isChained ? found.slice() : null);
      if (at <= commits.commitMax) break;
    }
    return { op, headers };
  }

  #opAt(index: number): number {
    assert(this.#account !== null, 'ViewChange: nothing to say');
    return this.#account.op - index;
  }

  /** What was written down, with what can be said of each operation at this moment. */
  #ownVote(): Vote {
    const { member, commits, state, superblock } = this.#parts;
    assert(this.#account !== null, 'ViewChange: nothing to say');
    const { op, headers } = this.#account;
    let present = 0;
    let nack = 0;
    for (let i = 0; i < headers.length; i++) {
      const { isPresent, isNack } = this.standing(op - i, headers[i]);
      if (isPresent) present |= 1 << i;
      if (isNack) nack |= 1 << i;
    }
    return {
      replica: member.replica,
      logView: member.logView,
      op,
      commitMin: Math.min(state.commitMin, op),
      commitMax: commits.commitMax,
      checkpointOp: Math.min(superblock.current.checkpoint.op, state.commitMin, op),
      headers,
      present,
      nack,
    };
  }

  /**
   * What can be said of an operation for which `header` (or nothing) was written down. Present: the
   * prepare can be had from here. Nack: this replica has never acknowledged it, for certain; damage
   * is never certain.
   */
  standing(
    op: number,
    header: Uint8Array | null,
  ): { readonly isPresent: boolean; readonly isNack: boolean } {
    const { log, cache, journal } = this.#parts;
    const here = log.header(op);
    const isFaulty = log.isFaulty(op);
    if (here === null) return { isPresent: false, isNack: !isFaulty };
    if (header === null) return { isPresent: false, isNack: false };
    if (!bytesEqual(here, 0, header, 0, 16)) return { isPresent: false, isNack: true };
    const isClean = log.isClean(op);
    const isPresent =
      isClean || cache.find(op, header, 0) !== null || journal.isWriting(op, header, 0);
    return { isPresent, isNack: !isClean && !isFaulty };
  }

  #sendVote(mask: number): void {
    const { member, pool, peers } = this.#parts;
    if (member.status !== 'view-change' || member.logView >= member.view) return;
    if (!member.isViewDurable || !member.isLogViewDurable) return;
    const message = pool.acquire('small');
    if (message === null) return;
    encodeVote(message.bytes, member.author(), this.#ownVote(), pool.checksum);
    for (let replica = 0; replica < member.replicaCount; replica++) {
      if ((mask & (1 << replica)) === 0) continue;
      pool.retain(message);
      peers.send(replica, message);
    }
    pool.release(message);
  }

  #trySelect(): void {
    const { member, outbox, checkpoints, state, geometry, sync } = this.#parts;
    if (this.#phase !== 'collecting' || !member.isViewDurable || !member.isLogViewDurable) return;
    const votes = [this.#ownVote(), ...this.#votes.values()];
    const selection = this.select(votes);
    if (selection.kind === 'wait') return;
    if (selection.kind === 'stuck') {
      outbox.trace('warn', 'view-undecidable', { view: member.view, op: selection.op });
      return;
    }
    // Whoever lags too far to take over the log leaves the lead to the next.
    const isBeyond = selection.op > checkpoints.prepareMax;
    if (isBeyond || sync.isActive || selection.op - geometry.slots > state.commitMin) {
      outbox.trace('info', 'view-forfeited', { view: member.view, op: selection.op });
      this.vote();
      return;
    }
    const opMax = Math.max(...votes.map((vote) => vote.op));
    if (selection.op < opMax) {
      outbox.trace('info', 'nack-truncation', { op: selection.op, opMax });
    }
    this.#install(selection);
  }

  /** Takes over the chosen log; from here on it is the log of this view. */
  #install(selection: Selected): void {
    const { member, log, commits, superblock, state, repair, outbox } = this.#parts;
    assert(selection.op >= state.commitMin, 'ViewChange: would undo what is executed');
    if (selection.op < log.head) {
      outbox.trace('info', 'log-truncated', { from: log.head, to: selection.op });
      log.truncate(selection.op);
    }
    log.raise(selection.op);
    for (const header of selection.headers) {
      if (opOf(header) > state.commitMin) log.set(header);
    }
    commits.learn(selection.commitMax);
    member.enterLogView();
    this.#phase = 'repairing';
    superblock.update({
      logView: member.view,
      viewHeaders: selection.headers.map((header) => header.slice(0, HEADER_SIZE)),
      commitMax: Math.max(superblock.newest.commitMax, commits.commitMax),
    });
    repair.reset();
    this.#parts.startView.reset();
  }

  #watch(): void {
    const { deadlines, outbox, member } = this.#parts;
    const nowNs = outbox.now.monoNs;
    const tries = Math.max(1, member.view - member.logView);
    const statusNs = Math.min(VIEW_STATUS_NS * tries, VIEW_STATUS_MAX_NS);
    deadlines.set('view-status', nowNs + statusNs);
    deadlines.set('view-resend', nowNs + VIEW_RESEND_NS);
  }
}

function encoded(header: Uint8Array | null, op: number): Uint8Array {
  if (header !== null) return header;
  const blank = new Uint8Array(HEADER_SIZE);
  writeBlank(blank, op);
  return blank;
}
