/**
 * A new generation on its way: written into free extents beside the one that is in force, without
 * durability one by one but flushed every few megabytes. When all is durable the head is written,
 * and the old generation is history.
 *
 * A replacement that *continues* says what the old generation said (a log that was compacted), so
 * what is appended meanwhile goes to both, and is durable when the old one has it. When the new one
 * has caught up, appends are held for as long as a flush and the head take. One that does not
 * continue (a snapshot of another history) takes what follows it, and that waits.
 */
import { assert } from '../../stdx/index.ts';
import type { FileHeader, LogRecord } from '../entry.ts';
import type { Chain, Frame } from './chain.ts';
import { CATCH_UP_FRAMES_MAX, REPLACE_FRAMES_MAX, REPLACE_UNFLUSHED_MAX } from './layout.ts';
import { StreamSource } from './stream-source.ts';

/**
 * `base`: what the file is to begin with. `catch-up`: what was appended meanwhile. `hold`: what
 * was appended until now, and no more. `durable`: all is. `head`: its head is being written.
 */
export type ReplacementPhase = 'waiting' | 'base' | 'catch-up' | 'hold' | 'durable' | 'head';

/** What a replacement needs of the file. */
export interface ReplacementHost {
  /** Makes a frame of it and writes it; false: there is nothing to write, or no buffer. */
  cut(chain: Chain, source: StreamSource, seqMax: number, done: () => void): Frame | null;
  flush(done: () => void): void;
  /** Newest write that was asked to be durable. */
  readonly requested: number;
  /** Newest write that has begun its way into the old generation. */
  readonly seqTaken: number;
  /** Nothing is being written to the old generation. */
  readonly isQuiet: boolean;
}

export class Replacement {
  readonly seq: number;
  readonly continues: boolean;
  readonly source: StreamSource = new StreamSource();
  #phase: ReplacementPhase = 'waiting';
  #chain: Chain | null = null;
  #inFlight: number = 0;
  #unflushed: number = 0;
  #isFlushing: boolean = false;
  #catchUpFrames: number = 0;

  constructor(
    seq: number,
    continues: boolean,
    header: FileHeader<Uint8Array>,
    records: readonly LogRecord<Uint8Array>[],
  ) {
    this.seq = seq;
    this.continues = continues;
    this.source.addHeader(seq, header, records);
  }

  get phase(): ReplacementPhase {
    return this.#phase;
  }

  get chain(): Chain {
    assert(this.#chain !== null, 'Replacement: not begun');
    return this.#chain;
  }

  /** Nothing may be appended to the old generation any more. */
  get isHolding(): boolean {
    return this.#phase === 'hold' || this.#phase === 'durable' || this.#phase === 'head';
  }

  begin(chain: Chain): void {
    assert(this.#phase === 'waiting', 'Replacement: begun twice');
    this.#chain = chain;
    this.#phase = 'base';
  }

  /** Its head is being written. */
  onHead(): void {
    assert(this.#phase === 'durable', 'Replacement: the head before the frames');
    this.#phase = 'head';
  }

  /** Goes on as far as it can; true: all is durable, the head is next. */
  advance(host: ReplacementHost): boolean {
    if (this.#unflushed >= REPLACE_UNFLUSHED_MAX) this.#flush(host);
    if (this.#phase === 'base') this.#advanceBase(host);
    if (this.#phase === 'catch-up') this.#advanceCatchUp(host);
    if (this.#phase === 'hold') this.#advanceHold(host);
    return this.#phase === 'durable';
  }

  #advanceBase(host: ReplacementHost): void {
    this.#write(host, this.seq);
    if (this.source.has(this.seq) || !this.#settle(host)) return;
    this.#phase = this.continues ? 'catch-up' : 'hold';
  }

  #advanceCatchUp(host: ReplacementHost): void {
    while (this.#catchUpFrames < CATCH_UP_FRAMES_MAX && this.source.has(host.requested)) {
      if (this.#writeOne(host, host.requested)) this.#catchUpFrames++;
      // Marks of replacements take no frame; otherwise there is no room for another one.
      else if (this.source.has(host.requested)) return;
    }
    this.#phase = 'hold';
  }

  #advanceHold(host: ReplacementHost): void {
    // What the old generation has taken of a write that it has not all of is in this one later.
    const seqMax = Math.max(this.seq, host.seqTaken);
    this.#write(host, seqMax);
    if (this.source.has(seqMax) || !host.isQuiet || !this.#settle(host)) return;
    this.#phase = 'durable';
  }

  #write(host: ReplacementHost, seqMax: number): void {
    while (this.#writeOne(host, seqMax));
  }

  #writeOne(host: ReplacementHost, seqMax: number): boolean {
    if (this.#inFlight === REPLACE_FRAMES_MAX) return false;
    let size = 0;
    const frame = host.cut(this.chain, this.source, seqMax, () => {
      this.#inFlight--;
      this.#unflushed += size;
    });
    if (frame === null) return false;
    size = frame.bytes.length;
    this.#inFlight++;
    return true;
  }

  /** Whether all that was written is durable; sees to it that it will be. */
  #settle(host: ReplacementHost): boolean {
    if (this.#inFlight > 0 || this.#isFlushing) return false;
    if (this.#unflushed === 0) return true;
    this.#flush(host);
    return false;
  }

  #flush(host: ReplacementHost): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    const flushed = this.#unflushed;
    host.flush(() => {
      this.#isFlushing = false;
      this.#unflushed -= flushed;
    });
  }
}
