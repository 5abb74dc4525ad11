/**
 * Which part an event of a recovered replica is for. Also the first moment after recovery, when a
 * replica takes the role that its file gives it.
 */
import type { ConnectionId, Event } from '../engine/index.ts';
import { unreachable } from '../stdx/index.ts';
import { Command, type Message, readCommand, readReplica, readView } from '../wire/index.ts';
import type { DeadlineName } from './deadlines.ts';
import type { Parts } from './parts.ts';
import type { Recovery } from './recovery/recovery.ts';
import { VIEW_RESEND_NS } from './timing/intervals.ts';

export class Dispatch {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** The file is read: who are we? */
  open(recovery: Recovery): void {
    const { member, primary, backup, viewChange, outbox, deadlines, startView } = this.#parts;
    if (member.isSolo) {
      member.enterNormal(member.view);
      primary.open();
      return;
    }
    deadlines.set('ping', outbox.now.monoNs);
    if (!recovery.isHeadCertain) {
      member.enterRecoveringHead();
      outbox.trace('warn', 'recovering-head', { view: member.view });
      deadlines.set('view-resend', outbox.now.monoNs + VIEW_RESEND_NS);
      startView.requestFromAll();
    } else if (member.logView < member.view) {
      viewChange.resume();
    } else if (member.isPrimary) {
      // Something may have been committed here that was never durable here.
      outbox.trace('info', 'primary-restarted', { view: member.view });
      viewChange.enter(member.view + 1);
    } else {
      member.enterNormal(member.view);
      backup.open();
    }
  }

  onClient(connection: ConnectionId, message: Message): void {
    this.#parts.admission.onMessage(connection, message);
  }

  onPeer(event: Event & { readonly type: 'peer-up' | 'peer-down' }): void {
    const { peers, primary, viewChange, repair, member } = this.#parts;
    if (event.type === 'peer-up') {
      peers.onUp(event.replica, event.replicaId);
      const isMet = peers.isUp(event.replica) && member.status !== 'recovering';
      if (isMet) {
        viewChange.onPeerUp(event.replica);
        primary.onPeerUp(event.replica);
      }
      repair.onArrival();
    } else {
      peers.onDown(event.replica);
      repair.onPeerDown(event.replica);
      viewChange.onPeerDown(event.replica);
    }
  }

  /** A message over a proven link; takes over the reference. */
  onPeerMessage(from: number, message: Message): void {
    const { backup, admission, pool, peers } = this.#parts;
    const { bytes } = message;
    if (peers.isStranger(from)) {
      pool.release(message);
      return;
    }
    peers.onHeard(from);
    const command = readCommand(bytes);
    if (command === Command.prepare) {
      backup.onPrepare(from, message);
      return;
    }
    if (command === Command.request) {
      admission.onForwarded(message);
      return;
    }
    if (readReplica(bytes) === from) this.#onControl(from, command, bytes);
    pool.release(message);
  }

  onWake(): void {
    const { deadlines, outbox } = this.#parts;
    for (const name of deadlines.take(outbox.now.monoNs)) {
      if (outbox.halted) return;
      this.#onDeadline(name);
    }
  }

  /** An update of the superblock is durable: what waited for it may be said. */
  onSuperblock(): void {
    const { backup, primary, viewChange, sync, outbox, startView } = this.#parts;
    sync.onSuperblock();
    if (outbox.halted) return;
    viewChange.onSuperblock();
    primary.acknowledgeOwn();
    backup.onSuperblock();
    startView.onSuperblock();
  }

  #onControl(from: number, command: number, bytes: Uint8Array): void {
    const { backup, primary, viewChange, startView, responder, repair, peers } = this.#parts;
    const { member, sync } = this.#parts;
    const isCurrent = readView(bytes) === member.view;
    switch (command) {
      case Command.ping:
        peers.onPing(from, bytes);
        viewChange.onViewSeen(readView(bytes));
        break;
      case Command.pong:
        peers.onPong(from, bytes);
        viewChange.onViewSeen(readView(bytes));
        break;
      case Command.prepareOk:
        if (isCurrent && peers.isTrusted(from)) primary.onPrepareOk(from, bytes);
        break;
      case Command.commit:
        if (member.primaryOf(readView(bytes)) === from) backup.onCommit(bytes);
        break;
      case Command.startViewChange:
        viewChange.onStartViewChange(from, bytes);
        break;
      case Command.doViewChange:
        viewChange.onDoViewChange(from, bytes);
        break;
      case Command.startView:
        startView.onStartView(from, bytes);
        break;
      case Command.requestStartView:
        startView.onRequest(from, bytes);
        break;
      case Command.requestHeaders:
        responder.onRequestHeaders(from, bytes);
        break;
      case Command.headers:
        repair.onHeaders(from, bytes);
        break;
      case Command.requestPrepare:
        responder.onRequestPrepare(from, bytes);
        break;
      case Command.requestBlocks:
        sync.onRequest(from, bytes);
        break;
      case Command.block:
        sync.onBlock(from, bytes);
        break;
      default:
        this.#parts.outbox.trace('warn', 'unexpected-command', { from, command });
    }
  }

  #onDeadline(name: DeadlineName): void {
    const { primary, backup, peers, viewChange, repair, startView, heldRequests } = this.#parts;
    switch (name) {
      case 'pulse':
        primary.onPulse();
        break;
      case 'ping':
        peers.onPingDeadline();
        break;
      case 'prepare':
        primary.onPrepareTimeout();
        break;
      case 'heartbeat':
        primary.onHeartbeat();
        break;
      case 'detector':
        backup.onDetector();
        break;
      case 'abdicate':
        primary.onAbdicate();
        break;
      case 'relief':
        this.#parts.relief.onDeadline();
        break;
      case 'votes-expire':
        viewChange.onVotesExpire();
        break;
      case 'view-resend':
        viewChange.onResend();
        break;
      case 'view-status':
        viewChange.onStatus();
        break;
      case 'repair':
        repair.onDeadline();
        break;
      case 'behind':
        startView.onBehind();
        break;
      case 'held-requests':
        heldRequests.onDeadline();
        break;
      case 'sync':
        this.#parts.sync.onDeadline();
        break;
      default:
        unreachable(name);
    }
  }
}
