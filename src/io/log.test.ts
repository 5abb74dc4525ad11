import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DataFileCorruptError, DataFileLockedError, fromSystemError } from './errors.ts';
import { printable, RateLimit } from './log.ts';

test('printable text is one line without control characters', () => {
  assert.equal(printable('plain – ünïcode 😀'), 'plain – ünïcode 😀');
  assert.equal(
    printable('a\u0000b\nc\u001b[31md\u007fe\u0085f\u2028g\ud800h'),
    'a?b?c?[31md?e?f?g?h',
  );
});

test('a rate limit lets one line per interval through and counts the rest', () => {
  const limit = new RateLimit(1_000);
  assert.equal(limit.pass('a', 0), 0);
  assert.equal(limit.pass('a', 999), null);
  assert.equal(limit.pass('b', 999), 0);
  assert.equal(limit.pass('a', 999.5), null);
  assert.equal(limit.pass('a', 1_000), 2);
  assert.equal(limit.pass('a', 1_500), null);
  assert.equal(limit.pass('a', 9_000), 1);
});

test('errors carry a stable code and what a program needs', () => {
  const locked = new DataFileLockedError('/x/data', 42);
  assert.equal(locked.code, 'ERR_DATA_FILE_LOCKED');
  assert.equal(locked.message, 'data file /x/data is in use by process 42');
  assert.equal(locked.pid, 42);
  assert.equal(
    new DataFileLockedError('/x', null).message,
    'data file /x is in use by another process',
  );
  const corrupt = new DataFileCorruptError('/x', 4096, 'the superblock has no valid copy');
  assert.equal(
    corrupt.message,
    'data file /x is corrupt at offset 4096: the superblock has no valid copy',
  );
  assert.equal(fromSystemError(locked, '/y'), locked);
});

test('system errors become classes, and paths with control characters one line', () => {
  for (const [system, code] of [
    ['ENOENT', 'ERR_DATA_FILE_MISSING'],
    ['EEXIST', 'ERR_DATA_FILE_EXISTS'],
    ['EROFS', 'ERR_READ_ONLY'],
    ['EACCES', 'ERR_READ_ONLY'],
    ['ENOSPC', 'ERR_NO_SPACE'],
    ['EDQUOT', 'ERR_NO_SPACE'],
    ['EIO', 'ERR_STORAGE_FAILED'],
  ]) {
    const error = fromSystemError(Object.assign(new Error('x'), { code: system }), '/a\nb');
    assert.equal(error.code, code);
    assert.ok(!error.message.includes('\n'));
  }
});
