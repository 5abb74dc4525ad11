/**
 * A replica: holds the parts, hands each event to the part it is for, and asserts what must hold
 * between them. It decides nothing; each file of this room owns one sub-protocol and its state.
 *
 * The life of a replica: a driver reads the superblock area, makes a pool and a replica from it, and
 * steps it with `open`. Recovery runs, the effect `ready` follows, and from then on the replica
 * serves. After the effect `halt` it does nothing any more.
 */
import type {
  Effect,
  Engine,
  Event,
  Instant,
  Machine,
  StorageError,
  TimerName,
} from '../engine/index.ts';
import { assert, toHex, unreachable } from '../stdx/index.ts';
import type { MessagePool } from '../wire/index.ts';
import { Admission, type Standing } from './admission.ts';
import { Checkpoints } from './checkpoint.ts';
import { Counters, type DropReason, type RefuseReason } from './counters.ts';
import type { SuperblockRead } from './file/superblock-codec.ts';
import { Journal } from './journal.ts';
import { Normal } from './normal.ts';
import { Outbox, Part } from './outbox.ts';
import { type Harness, Recovery } from './recovery.ts';
import { ReplicatedState } from './state.ts';
import { SuperblockStore } from './superblock.ts';

/** What this program calls itself towards clients: 0.17.9. */
export const RELEASE = 0x1109;
/** Oldest client that is served: 0.17.0. */
export const RELEASE_CLIENT_MIN = 0x1100;

export interface ReplicaOptions {
  /** Made with `poolSizes(superblock.geometry)`; shared with the driver's framers. */
  readonly pool: MessagePool;
  /** A machine that has applied nothing. */
  readonly machine: Machine;
  /** What `readSuperblock` found, successfully. */
  readonly superblock: SuperblockRead & { readonly ok: true };
  /** Announced to clients, which must not be newer. Default {@link RELEASE}. */
  readonly release?: number;
  /** Default {@link RELEASE_CLIENT_MIN}. */
  readonly releaseClientMin?: number;
  /** For tests that replay recorded bytes on a fresh file. */
  readonly harness?: Harness;
}

export interface ReplicaStatus {
  readonly role: 'primary' | 'recovering' | 'halted';
  /** Hexadecimal, as stored. */
  readonly cluster: string;
  readonly replica: number;
  readonly replicaCount: number;
  readonly release: number;
  readonly view: number;
  /** Head of the log. */
  readonly op: number;
  /** Executed here. */
  readonly commitMin: number;
  /** Known to be committed. */
  readonly commitMax: number;
  /** Durable in the log. */
  readonly opDurable: number;
  readonly checkpoint: { readonly op: number; readonly root: string; readonly id: string };
  /** Of everything executed. */
  readonly digest: string;
  readonly sessions: number;
  readonly queued: number;
  readonly isReadOnly: boolean;
  readonly dropped: { readonly [reason in DropReason]: number };
  readonly refused: { readonly [reason in RefuseReason]: number };
}

export class Replica implements Engine {
  readonly #pool: MessagePool;
  readonly #release: number;
  readonly #outbox: Outbox = new Outbox();
  readonly #counters: Counters = new Counters();
  readonly #superblock: SuperblockStore;
  readonly #state: ReplicatedState;
  readonly #journal: Journal;
  readonly #admission: Admission;
  readonly #normal: Normal;
  readonly #recovery: Recovery;

