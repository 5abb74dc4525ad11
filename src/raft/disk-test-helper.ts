/**
 * A simulated file: what was written, what of it is durable, and what a crash leaves. A replaced
 * file that is not yet durable may come back as the old one.
 */
import assert from 'node:assert/strict';
import type { Prng } from '../stdx/index.ts';
import type { FileHeader, LogRecord } from './entry.ts';

interface File<T> {
  readonly seq: number;
  readonly header: FileHeader<T>;
  readonly records: { readonly seq: number; readonly record: LogRecord<T> }[];
}

export interface Content<T> {
  readonly header: FileHeader<T>;
  readonly records: readonly LogRecord<T>[];
}

export class Disk<T> {
  /** The one that is written to is the last; those before would come back after a crash. */
  #files: File<T>[];
  #synced: number = 0;

  constructor(header: FileHeader<T>, records: readonly LogRecord<T>[] = []) {
    this.#files = [{ seq: 0, header, records: records.map((record) => ({ seq: 0, record })) }];
  }

  append(seq: number, records: readonly LogRecord<T>[]): void {
    for (const record of records) this.#files[this.#files.length - 1].records.push({ seq, record });
  }

  replace(seq: number, header: FileHeader<T>, records: readonly LogRecord<T>[]): void {
    this.#files.push({ seq, header, records: records.map((record) => ({ seq, record })) });
  }

  synced(seq: number): void {
    this.#synced = Math.max(this.#synced, seq);
    const newest = this.#files.findLastIndex((file) => file.seq <= this.#synced);
    this.#files = this.#files.slice(newest);
  }

  /** What would be there after the worst crash. */
  durable(): Content<T> {
    const [file] = this.#files;
    const records = file.records.filter((item) => item.seq <= this.#synced);
    return { header: file.header, records: records.map((item) => item.record) };
  }

  /** Everything that was written. */
  content(): Content<T> {
    const file = this.#files.at(-1);
    assert(file !== undefined);
    return { header: file.header, records: file.records.map((item) => item.record) };
  }

  /** Keeps what is durable and some of what is not, in order; all that is left is durable then. */
  crash(prng: Prng): void {
    const file = prng.pick(this.#files);
    const safe = file.records.filter((item) => item.seq <= Math.max(this.#synced, file.seq)).length;
    const kept = prng.between(safe, file.records.length);
    const records = file.records.slice(0, kept).map(({ record }) => ({ seq: 0, record }));
    this.#files = [{ seq: 0, header: file.header, records }];
    this.#synced = 0;
  }
}
