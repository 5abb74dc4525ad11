/**
 * The data file of a running Raft replica: what the engine's three disk effects come to. It is
 * given records and asked for durability; it makes frames of them, has at most a few on their way,
 * and lets what comes meanwhile share the next one. It touches no disk: writes, reads and flushes
 * go to a sink, and the driver's answers come back by token.
 *
 * Nothing is begun but in `advance`, at the end of a step: a step's records make one frame. Records
 * that nobody asked to be durable wait for those that somebody does.
 *
 * What it says to its handler: `synced` goes up, never beyond what was asked for, and only when
 * every frame up to it, and the head of its generation, are durable. After `no-space` nothing is
 * lost: what found no room is kept until `retry`, and `synced` stands still as long. After `io`
 * nothing works any more.
 */
import type { StorageError } from '../../engine/index.ts';
import { assert, bytesEqual } from '../../stdx/index.ts';
import type { MessagePool } from '../../wire/index.ts';
import type { FileHeader, LogRecord } from '../entry.ts';
import { Chain, type ChainOptions, type Frame } from './chain.ts';
import { DiskWork, type FileSink } from './disk-work.ts';
import { Extents } from './extents.ts';
import type { RaftHead } from './head-codec.ts';
import { type HeadChange, HeadStore, type HeadWrite } from './head-store.ts';
import { APPEND_FRAMES_MAX } from './layout.ts';
import { type FileContent, type FileRead, type FileReading, readRaftFile } from './reading.ts';
import { Replacement, type ReplacementHost } from './replacement.ts';
import { StreamSource } from './stream-source.ts';

type Records = readonly LogRecord<Uint8Array>[];

/** Called from within `onWritten`, `onRead`, `onFlushed` and `advance`, never from elsewhere. */
export interface FileHandler {
  /** What the file holds; all of it is durable. Once; writes may follow from then on. */
  onOpened(header: FileHeader<Uint8Array>, records: Records): void;
  /** The file may not be used: something that was durable once is not there. */
  onCorrupt(reason: string): void;
  onSynced(seq: number): void;
  onFailed(error: StorageError): void;
}

export interface RaftFileOptions {
  /** What a driver read before. */
  readonly head: RaftHead;
  /** Of which a file holds `RAFT_FILE_REPLY_SLOTS` and `RAFT_FILE_SMALL_SLOTS`. */
  readonly pool: MessagePool;
  readonly sink: FileSink;
  readonly handler: FileHandler;
}

/** An open file. */
interface Open {
  readonly head: HeadStore;
  readonly options: ChainOptions;
  /** The generation in force, and what is to be written to it. */
  chain: Chain;
  source: StreamSource;
}

export class RaftFile {
  readonly #options: RaftFileOptions;
  readonly #work: DiskWork;
  #phase: 'new' | 'opening' | 'open' | 'over' = 'new';
  #open: Open | null = null;
  #wasTorn: boolean = false;
  /** Frames of the generation in force that are under way, in order, and those that are done. */
  readonly #flights: Frame[] = [];
  readonly #done: Set<number> = new Set();
  /** Frames of the generation in force up to this number are durable, and writes up to that. */
  #durable: number = 0;
  #durableSeq: number = 0;
  /** The first is being written. */
  readonly #replacements: Replacement[] = [];
  #appended: number = 0;
  #requested: number = 0;
  #synced: number = 0;

