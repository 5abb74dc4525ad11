/** What happens to messages on their way while figures are taken: some are lost, some are late. */
import type { Prng } from '../../stdx/index.ts';
import type { Assembly } from '../cluster/assembly.ts';
import { Stream } from '../world/world.ts';
import { type Scenario, SLOW_LINK_NS } from './scenario.ts';

export class Conditions {
  readonly #cluster: Assembly;
  readonly #losses: number;
  readonly #prng: Prng;
  /** The replica with slow links; −1: none. */
  #slow: number = -1;
  #isLossy: boolean = false;
  /** A message that has been late already. */
  #isLate: boolean = false;
  #delayed: number = 0;
  #lost: number = 0;

  constructor(cluster: Assembly, { losses }: Scenario) {
    this.#cluster = cluster;
    this.#losses = losses ?? 0;
    this.#prng = cluster.world.prng(Stream.plan, 1);
  }

  /** Messages that were late. */
  get delayed(): number {
    return this.#delayed;
  }

  /** Messages that were lost. */
  get lost(): number {
    return this.#lost;
  }

  begin(): void {
    const { network, sites } = this.#cluster;
    network.filter((from, to, bytes) => this.#passes(from, to, bytes));
    for (const site of sites) site.network.filter(() => !this.#isLost());
  }

  /** From now on messages are lost. */
  beginLosses(): void {
    this.#isLossy = true;
  }

  end(): void {
    const { network, sites } = this.#cluster;
    network.filter(null);
    for (const site of sites) site.network.filter(null);
    this.#slow = -1;
  }

  slowDown(replica: number): void {
    this.#slow = replica;
  }

  #passes(from: number, to: number, bytes: Uint8Array): boolean {
    if (this.#isLate) return true;
    if (this.#isLost()) return false;
    if (from !== this.#slow && to !== this.#slow) return true;
    this.#delayed++;
    this.#cluster.world.after(SLOW_LINK_NS, () => {
      this.#isLate = true;
      this.#cluster.network.send(from, to, bytes);
      this.#isLate = false;
    });
    return false;
  }

  #isLost(): boolean {
    if (!this.#isLossy || !this.#prng.chance(this.#losses, 1000)) return false;
    this.#lost++;
    this.#cluster.world.coverage.add('losses');
    return true;
  }
}
