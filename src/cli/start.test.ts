import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TOPOLOGY_NAMES } from '../vsr/index.ts';
import { topologies } from './start.ts';

test('start knows every topology of the engine', () => {
  assert.deepEqual(topologies, TOPOLOGY_NAMES);
});