  constructor(options: RaftFileOptions) {
    this.#options = options;
    const { pool, sink, handler } = options;
    this.#work = new DiskWork(pool, sink, (error) => {
      if (error === 'io') this.#phase = 'over';
      handler.onFailed(error);
    });
  }

  /** Another generation is being written, or waits to be. */
  get isReplacing(): boolean {
    return this.#replacements.length > 0;
  }

  /** The newest head that is durable; once the file is open. */
  get head(): RaftHead {
    return this.#file.head.current;
  }

  /** When it was opened, something lay behind the end of the log that a crash had cut short. */
  get wasTorn(): boolean {
    return this.#wasTorn;
  }

  /** Extents in use, by whatever generation. */
  get extentCount(): number {
    return this.#file.options.extents.count;
  }

  /** Begins to read. A process that died may have left bytes in a cache: first a flush. */
  open(): void {
    assert(this.#phase === 'new', 'RaftFile: opened twice');
    this.#phase = 'opening';
    this.#work.flush(() => {
      const reading = readRaftFile(this.#work.checksum);
      this.#read(reading, reading.next());
    });
  }

  /** Records of write `seq`, behind all others. They are not copied and do not change. */
  append(seq: number, records: Records): void {
    this.#count(seq);
    for (const source of this.#targets()) source.add(seq, records);
  }

  /** Wants everything up to write `seq` durable. */
  requestSync(seq: number): void {
    assert(seq <= this.#appended, 'RaftFile: a write that was never made');
    this.#requested = Math.max(this.#requested, seq);
  }

  /**
   * The file is to hold this, and what is appended after it. `continues`: it says what the file
   * says anyway, so that what follows is as durable in the old generation as in the new one.
   */
  replaceFile(
    seq: number,
    header: FileHeader<Uint8Array>,
    records: Records,
    continues: boolean = false,
  ): void {
    this.#count(seq);
    if (continues) for (const source of this.#targets()) source.add(seq, []);
    this.#replacements.push(new Replacement(seq, continues, header, records));
    this.requestSync(seq);
  }

  /** At the end of every step: begins what can be begun. */
  advance(): void {
    if (this.#phase !== 'open') return;
    this.#advanceReplacement();
    this.#advanceAppends();
    this.#report();
  }

  /** Tries again what found no room. */
  retry(): void {
    if (this.#phase !== 'over') this.#work.retry();
  }

  onWritten(token: number, error: StorageError | null): void {
    this.#work.onWritten(token, error);
  }

  onRead(token: number, bytes: Uint8Array, error: StorageError | null): void {
    this.#work.onRead(token, bytes, error);
  }

  onFlushed(token: number, error: StorageError | null): void {
    this.#work.onFlushed(token, error);
  }

  /** Gives back the slots of the pool; the life is over. */
  releaseMessages(): void {
    this.#phase = 'over';
    this.#work.release();
  }

  invariants(): void {
    assert(this.#synced <= this.#requested, 'RaftFile: durable without having been asked');
    assert(this.#requested <= this.#appended, 'RaftFile: asked for a write that is to come');
    assert(this.#flights.length <= APPEND_FRAMES_MAX, 'RaftFile: too many frames under way');
    if (this.#phase !== 'open') return;
    const { chain, options } = this.#file;
    chain.invariants();
    assert(this.#durable + this.#flights.length === chain.number, 'RaftFile: frames are missing');
    let extents = chain.extentCount;
    const [replacement] = this.#replacements;
    if (replacement !== undefined && replacement.phase !== 'waiting') {
      replacement.chain.invariants();
      extents += replacement.chain.extentCount;
    }
    assert(extents === options.extents.count, 'RaftFile: extents that nobody uses');
  }

  get #file(): Open {
    assert(this.#open !== null, 'RaftFile: not open');
    return this.#open;
  }

  #count(seq: number): void {
    assert(this.#open !== null, 'RaftFile: not open');
    assert(seq > this.#appended, 'RaftFile: writes are numbered upwards');
    this.#appended = seq;
  }

  /** Where records go that are appended now: to the newest file, and to those that it continues. */
  #targets(): readonly StreamSource[] {
    const targets: StreamSource[] = [];
    for (const replacement of this.#replacements.toReversed()) {
      targets.push(replacement.source);
      if (!replacement.continues) return targets;
    }
    targets.push(this.#file.source);
    return targets;
  }

  #read(reading: FileReading, step: IteratorResult<{ offset: number; length: number }, FileRead>) {
    if (step.done === true) {
      if (step.value.ok) this.#onRead(step.value.content);
      else this.#refuse(textOf(step.value));
      return;
    }
    const { offset, length } = step.value;
    this.#work.read(offset, length, (bytes) => this.#read(reading, reading.next(bytes)));
  }

  #refuse(reason: string): void {
    this.#phase = 'over';
    this.#options.handler.onCorrupt(reason);
  }

  #onRead(content: FileContent): void {
    const { head, damaged, end } = content;
    const { replicaId, geometry } = this.#options.head;
    if (!bytesEqual(head.replicaId, 0, replicaId, 0, 16)) {
      this.#refuse('the file is not the one whose head was read before');
      return;
    }
    const extents = new Extents();
    for (const extent of end.extents) extents.use(extent);
    const { checksum, headBuffer } = this.#work;
    const options = { geometry, file: replicaId, checksum, extents };
    this.#open = {
      head: new HeadStore(head, damaged, headBuffer, checksum),
      options,
      chain: new Chain(options, end),
      source: new StreamSource(),
    };
    this.#durable = end.number;
    this.#wasTorn = content.isTorn;
    // A head of this life's own: what is written under it is told apart from all before.
    this.#writeHead({}, () => {
      this.#phase = 'open';
      this.#options.handler.onOpened(content.header, content.records);
    });
  }

  #writeHead(change: HeadChange, done: () => void): void {
    const { head } = this.#file;
    const write = ({ offset, bytes }: HeadWrite): void => {
      const written = (): void => {
        const next = head.written();
        if (next !== null) write(next);
        else done();
      };
      this.#work.write({ offset, bytes, durable: true, done: written });
    };
    write(head.begin(change));
  }

  #advanceAppends(): void {
    if (this.#replacements[0]?.isHolding === true) return;
    const { chain, source } = this.#file;
    while (this.#flights.length < APPEND_FRAMES_MAX && source.has(this.#requested)) {
      const frame = this.#cut(chain, source, this.#requested, true, ({ number }) => {
        this.#done.add(number);
        this.#settle();
      });
      // Nothing but marks of replacements.
      if (frame === null) break;
      this.#flights.push(frame);
    }
  }

  /** Frames count in their order, whenever they are done. */
  #settle(): void {
    while (this.#flights.length > 0 && this.#done.delete(this.#flights[0].number)) {
      const [frame] = this.#flights.splice(0, 1);
      this.#durable = frame.number;
      this.#durableSeq = frame.seq;
    }
    this.#report();
  }

  #report(): void {
    // Marks of replacements take no frame.
    if (this.#flights.length === 0) this.#durableSeq = this.#file.source.seqTaken;
    const seq = Math.min(this.#durableSeq, this.#requested);
    if (seq <= this.#synced) return;
    this.#synced = seq;
    this.#options.handler.onSynced(seq);
  }

  #advanceReplacement(): void {
    const [replacement] = this.#replacements;
    if (replacement === undefined || replacement.phase === 'head') return;
    const { options, head } = this.#file;
    if (replacement.phase === 'waiting') {
      replacement.begin(Chain.begin(options, head.current.sequence));
    }
    if (!replacement.advance(this.#host())) return;
    replacement.onHead();
    const { generation, firstExtent, number } = replacement.chain;
    const change = { generation, firstExtent, frames: number };
    this.#writeHead(change, () => this.#onReplaced(replacement));
  }

  #onReplaced(replacement: Replacement): void {
    assert(this.#flights.length === 0, 'RaftFile: still writing to what was replaced');
    const file = this.#file;
    file.chain.release();
    file.chain = replacement.chain;
    file.source = replacement.source;
    this.#durable = file.chain.number;
    this.#replacements.shift();
    this.#report();
  }

  #host(): ReplacementHost {
    const { chain, source } = this.#file;
    return {
      cut: (target, from, seqMax, done) => this.#cut(target, from, seqMax, false, done),
      flush: (done) => this.#work.flush(done),
      requested: this.#requested,
      seqTaken: source.seqTaken,
      isQuiet: this.#durable === chain.number,
    };
  }

  /** Makes the next frame and begins to write it; `null`: of nothing, or there is no buffer. */
  #cut(
    chain: Chain,
    source: StreamSource,
    seqMax: number,
    durable: boolean,
    done: (frame: Frame) => void,
  ): Frame | null {
    const buffer = this.#work.takeBuffer();
    if (buffer === null) return null;
    const { sequence } = this.head;
    // Of a generation that is not in force nothing counts; its head will say what has to be there.
    const marks = { head: sequence, durable: durable ? this.#durable : 0 };
    const frame = chain.cut(source, seqMax, buffer, marks);
    if (frame === null) {
      this.#work.giveBuffer(buffer);
      return null;
    }
    const written = (): void => {
      this.#work.giveBuffer(buffer);
      done(frame);
    };
    const { offset, bytes } = frame;
    this.#work.write({ offset, bytes, durable, done: written });
    return frame;
  }
}

function textOf(read: FileRead & { readonly ok: false }): string {
  return read.error.kind === 'corrupt' ? read.error.reason : read.error.kind;
}
