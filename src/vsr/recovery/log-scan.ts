/**
 * Recovery, first part: reads what the log consists of and asks for the verdict. Only the header
 * ring and the first sector of each prepare are read, which is little however large the log is. A
 * whole prepare is read here only where its header does not vouch for it; all others are verified
 * when they are replayed.
 */
import { SECTOR_SIZE } from '../../engine/index.ts';
import { assert, bytesEqual, isZero, readSafeU64 } from '../../stdx/index.ts';
import {
  bodyValid,
  type Checksum,
  Command,
  HEADER_SIZE,
  headerValid,
  Offset,
  PrepareOffset,
  readCommand,
  readSize,
} from '../../wire/index.ts';
import { type ClusterResolution, resolveCluster } from '../file/cluster-resolution.ts';
import { headerOffset, prepareMax, prepareOffset, sectorCeil } from '../file/geometry.ts';
import { type LogResolution, resolveLog, type SlotScan } from '../file/log-resolution.ts';
import type { RingState } from '../file/slot-decision.ts';
import type { Superblock } from '../file/superblock-codec.ts';
import type { Journal } from '../log/journal.ts';
import { OPERATION_RESERVED } from '../message.ts';
import type { Outbox } from '../outbox.ts';
import { type ReadJob, ReadWindow } from './read-window.ts';

const READS_MAX = 16;
/** Sectors of the header ring read at once. */
const HEADERS_PER_READ = 64;

interface ScanJob extends ReadJob {
  readonly kind: 'headers' | 'prepare' | 'body' | 'end';
  readonly slot: number;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export class LogScan {
  readonly #superblock: Superblock;
  readonly #outbox: Outbox;
  readonly #journal: Journal;
  readonly #checksum: Checksum;
  readonly #slots: Mutable<SlotScan>[] = [];
  /** The header of each slot's prepare, 256 bytes each. */
  readonly #prepareHeaders: Uint8Array;
  #reads: ReadWindow<ScanJob>;
  #areBodiesRead: boolean = false;
  #problem: string | null = null;

  constructor(superblock: Superblock, outbox: Outbox, journal: Journal, checksum: Checksum) {
    this.#superblock = superblock;
    this.#outbox = outbox;
    this.#journal = journal;
    this.#checksum = checksum;
    const { slots } = superblock.geometry;
    this.#prepareHeaders = new Uint8Array(slots * HEADER_SIZE);
    for (let slot = 0; slot < slots; slot++) {
      const empty = { headerOp: 0, prepareOp: 0, isIdentical: false };
      this.#slots.push({ header: 'bad', prepare: 'bad', ...empty });
    }
    this.#reads = new ReadWindow(outbox, this.#ringJobs(), READS_MAX);
  }

  /** What makes the file unusable, if anything. */
  get problem(): string | null {
    return this.#problem;
  }

  get isDone(): boolean {
    return this.#areBodiesRead && this.#reads.isDone;
  }

  start(): void {
    this.#reads.pump();
  }

  /** The prepare's header in a slot: 256 bytes, meaningful where the verdict says so. */
  prepareHeader(slot: number): Uint8Array {
    return this.#prepareHeaders.subarray(slot * HEADER_SIZE, (slot + 1) * HEADER_SIZE);
  }

  onRead(token: number, bytes: Uint8Array): void {
    const job = this.#reads.finish(token);
    if (bytes.length < job.length) {
      this.#problem = `the file ends at ${job.offset + bytes.length}, before the end of its data`;
      return;
    }
    switch (job.kind) {
      case 'headers':
        this.#onHeaders(job.slot, bytes);
        break;
      case 'prepare':
        this.#onPrepare(job.slot, bytes);
        break;
      case 'body':
        this.#onBody(job.slot, bytes);
        break;
      case 'end':
        break;
    }
    if (this.#reads.isDone && !this.#areBodiesRead) {
      this.#areBodiesRead = true;
      this.#reads = new ReadWindow(this.#outbox, this.#bodyJobs(), READS_MAX);
    }
    this.#reads.pump();
  }

  resolve(): LogResolution {
    assert(this.isDone && this.#problem === null, 'LogScan: not read yet');
    const { geometry, checkpoint } = this.#superblock;
    return resolveLog(this.#slots, checkpoint.op, prepareMax(geometry, checkpoint.op));
  }

  /** The verdict for a replica that has others to ask. */
  resolveCluster(): ClusterResolution {
    assert(this.isDone && this.#problem === null, 'LogScan: not read yet');
    const { geometry, checkpoint, view, logView, viewHeaders } = this.#superblock;
    return resolveCluster({
      slots: this.#slots.map((scan, slot) => ({
        ...scan,
        headerBytes: this.#journal.sector(slot).subarray(0, HEADER_SIZE),
        prepareBytes: this.prepareHeader(slot),
      })),
      checkpoint: checkpoint.op,
      prepareMax: prepareMax(geometry, checkpoint.op),
      view,
      logView,
      viewHeaders,
    });
  }

  #ringJobs(): ScanJob[] {
    const { geometry, fileSize } = this.#superblock;
    const end = fileSize - SECTOR_SIZE;
    const jobs: ScanJob[] = [{ kind: 'end', slot: 0, offset: end, length: SECTOR_SIZE }];
    for (let slot = 0; slot < geometry.slots; slot += HEADERS_PER_READ) {
      const length = Math.min(HEADERS_PER_READ, geometry.slots - slot) * SECTOR_SIZE;
      jobs.push({ kind: 'headers', slot, offset: headerOffset(geometry, slot), length });
    }
    for (let slot = 0; slot < geometry.slots; slot++) {
      const offset = prepareOffset(geometry, slot);
      jobs.push({ kind: 'prepare', slot, offset, length: SECTOR_SIZE });
    }
    return jobs;
  }

