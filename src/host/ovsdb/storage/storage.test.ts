import assert from 'node:assert/strict';
import fs from 'node:fs';
import { dirname, join } from 'node:path';
import { mock, test } from 'node:test';
import { Database, OvsdbError } from '../../../ovsdb/index.ts';
import { createOvsdbFile } from './create-file.ts';
import { OvsdbFileError } from './file-error.ts';
import {
  contentOf,
  contentOfFile,
  createFile,
  schemaOf,
  TestServer,
  temporaryFolder,
  testSchema,
} from './storage-test-helper.ts';

const textOf = (path: string): string => fs.readFileSync(path, 'latin1');
const linesOf = (path: string): number => textOf(path).split('\n').length - 1;

/** Matches an error of a file by code and text. */
function fileError(code: string, message: RegExp | string): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof OvsdbFileError, String(error));
    assert.equal(error.code, code);
    if (typeof message === 'string') assert.equal(error.message, message);
    else assert.match(error.message, message);
    return true;
  };
}

test('what was confirmed is there again', async (t) => {
  const path = await createFile(t);
  assert.equal(fs.statSync(path).mode & 0o777, 0o660 & ~process.umask());
  const server = await TestServer.open(path);
  await server.insert(1, 'a');
  const rest = [server.insert(2), server.insert(3)];
  await server.transact({ op: 'commit', durable: true }, insertOf(4));
  await Promise.all(rest);
  await server.transact({ op: 'delete', table: 'T', where: [['n', '==', 2]] });
  assert.equal(server.storage.records, 6);
  assert.equal(server.storage.sizeBytes, fs.statSync(path).size);
  // One for the first, one for the three made at once, one for the last.
  assert.deepEqual(server.confirmed, [1, 4, 5]);
  await server.storage.close();
  assert.equal(await contentOfFile(path), contentOf(server.database));
  assert.equal(linesOf(path), 12);
});

function insertOf(n: number): { op: string; table: string; row: { n: number } } {
  return { op: 'insert', table: 'T', row: { n } };
}

test('what nothing is kept of is confirmed in its turn', async (t) => {
  const path = await createFile(t);
  const server = await TestServer.open(path);
  await server.insert(1);
  const size = server.storage.sizeBytes;
  await server.transact({ op: 'update', table: 'T', where: [], row: { brief: 'x' } });
  assert.equal(server.storage.sizeBytes, size);
  assert.equal(server.storage.records, 2);
  await server.storage.close();
});

test('a file is not created over another one, and not without its folder', async (t) => {
  const path = await createFile(t);
  const text = textOf(path);
  const exists = fileError(
    'ERR_DATA_FILE_EXISTS',
    `I/O error: ${path}: create failed (File exists)`,
  );
  await assert.rejects(createOvsdbFile(path, testSchema), exists);
  assert.equal(textOf(path), text);
  const missing = join(dirname(path), 'none', 'db');
  await assert.rejects(
    createOvsdbFile(missing, testSchema),
    fileError(
      'ERR_DATA_FILE_MISSING',
      `I/O error: ${missing}: failed to lock lockfile (No such file or directory)`,
    ),
  );
});

test('a link that leads nowhere is where the file is created, and a link stays one', async (t) => {
  const folder = temporaryFolder(t);
  fs.mkdirSync(join(folder, 'real'));
  const path = join(folder, 'db');
  fs.symlinkSync('real/db', path);
  await createOvsdbFile(path, testSchema);
  const server = await TestServer.open(path);
  await server.insert(1);
  await server.storage.compact();
  await server.insert(2);
  await server.storage.close();
  assert.ok(fs.lstatSync(path).isSymbolicLink());
  assert.deepEqual(fs.readdirSync(join(folder, 'real')).sort(), ['.db.~lock~', 'db']);
  assert.deepEqual(fs.readdirSync(folder).sort(), ['db', 'real']);
  assert.equal(await contentOfFile(path), contentOf(server.database));
});

