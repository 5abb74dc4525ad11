/**
 * A data file in trouble, held against what may be in it. One life after the other over one disk;
 * what a life finds must be what one of the lives before has written: the newest file that counts,
 * all that was said to be durable, and of the rest a beginning.
 */
import assert from 'node:assert/strict';
import type { StorageError } from '../../engine/index.ts';
import { Prng } from '../../stdx/index.ts';
import { createChecksum, MessagePool } from '../../wire/index.ts';
import { decodeRecord, encodeRecord } from '../dialect/codec.ts';
import type { FileHeader, LogRecord } from '../entry.ts';
import { FileDisk, type Outcome } from './file-disk-test-helper.ts';
import * as original from './index.ts';

type Bytes = Uint8Array;
type Record = LogRecord<Bytes>;
/** The module that is tested; with a bug in it, or as it is. */
export type FileModule = typeof original;

const REPLICA_ID = new Uint8Array(16).fill(9);
const checksum = createChecksum();
/** Pools that were put back: making a memory takes longer than many a life. */
const shelf: MessagePool[] = [];

function takePool(): MessagePool {
  const found = shelf.pop();
  if (found !== undefined) return found;
  const replySlots = original.RAFT_FILE_REPLY_SLOTS;
  const smallSlots = original.RAFT_FILE_SMALL_SLOTS;
  const sizes = { requestSlotSize: 4096, requestSlots: 0, replySlots, smallSlots };
  return new MessagePool({ ...sizes, poison: true });
}

/** A file as it would be if everything before were in it. */
interface Base {
  readonly seq: number;
  readonly continues: boolean;
  readonly header: FileHeader<Bytes>;
  readonly records: readonly Record[];
}

/** One data entry, the same for the same index and size whoever makes it. */
export function entry(index: number, size: number): Record {
  const data = new Uint8Array(size).fill(index);
  return { type: 'entry', entry: { index, term: 1, kind: 'data', eid: `e${index}`, data, size } };
}

export function snapshot(index: number, size: number | null): FileHeader<Bytes> {
  const data = size === null ? null : new Uint8Array(size).fill(index);
  const servers = new Map([['0', '']]);
  const place = { index, term: 1, eid: null, servers, electionTimerMs: 1000 };
  return { type: 'snapshot', snapshot: { ...place, data, size: data?.length ?? 0 } };
}

export class FileRig {
  readonly prng: Prng;
  readonly geometry: original.RaftGeometry;
  readonly module: FileModule;
  disk: FileDisk = new FileDisk();
  /** Off: a planted bug is to be noticed by what it does to a file. */
  areInvariantsOn: boolean = true;
  #file: original.RaftFile | null = null;
  #pool: MessagePool | null = null;
  #bases: Base[] = [];
  #writes: { readonly seq: number; readonly records: readonly Record[] }[] = [];
  #seq: number = 0;
  #requested: number = 0;
  synced: number = 0;
  /** Names what is written: no two records and headers are the same in one life. */
  #index: number = 1;
  readonly failures: StorageError[] = [];
  corrupt: string | null = null;

  constructor(seed: number, extentSize: number, module: FileModule = original) {
    this.prng = new Prng(seed);
    this.geometry = { extentSize, requestSizeMax: 4096 };
    this.module = module;
    const options = {
      cluster: new Uint8Array(16).fill(1),
      replica: 0,
      replicaCount: 1,
      replicaId: REPLICA_ID,
      geometry: this.geometry,
      release: 1,
      electionTimerMs: 1000,
    };
    for (const { offset, bytes } of module.formatRaftFile(options, checksum)) {
      this.disk.install(offset, bytes);
    }
    this.#bases = [{ seq: 0, continues: false, header: snapshot(1, null), records: [] }];
  }

