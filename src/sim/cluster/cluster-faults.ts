/**
 * What befalls a cluster as a whole, on top of what befalls each site: pauses, partitions, power
 * cuts everywhere at once, and sectors that rot.
 *
 * Rot keeps to an atlas: of each slot of the log, only as many replicas may lose what they had as
 * leaves one of every replication quorum untouched. So nothing that was acknowledged can be gone,
 * and whatever a replica cannot find any more, another one has.
 *
 * A replica that cannot tell after a restart where its log ends has no vote until it hears of a
 * view from others; too many of them, and nobody ever will. So only as many replicas as a view
 * change can do without may lose anything anywhere; of the others only bodies rot, of operations
 * that are neither at the end of the log nor in a checkpoint yet.
 */
import { PIPELINE_MAX } from '../../engine/index.ts';
import { assert, type Prng } from '../../stdx/index.ts';
import type { CrashOutcome } from '../disk/sector-store.ts';
import { drawLatency, type LatencyTail } from '../world/latency.ts';
import { Stream, type World } from '../world/world.ts';
import type { ClusterNetwork } from './network.ts';
import type { ClusterQuorums } from './options.ts';
import { type PartitionOptions, Partitions } from './partitions.ts';
import type { Site } from './site.ts';

export interface ClusterFaultOptions {
  /** How often each of them happens. */
  readonly pauses: number;
  readonly partitions: number;
  /** A primary is cut off, in the middle of its work, and often does not outlive its return. */
  readonly deposals: number;
  readonly crashesOfAll: number;
  /** Sectors of the log. Not together with reformats. */
  readonly corruptions: number;
  /** Files that are lost as a whole, and made again. */
  readonly reformats: number;
  /** Between two of them. */
  readonly pause: LatencyTail;
  readonly pausedFor: LatencyTail;
  readonly partition: PartitionOptions;
}

export const CLUSTER_FAULTS_NONE: ClusterFaultOptions = {
  pauses: 0,
  partitions: 0,
  deposals: 0,
  crashesOfAll: 0,
  corruptions: 0,
  reformats: 0,
  pause: { minNs: 10_000_000, meanNs: 500_000_000 },
  pausedFor: { minNs: 1_000_000, meanNs: 1_000_000_000 },
  partition: {
    mode: 'uniform-size',
    asymmetries: 300,
    duration: { minNs: 50_000_000, meanNs: 2_000_000_000 },
  },
};

type ClusterFault = 'pause' | 'partition' | 'deposal' | 'crash-of-all' | 'corruption' | 'reformat';

/** A primary that returns learns of its successor within about this time, nanoseconds. */
const AFTER_RETURN_NS = 300_000_000;

/** What has been executed so long ago is in the log for certain, and followed by more. */
const OLD_OPS: number = 2 * PIPELINE_MAX;

const OUTCOMES: readonly CrashOutcome[] = ['old', 'new', 'mixed', 'mixed', 'torn'];

export class ClusterFaults {
  readonly #world: World;
  readonly #sites: readonly Site[];
  readonly #options: ClusterFaultOptions;
  readonly #prng: Prng;
  readonly #left: ClusterFault[];
  readonly #partitions: Partitions;
  readonly #slots: number;
  /** Replicas that may lose what is in a slot, and how many of all. */
  readonly #rottenMax: number;
  readonly #isRotten: Map<number, Set<number>> = new Map();
  /** Replicas that may lose anything. */
  readonly #frail: ReadonlySet<number>;
  readonly #recover: (onDone: (view: number) => void) => void;
  /** Replicas without a file that has joined, at most. */
  readonly #voicelessMax: number;
  #isFrozen: boolean = false;

