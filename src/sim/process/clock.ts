/**
 * The clocks of one machine: a monotonic one that runs a little too fast or too slow and never goes
 * back, and one on the wall that is off by something and may be set at any moment. They run on
 * while a process is down or paused.
 */
import type { Instant } from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';
import { type World, wallAt } from '../world/world.ts';

export interface ClockOptions {
  /** How far the wall clock is off when the world begins, nanoseconds. */
  readonly offsetNs: number;
  /** How much too fast both run, millionths; negative: too slow. */
  readonly driftPpm: number;
  /** What the monotonic clock shows when the world begins, nanoseconds. */
  readonly monoStartNs: number;
}

const CLOCK_TRUE: ClockOptions = { offsetNs: 0, driftPpm: 0, monoStartNs: 0 };
const MILLION = 1_000_000;

export class Clock {
  readonly #world: World;
  readonly #options: ClockOptions;
  readonly #name: string;
  #offsetNs: number;

  constructor(world: World, options: ClockOptions = CLOCK_TRUE, name: string = 'clock') {
    const { offsetNs, driftPpm, monoStartNs } = options;
    assert(Number.isSafeInteger(offsetNs), 'Clock: offset is not a whole number');
    assert(Math.abs(driftPpm) < MILLION / 10, 'Clock: no clock is that bad');
    assert(monoStartNs >= 0, 'Clock: starts before its beginning');
    this.#world = world;
    this.#options = options;
    this.#name = name;
    this.#offsetNs = offsetNs;
  }

  /** The one reading of both for one event. */
  instant(): Instant {
    const elapsedNs = this.#elapsed();
    return {
      monoNs: this.#options.monoStartNs + elapsedNs,
      wall: wallAt(elapsedNs + this.#offsetNs),
    };
  }

  /** How far the wall clock is off now, nanoseconds. */
  get errorNs(): number {
    return this.#elapsed() + this.#offsetNs - this.#world.nowNs;
  }

  /** Sets the wall clock by `deltaNs`, either way. */
  step(deltaNs: number): void {
    this.#offsetNs += deltaNs;
    this.#world.coverage.add('clockSteps');
    this.#world.note(this.#name, 'clock', `wall clock steps by ${deltaNs} ns`);
  }

  /** How long the world takes until this clock has moved on by `ns`, rounded up. */
  worldNs(ns: number): number {
    const { driftPpm } = this.#options;
    if (driftPpm === 0 || ns === 0) return ns;
    return Math.ceil((ns * MILLION) / (MILLION + driftPpm)) + 1;
  }

  #elapsed(): number {
    const { nowNs } = this.#world;
    return nowNs + Math.floor((nowNs * this.#options.driftPpm) / MILLION);
  }
}
