import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createDataFile, type FilePiece } from './create-file.ts';
import { openDataFile } from './data-file.ts';

const folder = fs.mkdtempSync(join(tmpdir(), 'roundelay-create-'));
after(() => fs.rmSync(folder, { recursive: true }));
const sizeBytes = 3 * 65_536;

function* pieces(fail: boolean = false): Generator<FilePiece> {
  for (let i = 0; i < 3; i++) {
    if (fail && i === 2) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
    yield { offset: i * 65_536, bytes: new Uint8Array(65_536).fill(i + 1) };
  }
}

test('a new file holds all pieces, for its owner only, whatever the umask', async () => {
  const path = join(folder, 'new');
  const umask = process.umask(0);
  try {
    await createDataFile({ path, sizeBytes, pieces: pieces() });
  } finally {
    process.umask(umask);
  }
  const bytes = fs.readFileSync(path);
  assert.equal(bytes.length, sizeBytes);
  assert.deepEqual([bytes[0], bytes[65_536], bytes[sizeBytes - 1]], [1, 2, 3]);
  assert.equal(fs.statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(fs.readdirSync(folder), ['new']);
});

test('an existing file is never overwritten', async () => {
  const path = join(folder, 'existing');
  fs.writeFileSync(path, 'precious');
  const attempt = createDataFile({ path, sizeBytes, pieces: pieces() });
  await assert.rejects(attempt, { code: 'ERR_DATA_FILE_EXISTS' });
  assert.equal(fs.readFileSync(path, 'utf8'), 'precious');
});

test('of two creators at once one wins and the other is told', async () => {
  const path = join(folder, 'raced');
  const results = await Promise.allSettled(
    [1, 2].map(() => createDataFile({ path, sizeBytes, pieces: pieces() })),
  );
  const lost = results.filter((result) => result.status === 'rejected');
  assert.equal(lost.length, 1);
  assert.equal(lost[0]?.reason.code, 'ERR_DATA_FILE_EXISTS');
  assert.equal(fs.statSync(path).size, sizeBytes);
});

test('a full disk leaves no partial file and says how much is needed', async () => {
  const path = join(folder, 'full');
  await assert.rejects(createDataFile({ path, sizeBytes, pieces: pieces(true) }), (error) => {
    assert.ok(error instanceof Error);
    assert.match(error.message, /^no space left on the disk for .*full, which needs 1 MiB$/);
    return true;
  });
  assert.equal(fs.readdirSync(folder).filter((name) => name.startsWith('full')).length, 0);
});

test('what a killed creator left behind is removed, what a living one writes is not', async () => {
  const path = join(folder, 'left');
  const dead = spawnSync(process.execPath, ['-e', '']).pid;
  fs.writeFileSync(`${path}.${dead}-1.formatting`, '');
  fs.writeFileSync(`${path}.${process.pid}-999999.formatting`, '');
  fs.writeFileSync(`${path}.${process.ppid}-1.formatting`, '');
  await createDataFile({ path, sizeBytes, pieces: pieces() });
  assert.deepEqual(
    fs.readdirSync(folder).filter((name) => name.startsWith('left')),
    ['left', `left.${process.ppid}-1.formatting`],
  );
});

const refusals: readonly (readonly [string, string, RegExp])[] = [
  ['missing/data', 'ERR_DATA_FILE_MISSING', /^cannot create .*: folder .*missing does not exist$/],
  ['new/data', 'ERR_DATA_FILE_MISSING', /new is not a folder$/],
];
for (const [name, code, message] of refusals) {
  test(`creating ${name} fails with ${code}`, async () => {
    const path = join(folder, name);
    await assert.rejects(createDataFile({ path, sizeBytes, pieces: pieces() }), { code, message });
  });
}

test('a folder that cannot be written is named', async (t) => {
  if (process.getuid?.() === 0 && !fs.existsSync('/proc/self')) return t.skip('needs /proc');
  // Root may write anywhere but into /proc.
  const path = process.getuid?.() === 0 ? '/proc/data' : '/data';
  await assert.rejects(createDataFile({ path, sizeBytes, pieces: pieces() }), (error) => {
    assert.ok(error instanceof Error && 'code' in error);
    assert.match(String(error.code), /^ERR_(READ_ONLY|DATA_FILE_MISSING)$/);
    return true;
  });
});

test('opening a file that is missing, or a folder, is said so', async () => {
  await assert.rejects(openDataFile({ path: join(folder, 'nowhere') }), {
    code: 'ERR_DATA_FILE_MISSING',
    message: `data file ${join(folder, 'nowhere')} does not exist`,
  });
  await assert.rejects(openDataFile({ path: folder }), { code: 'ERR_STORAGE_FAILED' });
});
