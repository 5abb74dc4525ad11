/**
 * The line of a client to all replicas of a cluster, used as official clients use theirs: every
 * transmission goes to the primary of the view that the client has heard of, and to one other
 * replica at random, so that neither a broken line nor a stale view stops it for long.
 */
import type { Prng } from '../../stdx/index.ts';
import type { LatencyRange } from '../world/latency.ts';
import type { World } from '../world/world.ts';
import { type ClientLine, type LineUser, SingleLine } from './line.ts';
import type { Network } from './network.ts';

export class ClusterLine implements ClientLine {
  readonly #prng: Prng;
  /** One to each replica. */
  readonly #lines: readonly SingleLine[];

  /** `networks[i]` leads to replica i. */
  constructor(world: World, networks: readonly Network[], prng: Prng, pause: LatencyRange) {
    this.#prng = prng;
    this.#lines = networks.map((network) => new SingleLine(world, network, prng, pause));
  }

  get isOpen(): boolean {
    return this.#lines.some((line) => line.isOpen);
  }

  start(user: LineUser): void {
    const onOpen = (): void => {
      // More lines than a transmission uses are no reason for another one.
      if (this.#lines.filter((line) => line.isOpen).length <= 2) user.onOpen();
    };
    for (const line of this.#lines) line.start({ onOpen, onBytes: (bytes) => user.onBytes(bytes) });
  }

  request(view: number, bytes: Uint8Array): void {
    const count = this.#lines.length;
    const primary = view % count;
    this.#lines[primary]?.request(view, bytes);
    if (count === 1) return;
    const other = (primary + this.#prng.between(1, count - 1)) % count;
    this.#lines[other]?.request(view, bytes);
  }

  ping(bytes: Uint8Array): void {
    for (const line of this.#lines) line.ping(bytes);
  }

  hangUp(): void {
    for (const line of this.#lines) line.hangUp();
  }

  describe(): string {
    const open = this.#lines.flatMap((line, replica) => (line.isOpen ? [`r${replica}`] : []));
    return open.length === 0 ? 'not connected' : `on ${open.join(' ')}`;
  }
}