test('files that cannot be opened say why, as the original does', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'db');
  const open = (): Promise<TestServer> => TestServer.open(path);
  const missing = `I/O error: ${path}: open failed (No such file or directory)`;
  await assert.rejects(open(), fileError('ERR_DATA_FILE_MISSING', missing));
  fs.writeFileSync(path, '');
  const empty = `ovsdb error: ${path}: cannot identify file type`;
  await assert.rejects(open(), fileError('ERR_DATA_FILE_CORRUPT', empty));
  fs.writeFileSync(path, '0123456789');
  const strange = `ovsdb error: ${path}: unexpected file format`;
  await assert.rejects(open(), fileError('ERR_DATA_FILE_CORRUPT', strange));
  fs.rmSync(path);
  fs.mkdirSync(path);
  const isFolder = `I/O error: ${path}: open failed (Is a directory)`;
  await assert.rejects(open(), fileError('ERR_STORAGE_FAILED', isFolder));
});

test('a file is open once', async (t) => {
  const path = await createFile(t);
  const server = await TestServer.open(path);
  await assert.rejects(
    TestServer.open(path),
    fileError(
      'ERR_DATA_FILE_LOCKED',
      `I/O error: ${path}: failed to lock lockfile (Resource deadlock avoided)`,
    ),
  );
  await server.storage.close();
  await (await TestServer.open(path)).storage.close();
});

test('a torn end is cut off, told, and kept beside the file', async (t) => {
  const path = await createFile(t);
  const first = await TestServer.open(path);
  await first.insert(1);
  await first.storage.close();
  const good = textOf(path);
  for (const [i, tail] of ['xxx\n', 'OVSDB JSON 10', '\0\0\0\0', 'OVSDB JSON 9 0'].entries()) {
    fs.writeFileSync(path, good + tail, 'latin1');
    const server = await TestServer.open(path);
    const copy = `${path}.dropped-${good.length}${i === 0 ? '' : `-${i + 1}`}`;
    assert.deepEqual(
      server.warnings.map(({ level }) => level),
      ['ERR', 'WARN'],
    );
    assert.match(server.warnings[0].text, /^syntax error: .*: parse error at offset \d+ in header/);
    assert.equal(
      server.warnings[1].text,
      `${path}: dropped ${tail.length} bytes from offset ${good.length} on; ` +
        `a copy of them is ${copy}`,
    );
    assert.equal(textOf(copy), tail);
    assert.equal(textOf(path), good);
    await server.insert(2);
    await server.storage.close();
    assert.equal(await contentOfFile(path), contentOf(server.database));
  }
});

test('damage in the middle is refused, unless what precedes it will do', async (t) => {
  const path = await createFile(t);
  const first = await TestServer.open(path);
  await first.insert(1);
  const offset = first.storage.sizeBytes;
  await first.insert(2, 'some text');
  const next = first.storage.sizeBytes;
  await first.insert(3);
  await first.storage.close();
  const damaged = textOf(path).replace('some text', 'same text');
  fs.writeFileSync(path, damaged, 'latin1');
  await assert.rejects(
    TestServer.open(path),
    fileError(
      'ERR_DATA_FILE_CORRUPT',
      new RegExp(
        `: damaged at offset ${offset} \\(syntax error: .* but should have hash .*\\), ` +
          `and valid records follow from offset ${next} on; the file was left as it is$`,
      ),
    ),
  );
  assert.equal(textOf(path), damaged);
  const server = await TestServer.open(path, { continueAfterDamage: true });
  assert.equal(server.database.table('T').size, 1);
  assert.match(server.warnings[1].text, /, valid records among them; a copy of them is /);
  assert.equal(textOf(`${path}.dropped-${offset}`), damaged.slice(offset));
  await server.storage.close();
  assert.equal(textOf(path), damaged.slice(0, offset));
});