  get file(): original.RaftFile {
    assert.ok(this.#file !== null, 'a life');
    return this.#file;
  }

  get isIdle(): boolean {
    return this.disk.pending.length === 0;
  }

  get requested(): number {
    return this.#requested;
  }

  /**
   * A life begins, up to where the file is open or refused, or `answersMax` operations are done.
   */
  open(answersMax: number = Number.POSITIVE_INFINITY): this {
    const read = original.readRaftHead(this.disk.read(0, original.RAFT_HEAD_SIZE), checksum);
    assert.ok(read.ok, `the head cannot be read: ${JSON.stringify(read)}`);
    let isOpen = false;
    this.corrupt = null;
    const pool = takePool();
    this.#pool = pool;
    const file = new this.module.RaftFile({
      head: read.head,
      pool,
      sink: this.disk.sink,
      handler: {
        onOpened: (header, records) => {
          isOpen = true;
          this.#onOpened(header, records);
        },
        onCorrupt: (reason) => {
          this.corrupt = reason;
        },
        onSynced: (seq) => {
          assert.ok(seq > this.synced && seq <= this.#requested, 'synced goes up, as requested');
          this.synced = seq;
        },
        onFailed: (error) => this.failures.push(error),
      },
    });
    this.#file = file;
    file.open();
    for (let i = 0; i < answersMax && !isOpen && this.corrupt === null; i++) {
      assert.ok(!this.isIdle, 'opening never ends');
      this.complete();
    }
    return this;
  }

  close(): void {
    this.#file?.releaseMessages();
    this.#file = null;
    if (this.#pool?.leaked() === 0) shelf.push(this.#pool);
    this.#pool = null;
  }

  /** Power cut; the next life finds what it may find. */
  crash(outcome: Outcome): this {
    this.disk.crash(outcome, this.prng);
    this.close();
    this.disk.sizeMax = Number.POSITIVE_INFINITY;
    return this;
  }

  append(sizes: readonly number[]): void {
    this.#seq++;
    const records: Record[] = sizes.map((size) => entry(++this.#index, size));
    this.#writes.push({ seq: this.#seq, records });
    this.file.append(this.#seq, records);
  }

  note(): void {
    this.#seq++;
    const records: Record[] = [{ type: 'commit', index: this.#index }];
    this.#writes.push({ seq: this.#seq, records });
    this.file.append(this.#seq, records);
  }

  requestSync(): void {
    if (this.#requested === this.#seq) return;
    this.#requested = this.#seq;
    this.file.requestSync(this.#seq);
  }

  replace(dataSize: number | null, sizes: readonly number[], continues: boolean): void {
    this.#seq++;
    this.#requested = this.#seq;
    const header = snapshot(++this.#index, dataSize);
    const records: Record[] = sizes.map((size) => entry(++this.#index, size));
    this.#bases.push({ seq: this.#seq, continues, header, records });
    this.file.replaceFile(this.#seq, header, records, continues);
  }

  /** The end of a step. */
  advance(): void {
    this.file.advance();
    if (this.areInvariantsOn) this.file.invariants();
  }

  /** One of the operations under way is done. */
  complete(index: number = this.prng.below(this.disk.pending.length)): void {
    this.disk.complete(index, this.file);
  }

  /** Until nothing is under way. */
  settle(): this {
    this.advance();
    while (!this.isIdle) {
      this.complete();
      this.advance();
    }
    return this;
  }

  /** What the file holds, without a life. */
  look(): original.RaftFileState {
    return this.module.readRaftState(this.disk.read, checksum);
  }

  /** What a file may hold now, in its place: fails when this is none of it. */
  check(header: FileHeader<Bytes>, records: readonly Record[]): void {
    const name = nameOf(header);
    const base = this.#bases.find((candidate) => nameOf(candidate.header) === name);
    assert.ok(base !== undefined, `a file that nobody wrote: ${name}`);
    assert.deepEqual(header, base.header);
    const successor = this.#bases.find(({ seq, continues }) => seq > base.seq && !continues);
    const seqEnd = successor?.seq ?? Number.POSITIVE_INFINITY;
    assert.ok(seqEnd > this.synced, 'a file that was replaced is back');
    const expected = [...base.records];
    let needed = expected.length;
    for (const { seq, records: written } of this.#writes) {
      if (seq <= base.seq || seq >= seqEnd) continue;
      expected.push(...written);
      if (seq <= this.synced) needed = expected.length;
    }
    assert.ok(records.length >= needed, `lost: ${records.length} of ${needed} records`);
    assert.ok(records.length <= expected.length, `invented: ${records.length - expected.length}`);
    for (const [i, record] of records.entries()) {
      const isSame = Buffer.compare(encodeRecord(record), encodeRecord(expected[i]!)) === 0;
      assert.ok(isSame, `record ${i} is another one`);
    }
  }

  #onOpened(header: FileHeader<Bytes>, records: readonly Record[]): void {
    this.check(header, records);
    const kept = records.map((record) => decodeRecord(encodeRecord(record))!);
    this.#bases = [{ seq: 0, continues: false, header, records: kept }];
    this.#writes = [];
    this.#seq = 0;
    this.#requested = 0;
    this.synced = 0;
    // What comes next is what came next before: a frame that was lost and written again is the
    // same but for the life that wrote it.
    this.#index = Math.max(indexOf(header), ...kept.map(indexOfRecord));
  }
}

function nameOf(header: FileHeader<Bytes>): string {
  return header.type === 'snapshot' ? `${header.snapshot.index}` : 'joining';
}

function indexOf(header: FileHeader<Bytes>): number {
  return header.type === 'snapshot' ? header.snapshot.index : 0;
}

function indexOfRecord(record: Record): number {
  return record.type === 'entry' ? record.entry.index : 0;
}
