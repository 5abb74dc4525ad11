/**
 * Lets a burst of lines through, then so many a minute; what was held back is counted and told of
 * when lines pass again.
 */
export interface Dropped {
  readonly count: number;
  readonly firstMsAgo: number;
  readonly lastMsAgo: number;
}

export class RateLimit {
  readonly #perMinute: number;
  readonly #burst: number;
  #tokens: number;
  #filledMs: number = 0;
  #dropped: number = 0;
  #firstMs: number = 0;
  #lastMs: number = 0;

  constructor(perMinute: number, burst: number) {
    this.#perMinute = perMinute;
    this.#burst = burst;
    this.#tokens = burst;
  }

  /** `null`: hold the line back. Otherwise what was held back before it. */
  pass(nowMs: number): Dropped | null {
    const grown = ((nowMs - this.#filledMs) * this.#perMinute) / 60_000;
    this.#tokens = Math.min(this.#burst, this.#tokens + grown);
    this.#filledMs = nowMs;
    if (this.#tokens < 1) {
      if (this.#dropped++ === 0) this.#firstMs = nowMs;
      this.#lastMs = nowMs;
      return null;
    }
    this.#tokens -= 1;
    const count = this.#dropped;
    this.#dropped = 0;
    return { count, firstMsAgo: nowMs - this.#firstMs, lastMsAgo: nowMs - this.#lastMs };
  }
}