test('a full disk refuses transactions and goes on when there is room', async (t) => {
  const path = await createFile(t);
  const server = await TestServer.open(path);
  await server.insert(1);
  const full = mock.method(fs, 'writeSync', () => {
    throw Object.assign(new Error('full'), { code: 'ENOSPC' });
  });
  const refused = (error: unknown): boolean => {
    assert.ok(error instanceof OvsdbError);
    assert.deepEqual(error.toJson(), {
      error: 'I/O error',
      details: `${path}: write failed`,
      'io-error': 'No space left on device',
    });
    return true;
  };
  const both = [server.insert(2), server.insert(3)];
  for (const result of both) await assert.rejects(result, refused);
  assert.match(server.storage.problem ?? '', /write failed \(No space left on device\)/);
  assert.equal(server.database.table('T').size, 1);
  full.mock.restore();
  await server.insert(4);
  assert.equal(server.storage.problem, null);
  await server.storage.close();
  assert.equal(await contentOfFile(path), contentOf(server.database));
});

test('a failed sync is answered by writing the file anew', async (t) => {
  const path = await createFile(t);
  const server = await TestServer.open(path);
  await server.insert(1);
  const before = fs.statSync(path).ino;
  const broken = mock.method(fs, 'fdatasync', (_: number, done: (error: Error | null) => void) => {
    setImmediate(() => done(Object.assign(new Error('bad'), { code: 'EIO' })));
  });
  const durable = { op: 'commit', durable: true };
  await assert.rejects(server.transact(durable, insertOf(2)), /Input\/output error/);
  await assert.rejects(server.insert(3), /Input\/output error/);
  assert.equal(fs.statSync(path).ino, before);
  broken.mock.restore();
  const later = [server.insert(4), server.insert(5)];
  await Promise.all(later);
  assert.notEqual(fs.statSync(path).ino, before);
  await server.transact(durable, insertOf(6));
  assert.equal(server.database.table('T').size, 4);
  await server.storage.close();
  assert.equal(await contentOfFile(path), contentOf(server.database));
});

test('a compacted file is two records and the same database', async (t) => {
  const path = await createFile(t);
  const server = await TestServer.open(path);
  for (let i = 0; i < 20; i++) await server.insert(i);
  await server.transact({ op: 'delete', table: 'T', where: [['n', '<', 18]] });
  fs.chmodSync(path, 0o604);
  await server.storage.compact();
  assert.equal(linesOf(path), 4);
  assert.match(
    textOf(path),
    /"_comment":"compacting database online","_is_diff":true,"_date":\d+\}/,
  );
  assert.equal(server.storage.records, 2);
  assert.equal(fs.statSync(path).mode & 0o777, 0o604);
  await server.insert(99);
  assert.equal(linesOf(path), 6);
  assert.deepEqual(fs.readdirSync(dirname(path)).sort(), ['.db.~lock~', 'db']);
  await server.storage.close();
  assert.equal(await contentOfFile(path), contentOf(server.database));
});

test('transactions go on while the file is compacted, and none is lost', async (t) => {
  const path = await createFile(t);
  const server = await TestServer.open(path);
  const text = 'x'.repeat(1000);
  for (let i = 0; i < 5000; i++) void server.insert(i, text);
  let compacting = true;
  const compacted = server.storage.compact().finally(() => {
    compacting = false;
  });
  let during = 0;
  for (let i = 5000; compacting; i++) {
    await server.insert(i, 'during');
    during += 1;
  }
  await compacted;
  assert.ok(during > 10, `${during} transactions meanwhile`);
  assert.equal(linesOf(path), 2 * server.storage.records);
  assert.ok(server.storage.records > 2, 'nothing was copied');
  // The snapshot is large enough to have a header of fixed size.
  assert.match(textOf(path), /^OVSDB JSON \d+ \w+\n.*\nOVSDB JSON 0000000\d+ /);
  await server.insert(-1);
  await server.storage.close();
  assert.equal(await contentOfFile(path), contentOf(server.database));
});

