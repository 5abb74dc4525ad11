/** Lines against a plain copy of the table: what was saved, and when, must not show. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BLOCK_SIZE_MAX } from '../../engine/index.ts';
import { bytesEqual, Prng } from '../../stdx/index.ts';
import { BeforeImages, LINE_WORDS } from './before-images.ts';

const LEAF_WORDS: number = BLOCK_SIZE_MAX / 4;
const LEAVES = 3;

test('leaves come back as they were at the cut, whichever lines have changed since', () => {
  const prng = new Prng(5);
  const words = new Uint32Array(LEAVES * LEAF_WORDS);
  for (let i = 0; i < words.length; i++) words[i] = i;
  const images = new BeforeImages({
    copyLine: (line, target, at) => {
      target.set(words.subarray(line * LINE_WORDS, (line + 1) * LINE_WORDS), at);
    },
  });
  // The last leaf is shorter than its last line.
  const sizes = [BLOCK_SIZE_MAX, BLOCK_SIZE_MAX, 100 * LINE_WORDS * 4 - 20];
  const linesMax = sizes.reduce((sum, size) => sum + Math.ceil(size / (LINE_WORDS * 4)), 0);
  for (let round = 0; round < 30; round++) {
    const before = new Uint8Array(words.slice().buffer);
    let left = [0, 1, 2];
    // From a few lines to every line many times over.
    const changes = prng.pick([0, 1, 50, 5000, 20_000]);
    for (let i = 0; i < changes; i++) {
      const line = prng.below(linesMax);
      if (left.includes(line >>> 11)) images.save(line);
      words[line * LINE_WORDS + prng.below(LINE_WORDS)] = prng.u32();
      if (left.length > 0 && prng.chance(1, changes)) left = take(left);
    }
    while (left.length > 0) left = take(left);

    function take(leaves: readonly number[]): number[] {
      const leaf = prng.pick(leaves);
      const from = leaf * BLOCK_SIZE_MAX;
      const bytes = new Uint8Array(words.buffer, from, sizes[leaf]).slice();
      images.restore(leaf, bytes);
      const isSame = bytesEqual(bytes, 0, before, from, bytes.length);
      assert.ok(isSame, `round ${round}, leaf ${leaf}`);
      return leaves.filter((other) => other !== leaf);
    }
  }
});
