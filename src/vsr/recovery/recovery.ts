/**
 * Recovery: from a data file to a replica that takes part. In order: make durable whatever a dead
 * process left in caches; read the log and judge it; restore the checkpoint; write what has to be
 * repaired. Whatever cannot be explained by a crash is damage.
 *
 * One of several replicas then joins the others: what its log lacks it gets from them, and what of
 * its log is committed it learns from them. A single replica has nobody to ask: it replays its log,
 * makes the next view durable, so that no two of its lives ever speak in the same one, and refuses
 * to start, and names the place, rather than start with fewer operations than it acknowledged.
 */
import { PULSE_INTERVAL_NS } from '../../engine/index.ts';
import { assert, bytesEqual } from '../../stdx/index.ts';
import { HEADER_SIZE, type MessagePool } from '../../wire/index.ts';
import type { Checkpoints } from '../checkpoint.ts';
import type { Commits } from '../commits.ts';
import type { Deadlines } from '../deadlines.ts';
import type { ClusterResolution } from '../file/cluster-resolution.ts';
import { headerOffset, prepareOffset } from '../file/geometry.ts';
import type { LogResolution } from '../file/log-resolution.ts';
import type { Journal } from '../log/journal.ts';
import { type Log, opOf } from '../log/log.ts';
import type { Member } from '../member.ts';
import { buildReserved } from '../message.ts';
import { type Outbox, Part } from '../outbox.ts';
import type { ReplicatedState } from '../state.ts';
import type { SuperblockStore } from '../superblock.ts';
import { LogScan } from './log-scan.ts';
import { Replay } from './replay.ts';
import { Restore } from './restore.ts';

/** For tests that replay recorded bytes on a fresh file; never restarted. */
export interface Harness {
  /** Serve in the view of the superblock instead of the next one. */
  readonly keepView: boolean;
  /** Op of the first operation. */
  readonly nextOp: number;
  /** Whether the replica proposes pulses. */
  readonly hasPulses: boolean;
}

export interface RecoveryOptions {
  readonly pool: MessagePool;
  readonly outbox: Outbox;
  readonly superblock: SuperblockStore;
  readonly state: ReplicatedState;
  readonly journal: Journal;
  readonly log: Log;
  readonly member: Member;
  readonly deadlines: Deadlines;
  readonly commits: Commits;
  readonly checkpoints: Checkpoints;
  readonly harness: Harness | null;
}

const NS_PER_MS = 1_000_000;

type Phase = 'closed' | 'flush' | 'scan' | 'restore' | 'replay' | 'repair' | 'view' | 'done';
type Resolved = LogResolution & { readonly ok: true };

export class Recovery {
  readonly #options: RecoveryOptions;
  readonly #scan: LogScan;
  readonly #restore: Restore;
  #phase: Phase = 'closed';
  #replay: Replay | null = null;
  #startNs: number = 0;
  /** The checkpoint that was restored. */
  readonly #opRestored: number;
  /** The verdict on the log: of a single replica, or of one of several. */
  #resolution: Resolved | null = null;
  #cluster: ClusterResolution | null = null;
  /** Repairs under way: token → slot whose header comes after its prepare, or −1. */
  readonly #repairs: Map<number, number> = new Map();

  constructor(options: RecoveryOptions) {
    const { superblock, outbox, journal, checkpoints, state, pool } = options;
    const { current } = superblock;
    this.#options = options;
    this.#opRestored = current.checkpoint.op;
    this.#scan = new LogScan(current, outbox, journal, pool.checksum);
    this.#restore = new Restore(current.checkpoint, outbox, checkpoints, state, pool.checksum);
  }

  get isDone(): boolean {
    return this.#phase === 'done';
  }

