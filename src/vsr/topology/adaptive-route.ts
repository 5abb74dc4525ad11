/**
 * The topology that adapts: a V with the primary in its middle, whose order the primary changes
 * when another one has proven faster.
 *
 * One pair of operations in twenty (even, and the odd one after it) travels along a route drawn
 * from its number, so all replicas derive it without talking. The primary compares what such routes
 * cost with the route in use and, when it sends pings, takes the better one; the pings tell the
 * backups. Replicas that disagree for a moment only cause repair. A new view starts with the
 * default order.
 */
import { PIPELINE_MAX } from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';
import { AckHistory, blend, type Cost, isBetter } from './route-cost.ts';
import { RouteTable } from './route-table.ts';
import { ROUTE_SIZE, type Topology } from './topology.ts';
import type { Tree } from './tree.ts';

/** One pair of operations in so many explores. */
const EXPLORATION_PERIOD = 20;
/** Share of the past in the average cost of the route in use: 4 of 5. */
const ACTIVE_WEIGHT = 4;
const DEFAULT_ROUTE = 0;
const NOBODY: readonly number[] = [];
const NO_ROUTE: Uint8Array = new Uint8Array(ROUTE_SIZE);

export class AdaptiveRoute implements Topology {
  readonly name = 'adaptive-route';
  readonly #replicaCount: number;
  readonly #table: RouteTable;
  readonly #history: AckHistory;
  #view: number = 0;
  #active: number = DEFAULT_ROUTE;
  #route: Uint8Array = NO_ROUTE;
  #activeCost: Cost | null = null;
  #best: { readonly number: number; readonly cost: Cost } | null = null;
  #opMax: number = 0;
  /** Operations up to here may have travelled along a route that was given up. */
  #opIgnored: number = 0;

  constructor(replicaCount: number) {
    this.#replicaCount = replicaCount;
    this.#table = new RouteTable(replicaCount);
    this.#history = new AckHistory(replicaCount);
  }

  get route(): Uint8Array {
    return this.#route;
  }

  next(view: number, op: number, self: number): readonly number[] {
    return this.#tree(view, op).next(view % this.#replicaCount, self);
  }

  path(view: number, op: number, self: number): readonly number[] {
    return this.#tree(view, op).path(view % this.#replicaCount, self);
  }

  announce(_view: number, _op: number, _self: number): readonly number[] {
    return NOBODY;
  }

  onAck(op: number, replica: number, delayNs: number): void {
    if (op > this.#opMax) this.#opMax = op;
    if (op <= this.#opIgnored) return;
    const measured = this.#history.learn(op, replica, delayNs);
    if (measured === null) return;
    const explored = exploredRoute(measured.even, this.#table.size);
    if (explored === -1 || explored === this.#active) this.#judgeActive(measured.costs);
    else this.#judgeCandidate(explored, measured.costs);
  }

  onView(view: number): void {
    if (view === this.#view) return;
    this.#view = view;
    this.#use(DEFAULT_ROUTE);
    this.#route = NO_ROUTE;
    this.#opIgnored = 0;
  }

  onPing(): void {
    const best = this.#best;
    if (best === null || this.#activeCost === null) return;
    if (!isBetter(best.cost, this.#activeCost)) return;
    this.#use(best.number);
    this.#opIgnored = this.#opMax + PIPELINE_MAX;
  }

  adopt(view: number, route: Uint8Array): void {
    if (view !== this.#view) return;
    const number = this.#table.decode(route, view % this.#replicaCount);
    if (number !== -1 && number !== this.#active) this.#use(number);
  }

  #tree(view: number, op: number): Tree {
    const explored = exploredRoute(op, this.#table.size);
    if (explored !== -1) return this.#table.tree(explored);
    return this.#table.tree(view === this.#view ? this.#active : DEFAULT_ROUTE);
  }

  #use(number: number): void {
    const primary = this.#view % this.#replicaCount;
    this.#active = number;
    this.#route = this.#table.encode(number, primary);
    this.#history.clear(primary);
    this.#activeCost = null;
    this.#best = null;
  }

  #judgeActive(costs: readonly Cost[]): void {
    for (const cost of costs) {
      const old = this.#activeCost;
      this.#activeCost = old === null ? cost : blend(old, cost, ACTIVE_WEIGHT);
    }
  }

  /** A route measured again replaces what was known of it, for better or worse. */
  #judgeCandidate(number: number, costs: readonly Cost[]): void {
    if (costs.length === 0) return;
    const cost = costs.length === 1 ? costs[0] : blend(costs[0], costs[1], 1);
    const best = this.#best;
    if (best === null || best.number === number || isBetter(cost, best.cost)) {
      this.#best = { number, cost };
    }
  }
}

/** The route that the pair of `op` tries out, −1 for the route in use. Same on all replicas. */
export function exploredRoute(op: number, routeCount: number): number {
  assert(Number.isSafeInteger(op) && op >= 0, 'exploredRoute: not an operation');
  // Fewer than three backups: every route costs the same.
  if (routeCount <= 2) return -1;
  const chance = draw(op % 2 === 0 ? op + 1 : op);
  if (chance % EXPLORATION_PERIOD !== 0) return -1;
  return Math.floor(chance / EXPLORATION_PERIOD) % routeCount;
}

/** A generator of which one number is drawn per seed: uniform in 0 … 2^32 − 1, no allocation. */
function draw(seed: number): number {
  return scatter((seed ^ scatter(Math.floor(seed / 0x1_0000_0000) + 0x9e37_79b9)) >>> 0);
}

/** Every bit of the result depends on every bit of `x`; one to one on 32 bits. */
function scatter(x: number): number {
  x = Math.imul(x ^ (x >>> 16), 0x7feb_352d);
  x = Math.imul(x ^ (x >>> 15), 0x846c_a68b);
  return (x ^ (x >>> 16)) >>> 0;
}
