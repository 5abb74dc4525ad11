/**
 * Repair: gets what is missing in the log below its head, headers and prepares, from whoever has
 * it, several at a time and in any order. It never moves the head, and it takes nothing on trust: a
 * header belongs into the log only if it is of this view or the operation above names it.
 *
 * A gap is looked at when it appears, not when a timer fires. Where prepares take different ways it
 * is normal that one overtakes another; then the missing one is given the time that they have
 * lately needed, unless somebody on its way is known to be gone.
 */

import { PIPELINE_MAX } from '../../engine/index.ts';
import { Command, HEADER_SIZE, type Message, PrepareOffset, readView } from '../../wire/index.ts';
import { opOf } from '../log/log.ts';
import { PREPARES_CACHED_MAX } from '../log/prepare-cache.ts';
import type { Parts } from '../parts.ts';
import {
  buildPeerMessage,
  HEADERS_PER_MESSAGE_MAX,
  isPrepareHeader,
  peerHeaders,
  peersOf,
} from '../peer-message.ts';
import { REPAIR_RETRY_NS } from '../timing/intervals.ts';
import { RepairBudget } from '../timing/repair-budget.ts';
import { HEADER_MESSAGES_MAX } from './responder.ts';

/** Operations of which it is known since when they are missing. */
const WAITS = 64;
const PATIENCE_START_NS = 5_000_000;
const PATIENCE_MAX_NS = 1_000_000_000;
/** Operations above what is executed that are looked at: those that are kept in memory. */
export const LOOKED_AT_MAX: number = PREPARES_CACHED_MAX;

export class Repair {
  readonly #parts: Parts;
  readonly #budget: RepairBudget;
  /** Since when op k is known to be missing, at k mod WAITS. */
  readonly #missingOps: Float64Array = new Float64Array(WAITS).fill(-1);
  readonly #missingSinceNs: Float64Array = new Float64Array(WAITS);
  /** Operation k has come and could not be believed, at k mod WAITS; and when. */
  readonly #refusedOps: Float64Array = new Float64Array(WAITS).fill(-1);
  readonly #refusedNs: Float64Array = new Float64Array(WAITS);
  /** How much later than its successor a prepare comes when nothing is wrong, and its variation. */
  #lateNs: number = 0;
  #lateVarNs: number = 0;
  /** No headers are asked for before this. */
  #headersNs: number = 0;
  /** The lowest operation whose header the last request for headers can bring. */
  #headersLow: number = 0;
  /** Operations up to this one are of older views: to be asked for by name, or for nothing. */
  #olderHigh: number = 0;
  /** Something may have changed since the last look. */
  #isStale: boolean = true;

  constructor(parts: Parts) {
    this.#parts = parts;
    const { replica, replicaCount } = parts.member;
    this.#budget = new RepairBudget({ replica, replicaCount, prng: parts.prng });
  }

  /** A prepare has come that is not the next one: {@link advance} looks at what is missing. */
  onArrival(): void {
    this.#isStale = true;
  }

