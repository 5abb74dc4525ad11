/**
 * All routes of the adaptive topology, numbered. A route is an order of the replicas with the
 * primary at position floor(R / 2): it sends to both neighbours, everyone else passes outward, the
 * ends stop. Counted from the primary there are (R − 1)! of them, so a number names a route in
 * every view; number 0 is the identity, turned until the primary is in the middle.
 */
import { assert } from '../../stdx/index.ts';
import { ROUTE_SIZE } from './topology.ts';
import { Tree } from './tree.ts';

/** Stands behind the last replica of an encoded route. */
const FILLER = 0xff;

export class RouteTable {
  readonly #replicaCount: number;
  /** By number: the order of the replicas, counted from the primary. */
  readonly #orders: readonly (readonly number[])[];
  /** By number, made when first asked for. */
  readonly #trees: (Tree | undefined)[];

  constructor(replicaCount: number) {
    assert(replicaCount < ROUTE_SIZE, 'RouteTable: an encoded route must end with a filler');
    this.#replicaCount = replicaCount;
    const middle = Math.floor(replicaCount / 2);
    const backups: number[] = [];
    for (let position = 0; position < replicaCount; position++) {
      const relative = (position + replicaCount - middle) % replicaCount;
      if (relative !== 0) backups.push(relative);
    }
    this.#orders = [...permutations(backups)].map((order) => order.toSpliced(middle, 0, 0));
    this.#trees = new Array(this.#orders.length).fill(undefined);
  }

  get size(): number {
    return this.#orders.length;
  }

  tree(number: number): Tree {
    assert(number >= 0 && number < this.#orders.length, 'RouteTable: no such route');
    const known = this.#trees[number];
    if (known !== undefined) return known;
    const tree = new Tree(outward(this.#orders[number]));
    this.#trees[number] = tree;
    return tree;
  }

  /** {@link ROUTE_SIZE} bytes: the replicas in order, then fillers. */
  encode(number: number, primary: number): Uint8Array {
    const bytes = new Uint8Array(ROUTE_SIZE).fill(FILLER);
    const order = this.#orders[number];
    for (let i = 0; i < order.length; i++) bytes[i] = (order[i] + primary) % this.#replicaCount;
    return bytes;
  }

  /** The number of an encoded route, −1 when it is none of this primary. */
  decode(bytes: Uint8Array, primary: number): number {
    assert(bytes.length === ROUTE_SIZE, 'RouteTable: size of a route');
    for (let number = 0; number < this.#orders.length; number++) {
      const encoded = this.encode(number, primary);
      if (encoded.every((byte, i) => byte === bytes[i])) return number;
    }
    return -1;
  }
}

/** Every order of `items`, the given one first. */
function* permutations(items: readonly number[]): Generator<number[]> {
  if (items.length === 0) yield [];
  for (const [i, first] of items.entries()) {
    for (const rest of permutations(items.toSpliced(i, 1))) yield [first, ...rest];
  }
}

/** Who hands over to whom in an order that has the primary (0) in its middle. */
function outward(order: readonly number[]): number[][] {
  const children: number[][] = order.map(() => []);
  const middle = order.indexOf(0);
  for (let i = middle; i > 0; i--) children[order[i]].push(order[i - 1]);
  for (let i = middle; i + 1 < order.length; i++) children[order[i]].push(order[i + 1]);
  return children;
}
