/**
 * The file of one standalone database while a server has it open: takes the records of committed
 * transactions and says when they are written, writes the file anew when it has grown, replaces it
 * when the schema changes. One instance owns the file, its lock and its descriptor.
 *
 * The database in memory is ahead of the file: what a snapshot of it holds may still be on its way
 * into the file, and may even be refused. A compaction therefore notes up to which append its
 * snapshot reaches, copies what the old file got behind that, and gives up if any before it fails.
 */
import {
  type AppendFile,
  type AppendFileHandler,
  type DatabaseLock,
  Replacement,
} from '../../../io/append-file/index.ts';
import {
  captureSnapshot,
  type Database,
  encodeRecord,
  type JsonObject,
  type OvsdbError,
  plainError,
  type Schema,
  type Snapshot,
  serialize,
} from '../../../ovsdb/index.ts';
import { CompactionPolicy } from './compaction-policy.ts';
import { ioError, OvsdbFileError } from './file-error.ts';
import { SnapshotStopped, sha1, writeSnapshot } from './snapshot-writer.ts';

export type StorageLogLevel = 'ERR' | 'WARN' | 'INFO' | 'DBG';

export interface StorageHandlers {
  /** Everything up to this number is in the file. */
  appended(number: number): void;
  /**
   * Nothing from this number on is in the file, or will be. Up to `through` that is the error's
   * doing; later ones were only dropped, since they may rely on the others.
   */
  failed(number: number, error: OvsdbError, through: number): void;
  log(level: StorageLogLevel, text: string): void;
}

/** What the core wants kept; numbers ascend. */
export interface AppendRequest {
  readonly number: number;
  /** `null`: nothing to keep, only to be confirmed in its turn. */
  readonly record: JsonObject | null;
  /** The database has been converted to this schema: {@link content} is what it is now. */
  readonly schema: Schema | null;
  readonly content?: Database | null;
  /** Confirmed only when it survives a power cut. */
  readonly durable: boolean;
}

export interface StorageOptions {
  /** How messages call the file. */
  readonly name: string;
  /** Absolute: the process may change its folder. */
  readonly path: string;
  readonly database: Database;
  readonly lock: DatabaseLock;
  readonly file: (handler: AppendFileHandler) => AppendFile;
  readonly records: number;
  readonly baseSize: number;
  readonly nowMs: () => number;
  readonly random: () => number;
}

/** How often it is asked whether a compaction is due, ms. */
const POLICY_INTERVAL_MS = 5_000;
/** What a compaction may leave to copy while appends wait, bytes. */
const TAIL_SIZE_MAX = 64 * 1024;
const WAIT_MS = 1;
/** In the record that a compaction writes; the original's. */
const COMMENT = 'compacting database online';

interface Rewriting {
  readonly number: number;
  /** Something that its snapshot holds has been refused. */
  failed: boolean;
  /** Why the new file did not come about. */
  error: OvsdbFileError | null;
}

interface Compaction {
  /** The last append that its snapshot holds. */
  readonly upTo: number;
  /** Why it has to give up. */
  stopped: OvsdbFileError | null;
}

export class OvsdbStorage {
  readonly name: string;
  readonly path: string;
  readonly #lock: DatabaseLock;
  readonly #file: AppendFile;
  readonly #nowMs: () => number;
  readonly #policy: CompactionPolicy;
  #handlers: StorageHandlers | null = null;
  #timer: NodeJS.Timeout | null = null;
  #database: Database;
  #records: number;
  #baseSize: number;
  /** Numbers of records under way, ascending. */
  #outstanding: number[] = [];
  #lastNumber: number = -1;
  #problem: string | null = null;
  /** The file is being replaced by what is in memory, up to this number: appends wait. */
  #rewriting: Rewriting | null = null;
  #held: AppendRequest[] = [];
  #compaction: Compaction | null = null;
  #compacted: Promise<void> | null = null;
  #closing: boolean = false;