  constructor(options: ReplicaOptions) {
    const { pool, machine } = options;
    const outbox = this.#outbox;
    const { geometry, replicaCount } = options.superblock.superblock;
    assert(replicaCount === 1, 'Replica: more than one replica comes with part 2');
    assert(pool.requestSlotSize >= geometry.slotSize, 'Replica: pool and geometry disagree');
    this.#pool = pool;
    this.#release = options.release ?? RELEASE;
    const superblock = new SuperblockStore(options.superblock, outbox, pool.checksum);
    const state = new ReplicatedState(machine, pool, geometry.requestSizeMax);
    const journal = new Journal({ geometry, outbox, replicaCount });
    const checkpoints = new Checkpoints({ geometry, superblock });
    const admission = new Admission({
      pool,
      outbox,
      counters: this.#counters,
      state,
      requestSizeMax: geometry.requestSizeMax,
      releaseClientMin: options.releaseClientMin ?? RELEASE_CLIENT_MIN,
    });
    const harness = options.harness ?? null;
    const hasPulses = harness?.hasPulses ?? true;
    this.#normal = new Normal({
      pool,
      outbox,
      state,
      journal,
      admission,
      checkpoints,
      hasPulses,
    });
    this.#recovery = new Recovery({ outbox, superblock, state, journal, harness });
    this.#superblock = superblock;
    this.#state = state;
    this.#journal = journal;
    this.#admission = admission;
  }

  step(event: Event, now: Instant): readonly Effect[] {
    this.#outbox.begin(now);
    if (this.#outbox.halted) {
      if (event.type === 'message' || event.type === 'oversize') this.#pool.release(event.message);
      return this.#outbox.effects();
    }
    const wasServing = this.#recovery.isDone;
    this.#dispatch(event);
    if (!wasServing && this.#recovery.isDone && !this.#outbox.halted) {
      this.#normal.open();
      this.#outbox.ready();
    }
    if (this.#recovery.isDone && !this.#outbox.halted) this.#normal.advance(this.#standing());
    return this.#outbox.effects();
  }

  status(): ReplicaStatus {
    const { current } = this.#superblock;
    const role = this.#recovery.isDone ? 'primary' : 'recovering';
    return {
      role: this.#outbox.halted ? 'halted' : role,
      cluster: toHex(current.cluster),
      replica: current.replica,
      replicaCount: current.replicaCount,
      release: this.#release,
      view: current.view,
      op: this.#normal.op,
      commitMin: this.#state.commitMin,
      commitMax: this.#journal.opDurable,
      opDurable: this.#journal.opDurable,
      checkpoint: {
        op: current.checkpoint.op,
        root: toHex(current.checkpoint.root),
        id: toHex(current.checkpoint.id),
      },
      digest: toHex(this.#state.digest),
      sessions: this.#state.sessions.count,
      queued: this.#admission.queueLength,
      isReadOnly: false,
      dropped: { ...this.#counters.dropped },
      refused: { ...this.#counters.refused },
    };
  }

  invariants(): void {
    this.#admission.invariants();
    this.#journal.invariants();
    if (this.#recovery.isDone) this.#normal.invariants();
  }

  /** At the end of a life: gives back every message that the replica holds. */
  releaseMessages(): void {
    this.#normal.releaseMessages();
    this.#admission.releaseMessages();
    this.#state.sessions.releaseMessages();
  }

  #dispatch(event: Event): void {
    switch (event.type) {
      case 'open':
        this.#recovery.onOpen();
        break;
      case 'message':
        this.#admission.onMessage(event.connection, event.message, this.#standing());
        break;
      case 'oversize':
        this.#admission.onOversize(event.connection, event.message, this.#standing());
        break;
      case 'disconnected':
        this.#admission.onDisconnected(event.connection);
        break;
      case 'timer':
        this.#onTimer(event.timer);
        break;
      case 'written':
        this.#onWritten(event.token, event.error);
        break;
      case 'read':
        break;
      case 'flushed':
        this.#recovery.onFlushed();
        break;
      default:
        unreachable(event);
    }
  }

  #onTimer(timer: TimerName): void {
    switch (timer) {
      case 'pulse':
        this.#normal.onPulse();
        break;
      case 'commit':
        this.#normal.onCommitTimer();
        break;
      default:
        unreachable(timer);
    }
  }

  #onWritten(token: number, error: StorageError | null): void {
    if (error !== null) {
      this.#outbox.halt('storage-failed', 'a write failed');
      return;
    }
    const part = this.#outbox.partOf(token);
    switch (part) {
      case Part.journal:
        this.#journal.onWritten(token);
        break;
      case Part.superblock:
        if (this.#superblock.onWritten(token)) this.#recovery.onSuperblock();
        break;
      case Part.checkpoint:
      case Part.recovery:
        break;
      default:
        unreachable(part);
    }
  }

  #standing(): Standing {
    const { current } = this.#superblock;
    return {
      isServing: this.#recovery.isDone,
      isReadOnly: false,
      author: {
        cluster: current.cluster,
        view: current.view,
        replica: current.replica,
        release: this.#release,
      },
      pipeline: this.#normal.pipeline,
    };
  }
}