  /** The journal has room for one more. */
  onDurable(): void {
    const { deadlines, journal } = this.#parts;
    // While nothing is missing nobody waits for that.
    if (deadlines.isSet('repair') && journal.room > this.#budget.outstanding) this.#isStale = true;
  }

  onPeerDown(replica: number): void {
    this.#budget.forget(replica);
    this.#isStale = true;
  }

  onDeadline(): void {
    this.#budget.expire(this.#parts.outbox.now.monoNs);
    this.#isStale = true;
  }

  /** The log has become another one. */
  reset(): void {
    this.#missingOps.fill(-1);
    this.#refusedOps.fill(-1);
    this.#headersNs = 0;
    this.#olderHigh = 0;
    this.#isStale = true;
  }

  /** Looks for what is missing and asks for it; called at the end of every step. */
  advance(): void {
    const { deadlines, outbox, log, state } = this.#parts;
    if (!this.#isStale || !this.#isActive()) return;
    this.#isStale = false;
    this.#budget.roundTripNs = this.#parts.peers.roundTripMaxNs;
    const nowNs = outbox.now.monoNs;
    let nextNs = Number.POSITIVE_INFINITY;
    let missingLow = -1;
    let missingHigh = -1;
    const high = Math.min(log.head, state.commitMin + LOOKED_AT_MAX);
    for (let op = state.commitMin + 1; op <= high; op++) {
      if (this.#isHere(op)) continue;
      const dueNs = this.#dueNs(op, nowNs);
      nextNs = Math.min(nextNs, Math.max(dueNs, nowNs + REPAIR_RETRY_NS / 4));
      if (dueNs > nowNs) continue;
      if (!log.isCanonical(op)) {
        if (missingLow < 0) missingLow = op;
        missingHigh = op;
      }
      this.#ask(op, nowNs);
    }
    if (high < log.head && log.chainLow > high) {
      missingLow = missingLow < 0 ? high + 1 : missingLow;
      missingHigh = log.chainLow - 1;
    }
    // A gap of one is asked for by what the operation above it says.
    const isNamed = missingLow === missingHigh && log.isCanonical(missingHigh + 1);
    if (missingLow >= 0 && !isNamed) this.#askHeaders(missingLow, missingHigh, nowNs);
    // Beyond the window more may be missing: it moves on with what is executed.
    if (missingLow < 0 && nextNs === Number.POSITIVE_INFINITY && high === log.head) {
      deadlines.clear('repair');
      return;
    }
    const expiryNs = Math.min(nextNs, this.#budget.nextExpiryNs, nowNs + REPAIR_RETRY_NS);
    deadlines.set('repair', Math.max(expiryNs, nowNs + 1_000_000));
  }

  /** Whether every operation above what is executed is chained to the head. */
  areHeadersComplete(): boolean {
    const { log, state } = this.#parts;
    return log.chainLow <= state.commitMin + 1;
  }

  /** A prepare that is not the next of the view; the caller keeps its reference. */
  onPrepare(from: number, message: Message): void {
    const { log, state, member, backup, outbox, journal } = this.#parts;
    const { bytes } = message;
    const op = opOf(bytes);
    this.#budget.received(op, outbox.now.monoNs, from);
    this.#isStale = true;
    if (!this.#isActive() || op > log.head) return;
    if (member.isNormalBackup && readView(bytes) === member.view) {
      this.#learn(from, op);
      backup.forward(from, message);
    }
    const known = log.has(op, bytes, 0);
    if (known && log.isClean(op)) {
      // The primary asks again because it does not know.
      backup.sendOk(op);
      if (!log.isCanonical(op)) this.#refuse(op, bytes);
      return;
    }
    if (op <= state.commitMin) return;
    if (known && !log.isCanonical(op)) {
      this.#refuse(op, bytes);
      return;
    }
    if (!known) {
      const header = bytes.subarray(0, HEADER_SIZE);
      if (!log.accepts(header)) {
        this.#refuse(op, bytes);
        return;
      }
      const other = log.header(op);
      if (
        other !== null &&
        readView(other) === readView(bytes) &&
        readView(bytes) === member.view
      ) {
        outbox.halt('diverged', `two prepares of operation ${op} in view ${member.view}`);
        return;
      }
      log.set(header);
    }
    if (journal.isWriting(op, bytes, 0) || !journal.canWrite) return;
    this.#take(from, message);
  }

  /** What has come is not known to be the one: its header has to come first. */
  #refuse(op: number, bytes: Uint8Array): void {
    const { member, outbox } = this.#parts;
    this.#refusedOps[op % WAITS] = op;
    this.#refusedNs[op % WAITS] = outbox.now.monoNs;
    // Nor are those before it of this view.
    if (readView(bytes) < member.logView) this.#olderHigh = Math.max(this.#olderHigh, op);
  }

  /** Headers that somebody has sent. */
  onHeaders(from: number, bytes: Uint8Array): void {
    const { member, log, state, pool, backup } = this.#parts;
    const headers = peerHeaders(bytes);
    if (headers === null || !this.#isActive()) return;
    this.#isStale = true;
    for (const header of headers) {
      if (!isPrepareHeader(header, pool.checksum)) return;
      const op = opOf(header);
      const isOfPrimary = from === member.primary && readView(header) === member.view;
      if (member.isNormalBackup && isOfPrimary && op > log.head) {
        backup.onAnnounced(header);
        continue;
      }
      if (op <= state.commitMin || op > log.head || log.has(op, header, 0)) continue;
      if (!log.accepts(header)) continue;
      log.set(header);
      // There may be more where it came from.
      if (op <= this.#headersLow) this.#headersNs = 0;
      this.#parts.outbox.trace('debug', 'repair-header', { op });
    }
  }

  #isActive(): boolean {
    const { member, viewChange } = this.#parts;
    if (member.isSolo) return false;
    return member.isNormal || viewChange.isRepairing;
  }

  /** A prepare is taken into the log: written, kept, acknowledged when it is durable. */
  #take(from: number, message: Message): void {
    const { cache, state, journal, outbox, heldRequests } = this.#parts;
    const { bytes } = message;
    const op = opOf(bytes);
    cache.put(message, state.commitMin);
    journal.write(message);
    heldRequests.onPrepared(bytes);
    outbox.trace('debug', 'repair-prepare', { op, from });
  }

  #isHere(op: number): boolean {
    const { log, cache, journal } = this.#parts;
    const header = log.header(op);
    if (header === null || !log.isCanonical(op)) return false;
    if (log.isClean(op) || journal.isWriting(op, header, 0)) return true;
    const cached = cache.find(op, header, 0);
    if (cached === null || !journal.canWrite) return false;
    journal.write(cached);
    return true;
  }

  /** When a missing prepare is to be asked for. */
  #dueNs(op: number, nowNs: number): number {
    const { member, topology, log } = this.#parts;
    const slot = op % WAITS;
    if (this.#missingOps[slot] !== op) {
      this.#missingOps[slot] = op;
      this.#missingSinceNs[slot] = nowNs;
    }
    if (!member.isNormalBackup || op + PIPELINE_MAX < log.head) return nowNs;
    const header = log.header(op);
    if (header !== null && readView(header) !== member.view) return nowNs;
    const path = topology.path(member.view, op, member.replica);
    const upstream = path.at(-1) ?? member.primary;
    if (this.#parts.backup.hasPassed(upstream, op) || this.isCutOff(op)) return nowNs;
    return this.#missingSinceNs[slot] + this.patienceNs(op);
  }

  /** Whether somebody on the way of `op` to this replica is known to be gone. */
  isCutOff(op: number): boolean {
    const { topology, member, peers } = this.#parts;
    const path = topology.path(member.view, op, member.replica);
    return path.some((replica) => peers.isDown(replica));
  }

  /** How long to wait for a prepare that others have overtaken. */
  patienceNs(op: number): number {
    const { topology, member, peers } = this.#parts;
    const { length } = topology.path(member.view, op, member.replica);
    const wayNs = ((length + 1) * peers.roundTripNs) / 2 + 4 * peers.roundTripVarNs;
    const ns = Math.max(wayNs + PATIENCE_START_NS, this.#lateNs + 4 * this.#lateVarNs);
    return Math.min(ns, PATIENCE_MAX_NS);
  }

  /** What was missing comes after all, the way it should. */
  #learn(from: number, op: number): void {
    const { topology, member, outbox } = this.#parts;
    const slot = op % WAITS;
    if (this.#missingOps[slot] !== op) return;
    const path = topology.path(member.view, op, member.replica);
    if (from !== (path.at(-1) ?? member.primary)) return;
    this.#missingOps[slot] = -1;
    const lateNs = outbox.now.monoNs - this.#missingSinceNs[slot];
    this.#lateVarNs = (3 * this.#lateVarNs + Math.abs(lateNs - this.#lateNs)) / 4;
    this.#lateNs = (7 * this.#lateNs + lateNs) / 8;
  }

  #ask(op: number, nowNs: number): void {
    const { log, viewChange, outbox, journal } = this.#parts;
    // What comes must find room in the journal.
    if (journal.room <= this.#budget.outstanding) return;
    // One answer is enough, unless a whole cluster waits for it.
    if (!viewChange.isRepairing && this.#budget.isAsked(op)) return;
    const header = log.header(op);
    const above = op < log.head && log.isCanonical(op + 1) ? log.header(op + 1) : null;
    const checksum =
      above?.subarray(PrepareOffset.parent, PrepareOffset.parent + 16) ??
      (header !== null && log.isCanonical(op) ? header.subarray(0, 16) : null);
    // Without a checksum only a primary of the same view can be believed, and only of its view.
    if (checksum === null && (viewChange.isRepairing || op <= this.#olderHigh)) return;
    const slot = op % WAITS;
    const isRefused = this.#refusedOps[slot] === op;
    if (checksum === null && isRefused && nowNs < this.#refusedNs[slot] + REPAIR_RETRY_NS) return;
    const times = viewChange.isRepairing ? 2 : 1;
    for (let i = 0; i < times; i++) {
      const replica = this.#budget.take(op, nowNs, this.#holders(op));
      if (replica < 0) return;
      this.#request(replica, Command.requestPrepare, { op, ...(checksum ? { checksum } : {}) });
      outbox.trace('debug', 'repair-asked', { op, replica });
    }
  }

  /** Connected replicas that probably have the operation: bit i ↔ replica i. */
  #holders(op: number): number {
    const { peers, member, topology, commits } = this.#parts;
    const up = peers.upMask;
    if (!member.isNormalBackup || op <= commits.commitMax) return up;
    // Who is on its way from the primary had it before; who comes after a dead one has not.
    let mask = 1 << member.primary;
    for (const replica of topology.path(member.view, op, member.replica)) {
      if (peers.isDown(replica)) break;
      mask |= 1 << replica;
    }
    return (mask & up) === 0 ? up : mask & up;
  }

  #askHeaders(low: number, high: number, nowNs: number): void {
    const { peers, prng } = this.#parts;
    if (nowNs < this.#headersNs) return;
    const mask = peers.upMask;
    const candidates = [...peersOf(mask)];
    if (candidates.length === 0) return;
    const replica = candidates[prng.below(candidates.length)];
    this.#headersNs = nowNs + Math.max(REPAIR_RETRY_NS, peers.roundTripMaxNs);
    this.#headersLow = Math.max(low, high + 1 - HEADER_MESSAGES_MAX * HEADERS_PER_MESSAGE_MAX);
    this.#request(replica, Command.requestHeaders, { op: low, opHead: high });
  }

  #request(
    replica: number,
    command: Command,
    fields: { readonly op: number; readonly opHead?: number; readonly checksum?: Uint8Array },
  ): void {
    const { pool, peers, member } = this.#parts;
    const message = member.isViewDurable ? pool.acquire('small') : null;
    if (message === null) return;
    buildPeerMessage(message.bytes, command, member.author(), fields, pool.checksum);
    peers.send(replica, message);
  }
}