test('a compaction that fails leaves the file as it was', async (t) => {
  const path = await createFile(t);
  const server = await TestServer.open(path);
  await server.insert(1);
  const text = textOf(path);
  fs.mkdirSync(join(`${path}.tmp`));
  await assert.rejects(server.storage.compact(), /compaction failed/);
  assert.equal(textOf(path), text);
  fs.rmdirSync(`${path}.tmp`);
  await server.insert(2);
  await server.storage.compact();
  await server.storage.close();
  assert.equal(await contentOfFile(path), contentOf(server.database));
});

test('a compaction whose snapshot holds a refused transaction gives up', async (t) => {
  const path = await createFile(t);
  const server = await TestServer.open(path);
  await server.insert(1);
  const full = mock.method(fs, 'writeSync', () => {
    throw Object.assign(new Error('full'), { code: 'ENOSPC' });
  });
  const refused = server.insert(2);
  const compacted = server.storage.compact();
  await assert.rejects(refused, /No space left/);
  await assert.rejects(compacted, fileError('ERR_COMPACTION_STOPPED', /could not be written/));
  full.mock.restore();
  assert.deepEqual(fs.readdirSync(dirname(path)).sort(), ['.db.~lock~', 'db']);
  await server.storage.close();
  assert.equal(await contentOfFile(path), contentOf(server.database));
});

test('a conversion replaces the file, between what came before and after', async (t) => {
  const path = await createFile(t);
  const server = await TestServer.open(path);
  const before = [server.insert(1, 'a'), server.insert(2, 'b')];
  const schema = schemaOf({
    name: 'D',
    version: '1.2.4',
    tables: { T: { columns: { n: { type: 'integer' }, x: { type: 'integer' } } } },
  });
  const converted = new Database(schema);
  const number = 1000;
  server.storage.append({ number, record: null, schema, content: converted, durable: true });
  server.storage.append({
    number: number + 1,
    record: { T: { 'a0000000-0000-4000-8000-000000000001': { x: 5 } } },
    schema: null,
    durable: false,
  });
  await Promise.all(before);
  while (server.confirmed.at(-1) !== number + 1) await new Promise((r) => setTimeout(r, 1));
  assert.deepEqual(server.confirmed, [2, 1000, 1001]);
  await server.storage.close();
  const again = await TestServer.open(path);
  assert.equal(again.database.schema.version, '1.2.4');
  const row = '{"T":{"a0000000-0000-4000-8000-000000000001":{"x":5}}}';
  assert.equal(contentOf(again.database), row);
  assert.equal(linesOf(path), 6);
  await again.storage.close();
});

test('a conversion that fails leaves the old file to go on with', async (t) => {
  const path = await createFile(t);
  const server = await TestServer.open(path);
  await server.insert(1);
  fs.mkdirSync(`${path}.tmp`);
  const failures: string[] = [];
  server.storage.start({
    appended: () => failures.push('appended'),
    failed: (number, error) => failures.push(`${number} ${error.toString()}`),
    log: () => {},
  });
  const content = new Database(testSchema);
  const request = { record: null, schema: testSchema, content, durable: true };
  server.storage.append({ number: 10, ...request });
  server.storage.append({ number: 11, record: { T: {} }, schema: null, durable: false });
  while (failures.length === 0) await new Promise((r) => setTimeout(r, 1));
  assert.equal(failures.length, 1);
  assert.match(failures[0], /^10 I\/O error: .*: write failed/);
  fs.rmdirSync(`${path}.tmp`);
  // The database that is kept is the old one again.
  await server.storage.compact();
  await server.storage.close();
  assert.equal(await contentOfFile(path), contentOf(server.database));
});

test('a killed process loses nothing that was confirmed', async (t) => {
  const path = await createFile(t);
  const server = await TestServer.open(path);
  for (let i = 0; i < 100; i++) await server.insert(i);
  // What the kernel has, another process finds: no close, no flush.
  const copy = `${path}.copy`;
  fs.copyFileSync(path, copy);
  assert.equal(await contentOfFile(copy), contentOf(server.database));
  await server.storage.close();
});
