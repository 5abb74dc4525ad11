/** An old Node is refused by its number, and package.json asks for the same one. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { requireNode } from './node-version.ts';

test('a Node that is too old is named, with the one that is needed', () => {
  for (const version of ['24.0.0', '24.19.4', '26.10.0', '100.0.0', process.versions.node]) {
    requireNode(version);
  }
  for (const version of ['23.11.1', '20.19.0', '9.0.0', '']) {
    assert.throws(() => requireNode(version), {
      code: 'ERR_NODE_VERSION',
      message: `roundelay needs Node 24 or newer, this is Node ${version}`,
    });
  }
});

test('package.json asks for the same Node', () => {
  const path = new URL('../../package.json', import.meta.url);
  const { engines } = JSON.parse(readFileSync(path, 'utf8'));
  assert.equal(engines.node, '>=24');
});
