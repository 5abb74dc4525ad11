/**
 * The file of a server, record by record: what was written, which write each record belongs to, and
 * every file that a power cut may leave.
 */

import type { FileHeader, LogRecord } from '../../../raft/index.ts';
import { assert } from '../../../stdx/index.ts';

interface File<T> {
  readonly seq: number;
  readonly header: FileHeader<T>;
  readonly records: { readonly seq: number; readonly record: LogRecord<T> }[];
}

export interface Content<T> {
  readonly header: FileHeader<T>;
  readonly records: readonly LogRecord<T>[];
}

export class RaftDisk<T> {
  /** The one that is written to is the last; those before would come back after a crash. */
  #files: File<T>[];
  #synced: number = 0;
  /** Syncs that were asked for and are not done, ascending. */
  readonly #asked: number[] = [];

  constructor({ header, records }: Content<T>) {
    this.#files = [{ seq: 0, header, records: records.map((record) => ({ seq: 0, record })) }];
  }

  get asked(): readonly number[] {
    return this.#asked;
  }

  append(seq: number, records: readonly LogRecord<T>[]): void {
    for (const record of records) this.#newest.records.push({ seq, record });
  }

  replace(seq: number, header: FileHeader<T>, records: readonly LogRecord<T>[]): void {
    this.#files.push({ seq, header, records: records.map((record) => ({ seq, record })) });
    this.ask(seq);
  }

  ask(seq: number): void {
    this.#asked.push(seq);
  }

  /** The oldest sync that was asked for is done. */
  sync(): number {
    const seq = this.#asked.shift();
    assert(seq !== undefined, 'RaftDisk: nothing to sync');
    this.#synced = seq;
    const newest = this.#files.findLastIndex((file) => file.seq <= seq);
    this.#files = this.#files.slice(newest);
    return seq;
  }

  /** What would be there after the worst crash. */
  durable(): Content<T> {
    return this.#cut(this.#files[0], this.#safe(this.#files[0]));
  }

  /** All that a power cut may leave, the worst first. */
  afterCrash(): Content<T>[] {
    return this.#files.flatMap((file) => {
      const safe = this.#safe(file);
      const count = file.records.length - safe + 1;
      return Array.from({ length: count }, (_, more) => this.#cut(file, safe + more));
    });
  }

  /** What is not durable: records and whole files, by the write that brought them. */
  pending(): { readonly seq: number; readonly what: LogRecord<T> | FileHeader<T> }[] {
    return this.#files.flatMap((file, i) => {
      const records = file.records.slice(i === 0 ? this.#safe(file) : 0);
      const writes = records.map(({ seq, record }) => ({ seq, what: record }));
      return i === 0 ? writes : [{ seq: file.seq, what: file.header }, ...writes];
    });
  }

  get #newest(): File<T> {
    return this.#files[this.#files.length - 1];
  }

  #safe(file: File<T>): number {
    return file.records.filter(({ seq }) => seq <= Math.max(this.#synced, file.seq)).length;
  }

  #cut(file: File<T>, count: number): Content<T> {
    const records = file.records.slice(0, count).map(({ record }) => record);
    return { header: file.header, records };
  }
}
