/**
 * A replica: holds the parts, hands each event to the part it is for, and asserts what must hold
 * between them. It decides nothing; each file of this room owns one sub-protocol and its state.
 *
 * The life of a replica: a driver reads the superblock area, makes a pool and a replica from it,
 * and steps it with `open`. Recovery runs, the effect `ready` follows, and from then on the replica
 * serves. After the effect `halt` it does nothing any more.
 */
import {
  type Effect,
  type Engine,
  type Event,
  type Instant,
  type Machine,
  SECTOR_SIZE,
  type StorageError,
  type TimerName,
} from '../engine/index.ts';
import { assert, toHex, unreachable } from '../stdx/index.ts';
import { createMemory, type MessagePool } from '../wire/index.ts';
import { Admission, type Standing } from './admission.ts';
import { Checkpoints } from './checkpoint.ts';
import { Counters } from './counters.ts';
import { SUPERBLOCK_COPY_SIZE } from './file/geometry.ts';
import type { SuperblockRead } from './file/superblock-codec.ts';
import { Journal } from './journal.ts';
import { Normal } from './normal.ts';
import { Outbox, Part } from './outbox.ts';
import { type Harness, Recovery } from './recovery/recovery.ts';
import { ReplicatedState } from './state.ts';
import type { ReplicaStatus } from './status.ts';
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

export class Replica implements Engine {
  readonly #pool: MessagePool;
  readonly #release: number;
  readonly #outbox: Outbox = new Outbox();
  readonly #counters: Counters = new Counters();
  readonly #superblock: SuperblockStore;
  readonly #state: ReplicatedState;
  readonly #journal: Journal;
  readonly #checkpoints: Checkpoints;
  readonly #admission: Admission;
  readonly #normal: Normal;
  readonly #recovery: Recovery;
  /** Recovered, and said so. */
  #isServing: boolean = false;

  constructor(options: ReplicaOptions) {
    const { pool, machine } = options;
    const outbox = this.#outbox;
    const { geometry, replicaCount } = options.superblock.superblock;
    assert(replicaCount === 1, 'Replica: one replica is all there is yet');
    assert(pool.requestSlotSize >= geometry.slotSize, 'Replica: pool and geometry disagree');
    this.#pool = pool;
    this.#release = options.release ?? RELEASE;
    // One memory for all that is written and is not a message.
    const sectorsSize = geometry.slots * SECTOR_SIZE;
    const { buffer } = createMemory(sectorsSize + SUPERBLOCK_COPY_SIZE);
    const sectors = new Uint8Array(buffer, 0, sectorsSize);
    const copy = new Uint8Array(buffer, sectorsSize, SUPERBLOCK_COPY_SIZE);
    const superblock = new SuperblockStore(options.superblock, outbox, pool.checksum, copy);
    const state = new ReplicatedState(machine, pool, geometry.requestSizeMax);
    const journal = new Journal({ geometry, outbox, replicaCount, sectors });
    const checkpoints = new Checkpoints({ geometry, pool, outbox, superblock, state });
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
    this.#recovery = new Recovery({
      pool,
      outbox,
      superblock,
      state,
      journal,
      checkpoints,
      harness,
    });
    this.#superblock = superblock;
    this.#state = state;
    this.#journal = journal;
    this.#checkpoints = checkpoints;
    this.#admission = admission;
  }

  step(event: Event, now: Instant): readonly Effect[] {
    this.#outbox.begin(now);
    if (this.#outbox.halted) {
      if (event.type === 'message' || event.type === 'oversize') this.#pool.release(event.message);
      return this.#outbox.effects();
    }
    this.#dispatch(event);
    this.#advance();
    return this.#outbox.effects();
  }

  status(): ReplicaStatus {
    const { current } = this.#superblock;
    const role = this.#isServing ? 'primary' : 'recovering';
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
      isReadOnly: this.#checkpoints.isReadOnly,
      dropped: { ...this.#counters.dropped },
      refused: { ...this.#counters.refused },
    };
  }

  invariants(): void {
    this.#admission.invariants();
    this.#journal.invariants();
    this.#checkpoints.invariants();
    if (this.#isServing) this.#normal.invariants();
  }

  /** At the end of a life: gives back every message that the replica holds. */
  releaseMessages(): void {
    this.#recovery.releaseMessages();
    this.#checkpoints.releaseMessages();
    this.#normal.releaseMessages();
    this.#admission.releaseMessages();
    this.#state.sessions.releaseMessages();
  }

  /** Lets every part go on as far as it can with what the event has brought. */
  #advance(): void {
    if (this.#outbox.halted) return;
    this.#checkpoints.advance();
    if (!this.#recovery.isDone) this.#recovery.advance();
    if (!this.#recovery.isDone) return;
    if (!this.#isServing) {
      this.#isServing = true;
      this.#normal.open();
      this.#outbox.ready();
    }
    this.#normal.advance(this.#standing());
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
      case 'peer-up':
      case 'peer-down':
        break;
      case 'peer-message':
        this.#pool.release(event.message);
        break;
      case 'timer':
        this.#onTimer(event.timer);
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

  #onTimer(timer: TimerName): void {
    switch (timer) {
      case 'wake':
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
    const part = this.#outbox.partOf(token);
    // Only the growing area may find the disk full; all else was written at format.
    const isExpected = error === null || (error === 'no-space' && part === Part.checkpoint);
    if (!isExpected) {
      this.#fail('write', error);
      return;
    }
    switch (part) {
      case Part.journal:
        this.#journal.onWritten(token);
        break;
      case Part.superblock:
        this.#onSuperblockWritten(token);
        break;
      case Part.checkpoint:
        this.#checkpoints.onWritten(token, error);
        break;
      case Part.recovery:
        this.#recovery.onWritten(token);
        break;
      default:
        unreachable(part);
    }
  }

  #onSuperblockWritten(token: number): void {
    if (!this.#superblock.onWritten(token)) return;
    if (this.#checkpoints.isBusy) this.#checkpoints.onSuperblock();
    else this.#recovery.onSuperblock();
  }

  #onRead(token: number, bytes: Uint8Array, error: StorageError | null): void {
    assert(this.#outbox.partOf(token) === Part.recovery, 'Replica: only recovery reads');
    if (error !== null) {
      this.#fail('read', error);
      return;
    }
    this.#recovery.onRead(token, bytes);
  }

  #onFlushed(token: number, error: StorageError | null): void {
    if (error !== null) {
      this.#fail('flush', error);
      return;
    }
    if (this.#outbox.partOf(token) === Part.checkpoint) this.#checkpoints.onFlushed();
    else this.#recovery.onFlushed();
  }

  /** What failed once may not be trusted again: no retry, no further acknowledgement. */
  #fail(action: 'read' | 'write' | 'flush', error: StorageError): void {
    const reason = error === 'io' ? 'input/output error' : 'no space left';
    this.#outbox.halt('storage-failed', `${action} of the data file failed: ${reason}`);
  }

  #standing(): Standing {
    const { current } = this.#superblock;
    return {
      isServing: this.#isServing,
      isReadOnly: this.#checkpoints.isReadOnly,
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
