import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { asCalled } from './called.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const hint = 'in use; take free ports: roundelay dev --port=0 (see `roundelay help`)';

test('commands in hints are named as the program was called', () => {
  const called = join(root, 'roundelay');
  const own = 'in use; take free ports: ./roundelay dev --port=0 (see `./roundelay help`)';
  assert.equal(asCalled(hint, called, root), own);
  assert.equal(asCalled(hint, called, join(root, 'src')), own.replaceAll('./', '../'));
  assert.equal(asCalled('roundelay simulate vsr', called, root), './roundelay simulate vsr');
  // Files and prose are not commands.
  const prose = 'a roundelay data file: 0_0.roundelay start';
  assert.equal(asCalled(prose, called, root), prose);
});

test('an installed program is found by its name', () => {
  for (const path of ['', join(root, 'bin', 'roundelay.js'), '/usr/local/bin/roundelay']) {
    assert.equal(asCalled(hint, path, dirname(root)), hint);
  }
});