  constructor(
    world: World,
    parts: {
      sites: readonly Site[];
      network: ClusterNetwork;
      /** Of its log. */
      slots: number;
      quorums: ClusterQuorums;
      /** Commits what must be committed before a lost file may be made again. */
      recover: (onDone: (view: number) => void) => void;
    },
    options: ClusterFaultOptions,
  ) {
    assert(options.corruptions === 0 || options.reformats === 0, 'ClusterFaults: too much');
    this.#recover = parts.recover;
    this.#voicelessMax = parts.sites.length - parts.quorums.viewChange;
    this.#world = world;
    this.#sites = parts.sites;
    this.#options = options;
    this.#slots = parts.slots;
    this.#rottenMax = parts.sites.length === 1 ? 0 : parts.quorums.replication - 1;
    this.#prng = world.prng(Stream.plan);
    this.#left = [
      ...new Array<ClusterFault>(options.pauses).fill('pause'),
      ...new Array<ClusterFault>(options.partitions).fill('partition'),
      ...new Array<ClusterFault>(options.deposals).fill('deposal'),
      ...new Array<ClusterFault>(options.crashesOfAll).fill('crash-of-all'),
      ...new Array<ClusterFault>(options.corruptions).fill('corruption'),
      ...new Array<ClusterFault>(options.reformats).fill('reformat'),
    ];
    this.#prng.shuffle(this.#left);
    const indexes = parts.sites.map((site) => site.index);
    this.#prng.shuffle(indexes);
    this.#frail = new Set(indexes.slice(0, parts.sites.length - parts.quorums.viewChange));
    const { network } = parts;
    const replicaCount = parts.sites.length;
    this.#partitions = new Partitions(
      world,
      this.#prng,
      { network, replicaCount },
      options.partition,
    );
  }

  start(): void {
    this.#scheduleNext();
  }

  /** Whatever is broken stays broken; nothing else breaks. */
  freeze(): void {
    this.#isFrozen = true;
    this.#partitions.freeze();
  }

  /** Whoever can reach each other again. */
  heal(): void {
    this.#partitions.heal();
  }

  #scheduleNext(): void {
    const fault = this.#left.pop();
    if (fault === undefined) return;
    this.#world.after(drawLatency(this.#prng, this.#options.pause), () => {
      if (this.#isFrozen) return;
      this.#begin(fault);
      this.#scheduleNext();
    });
  }

  #begin(fault: ClusterFault): void {
    switch (fault) {
      case 'pause':
        this.#pause();
        return;
      case 'partition':
        this.#partitions.begin();
        return;
      case 'deposal':
        this.#depose();
        return;
      case 'crash-of-all':
        this.#crashAll();
        return;
      case 'corruption':
        this.#corrupt();
        return;
      case 'reformat':
        this.#reformat();
        return;
    }
  }

  #crashAll(): void {
    this.#world.coverage.add('crashesOfAll');
    for (const site of this.#sites) site.faults.cut(this.#prng.pick(OUTCOMES));
  }

  /**
   * What a primary has prepared alone is cut off when it follows another one. That has to last even
   * if it dies in the very moment, or everybody does.
   */
  #depose(): void {
    const leaders = this.#sites.filter((site) => site.progress()?.isPrimary === true);
    const leader = leaders.at(-1);
    if (leader === undefined) return;
    this.#world.coverage.add('deposals');
    this.#partitions.begin(leader.index, () => {
      if (this.#prng.chance(1, 3)) return;
      this.#world.after(this.#prng.below(AFTER_RETURN_NS), () => {
        if (this.#isFrozen) return;
        if (this.#prng.chance(1, 3)) this.#crashAll();
        else leader.faults.cut(this.#prng.pick(OUTCOMES));
      });
    });
  }

  #pause(): void {
    const { process: replica } = this.#prng.pick(this.#sites);
    if (!replica.isUp || replica.isPaused) return;
    replica.pause();
    const { lives } = replica;
    this.#world.after(drawLatency(this.#prng, this.#options.pausedFor), () => {
      const isIt = replica.isUp && replica.isPaused && replica.lives === lives;
      if (isIt && !this.#isFrozen) replica.resume();
    });
  }

  /** A file is lost. Somebody notices, and has it made again as the rules want it. */
  #reformat(): void {
    const site = this.#prng.pick(this.#sites);
    const voiceless = this.#sites.filter((one) => one === site || !one.hasJoined);
    if (voiceless.length > this.#voicelessMax || !site.hasJoined) return;
    site.lose();
    this.#recover((view) => site.reformat(view + 2));
  }

  #corrupt(): void {
    const site = this.#prng.pick(this.#sites);
    if (!this.#frail.has(site.index)) {
      const old = this.#slotOfOld(site);
      if (old !== null) this.#rot(site, old);
      return;
    }
    const head = site.progress()?.op ?? 0;
    if (head === 0 || this.#prng.chance(1, 3)) {
      this.#rot(site, this.#prng.below(this.#slots));
      return;
    }
    // What matters most is at the end of the log, and is missed when it is read again.
    const count = this.#prng.between(1, 3);
    for (let i = 0; i < count; i++) {
      this.#rot(site, Math.max(0, head + 1 - this.#prng.below(5)) % this.#slots);
    }
    if (this.#prng.chance(1, 4)) return;
    site.faults.cut(this.#prng.pick(OUTCOMES));
    // It matters even more when somebody else who had it is not there.
    if (this.#prng.chance(1, 2)) this.#prng.pick(this.#sites).faults.cut(this.#prng.pick(OUTCOMES));
  }

  /** A sector of the slot rots, if the atlas allows that. */
  #rot(site: Site, slot: number): void {
    const rotten = this.#isRotten.get(slot) ?? new Set();
    if (!rotten.has(site.index) && rotten.size >= this.#rottenMax) return;
    rotten.add(site.index);
    this.#isRotten.set(slot, rotten);
    const sectors = site.reader.sectors?.(slot);
    assert(sectors !== undefined, 'ClusterFaults: its engine cannot bear rot');
    const { header, prepare } = sectors;
    const isFrail = this.#frail.has(site.index);
    site.disk.corrupt(this.#prng.pick(isFrail ? [header, ...prepare] : prepare));
  }

  /** A slot whose operation is certainly not the last one in the log, nor in a checkpoint. */
  #slotOfOld(site: Site): number | null {
    const { checkpoint } = site.file;
    const commit = (site.progress()?.commitMin ?? 0) - OLD_OPS;
    if (commit <= checkpoint) return null;
    return this.#prng.between(checkpoint + 1, commit) % this.#slots;
  }
}