  onOpen(): void {
    assert(this.#phase === 'closed', 'Recovery: opened twice');
    this.#phase = 'flush';
    const { outbox, deadlines } = this.#options;
    this.#startNs = outbox.now.monoNs;
    // What waits for room (on the disk, in the pool) is tried again at every beat.
    deadlines.set('pulse', outbox.now.monoNs + PULSE_INTERVAL_NS);
    outbox.flush(Part.recovery);
  }

  onFlushed(): void {
    assert(this.#phase === 'flush', 'Recovery: nobody waits for a flush');
    this.#phase = 'scan';
    this.#scan.start();
  }

  onRead(token: number, bytes: Uint8Array): void {
    switch (this.#phase) {
      case 'scan':
        this.#scan.onRead(token, bytes);
        break;
      case 'restore':
        this.#restore.onRead(token, bytes);
        break;
      case 'replay':
        assert(this.#replay !== null, 'Recovery: no replay');
        this.#replay.onRead(token, bytes);
        break;
      default:
        assert(false, 'Recovery: nobody waits for a read');
    }
  }

  onWritten(token: number): void {
    assert(this.#phase === 'repair', 'Recovery: nobody waits for a write');
    const slot = this.#repairs.get(token);
    assert(slot !== undefined, 'Recovery: nobody waits for this write');
    this.#repairs.delete(token);
    if (slot >= 0) this.#writeHeader(slot);
  }

  onSuperblock(): void {
    if (this.#phase === 'view') this.#finish();
  }

  /** Goes on as far as it can; called at the end of every step until it is done. */
  advance(): void {
    const problem = this.#scan.problem ?? this.#restore.problem ?? this.#replay?.problem ?? null;
    if (problem !== null) {
      this.#refuse(problem);
      return;
    }
    if (this.#phase === 'scan' && this.#scan.isDone) this.#onScanned();
    if (this.#phase === 'restore' && this.#restore.isDone) this.#onRestored();
    if (this.#phase === 'replay') this.#advanceReplay();
    if (this.#phase === 'repair' && this.#repairs.size === 0) this.#onRepaired();
  }

  /** Whether the end of the log is known: nothing behind it was lost. */
  get isHeadCertain(): boolean {
    const { superblock } = this.#options;
    return (this.#cluster?.isHeadCertain ?? true) && !superblock.current.isRecovered;
  }

  /** Gives back every message it holds. */
  releaseMessages(): void {
    this.#replay?.releaseMessages();
  }

  #onScanned(): void {
    const { geometry } = this.#options.superblock.current;
    if (!this.#options.member.isSolo) {
      this.#cluster = this.#scan.resolveCluster();
      this.#phase = 'restore';
      this.#restore.start();
      return;
    }
    const resolution = this.#scan.resolve();
    if (!resolution.ok) {
      const { slot, op, row } = resolution;
      const at = `offset ${prepareOffset(geometry, slot)} or ${headerOffset(geometry, slot)}`;
      this.#refuse(`operation ${op} is lost: the log is damaged at ${at} (case ${row})`);
      return;
    }
    this.#resolution = resolution;
    this.#phase = 'restore';
    this.#restore.start();
  }

  #onRestored(): void {
    const { superblock, state, log, commits, harness } = this.#options;
    const { current } = superblock;
    if (this.#cluster !== null) {
      this.#openLog(this.#cluster);
      return;
    }
    assert(this.#resolution !== null, 'Recovery: the log is not resolved');
    const { head } = this.#resolution;
    state.restore(current.checkpoint);
    if (harness !== null) {
      assert(head === 0, 'Recovery: a harness needs a fresh file');
      state.skipTo(harness.nextOp - 1);
    }
    log.open(Math.max(head, state.commitMin));
    commits.learn(log.head);
    this.#replay = new Replay({
      ...this.#options,
      superblock: current,
      scan: this.#scan,
      head,
    });
    this.#phase = 'replay';
  }

  /** One of several: the log is what the disk says, and executed as far as it is committed. */
  #openLog({ slots, fixes, head, headHeader, isLost }: ClusterResolution): void {
    if (isLost) {
      this.#refuse('every place of the log is damaged');
      return;
    }
    const { superblock, state, log, journal, commits, outbox } = this.#options;
    const { checkpoint, commitMax } = superblock.current;
    state.restore(checkpoint);
    slots.forEach((found, slot) => {
      const header = found.kind === 'clean' ? found.header : null;
      // After a copy the slot may hold an operation that was never part of the log.
      const isForeign =
        found.kind === 'clean' &&
        found.op === checkpoint.op &&
        !bytesEqual(found.header, 0, checkpoint.prepareChecksum, 0, 16);
      log.restore(slot, isForeign ? null : header, found.kind === 'faulty');
    });
    log.open(Math.max(head, checkpoint.op));
    if (headHeader !== null && opOf(headHeader) > checkpoint.op) log.set(headHeader);
    commits.learn(Math.max(commitMax, checkpoint.op));
    for (const slot of fixes) {
      const sector = journal.sector(slot);
      sector.fill(0);
      sector.set(this.#scan.prepareHeader(slot));
      this.#writeHeader(slot);
    }
    this.#phase = 'repair';
    if (fixes.length > 0) outbox.trace('warn', 'log-repaired', { headersWritten: fixes.length });
  }

  #advanceReplay(): void {
    const { checkpoints } = this.#options;
    assert(this.#replay !== null, 'Recovery: no replay');
    this.#replay.advance();
    if (this.#replay.problem !== null) {
      this.#refuse(this.#replay.problem);
      return;
    }
    if (this.#replay.isDone && !checkpoints.isBusy) this.#beginRepair();
  }

  /** Headers that lag behind their prepares are written again, superfluous damage is emptied. */
  #beginRepair(): void {
    const { journal, superblock, outbox, pool } = this.#options;
    const { geometry, cluster } = superblock.current;
    assert(this.#resolution !== null, 'Recovery: the log is not resolved');
    this.#phase = 'repair';
    for (const slot of this.#resolution.fixes) {
      const sector = journal.sector(slot);
      sector.fill(0);
      sector.set(this.#scan.prepareHeader(slot));
      this.#writeHeader(slot);
    }
    for (const slot of this.#resolution.repairs) {
      const sector = journal.sector(slot);
      sector.fill(0);
      buildReserved(sector.subarray(0, HEADER_SIZE), cluster, slot, pool.checksum);
      const offset = prepareOffset(geometry, slot);
      this.#repairs.set(outbox.write(Part.recovery, offset, sector, true), slot);
    }
    const { fixes, repairs, torn } = this.#resolution;
    if (fixes.length + repairs.length === 0 && torn < 0) return;
    outbox.trace('warn', 'log-repaired', {
      headersWritten: fixes.length,
      slotsEmptied: repairs.length,
      tornOperations: torn < 0 ? 0 : 1,
    });
  }

  #writeHeader(slot: number): void {
    const { journal, superblock, outbox } = this.#options;
    const offset = headerOffset(superblock.current.geometry, slot);
    this.#repairs.set(outbox.write(Part.recovery, offset, journal.sector(slot), true), -1);
  }

  #onRepaired(): void {
    const { superblock, state, harness } = this.#options;
    if (harness?.keepView === true || this.#cluster !== null) {
      this.#finish();
      return;
    }
    this.#phase = 'view';
    const view = superblock.current.view + 1;
    const commitMax = Math.max(superblock.current.commitMax, state.commitMin);
    superblock.update({ view, logView: view, viewHeaders: [], commitMax });
    this.#options.member.enterNormal(view);
  }

  #finish(): void {
    const { outbox, superblock, state, checkpoints } = this.#options;
    const { view } = superblock.current;
    this.#phase = 'done';
    outbox.trace('info', 'recovered', {
      view,
      op: this.#options.log.head,
      operationsReplayed: state.commitMin - this.#opRestored,
      blocks: checkpoints.blocks.count,
      durationMs: (outbox.now.monoNs - this.#startNs) / NS_PER_MS,
    });
  }

  #refuse(reason: string): void {
    this.#options.outbox.halt('storage-corrupt', reason);
  }
}
