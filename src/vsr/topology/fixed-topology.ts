/** A topology that depends on nothing but the primary and the parity of the operation. */
import { assert } from '../../stdx/index.ts';
import type { PlanPair } from './plans.ts';
import { ROUTE_SIZE, type Topology, type TopologyName } from './topology.ts';
import { Tree } from './tree.ts';

const NOBODY: readonly number[] = [];

export interface FixedTopologyOptions {
  readonly name: TopologyName;
  readonly plans: PlanPair;
  /** Headers go to all at once. */
  readonly announcesHeaders: boolean;
}

export class FixedTopology implements Topology {
  readonly name: TopologyName;
  readonly route: Uint8Array = new Uint8Array(ROUTE_SIZE);
  readonly #replicaCount: number;
  readonly #even: Tree;
  readonly #odd: Tree;
  readonly #announcesHeaders: boolean;

  constructor(options: FixedTopologyOptions) {
    const [even, odd] = options.plans;
    assert(even.length === odd.length, 'FixedTopology: plans of two clusters');
    this.name = options.name;
    this.#replicaCount = even.length;
    this.#even = new Tree(even);
    this.#odd = even === odd ? this.#even : new Tree(odd);
    this.#announcesHeaders = options.announcesHeaders;
  }

  next(view: number, op: number, self: number): readonly number[] {
    return this.#tree(op).next(view % this.#replicaCount, self);
  }

  path(view: number, op: number, self: number): readonly number[] {
    return this.#tree(op).path(view % this.#replicaCount, self);
  }

  announce(view: number, op: number, self: number): readonly number[] {
    if (!this.#announcesHeaders) return NOBODY;
    return this.#tree(op).announce(view % this.#replicaCount, self);
  }

  onAck(_op: number, _replica: number, _delayNs: number): void {}

  onView(_view: number): void {}

  onPing(): void {}

  adopt(_view: number, _route: Uint8Array): void {}

  #tree(op: number): Tree {
    return op % 2 === 0 ? this.#even : this.#odd;
  }
}
