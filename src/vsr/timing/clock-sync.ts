/**
 * What time it is, by agreement: the wall clock of one machine may be wrong by minutes and may
 * step, and the ledger's timestamps must survive that. Pings carry our monotonic time, pongs bring
 * it back with the peer's wall clock; a quorum of clocks that agree makes an epoch, and the local
 * wall clock is believed only inside what the epoch allows.
 *
 * All estimates are relative to the *window clock*: the wall clock when the window began plus the
 * monotonic time since, which does not step.
 */
import type { Instant } from '../../engine/index.ts';
import { assert, type U64, U64_ZERO, u64Difference } from '../../stdx/index.ts';
import { agree, type Interval } from './marzullo.ts';

const MS = 1_000_000;
/** Between pings while there is no agreed time, and afterwards. */
const PING_NS_FIRST: number = 50 * MS;
const PING_NS: number = 1000 * MS;
/** How long samples are collected before they are compared, and when they are thrown away. */
const WINDOW_NS_MIN_FIRST: number = 200 * MS;
const WINDOW_NS_MAX_FIRST: number = 2000 * MS;
const WINDOW_NS_MIN: number = 2000 * MS;
const WINDOW_NS_MAX: number = 20_000 * MS;
/** How long an agreement holds, counted from the beginning of its window. */
const EPOCH_NS_MAX: number = 60_000 * MS;
/** Clocks this far apart can agree, besides the delay of the network. */
const TOLERANCE_NS_MAX: number = 10_000 * MS;
/** An offset that moved by more than this with the delay was measured over an uneven way. */
const ASYMMETRY_NS_MIN: number = 10 * MS;
/** A clock this far outside the agreed time, besides its delay, is reported as outvoted. */
const OUTVOTED_NS_MIN: number = 1000 * MS;
const NO_NEWS: readonly ClockNews[] = [];
const LIMB = 0x1_0000_0000;

export interface ClockSyncOptions {
  readonly replicaCount: number;
  readonly replica: number;
  /** Clocks that must agree, the own one among them or not. */
  readonly quorum: number;
}

/** One clock as this replica sees it. */
export interface ClockSource {
  readonly replica: number;
  /** Its clock minus ours, ns. */
  readonly offsetNs: number;
  /** Of the fastest answer, ns: the offset is uncertain by as much. */
  readonly oneWayNs: number;
  /** It differs from what the quorum agreed on. */
  readonly isOutvoted: boolean;
}

export interface ClockStatus {
  readonly isSynchronized: boolean;
  /** Agreed time minus our clock lies between these, ns; 0 when not synchronised. */
  readonly offsetNsMin: number;
  readonly offsetNsMax: number;
  /** Clocks heard in the last window that was judged, agreed or not; our own among them. */
  readonly sources: readonly ClockSource[];
}

/** What an operator wants to know of clocks, told once when it begins and once when it ends. */
export type ClockNews =
  /** A clock differs from what a quorum agreed on: `offsetMs` is it minus the agreed time. */
  | { readonly kind: 'outvoted'; readonly replica: number; readonly offsetMs: number }
  /** A clock that was outvoted agrees again. */
  | { readonly kind: 'agrees'; readonly replica: number }
  /** There is no agreed time: enough clocks were heard, but they do not agree. */
  | { readonly kind: 'disagreement'; readonly sources: readonly ClockSource[] }
  /** There is no agreed time any more: too few clocks were heard for too long. */
  | { readonly kind: 'silence' }
  /** There is agreed time again. */
  | { readonly kind: 'agreement' };

interface Sample {
  readonly offsetNs: number;
  readonly oneWayNs: number;
}

interface Window {
  readonly monoNs: number;
  readonly wall: U64;
  /** By replica: the sample with the smallest delay. */
  readonly samples: (Sample | null)[];
  /** There are samples that have not been judged. */
  isDirty: boolean;
}

/** The agreement of a window. */
interface Epoch {
  readonly window: Window;
  /** Of the offset of the agreed time from the window clock, ns. */
  readonly offset: Interval;
}

export class ClockSync {
  readonly #options: ClockSyncOptions;
  #window: Window | null = null;
  #epoch: Epoch | null = null;
  /** The window last judged, with its agreement. */
  #judged: { readonly window: Window; readonly offset: Interval | null } | null = null;
  readonly #news: ClockNews[] = [];
  /** Clocks that were told to be outvoted: bit i ↔ replica i. */
  #outvoted: number = 0;
  /** Why there is no agreed time, as told. */
  #problem: 'disagreement' | 'silence' | null = null;

