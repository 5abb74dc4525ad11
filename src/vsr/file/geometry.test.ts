import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  checkpointAfter,
  checkpointInterval,
  fixedSize,
  GEOMETRY_DEFAULT,
  GEOMETRY_DEVELOPMENT,
  type Geometry,
  geometryProblem,
  headerOffset,
  isCheckpoint,
  prepareMax,
  prepareOffset,
  slotOf,
} from './geometry.ts';

test('the two built-in files', () => {
  assert.equal(checkpointInterval(GEOMETRY_DEFAULT), 224);
  assert.equal(checkpointInterval(GEOMETRY_DEVELOPMENT), 64);
  assert.equal(fixedSize(GEOMETRY_DEFAULT), 65_536 + 256 * 4096 + 256 * 1_048_576);
  assert.ok(fixedSize(GEOMETRY_DEVELOPMENT) < 8 * 1_048_576);
});

test('areas follow one another without overlap', () => {
  for (const geometry of [GEOMETRY_DEFAULT, GEOMETRY_DEVELOPMENT]) {
    assert.equal(headerOffset(geometry, 0), 65_536);
    const last = geometry.slots - 1;
    assert.equal(headerOffset(geometry, last) + 4096, prepareOffset(geometry, 0));
    assert.equal(prepareOffset(geometry, last) + geometry.slotSize, fixedSize(geometry));
  }
});

test('no operation that may be written overwrites one that replay needs', () => {
  for (const slots of [40, 41, 96, 100, 256, 1000]) {
    const geometry: Geometry = { slots, slotSize: 4096, requestSizeMax: 4096 };
    let checkpoint = 0;
    for (let round = 0; round < 20; round++) {
      const next = checkpointAfter(geometry, checkpoint);
      assert.ok(isCheckpoint(geometry, next));
      for (let op = checkpoint + 1; op < next; op++) assert.ok(!isCheckpoint(geometry, op));
      const max = prepareMax(geometry, checkpoint);
      const slotsUsed = new Set<number>();
      for (let op = checkpoint + 1; op <= max; op++) slotsUsed.add(slotOf(geometry, op));
      assert.equal(slotsUsed.size, max - checkpoint);
      // While the next checkpoint is being made, a whole pipeline still fits, and more.
      assert.ok(max >= next + 32);
      checkpoint = next;
    }
  }
});

test('geometries that make no sense are named', () => {
  const change = (part: Partial<Geometry>): string | null =>
    geometryProblem({ ...GEOMETRY_DEVELOPMENT, ...part });
  assert.equal(change({}), null);
  assert.equal(change({ slots: 39 }), 'slots');
  assert.equal(change({ slots: 5000 }), 'slots');
  assert.equal(change({ slots: 96.5 }), 'slots');
  assert.equal(change({ slotSize: 5000 }), 'slot size');
  assert.equal(change({ slotSize: 2 * 1_048_576 }), 'slot size');
  assert.equal(change({ requestSizeMax: 65_537 }), 'limit');
  assert.equal(change({ requestSizeMax: 511 }), 'limit');
});
