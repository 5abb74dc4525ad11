/**
 * A replica: makes the parts, hands each event to the part it is for, and asserts what must hold
 * between them. It decides nothing; each file of this room owns one sub-protocol and its state.
 *
 * The life of a replica: a driver reads the superblock area, makes a pool and a replica from it,
 * and steps it with `open`. Recovery runs, the effect `ready` follows, and from then on the replica
 * takes part. After the effects `halt` and `restart` it does nothing any more.
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
  SECTOR_SIZE,
  type StorageError,
} from '../engine/index.ts';
import { assert, Prng, unreachable } from '../stdx/index.ts';
import { createMemory, type Message, type MessagePool } from '../wire/index.ts';
import { Checkpoints } from './checkpoint.ts';
import { Commits } from './commits.ts';
import { Deadlines } from './deadlines.ts';
import { Dispatch } from './dispatch.ts';
import { SUPERBLOCK_COPY_SIZE } from './file/geometry.ts';
import type { SuperblockRead } from './file/superblock-codec.ts';
import { HISTORY_BYTES_MAX, History } from './log/history.ts';
import { Journal } from './log/journal.ts';
import { Log } from './log/log.ts';
import { PrepareCache } from './log/prepare-cache.ts';
import { Member } from './member.ts';
import { Outbox, Part } from './outbox.ts';
import type { Parts } from './parts.ts';
import { Peers } from './peers.ts';
import { type Harness, Recovery } from './recovery/recovery.ts';
import { Repair } from './repair/repair.ts';
import { Responder } from './repair/responder.ts';
import { Backup } from './replication/backup.ts';
import { Primary } from './replication/primary.ts';
import { Relief } from './replication/relief.ts';
import { ReplicatedState } from './state.ts';
import { type ReplicaStatus, statusOf } from './status.ts';
import { SuperblockStore } from './superblock.ts';
import { Sync } from './sync/sync.ts';
import { createTopology, type TopologyName } from './topology/index.ts';
import { StartView } from './view-change/start-view.ts';
import { ViewChange } from './view-change/view-change.ts';

export { RELEASE, RELEASE_CLIENT_MIN };

export const TOPOLOGY_DEFAULT: TopologyName = 'star';

export interface ReplicaOptions {
  /** Made with `poolSizes(superblock.geometry, replicaCount)`; shared with the driver's framers. */
  readonly pool: MessagePool;
  /** A machine that has applied nothing. */
  readonly machine: Machine;
  /** What `readSuperblock` found, successfully. */
  readonly superblock: SuperblockRead & { readonly ok: true };
  /** Seed of jitter and of whom to ask; a driver draws it anew for each life. Default 0. */
  readonly seed?: number;
  /** How prepares travel. Default {@link TOPOLOGY_DEFAULT}. */
  readonly topology?: TopologyName;
  /** Executed prepares kept in memory for those that lag. Default: as the log, 32 MiB at most. */
  readonly historyBytes?: number;
  /** Announced to clients, which must not be newer. Default {@link RELEASE}. */
  readonly release?: number;
  /** Default {@link RELEASE_CLIENT_MIN}. */
  readonly releaseClientMin?: number;
  /** For tests that replay recorded bytes on a fresh file. */
  readonly harness?: Harness;
  /** For tests that plant bugs: gets the parts before anything runs. */
  readonly onParts?: (parts: Parts) => void;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export class Replica implements ReplicaEngine {
  readonly #parts: Parts;
  readonly #release: number;
  readonly #recovery: Recovery;
  readonly #dispatch: Dispatch;
  /** Recovered, and said so. */
  #isReady: boolean = false;

  constructor(options: ReplicaOptions) {
    const { superblock, pool } = options;
    const { geometry } = superblock.superblock;
    assert(pool.requestSlotSize >= geometry.slotSize, 'Replica: pool and geometry disagree');
    this.#release = options.release ?? RELEASE;
    const parts = makeParts(options, this.#release);
    this.#parts = parts;
    const { outbox, state, journal, log, checkpoints, member } = parts;
    this.#recovery = new Recovery({
      pool,
      outbox,
      superblock: parts.superblock,
      state,
      journal,
      log,
      member,
      deadlines: parts.deadlines,
      commits: parts.commits,
      checkpoints,
      harness: options.harness ?? null,
    });
    this.#dispatch = new Dispatch(parts);
    options.onParts?.(parts);
  }

  step(event: Event, now: Instant): readonly Effect[] {
    const { outbox, pool, deadlines, checkpoints } = this.#parts;
    outbox.begin(now);
    if (outbox.halted) {
      if ('message' in event) pool.release(event.message);
      return outbox.effects();
    }
    this.#on(event);
    this.#advance();
    if (!outbox.halted) checkpoints.advance();
    if (!outbox.halted) deadlines.arm(outbox);
    return outbox.effects();
  }

  status(): ReplicaStatus {
    return statusOf(this.#parts, this.#release);
  }

  invariants(): void {
    const { member, admission, journal, log, commits, primary, checkpoints } = this.#parts;
    if (this.#parts.outbox.halted) return;
    member.invariants();
    admission.invariants();
    journal.invariants();
    checkpoints.invariants();
    if (!this.#isReady) return;
    log.invariants();
    commits.invariants();
    primary.invariants();
  }

  /** At the end of a life: gives back every message that the replica holds. */
  releaseMessages(): void {
    const { checkpoints, journal, cache, admission, heldRequests, state } = this.#parts;
    this.#recovery.releaseMessages();
    checkpoints.releaseMessages();
    journal.releaseMessages();
    cache.releaseMessages();
    admission.releaseMessages();
    heldRequests.releaseMessages();
    this.#parts.sync.releaseMessages();
    state.sessions.releaseMessages();
  }

  /** Lets every part go on as far as it can with what the event has brought. */
  #advance(): void {
    const { outbox, primary, commits, repair, viewChange } = this.#parts;
    if (outbox.halted) return;
    if (!this.#recovery.isDone) this.#recovery.advance();
    if (!this.#recovery.isDone || outbox.halted) return;
    if (!this.#isReady) {
      this.#isReady = true;
      this.#dispatch.open(this.#recovery);
      outbox.ready();
    }
    viewChange.advance();
    primary.advance();
    this.#pumpJournal();
    commits.advance();
    // What was executed makes room for more.
    primary.advance();
    this.#pumpJournal();
    viewChange.advance();
    repair.advance();
    this.#parts.sync.watch();
    this.#parts.startView.watch();
    this.#parts.relief.watch();
    primary.settle();
  }

  /**
   * What a new log writes may destroy what was acknowledged in the old one. So not before a crash
   * would find this replica in the new one.
   */
  #pumpJournal(): void {
    if (this.#parts.member.isLogViewDurable) this.#parts.journal.pump();
  }

  #on(event: Event): void {
    switch (event.type) {
      case 'open':
        this.#recovery.onOpen();
        break;
      case 'message':
        this.#dispatch.onClient(event.connection, event.message);
        break;
      case 'oversize':
        this.#parts.admission.onOversize(event.connection, event.message);
        break;
      case 'disconnected':
        this.#parts.admission.onDisconnected(event.connection);
        break;
      case 'peer-up':
      case 'peer-down':
        this.#dispatch.onPeer(event);
        break;
      case 'peer-message':
        this.#onPeerMessage(event.replica, event.message);
        break;
      case 'timer':
        if (event.timer === 'commit') this.#parts.commits.onTimer();
        else this.#dispatch.onWake();
        break;
      case 'written':
        this.#onWritten(event.token, event.error);
        break;
      case 'read':
        this.#onRead(event.token, event.bytes, event.error);
        break;
      case 'flushed':
        this.#onFlushed(event.token, event.error);
        break;
      default:
        unreachable(event);
    }
  }

  #onPeerMessage(replica: number, message: Message): void {
    // Whoever recovers has nothing to say and cannot judge what it hears.
    if (this.#isReady) this.#dispatch.onPeerMessage(replica, message);
    else this.#parts.pool.release(message);
  }

  #onWritten(token: number, error: StorageError | null): void {
    const { outbox, journal, checkpoints, sync } = this.#parts;
    const part = outbox.partOf(token);
    // Only the growing area may find the disk full; all else was written at format.
    const mayGrow = part === Part.checkpoint || part === Part.sync;
    if (error !== null && !(error === 'no-space' && mayGrow)) {
      this.#fail('write', error);
      return;
    }
    switch (part) {
      case Part.journal:
        journal.onWritten(token);
        break;
      case Part.superblock:
        this.#onSuperblockWritten(token);
        break;
      case Part.checkpoint:
        checkpoints.onWritten(token, error);
        break;
      case Part.recovery:
        this.#recovery.onWritten(token);
        break;
      case Part.sync:
        sync.onWritten(token, error);
        break;
      default:
        unreachable(part);
    }
  }

  #onSuperblockWritten(token: number): void {
    const { superblock, checkpoints } = this.#parts;
    if (!superblock.onWritten(token)) return;
    checkpoints.onSuperblock();
    if (!this.#recovery.isDone) this.#recovery.onSuperblock();
    else this.#dispatch.onSuperblock();
  }

  #onRead(token: number, bytes: Uint8Array, error: StorageError | null): void {
    const { outbox, journal, sync } = this.#parts;
    if (error !== null) {
      this.#fail('read', error);
      return;
    }
    const part = outbox.partOf(token);
    if (part === Part.journal) journal.onRead(token, bytes);
    else if (part === Part.sync) sync.onRead(token, bytes);
    else this.#recovery.onRead(token, bytes);
  }

  #onFlushed(token: number, error: StorageError | null): void {
    const { outbox, checkpoints, sync } = this.#parts;
    if (error !== null) {
      this.#fail('flush', error);
      return;
    }
    const part = outbox.partOf(token);
    if (part === Part.checkpoint) checkpoints.onFlushed();
    else if (part === Part.sync) sync.onFlushed();
    else this.#recovery.onFlushed();
  }

  /** What failed once may not be trusted again: no retry, no further acknowledgement. */
  #fail(action: 'read' | 'write' | 'flush', error: StorageError): void {
    const reason = error === 'io' ? 'input/output error' : 'no space left';
    this.#parts.outbox.halt('storage-failed', `${action} of the data file failed: ${reason}`);
  }
}

