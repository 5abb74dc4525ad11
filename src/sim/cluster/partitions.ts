/**
 * Partitions: for a while, some replicas cannot reach some others. Clients are never cut off.
 */
import type { Prng } from '../../stdx/index.ts';
import { drawLatency, type LatencyTail } from '../world/latency.ts';
import type { World } from '../world/world.ts';
import type { ClusterNetwork } from './network.ts';

/**
 * How the replicas are divided: into groups of any size alike, each replica on its own into one of
 * two groups, or one replica from all others.
 */
export type PartitionMode = 'uniform-size' | 'uniform-node' | 'isolate';

export interface PartitionOptions {
  readonly mode: PartitionMode;
  /** In 1,000: one side can still be heard by the other. */
  readonly asymmetries: number;
  readonly duration: LatencyTail;
}

export class Partitions {
  readonly #world: World;
  readonly #prng: Prng;
  readonly #network: ClusterNetwork;
  readonly #replicaCount: number;
  readonly #options: PartitionOptions;
  #isFrozen: boolean = false;
  #shut: [number, number][] = [];

  constructor(
    world: World,
    prng: Prng,
    parts: { network: ClusterNetwork; replicaCount: number },
    options: PartitionOptions,
  ) {
    this.#world = world;
    this.#prng = prng;
    this.#network = parts.network;
    this.#replicaCount = parts.replicaCount;
    this.#options = options;
  }

  /**
   * A partition begins, and ends by itself unless {@link freeze} comes before; then `onEnd` is
   * called. `alone`: who is cut off from all others; otherwise by chance.
   */
  begin(alone: number | null = null, onEnd: () => void = () => {}): void {
    if (this.#shut.length > 0 || this.#isFrozen || this.#replicaCount < 2) return;
    const isAsymmetric = this.#prng.chance(this.#options.asymmetries, 1000);
    const group = alone === null ? this.#group() : new Set([alone]);
    const all = Array.from({ length: this.#replicaCount }, (_, index) => index);
    for (const from of all.filter((index) => group.has(index))) {
      for (const to of all.filter((index) => !group.has(index))) {
        this.#shut.push([from, to]);
        if (!isAsymmetric) this.#shut.push([to, from]);
      }
    }
    this.#world.coverage.add(isAsymmetric ? 'partitionsAsymmetric' : 'partitions');
    const names = [...group].map((index) => `r${index}`).join(' ');
    this.#world.note(
      'network',
      'partition',
      `${names} ${isAsymmetric ? 'cannot be heard' : 'alone'}`,
    );
    for (const [from, to] of this.#shut) this.#network.shut(from, to);
    this.#world.after(drawLatency(this.#prng, this.#options.duration), () => {
      if (this.#isFrozen) return;
      this.heal();
      onEnd();
    });
  }

  /** What is shut stays so. */
  freeze(): void {
    this.#isFrozen = true;
  }

  heal(): void {
    if (this.#shut.length > 0) this.#world.note('network', 'united', '');
    for (const [from, to] of this.#shut) this.#network.open(from, to);
    this.#shut = [];
  }

  #group(): Set<number> {
    const count = this.#replicaCount;
    const all = Array.from({ length: count }, (_, index) => index);
    this.#prng.shuffle(all);
    switch (this.#options.mode) {
      case 'isolate':
        return new Set(all.slice(0, 1));
      case 'uniform-size':
        return new Set(all.slice(0, this.#prng.between(1, count - 1)));
      case 'uniform-node': {
        const group = all.filter(() => this.#prng.chance(1, 2));
        const isDivided = group.length > 0 && group.length < count;
        return new Set(isDivided ? group : all.slice(0, 1));
      }
    }
  }
}
