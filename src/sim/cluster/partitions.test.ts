import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Member } from '../process/life.ts';
import { World } from '../world/world.ts';
import { ClusterNetwork, type PeerEnd } from './network.ts';
import { type PartitionMode, Partitions } from './partitions.ts';

const nobody: PeerEnd = {
  isUp: false,
  isPaused: false,
  lives: 0,
  get member(): Member {
    return { replicaId: new Uint8Array(16), isRecovered: false };
  },
  onPeerUp: () => {},
  onPeerDown: () => {},
  onPeerBytes: () => {},
};

function scene(seed: number, mode: PartitionMode, asymmetries: number) {
  const world = new World({ seed });
  const replicaCount = 5;
  const network = new ClusterNetwork(world, new Array<PeerEnd>(replicaCount).fill(nobody), {
    isOrdered: true,
    delay: { minNs: 1000, meanNs: 0 },
    losses: 0,
    duplicates: 0,
    capacity: 10,
    clogs: 0,
    clogMeanNs: 0,
    breaks: 0,
  });
  const duration = { minNs: 1_000_000, maxNs: 1_000_000 } as const;
  const options = { mode, asymmetries, duration: { minNs: duration.minNs, meanNs: 0 } };
  const parts = { network, replicaCount };
  const partitions = new Partitions(world, world.prng(9), parts, options);
  /** Who can be heard by whom: one row for each. */
  const ways = (): string[] => {
    const all = Array.from({ length: replicaCount }, (_, index) => index);
    return all.map((from) => all.map((to) => (network.isOpen(from, to) ? '+' : '-')).join(''));
  };
  return { world, partitions, ways };
}

const OPEN = ['+++++', '+++++', '+++++', '+++++', '+++++'];

test('a partition divides into two groups that are whole, and ends by itself', () => {
  for (const mode of ['uniform-size', 'uniform-node', 'isolate'] as const) {
    const sizes = new Set<number>();
    for (let seed = 0; seed < 60; seed++) {
      const { world, partitions, ways } = scene(seed, mode, 0);
      partitions.begin();
      // Everybody hears exactly those who hear him.
      const groups = new Set(ways());
      assert.equal(groups.size, 2);
      const [row] = [...groups] as [string];
      sizes.add([...row].filter((way) => way === '+').length);
      while (world.step(2_000_000));
      assert.deepEqual(ways(), OPEN);
    }
    if (mode === 'isolate') assert.deepEqual(sizes, new Set([1, 4]));
    else assert.deepEqual(sizes, new Set([1, 2, 3, 4]));
  }
});

test('in an asymmetric one, one group is not heard and hears the other', () => {
  for (let seed = 0; seed < 30; seed++) {
    const { partitions, ways } = scene(seed, 'uniform-size', 1000);
    partitions.begin();
    const shut = ways().join('').split('-').length - 1;
    assert.ok(shut > 0 && shut <= 6);
    // Whoever is not heard by one is not heard by all of the other group.
    const kinds = new Set(ways());
    kinds.delete('+++++');
    assert.equal(kinds.size, 1);
  }
});

test('what is frozen stays as it is until it is healed', () => {
  const { world, partitions, ways } = scene(1, 'isolate', 0);
  partitions.begin();
  const during = ways();
  partitions.freeze();
  while (world.step(10_000_000));
  assert.deepEqual(ways(), during);
  partitions.begin();
  assert.deepEqual(ways(), during);
  partitions.heal();
  assert.deepEqual(ways(), OPEN);
});
