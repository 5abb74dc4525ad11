/**
 * What a measurement is made under: which cluster, over which network, with which trouble. A
 * scenario and a seed decide every figure, down to the nanosecond of virtual time.
 */
import { CHECKPOINT_SLACK_OPS, PIPELINE_MAX } from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';
import type { TopologyName } from '../../vsr/index.ts';
import { DISK_DEFAULT, type DiskOptions } from '../disk/disk.ts';
import type { LatencyTail } from '../world/latency.ts';

export interface Scenario {
  readonly topology: TopologyName;
  readonly replicaCount: number;
  /** Each with one request under way at a time. */
  readonly clients: number;
  /** Of all clients together. */
  readonly requests: number;
  readonly network: NetworkName;
  /** Messages of a link overtake each other. Default: they do not, as with TCP. */
  readonly isWild?: boolean;
  /** Of 1,000 messages, those of clients included, so many are lost. Default: none. */
  readonly losses?: number;
  /** Backups that are down, by distance: 1 is the one that leads the view after this one. */
  readonly dead?: readonly number[];
  readonly trouble?: Trouble;
}

/**
 * `hops`: every message takes the same time, and disks none, so that time counts hops. `far`:
 * exponential delays as between regions. `near`: the same within a room, where disks matter.
 */
export type NetworkName = 'hops' | 'far' | 'near';

/** Distances are from the primary at the beginning, which is at 0. */
export type Trouble =
  /** One disk takes ten times as long. */
  | { readonly kind: 'slow-disk'; readonly distance: number }
  /** Messages to and from one replica take {@link SLOW_LINK_NS} longer. */
  | { readonly kind: 'slow-link'; readonly distance: number }
  /** One that was down comes back, and catches up by the logs of others or by a checkpoint. */
  | { readonly kind: 'returns'; readonly distance: number; readonly by: 'log' | 'checkpoint' }
  /** One is heard by the other replicas and hears none. */
  | { readonly kind: 'deaf'; readonly distance: number }
  /** One hears the other replicas and is heard by none. */
  | { readonly kind: 'mute'; readonly distance: number }
  /** The primary is killed halfway. `isSilent`: with its machine, so that nobody is told. */
  | { readonly kind: 'killed'; readonly isSilent: boolean };

const MS = 1_000_000;

/** Fewer than the operations that a replica misses which returns halfway. */
const SLOTS_FEW = 48;
const SLOTS_MAX = 512;
const SLOTS: readonly number[] = [64, 128, 256, SLOTS_MAX];
/** Slots that a checkpoint interval leaves out. */
const SLOTS_RESERVED: number = CHECKPOINT_SLACK_OPS + 2 * PIPELINE_MAX;
/** What a cluster may write before it is measured, registrations of clients left out. */
const OPS_BEFORE = 4;

/** One way, in `hops`. */
export const HOP_NS: number = 50 * MS;
export const SLOW_LINK_NS: number = 100 * MS;
export const SLOW_DISK_FACTOR = 10;

export interface NetworkConditions {
  readonly delay: LatencyTail;
  readonly disk: DiskOptions;
}

const INSTANT = { minNs: 0, maxNs: 0 };
const DISK_INSTANT: DiskOptions = {
  ...DISK_DEFAULT,
  readLatency: INSTANT,
  writeLatency: INSTANT,
  flushLatency: INSTANT,
};

export const NETWORKS: { readonly [name in NetworkName]: NetworkConditions } = {
  hops: { delay: { minNs: HOP_NS, meanNs: 0 }, disk: DISK_INSTANT },
  far: { delay: { minNs: 0, meanNs: 50 * MS }, disk: DISK_DEFAULT },
  near: { delay: { minNs: 20_000, meanNs: 500_000 }, disk: DISK_DEFAULT },
};

/** A name that stays the same: figures are kept under it. */
export function scenarioName(scenario: Scenario): string {
  const { topology, replicaCount, clients, requests, network, isWild, losses, dead } = scenario;
  const parts = [topology, `r${replicaCount}`, `c${clients}`, `n${requests}`, network];
  if (isWild === true) parts.push('wild');
  if (losses !== undefined && losses > 0) parts.push(`loss ${losses / 10}%`);
  if (dead !== undefined && dead.length > 0) parts.push(`dead ${dead.join(' ')}`);
  if (scenario.trouble !== undefined) parts.push(troubleName(scenario.trouble));
  return parts.join(' ');
}

function troubleName(trouble: Trouble): string {
  switch (trouble.kind) {
    case 'killed':
      return trouble.isSilent ? 'killed silently' : 'killed';
    case 'returns':
      return `returns ${trouble.distance} by ${trouble.by}`;
    default:
      return `${trouble.kind} ${trouble.distance}`;
  }
}

/**
 * Slots of each log: few where what a replica missed is to be gone from all of them; else so many
 * that no checkpoint falls into the measurement, and no more, since each costs time to look at.
 */
export function slotsOf({ trouble, requests, clients }: Scenario): number {
  if (trouble?.kind === 'returns' && trouble.by === 'checkpoint') return SLOTS_FEW;
  const ops = requests + clients + OPS_BEFORE;
  return SLOTS.find((slots) => slots - SLOTS_RESERVED >= ops) ?? SLOTS_MAX;
}

export function checkScenario(scenario: Scenario): void {
  const { replicaCount, clients, requests, losses = 0, dead = [], trouble } = scenario;
  assert(replicaCount >= 3 && replicaCount <= 6, 'Scenario: no such cluster');
  assert(clients >= 1 && clients <= 64 && requests >= clients, 'Scenario: too few requests');
  assert(losses >= 0 && losses < 1000, 'Scenario: nothing would get through');
  const distances = [...dead];
  if (trouble !== undefined && 'distance' in trouble) distances.push(trouble.distance);
  const least = trouble?.kind === 'deaf' || trouble?.kind === 'mute' ? 0 : 1;
  for (const distance of distances) {
    assert(distance >= least && distance < replicaCount, 'Scenario: no such replica');
  }
  assert(new Set(distances).size === distances.length, 'Scenario: one replica named twice');
}
