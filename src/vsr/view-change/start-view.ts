/**
 * StartView: the primary tells which log its view has, from the head down to something certainly
 * committed; backups make it theirs. Also the answer to whoever asks, because it has missed the
 * beginning or has fallen behind.
 *
 * A backup that lags may have no room for the head: it takes the highest header that fits. For
 * those the primary adds one or two headers further down, where logs of older checkpoints end.
 */
import { PIPELINE_MAX } from '../../engine/index.ts';
import { assert, bytesEqual, isZero, writeU32 } from '../../stdx/index.ts';
import { Command, HEADER_SIZE, PeerOffset, readView } from '../../wire/index.ts';
import { checkpointInterval, isCheckpoint, prepareMax } from '../file/geometry.ts';
import { opOf } from '../log/log.ts';
import type { Parts } from '../parts.ts';
import { buildPeerMessage, isPrepareHeader, peerHeaders, peerNumber } from '../peer-message.ts';
import type { ToldLog } from '../sync/sync.ts';
import { BEHIND_MAX_NS, BEHIND_NS } from '../timing/intervals.ts';

export class StartView {
  readonly #parts: Parts;
  /** Ours, in requests: an answer that carries it was given after we asked. */
  readonly #nonce: Uint8Array = new Uint8Array(16);
  #isAnnounced: boolean = false;
  #behindNs: number = BEHIND_NS;

