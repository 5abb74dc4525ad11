import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BLOCK_SIZE_MAX } from '../../engine/index.ts';
import { Prng } from '../../stdx/index.ts';
import { Extents, PLACE_SIZES } from './extents.ts';

const BASE = 8192;

/** The dumb twin: a list of taken ranges; the lowest place that fits is found by looking. */
class ModelExtents {
  readonly taken: { readonly offset: number; readonly size: number }[] = [];

  allocate(size: number): number {
    const placeSize = PLACE_SIZES.find((candidate) => size <= candidate)!;
    // First an extent of the class that has room, then a free one.
    for (const wantsSameClass of [true, false]) {
      for (let extent = 0; extent < 1000; extent++) {
        const start = BASE + extent * BLOCK_SIZE_MAX;
        const inside = this.taken.filter(
          ({ offset }) => offset >= start && offset < start + BLOCK_SIZE_MAX,
        );
        if (wantsSameClass !== inside.length > 0) continue;
        if (inside.some((place) => place.size !== placeSize)) continue;
        for (let at = start; at < start + BLOCK_SIZE_MAX; at += placeSize) {
          if (inside.some(({ offset }) => offset === at)) continue;
          this.taken.push({ offset: at, size: placeSize });
          return at;
        }
      }
    }
    throw new Error('unreachable');
  }

  free(offset: number): void {
    this.taken.splice(
      this.taken.findIndex((place) => place.offset === offset),
      1,
    );
  }
}

test('allocation agrees with the model', () => {
  for (let seed = 0; seed < 20; seed++) {
    const prng = new Prng(seed);
    const extents = new Extents(BASE);
    const model = new ModelExtents();
    const live: { readonly offset: number; readonly size: number }[] = [];
    for (let step = 0; step < 400; step++) {
      const grows = step % 200 < 100;
      if (live.length === 0 || prng.chance(grows ? 2 : 1, 3)) {
        const size = 1 + prng.below(PLACE_SIZES[prng.below(4)]!);
        const offset = extents.allocate(size);
        assert.equal(offset, model.allocate(size), `seed ${seed} step ${step}`);
        live.push({ offset, size });
      } else {
        const index = prng.below(live.length);
        const [place] = live.splice(index, 1);
        extents.free(place!.offset, place!.size);
        model.free(place!.offset);
      }
    }
    // What a manifest lists can be taken again, in any order, exactly once.
    const again = new Extents(BASE);
    prng.shuffle(live);
    for (const { offset, size } of live) assert.equal(again.occupy(offset, size), true);
    for (const { offset, size } of live) assert.equal(again.occupy(offset, size), false);
    for (let i = 0; i < 50; i++) {
      const size = 1 + prng.below(BLOCK_SIZE_MAX);
      assert.equal(again.allocate(size), model.allocate(size));
    }
  }
});

test('places that cannot be are refused', () => {
  const extents = new Extents(BASE);
  assert.equal(extents.occupy(BASE - 4096, 100), false, 'before the area');
  assert.equal(extents.occupy(BASE + 4096, 5000), false, 'not aligned to its class');
  assert.equal(extents.occupy(BASE, 0), false);
  assert.equal(extents.occupy(BASE, BLOCK_SIZE_MAX + 1), false);
  assert.equal(extents.occupy(BASE, 100), true);
  assert.equal(extents.occupy(BASE + 16_384, 10_000), false, 'an extent has one class');
  assert.throws(() => extents.free(BASE + 4096, 100), /freed twice/);
  assert.throws(() => extents.free(BASE, 10_000), /another class/);
});
