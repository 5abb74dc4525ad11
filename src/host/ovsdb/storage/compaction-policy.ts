/**
 * When a database file is written anew without being asked: the original's rule, so that whoever
 * moves over finds files of the sizes they know. Between ten and twenty minutes after the last
 * time, as soon as the file has 100 records, more than 10 MB and twice its size of then; after a
 * day, if there is anything to gain.
 */

export interface FileGrowth {
  readonly records: number;
  /** Bytes now. */
  readonly size: number;
  /** Bytes after the last compaction. */
  readonly baseSize: number;
}

const MINUTE_MS = 60_000;
const PAUSE_MIN_MS: number = 10 * MINUTE_MS;
const PAUSE_RANGE_MS: number = 10 * MINUTE_MS;
/** After a failure. */
const RETRY_FRACTION = 10;
const PAUSE_MAX_MS: number = 24 * 60 * MINUTE_MS;
const RECORDS_MIN = 100;
const SIZE_MIN: number = 10 * 1024 * 1024;

export class CompactionPolicy {
  readonly #random: () => number;
  #notBeforeMs: number = 0;
  #atLatestMs: number = 0;

  /** `random`: from 0 up to 1. */
  constructor(random: () => number, nowMs: number) {
    this.#random = random;
    this.done(nowMs);
  }

  isDue(growth: FileGrowth, nowMs: number): boolean {
    if (nowMs < this.#notBeforeMs) return false;
    // A file of two records is a compacted one.
    if (nowMs >= this.#atLatestMs) return growth.records > 2;
    if (growth.records < RECORDS_MIN || growth.size <= SIZE_MIN) return false;
    return growth.size / 2 > growth.baseSize;
  }

  done(nowMs: number): void {
    this.#notBeforeMs = nowMs + PAUSE_MIN_MS + this.#random() * PAUSE_RANGE_MS;
    this.#atLatestMs = nowMs + PAUSE_MAX_MS;
  }

  failed(nowMs: number): void {
    const pauseMs = PAUSE_MIN_MS + this.#random() * PAUSE_RANGE_MS;
    this.#notBeforeMs = nowMs + pauseMs / RETRY_FRACTION;
  }
}