/** All parts, each of which has the list of all. */
function makeParts(options: ReplicaOptions, release: number): Parts {
  const { pool, machine, superblock: read } = options;
  const { geometry, replicaCount } = read.superblock;
  // One memory for all that is written and is not a message.
  const sectorsSize = geometry.slots * SECTOR_SIZE;
  const { buffer } = createMemory(sectorsSize + SUPERBLOCK_COPY_SIZE);
  const sectors = new Uint8Array(buffer, 0, sectorsSize);
  const copy = new Uint8Array(buffer, sectorsSize, SUPERBLOCK_COPY_SIZE);
  const outbox = new Outbox((message) => pool.release(message));
  const superblock = new SuperblockStore(read, outbox, pool.checksum, copy);
  const member = new Member(superblock, release);
  const log = new Log(geometry.slots, member);
  const state = new ReplicatedState(machine, pool, geometry.requestSizeMax);
  const parts = { pool, geometry, outbox, superblock, member, log, state } as Mutable<Parts>;
  parts.deadlines = new Deadlines();
  parts.counters = new Counters();
  parts.prng = new Prng(options.seed ?? 0);
  parts.topology = createTopology(options.topology ?? TOPOLOGY_DEFAULT, replicaCount);
  parts.cache = new PrepareCache(pool);
  // No more than the log itself holds; nobody lags behind a single replica.
  const historyBytes = Math.min(HISTORY_BYTES_MAX, geometry.slots * geometry.slotSize);
  parts.history = new History(member.isSolo ? 0 : (options.historyBytes ?? historyBytes));
  parts.checkpoints = new Checkpoints({ geometry, pool, outbox, superblock, state });
  parts.journal = new Journal({
    geometry,
    outbox,
    pool,
    log,
    sectors,
    isSolo: member.isSolo,
    onDurable: (op) => {
      if (member.isPrimary) parts.primary.acknowledgeOwn();
      else parts.backup.onDurable(op);
      parts.repair.onDurable();
    },
    onDamage: (op) => {
      outbox.trace('error', 'prepare-damaged', { op });
      log.markFaulty(op);
      parts.repair.onArrival();
    },
  });
  parts.commits = new Commits(parts);
  parts.peers = new Peers(parts);
  parts.admission = new Admission(parts, {
    requestSizeMax: geometry.requestSizeMax,
    releaseClientMin: options.releaseClientMin ?? RELEASE_CLIENT_MIN,
  });
  parts.heldRequests = new HeldRequests(parts);
  parts.primary = new Primary(parts, options.harness?.hasPulses ?? true);
  parts.backup = new Backup(parts);
  parts.relief = new Relief(parts);
  parts.repair = new Repair(parts);
  parts.responder = new Responder(parts);
  parts.viewChange = new ViewChange(parts);
  parts.startView = new StartView(parts);
  parts.sync = new Sync(parts);
  return parts;
}