  constructor(options: ClockSyncOptions) {
    const { replicaCount, replica, quorum } = options;
    assert(replica >= 0 && replica < replicaCount, 'ClockSync: no such replica');
    assert(quorum >= 1 && quorum <= replicaCount, 'ClockSync: bad quorum');
    this.#options = options;
  }

  /** How often to ping every peer at present. */
  get pingIntervalNs(): number {
    return this.#isSynchronized ? PING_NS : PING_NS_FIRST;
  }

  /** The shortest way to a peer and back, of late; 0: not known. */
  get roundTripNs(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const window of [this.#window, this.#epoch?.window ?? null]) {
      for (const sample of window?.samples ?? []) {
        if (sample !== null && sample.oneWayNs > 0) least = Math.min(least, 2 * sample.oneWayNs);
      }
    }
    return Number.isFinite(least) ? least : 0;
  }

  /** As of the last {@link tick}. */
  get status(): ClockStatus {
    return {
      isSynchronized: this.#isSynchronized,
      offsetNsMin: this.#epoch?.offset.lower ?? 0,
      offsetNsMax: this.#epoch?.offset.upper ?? 0,
      sources: this.#sources(),
    };
  }

  get #isSynchronized(): boolean {
    return this.#options.replicaCount === 1 || this.#epoch !== null;
  }

  /**
   * A pong of `replica`: `m0` is our monotonic time in the ping that it answers, `t1` its wall
   * clock then. A pong that nobody asked for in this window is ignored.
   */
  learn(replica: number, m0: number, t1: U64, now: Instant): void {
    assert(replica >= 0 && replica < this.#options.replicaCount, 'ClockSync: no such replica');
    assert(replica !== this.#options.replica, 'ClockSync: a pong of our own');
    const window = this.#window;
    const m2 = now.monoNs;
    if (window === null || m0 < window.monoNs || m0 > m2) return;
    const oneWayNs = Math.floor((m2 - m0) / 2);
    const known = window.samples[replica];
    if (known !== null && known.oneWayNs < oneWayNs) return;
    const offsetNs = u64Difference(t1, window.wall) + oneWayNs - (m2 - window.monoNs);
    const correction = this.#correction(window, replica, { offsetNs, oneWayNs });
    window.samples[replica] = { offsetNs: offsetNs + correction, oneWayNs };
    window.isDirty = true;
  }

  /** What has begun or ended since this was last asked; most often nothing. */
  takeNews(): readonly ClockNews[] {
    return this.#news.length === 0 ? NO_NEWS : this.#news.splice(0);
  }

  /** Moves windows and epochs on; called before each use. */
  tick(now: Instant): void {
    if (this.#options.replicaCount === 1) return;
    if (this.#epoch !== null && isExpired(this.#epoch, now)) {
      this.#epoch = null;
      this.#tellLoss();
    }
    const window = this.#window;
    if (window === null) {
      this.#window = this.#open(now);
      return;
    }
    const isFirst = this.#epoch === null;
    const elapsedNs = now.monoNs - window.monoNs;
    if (elapsedNs < (isFirst ? WINDOW_NS_MIN_FIRST : WINDOW_NS_MIN)) return;
    if (window.isDirty) this.#judge(window, now);
    const isOver = elapsedNs >= (isFirst ? WINDOW_NS_MAX_FIRST : WINDOW_NS_MAX);
    if (isOver || this.#epoch?.window === window) this.#window = this.#open(now);
  }

  /**
   * The agreed time: the local wall clock, kept inside the agreed interval. Null when there is no
   * agreement; alone, always the local wall clock.
   */
  realtime(now: Instant): U64 | null {
    if (this.#options.replicaCount === 1) return now.wall;
    const epoch = this.#epoch;
    if (epoch === null || isExpired(epoch, now)) return null;
    const elapsedNs = now.monoNs - epoch.window.monoNs;
    const offsetNs = u64Difference(now.wall, epoch.window.wall) - elapsedNs;
    const { lower, upper } = epoch.offset;
    if (offsetNs < lower) return shifted(epoch.window.wall, elapsedNs + lower);
    if (offsetNs > upper) return shifted(epoch.window.wall, elapsedNs + upper);
    return now.wall;
  }

  #open(now: Instant): Window {
    const samples = new Array<Sample | null>(this.#options.replicaCount).fill(null);
    samples[this.#options.replica] = { offsetNs: 0, oneWayNs: 0 };
    return { monoNs: now.monoNs, wall: now.wall, samples, isDirty: false };
  }

  /**
   * A way that was slower than in the last epoch was so in one direction, when the offset has moved
   * along with it: the excess is taken out again.
   */
  #correction(window: Window, replica: number, sample: Sample): number {
    const last = this.#epoch?.window;
    const known = last?.samples[replica] ?? null;
    if (last === undefined || known === null) return 0;
    const excessNs = sample.oneWayNs - known.oneWayNs;
    if (excessNs <= 0) return 0;
    // Our own clock may have stepped between the beginnings of both windows.
    const stepNs = u64Difference(window.wall, last.wall) - (window.monoNs - last.monoNs);
    const movedNs = sample.offsetNs - (known.offsetNs - stepNs);
    // A slow ping lets the peer read its clock late, a slow pong lets us think it did so early.
    if (movedNs > ASYMMETRY_NS_MIN) return -excessNs;
    return movedNs < -ASYMMETRY_NS_MIN ? excessNs : 0;
  }

  /** Looks for the narrowest agreement of a quorum. */
  #judge(window: Window, now: Instant): void {
    window.isDirty = false;
    const samples = window.samples.filter((sample) => sample !== null);
    if (samples.length < this.#options.quorum) return;
    let offset: Interval | null = null;
    let toleranceNs = TOLERANCE_NS_MAX;
    for (;;) {
      const agreement = agree(samples.map((sample) => intervalOf(sample, toleranceNs)));
      if (agreement === null || agreement.count < this.#options.quorum) break;
      offset = { lower: agreement.lower, upper: agreement.upper };
      if (toleranceNs === 0) break;
      toleranceNs = Math.floor(toleranceNs / 2);
    }
    this.#judged = { window, offset };
    if (offset === null) {
      if (this.#epoch === null) this.#tellLoss();
      return;
    }
    this.#tellOutvoted(window, offset);
    const epoch = { window, offset };
    if (isExpired(epoch, now)) return;
    this.#epoch = epoch;
    if (this.#problem !== null) this.#news.push({ kind: 'agreement' });
    this.#problem = null;
  }

  /** There is no agreed time: why, unless that is known. */
  #tellLoss(): void {
    const problem = this.#judged?.offset === null ? 'disagreement' : 'silence';
    if (problem === this.#problem) return;
    this.#problem = problem;
    if (problem === 'silence') this.#news.push({ kind: 'silence' });
    else this.#news.push({ kind: 'disagreement', sources: this.#sources() });
  }

  /** A clock that was not heard in this window is what it was. */
  #tellOutvoted(window: Window, offset: Interval): void {
    for (const [replica, sample] of window.samples.entries()) {
      if (sample === null) continue;
      const bit = 1 << replica;
      const isKnown = (this.#outvoted & bit) !== 0;
      // Whoever is back by a hair may be gone again at the next look: that is not told each time.
      const isOut = isOutside(sample, offset, isKnown ? OUTVOTED_NS_MIN / 2 : OUTVOTED_NS_MIN);
      if (isOut === isKnown) continue;
      this.#outvoted ^= bit;
      if (isOut) {
        const offsetNs = sample.offsetNs - (offset.lower + offset.upper) / 2;
        this.#news.push({ kind: 'outvoted', replica, offsetMs: Math.round(offsetNs / MS) });
      } else {
        this.#news.push({ kind: 'agrees', replica });
      }
    }
  }

  #sources(): ClockSource[] {
    const sources: ClockSource[] = [];
    if (this.#judged === null) return sources;
    const { window, offset } = this.#judged;
    for (const [replica, sample] of window.samples.entries()) {
      if (sample === null) continue;
      const isOutvoted = offset !== null && isOutside(sample, offset, OUTVOTED_NS_MIN);
      sources.push({ replica, ...sample, isOutvoted });
    }
    return sources;
  }
}

function isExpired(epoch: Epoch, now: Instant): boolean {
  return now.monoNs - epoch.window.monoNs > EPOCH_NS_MAX;
}

function isOutside(sample: Sample, agreed: Interval, toleranceNs: number): boolean {
  const claim = intervalOf(sample, toleranceNs);
  return claim.lower > agreed.upper || claim.upper < agreed.lower;
}

function intervalOf(sample: Sample, toleranceNs: number): Interval {
  const marginNs = sample.oneWayNs + toleranceNs;
  return { lower: sample.offsetNs - marginNs, upper: sample.offsetNs + marginNs };
}

/**
 * `wall + ns`, held at the ends of what 64 bits can say. Clocks can be centuries apart, so `ns` may
 * be more than a safe integer; it is then off by as many nanoseconds as a double rounds.
 */
function shifted(wall: U64, ns: number): U64 {
  const high = Math.floor(ns / LIMB);
  const low = wall.lo + (ns - high * LIMB);
  const carry = low >= LIMB ? 1 : 0;
  const hi = wall.hi + high + carry;
  if (hi < 0) return U64_ZERO;
  if (hi >= LIMB) return { hi: LIMB - 1, lo: LIMB - 1 };
  return { hi, lo: low - carry * LIMB };
}