  constructor(parts: Parts) {
    this.#parts = parts;
    for (let i = 0; i < 16; i += 4) writeU32(this.#nonce, i, parts.prng.u32());
  }

  /** Another log was chosen. */
  reset(): void {
    this.#isAnnounced = false;
  }

  /** Tells everybody, once. */
  announce(): void {
    const { member } = this.#parts;
    if (this.#isAnnounced) return;
    this.#isAnnounced = true;
    for (let replica = 0; replica < member.replicaCount; replica++) {
      if (replica !== member.replica) this.sendTo(replica, null, null);
    }
  }

  /** Tells one replica, if we are the one to tell; `checkpointOp`: of its last checkpoint. */
  sendTo(replica: number, nonce: Uint8Array | null, checkpointOp: number | null): void {
    const { member, pool, peers, commits, superblock, log, viewChange } = this.#parts;
    const isElect = viewChange.isRepairing && this.#isAnnounced;
    if (!member.isNormalPrimary && !isElect) return;
    if (!member.isLogViewDurable) return;
    const headers = this.#headers(checkpointOp);
    if (headers.length === 0) return;
    const message = pool.acquire('small');
    if (message === null) return;
    const fields = {
      op: log.head,
      commitMax: commits.commitMax,
      checkpointOp: superblock.current.checkpoint.op,
      opHead: this.#opLow(),
      ...(nonce === null ? {} : { nonce }),
    };
    const author = member.author();
    buildPeerMessage(message.bytes, Command.startView, author, fields, pool.checksum, headers);
    peers.send(replica, message);
  }

  /** Asks a replica which log its view has. */
  request(replica: number): void {
    const { member, pool, peers, log, state, superblock } = this.#parts;
    const message = pool.acquire('small');
    if (message === null) return;
    const fields = {
      nonce: this.#nonce,
      op: log.head,
      commitMin: state.commitMin,
      checkpointOp: superblock.current.checkpoint.op,
    };
    const author = member.authorDurable();
    buildPeerMessage(message.bytes, Command.requestStartView, author, fields, pool.checksum);
    peers.send(replica, message);
  }

  requestFromAll(): void {
    const { member } = this.#parts;
    for (let replica = 0; replica < member.replicaCount; replica++) {
      if (replica !== member.replica) this.request(replica);
    }
  }

  onRequest(from: number, bytes: Uint8Array): void {
    const nonce = bytes.subarray(PeerOffset.nonce, PeerOffset.nonce + 16);
    this.sendTo(from, nonce, peerNumber(bytes, PeerOffset.checkpointOp));
  }

  /** More is committed than the log here knows of; perhaps it is on its way. */
  watch(): void {
    const { member, commits, log, deadlines, outbox, sync } = this.#parts;
    if (!member.isNormalBackup) return;
    if (commits.commitMax <= log.head && !sync.isStuck) {
      deadlines.clear('behind');
      this.#behindNs = BEHIND_NS;
    } else if (!deadlines.isSet('behind')) {
      const { repair } = this.#parts;
      const op = commits.commitMax;
      const patienceNs = repair.isCutOff(op) ? 0 : repair.patienceNs(op);
      deadlines.set('behind', outbox.now.monoNs + Math.max(this.#behindNs, patienceNs));
    }
  }

  /** The log may have become longer: how it goes on is asked for at once. */
  onSuperblock(): void {
    const { member, commits, log, checkpoints } = this.#parts;
    const { head } = log;
    if (!member.isNormalBackup || commits.commitMax <= head || checkpoints.prepareMax <= head)
      return;
    this.#behindNs = BEHIND_NS;
    this.request(member.primary);
  }

  onBehind(): void {
    const { member, commits, log, sync } = this.#parts;
    const isBehind = commits.commitMax > log.head || sync.isStuck;
    if (!member.isNormalBackup || !isBehind) return;
    this.#behindNs = Math.min(2 * this.#behindNs, BEHIND_MAX_NS);
    this.request(member.primary);
  }

  onStartView(from: number, bytes: Uint8Array): void {
    const { member, pool, log, sync } = this.#parts;
    const view = readView(bytes);
    if (member.status === 'recovering' || view < member.view) return;
    if (member.primaryOf(view) !== from || from === member.replica) return;
    const headers = peerHeaders(bytes);
    if (headers === null || headers.length === 0) return;
    for (const header of headers) if (!isPrepareHeader(header, pool.checksum)) return;
    const isNews = view > member.view || !member.isNormal || opOf(headers[0]) > log.head;
    if (!isNews && !sync.isAsking && !sync.isStuck) return;
    if (member.status === 'recovering-head' && !this.#isTrustworthy(view, bytes)) return;
    const commitMax = peerNumber(bytes, PeerOffset.commitMax);
    const opLow = peerNumber(bytes, PeerOffset.opHead);
    const checkpointOp = peerNumber(bytes, PeerOffset.checkpointOp);
    this.#install(from, opLow, { view, commitMax, headers, checkpointOp });
  }

  /** A message of long ago could hide what was acknowledged since. */
  #isTrustworthy(view: number, bytes: Uint8Array): boolean {
    if (view > this.#parts.superblock.current.view) return true;
    return bytesEqual(bytes, PeerOffset.nonce, this.#nonce, 0, 16) && !isZero(this.#nonce, 0, 16);
  }

  #install(from: number, opLow: number, told: ToldLog): void {
    const { member, log, state, commits, checkpoints, sync, outbox, superblock } = this.#parts;
    const { view, commitMax, headers } = told;
    const fitting = headers.filter((header) => opOf(header) <= checkpoints.prepareMax);
    const head = fitting.length > 0 ? opOf(fitting[0]) : -1;
    if (sync.considers(from, opLow, told)) return;
    if (head < state.commitMin) return;
    for (const header of fitting) {
      const op = opOf(header);
      // What lies below the checkpoint was perhaps never executed here: it came with a copy.
      if (op > state.commitMin || op <= superblock.current.checkpoint.op) continue;
      if (log.header(op) === null || log.has(op, header, 0)) continue;
      outbox.halt('diverged', `operation ${op} is executed here and is another one at the primary`);
      return;
    }
    const isNewView = view > member.view || !member.isNormal;
    if (!isNewView && head <= log.head) {
      commits.learn(commitMax);
      return;
    }
    if (head < log.head) {
      outbox.trace('info', 'log-truncated', { from: log.head, to: head });
      log.truncate(head);
    }
    log.raise(head);
    for (const header of fitting) if (opOf(header) > state.commitMin) log.set(header);
    commits.learn(commitMax);
    this.#behindNs = BEHIND_NS;
    this.#parts.repair.reset();
    if (isNewView) this.#follow(view, headers);
    this.#parts.backup.sendOks();
  }

  /** The view has begun, and somebody else leads it. */
  #follow(view: number, headers: readonly Uint8Array[]): void {
    const { member, superblock, commits, primary, backup, viewChange, heldRequests } = this.#parts;
    primary.close();
    member.enterNormal(view);
    viewChange.onViewStarted();
    this.#parts.outbox.trace('info', 'view-followed', { view, primary: member.primary });
    superblock.update({
      view,
      logView: view,
      viewHeaders: headers.map((header) => header.slice()),
      commitMax: Math.max(superblock.newest.commitMax, commits.commitMax),
      isRecovered: false,
    });
    this.#parts.admission.onOfficeLost();
    backup.open();
    heldRequests.onFollow();
  }

  /** The lowest operation that can still be had here. */
  #opLow(): number {
    const { log, history, geometry } = this.#parts;
    const low = Math.max(log.chainLow, log.head - geometry.slots + 1);
    const isJoined = history.high >= low - 1 && history.low <= history.high;
    return isJoined ? Math.min(low, history.low) : low;
  }

  /** P + 1 from the head down, and below them where logs of older checkpoints end. */
  #headers(checkpointOp: number | null): Uint8Array[] {
    const { log, checkpoints, geometry, history } = this.#parts;
    const headers: Uint8Array[] = [];
    const low = log.chainLow;
    for (let op = log.head; op >= low && headers.length <= PIPELINE_MAX; op--) {
      const header = log.header(op);
      assert(header !== null, 'StartView: a hole in the chain');
      headers.push(header);
    }
    if (headers.length === 0) return headers;
    const bottom = log.head - headers.length + 1;
    if (checkpointOp !== null && isCheckpoint(geometry, checkpointOp)) {
      const op = prepareMax(geometry, checkpointOp);
      const known = op >= low ? log.header(op) : null;
      const hook = op < bottom ? (known ?? history.find(op)) : null;
      if (hook !== null) headers.push(hook.subarray(0, HEADER_SIZE));
      return headers;
    }
    for (let back = 1; back <= 2; back++) {
      const op = checkpoints.prepareMax - back * checkpointInterval(geometry);
      const hook = op < bottom && op >= low ? log.header(op) : null;
      if (hook !== null) headers.push(hook);
    }
    return headers;
  }
}
