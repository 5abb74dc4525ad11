/**
 * Many reads, a few of them under way at a time: what recovery does most of the time. Completions
 * come in any order; whoever needs an order restores it.
 */
import { assert } from '../../stdx/index.ts';
import { type Outbox, Part } from '../outbox.ts';

export interface ReadJob {
  /** Multiples of 4096. */
  readonly offset: number;
  readonly length: number;
}

export class ReadWindow<Job extends ReadJob> {
  readonly #outbox: Outbox;
  readonly #jobs: readonly Job[];
  readonly #widthMax: number;
  readonly #pending: Map<number, Job> = new Map();
  #next: number = 0;

  constructor(outbox: Outbox, jobs: readonly Job[], widthMax: number) {
    assert(widthMax >= 1, 'ReadWindow: too narrow');
    this.#outbox = outbox;
    this.#jobs = jobs;
    this.#widthMax = widthMax;
  }

  /** Everything has been read. */
  get isDone(): boolean {
    return this.#next === this.#jobs.length && this.#pending.size === 0;
  }

  /** Begins reads up to the width; those that `held` says wait for their turn count as well. */
  pump(held: number = 0): void {
    while (this.#next < this.#jobs.length && this.#pending.size + held < this.#widthMax) {
      const job = this.#jobs[this.#next];
      this.#next++;
      this.#pending.set(this.#outbox.read(Part.recovery, job.offset, job.length), job);
    }
  }

  /** What a completed read was for. */
  finish(token: number): Job {
    const job = this.#pending.get(token);
    assert(job !== undefined, 'ReadWindow: nobody waits for this read');
    this.#pending.delete(token);
    return job;
  }
}