  constructor(options: StorageOptions) {
    this.name = options.name;
    this.path = options.path;
    this.#lock = options.lock;
    this.#database = options.database;
    this.#records = options.records;
    this.#baseSize = options.baseSize;
    this.#nowMs = options.nowMs;
    this.#policy = new CompactionPolicy(options.random, options.nowMs());
    this.#file = options.file({
      written: (number) => this.#onWritten(number),
      failed: (number, error, through) => this.#onFailed(number, error, through),
    });
  }

  /** Bytes in the file. */
  get sizeBytes(): number {
    return this.#file.size;
  }

  /** Records in the file. */
  get records(): number {
    return this.#records;
  }

  /** Why the last write failed; `null`: it did not. */
  get problem(): string | null {
    return this.#problem;
  }

  start(handlers: StorageHandlers): void {
    this.#handlers = handlers;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = setInterval(() => this.#compactIfDue(), POLICY_INTERVAL_MS);
    this.#timer.unref();
  }

  /** Keeps a record; handlers are told later, never from within the call. */
  append(request: AppendRequest): void {
    if (this.#closing) return;
    if (this.#rewriting !== null) this.#held.push(request);
    else if (request.schema !== null || this.#file.broken !== null) this.#rewrite(request);
    else this.#append(request);
  }

  /** No more records come in this turn of the event loop: handlers may be told within the call. */
  flush(): void {
    this.#file.flush();
  }

  /**
   * Writes the file anew, without what has been overwritten since. Call it when the database in
   * memory holds exactly what has been appended.
   * @throws OvsdbFileError; the old file is then as good as before
   */
  compact(): Promise<void> {
    this.#compacted ??= this.#compact().finally(() => {
      this.#compacted = null;
    });
    return this.#compacted;
  }

  /** Writes what has been appended, then gives the file free. */
  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#stopCompaction('is being closed');
    await this.#compacted?.catch(() => {});
    while (this.#rewriting !== null) await sleep(WAIT_MS);
    await this.#file.close();
    await this.#lock.release();
  }

  #append({ number, record, durable }: AppendRequest): void {
    this.#lastNumber = number;
    if (record !== null) this.#outstanding.push(number);
    this.#file.append(number, encode(record), durable);
  }

  #onWritten(number: number): void {
    this.#problem = null;
    this.#settle(number);
    this.#handlers?.appended(number);
  }

  /** Counts the records up to this number as written. */
  #settle(number: number): void {
    let count = this.#outstanding.findIndex((outstanding) => outstanding > number);
    if (count === -1) count = this.#outstanding.length;
    this.#outstanding.splice(0, count);
    this.#records += count;
  }

  #onFailed(number: number, cause: Error, through: number): void {
    this.#outstanding = [];
    if (this.#compaction !== null && this.#compaction.upTo >= number) {
      this.#stopCompaction('could not be written');
    }
    if (this.#rewriting !== null) this.#rewriting.failed = true;
    const error = ioError(this.name, 'write failed', cause);
    const then = this.#file.broken === null ? '' : ': the file will be written anew';
    this.#log('WARN', `${error.message}${then}`);
    this.#problem = error.message;
    this.#held = [];
    this.#handlers?.failed(number, error.error, through);
  }

  /** Puts the database as it is now, this request included, in the place of the file. */
  #rewrite(request: AppendRequest): void {
    const old = this.#database;
    if (request.schema !== null) this.#database = request.content ?? old;
    const snapshot = captureSnapshot(this.#database);
    const rewriting: Rewriting = { number: request.number, failed: false, error: null };
    this.#rewriting = rewriting;
    this.#lastNumber = request.number;
    this.#stopCompaction('has been replaced');
    this.#replaceFile(snapshot, rewriting).then(
      () => this.#onRewritten(request.number),
      (error: unknown) => {
        this.#database = old;
        this.#onNotRewritten(rewriting, error);
      },
    );
  }

  async #replaceFile(snapshot: Snapshot, rewriting: Rewriting): Promise<void> {
    await this.#compacted?.catch(() => {});
    await this.#file.drained();
    // What the snapshot holds has been refused: it is no state of the database.
    if (rewriting.failed) throw new SnapshotStopped();
    const replacement = Replacement.begin(this.path);
    try {
      await writeSnapshot(replacement, snapshot, this.#notes(''), () => rewriting.failed);
      await replacement.commit();
    } catch (error) {
      replacement.abort();
      throw error;
    }
    await this.#file.hold();
    this.#adopt(replacement, 2);
  }

  #onRewritten(number: number): void {
    this.#problem = null;
    this.#policy.done(this.#nowMs());
    this.#rewriting = null;
    this.#handlers?.appended(number);
    this.#appendHeld();
  }

  #onNotRewritten(rewriting: Rewriting, cause: unknown): void {
    this.#rewriting = null;
    rewriting.error = this.#errorOf(cause, 'write failed');
    // An earlier number was refused, and this one with it.
    if (rewriting.failed) {
      this.#appendHeld();
      return;
    }
    const { error } = rewriting;
    this.#problem = error.message;
    this.#log('WARN', error.message);
    this.#held = [];
    this.#handlers?.failed(rewriting.number, error.error, rewriting.number);
  }

  #appendHeld(): void {
    for (const request of this.#held.splice(0)) this.append(request);
  }

  async #compact(): Promise<void> {
    const rewriting = this.#rewriting;
    if (rewriting !== null) {
      // What this writes anew needs no compaction. The next rewriting may wait for this one here.
      while (this.#rewriting === rewriting) await sleep(WAIT_MS);
      if (rewriting.error !== null) throw rewriting.error;
      return;
    }
    const compaction: Compaction = { upTo: this.#lastNumber, stopped: null };
    this.#compaction = compaction;
    const tailOffset = this.#file.expectedSize;
    const covered = this.#records + this.#outstanding.length;
    let replacement: Replacement | null = null;
    try {
      const snapshot = captureSnapshot(this.#database);
      replacement = Replacement.begin(this.path);
      await writeSnapshot(replacement, snapshot, this.#notes(COMMENT), () => {
        return compaction.stopped !== null;
      });
      const size = replacement.size;
      await this.#follow(replacement, tailOffset, compaction);
      this.#adopt(replacement, 2 + this.#records - covered, size);
      this.#policy.done(this.#nowMs());
    } catch (error) {
      replacement?.abort();
      this.#policy.failed(this.#nowMs());
      throw compaction.stopped ?? this.#errorOf(error, 'compaction failed');
    } finally {
      this.#compaction = null;
    }
  }

  /** Copies what the old file got meanwhile, and puts the new one in its place: then held. */
  async #follow(
    replacement: Replacement,
    tailOffset: number,
    compaction: Compaction,
  ): Promise<void> {
    const check = (): void => {
      if (compaction.stopped !== null) throw new SnapshotStopped();
    };
    let copied = tailOffset;
    while (this.#file.size < tailOffset) {
      await sleep(WAIT_MS);
      check();
    }
    await replacement.sync();
    while (this.#file.size - copied > TAIL_SIZE_MAX) {
      const end = this.#file.size;
      await replacement.copy(this.#file.fd, copied, end);
      copied = end;
      check();
    }
    await replacement.sync();
    await this.#file.hold();
    try {
      check();
      await replacement.copy(this.#file.fd, copied, this.#file.size);
      await replacement.commit();
    } catch (error) {
      this.#file.release();
      throw error;
    }
  }

  /** Goes on in the new file; `this.#file` is held. */
  #adopt(replacement: Replacement, records: number, baseSize: number = replacement.size): void {
    this.#file.replaceWith(replacement.fd, replacement.size);
    this.#records = records;
    this.#baseSize = baseSize;
    this.#file.release();
  }

  #stopCompaction(why: string): void {
    if (this.#compaction === null || this.#compaction.stopped !== null) return;
    const error = plainError(`${this.name}: compaction stopped, the database ${why}`);
    this.#compaction.stopped = new OvsdbFileError('ERR_COMPACTION_STOPPED', this.name, error);
  }

  #compactIfDue(): void {
    if (this.#compacted !== null || this.#rewriting !== null || this.#closing) return;
    const growth = { records: this.#records, size: this.#file.size, baseSize: this.#baseSize };
    if (!this.#policy.isDue(growth, this.#nowMs())) return;
    const before = this.#file.size;
    this.compact().then(
      () => this.#log('INFO', `${this.name}: compacted from ${before} to ${this.#baseSize} bytes`),
      (error: unknown) => this.#log('WARN', `${this.name}: compaction failed: ${String(error)}`),
    );
  }

  #notes(comment: string): { comment: string; dateMs: number; columnDiff: boolean } {
    return { comment, dateMs: this.#nowMs(), columnDiff: true };
  }

  #errorOf(cause: unknown, action: string): OvsdbFileError {
    return cause instanceof OvsdbFileError ? cause : ioError(this.name, action, cause);
  }

  #log(level: StorageLogLevel, text: string): void {
    this.#handlers?.log(level, text);
  }
}

function encode(record: JsonObject | null): Uint8Array {
  if (record === null) return new Uint8Array(0);
  return encodeRecord('JSON', serialize(record), sha1);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