  #onHeaders(first: number, bytes: Uint8Array): void {
    for (let i = 0; i * SECTOR_SIZE < bytes.length; i++) {
      const slot = first + i;
      const sector = bytes.subarray(i * SECTOR_SIZE, (i + 1) * SECTOR_SIZE);
      this.#journal.sector(slot).set(sector);
      const scan = this.#slots[slot];
      scan.header = this.#stateOf(sector, slot);
      scan.headerOp = opOf(sector);
    }
  }

  #onPrepare(slot: number, sector: Uint8Array): void {
    this.prepareHeader(slot).set(sector.subarray(0, HEADER_SIZE));
    const scan = this.#slots[slot];
    scan.prepare = this.#stateOf(sector, slot);
    scan.prepareOp = opOf(sector);
  }

  /**
   * Prepares for which no header vouches: alone, those that replay would need; with others, all,
   * because what lies in a slot tells what was not written there.
   */
  #bodyJobs(): ScanJob[] {
    const { geometry, checkpoint, replicaCount } = this.#superblock;
    const jobs: ScanJob[] = [];
    for (let slot = 0; slot < geometry.slots; slot++) {
      const scan = this.#slots[slot];
      const header = this.#journal.sector(slot);
      const isSame = bytesEqual(header, 0, this.prepareHeader(slot), 0, HEADER_SIZE);
      scan.isIdentical = scan.header === 'valid' && scan.prepare === 'valid' && isSame;
      if (scan.prepare !== 'valid' || scan.isIdentical) continue;
      if (replicaCount === 1 && scan.prepareOp <= checkpoint.op) continue;
      const length = sectorCeil(readSize(this.prepareHeader(slot)));
      jobs.push({ kind: 'body', slot, offset: prepareOffset(geometry, slot), length });
    }
    return jobs;
  }

  #onBody(slot: number, bytes: Uint8Array): void {
    if (!prepareIntact(bytes, this.#checksum)) this.#slots[slot].prepare = 'bad';
  }

  /** Header by header: is this what belongs into the slot? */
  #stateOf(bytes: Uint8Array, slot: number): RingState {
    const { geometry, cluster } = this.#superblock;
    if (!headerValid(bytes, this.#checksum)) return 'bad';
    if (readCommand(bytes) !== Command.prepare) return 'bad';
    if (!bytesEqual(bytes, Offset.cluster, cluster, 0, 16)) return 'bad';
    const size = readSize(bytes);
    if (size < HEADER_SIZE || size > geometry.slotSize) return 'bad';
    const op = readSafeU64(bytes, PrepareOffset.op);
    if (op === null) return 'bad';
    if (bytes[PrepareOffset.operation] === OPERATION_RESERVED) {
      return op === slot ? 'reserved' : 'bad';
    }
    return op % geometry.slots === slot ? 'valid' : 'bad';
  }
}

/** Whether a prepare whose header is valid is complete: body checksum, and zeros behind it. */
export function prepareIntact(bytes: Uint8Array, checksum: Checksum): boolean {
  const size = readSize(bytes);
  assert(bytes.length === sectorCeil(size), 'prepareIntact: not the sectors of the prepare');
  return bodyValid(bytes, checksum) && isZero(bytes, size, bytes.length - size);
}

function opOf(bytes: Uint8Array): number {
  return readSafeU64(bytes, PrepareOffset.op) ?? 0;
}
