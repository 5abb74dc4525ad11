/**
 * How a scenario's trouble begins, what becomes of it while requests are answered, and whether it
 * really happened: figures of a dead replica that was alive are worse than none.
 */
import type { Assembly } from '../cluster/assembly.ts';
import { check } from '../world/failure.ts';
import type { Conditions } from './conditions.ts';
import type { Meter } from './meter.ts';
import { type Scenario, SLOW_DISK_FACTOR, type Trouble } from './scenario.ts';

export interface CourseParts {
  readonly cluster: Assembly;
  readonly meter: Meter;
  readonly conditions: Conditions;
  /** Index of the primary when the measurement begins. */
  readonly primary: number;
}

/** What a slow disk is at least slower by; a few slow writes of others spoil the factor. */
const SLOW_DISK_FACTOR_MIN = 5;

export class Course {
  readonly #scenario: Scenario;
  readonly #parts: CourseParts;
  readonly #view: number;
  /** When what was to happen halfway has happened; −1: not yet. */
  #turnedNs: number = -1;
  /** Head of the log at that time. */
  #turnedHead: number = 0;
  #catchUpNs: number = 0;
  #failoverNs: number = 0;

  constructor(scenario: Scenario, parts: CourseParts) {
    this.#scenario = scenario;
    this.#parts = parts;
    this.#view = parts.meter.view;
  }

  /** From its start until it had executed all that was prepared before; 0: nobody had to. */
  get catchUpNs(): number {
    return this.#catchUpNs;
  }

  /** From the primary's end to the first answer of another one; 0: it has not come to that. */
  get failoverNs(): number {
    return this.#failoverNs;
  }

  /** Nothing has to be waited for once all is answered. */
  get isOver(): boolean {
    return this.#scenario.trouble?.kind !== 'returns' || this.#catchUpNs > 0;
  }

  /** Before the first request. */
  begin(): void {
    for (const distance of this.#scenario.dead ?? []) this.#stop(this.#at(distance));
    const { trouble } = this.#scenario;
    if (trouble === undefined) return;
    const replica = this.#of(trouble);
    if (trouble.kind === 'slow-link') this.#parts.conditions.slowDown(replica);
    else if (trouble.kind === 'slow-disk') {
      this.#parts.cluster.site(replica).disk.slowDown(SLOW_DISK_FACTOR);
    } else if (trouble.kind === 'returns') this.#stop(replica);
    else if (!isHalfway(trouble)) this.#strike(trouble);
  }

  /** So many requests have been answered. */
  onAnswered(count: number): void {
    const { trouble, requests } = this.#scenario;
    const { cluster, meter } = this.#parts;
    if (trouble === undefined || !isHalfway(trouble)) return;
    const { nowNs } = cluster.world;
    if (this.#turnedNs >= 0) {
      const isOfOther = trouble.kind !== 'returns' && meter.view > this.#view;
      if (isOfOther && this.#failoverNs === 0) this.#failoverNs = nowNs - this.#turnedNs;
      return;
    }
    if (count < requests / 2) return;
    this.#turnedNs = nowNs;
    this.#turnedHead = meter.head;
    // Not within the client's turn.
    cluster.world.after(0, () => this.#strike(trouble));
  }

  /** Now and then. */
  look(): void {
    const { cluster, meter } = this.#parts;
    const { trouble } = this.#scenario;
    if (trouble?.kind !== 'returns' || this.#turnedNs < 0 || this.#catchUpNs > 0) return;
    const replica = this.#of(trouble);
    const { process: life } = cluster.site(replica);
    if (!life.isReady || meter.parts(replica).state.commitMin < this.#turnedHead) return;
    this.#catchUpNs = cluster.world.nowNs - this.#turnedNs;
    meter.ignored.delete(replica);
  }

  /** All is answered: fails unless the trouble was there all the time. */
  check(): void {
    const { cluster, conditions } = this.#parts;
    const { trouble, losses = 0, dead = [] } = this.#scenario;
    for (const distance of dead) this.#checkDown(this.#at(distance));
    happened(losses === 0 || conditions.lost > 0, 'nothing was lost');
    if (trouble === undefined) return;
    const replica = this.#of(trouble);
    const others = cluster.all.filter((index) => index !== replica);
    const { network } = cluster;
    switch (trouble.kind) {
      case 'slow-disk':
        this.#checkDisk(replica, others);
        return;
      case 'slow-link':
        happened(conditions.delayed > 0, 'no message was late');
        return;
      case 'returns':
        this.#checkReturned(replica, trouble.by);
        return;
      case 'deaf':
        for (const other of others) happened(!network.isOpen(other, replica), 'it could hear');
        break;
      case 'mute':
        for (const other of others) happened(!network.isOpen(replica, other), 'it was heard');
        break;
      case 'killed':
        this.#checkDown(replica);
        break;
    }
    if (isHalfway(trouble)) happened(this.#failoverNs > 0, 'no other primary has answered');
  }

  /** Nothing is wrong any more but what is gone for good. */
  end(): void {
    const { network, all } = this.#parts.cluster;
    for (const from of all) for (const to of all) if (from !== to) network.open(from, to);
  }

  #strike(trouble: Trouble): void {
    const { cluster, meter } = this.#parts;
    const replica = this.#of(trouble);
    const others = cluster.all.filter((index) => index !== replica);
    if (trouble.kind === 'returns') {
      cluster.site(replica).start();
    } else if (trouble.kind === 'killed') {
      meter.ignored.add(replica);
      cluster.site(replica).process.crash('mixed', trouble.isSilent);
    } else if (trouble.kind === 'deaf') {
      meter.ignored.add(replica);
      for (const other of others) cluster.network.shut(other, replica);
    } else if (trouble.kind === 'mute') {
      for (const other of others) cluster.network.shut(replica, other);
    }
  }

  #checkDown(replica: number): void {
    const { isUp, lives } = this.#parts.cluster.site(replica).process;
    happened(!isUp && lives === 1, `r${replica} was not down`);
  }

  #checkDisk(replica: number, others: readonly number[]): void {
    const { meter } = this.#parts;
    const ns = meter.writeNs(replica);
    for (const other of others) {
      happened(ns > SLOW_DISK_FACTOR_MIN * meter.writeNs(other), `r${other} had a slow disk too`);
    }
  }

  #checkReturned(replica: number, by: 'log' | 'checkpoint'): void {
    const { cluster, meter } = this.#parts;
    happened(cluster.site(replica).process.lives > 1, `r${replica} did not return`);
    happened(this.#catchUpNs > 0, `r${replica} did not catch up`);
    happened(meter.copies > 0 === (by === 'checkpoint'), `it took ${meter.copies} checkpoints`);
  }

  #of(trouble: Trouble): number {
    return this.#at(trouble.kind === 'killed' ? 0 : trouble.distance);
  }

  #at(distance: number): number {
    return (this.#parts.primary + distance) % this.#parts.cluster.all.length;
  }

  #stop(replica: number): void {
    this.#parts.meter.ignored.add(replica);
    this.#parts.cluster.site(replica).process.crash('new');
  }
}

/** Whether it waits until half of the requests are answered: what a primary has to do with. */
function isHalfway(trouble: Trouble): boolean {
  if (trouble.kind === 'returns' || trouble.kind === 'killed') return true;
  return trouble.distance === 0;
}

function happened(condition: boolean, problem: string): void {
  check(condition, 'coverage', () => `the scenario did not happen: ${problem}`);
}
