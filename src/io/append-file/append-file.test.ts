import assert from 'node:assert/strict';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { AppendFile, type AppendFileSystem } from './append-file.ts';

/** A file, what its handler heard, and calls of the system that fail when told to. */
class Bench {
  readonly path: string;
  readonly heard: string[] = [];
  readonly calls: string[] = [];
  /** Bytes that fit into the file. */
  room: number = Number.POSITIVE_INFINITY;
  syncError: Error | null = null;
  /** Syncs wait for `finishSync`. */
  slowSync: boolean = false;
  finishSync: () => void = () => {};
  onHeard: (text: string) => void = () => {};
  readonly file: AppendFile;

  constructor(t: TestContext, content: string = '', size: number = content.length) {
    const folder = fs.mkdtempSync(join(tmpdir(), 'append-file-'));
    this.path = join(folder, 'f');
    fs.writeFileSync(this.path, content);
    const hear = (text: string): void => {
      this.heard.push(text);
      this.onHeard(text);
    };
    this.file = new AppendFile({
      fd: fs.openSync(this.path, 'r+'),
      size,
      handler: {
        written: (tag) => hear(`written ${tag}`),
        failed: (tag, error, through) =>
          hear(`failed ${tag}-${through} ${(error as NodeJS.ErrnoException).code}`),
      },
      fileSystem: this.#system(),
    });
    t.after(async () => {
      this.slowSync = false;
      this.finishSync();
      await this.file.close();
      fs.rmSync(folder, { recursive: true });
    });
  }

  #system(): AppendFileSystem {
    const limit = (offset: number, length: number): number => {
      const count = Math.min(length, this.room - offset);
      if (count <= 0) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
      return count;
    };
    const writeSync = (fd: number, bytes: Uint8Array, from: number, n: number, at: number) => {
      this.calls.push(`write ${n}`);
      return fs.writeSync(fd, bytes, from, limit(at, n), at);
    };
    return {
      ...fs,
      writeSync: writeSync as typeof fs.writeSync,
      ftruncateSync: (fd, size) => {
        this.calls.push(`truncate ${size}`);
        fs.ftruncateSync(fd, size);
      },
      fdatasync: ((_fd: number, done: (error: Error | null) => void) => {
        this.calls.push('sync');
        this.finishSync = () => done(this.syncError);
        if (!this.slowSync) setImmediate(() => done(this.syncError));
      }) as typeof fs.fdatasync,
    };
  }

  append(tag: number, text: string, durable: boolean = false): void {
    this.file.append(tag, new TextEncoder().encode(text), durable);
  }

  get content(): string {
    return fs.readFileSync(this.path, 'latin1');
  }

  async heardAll(count: number): Promise<void> {
    for (let i = 0; i < 2000 && this.heard.length < count; i++) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    assert.equal(this.heard.length, count, this.heard.join(', '));
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('what is appended in one turn is one write, and none within the call', async (t) => {
  const bench = new Bench(t, 'head');
  bench.append(1, 'a');
  bench.append(2, 'b');
  bench.append(3, 'c');
  assert.deepEqual(bench.heard, []);
  assert.equal(bench.file.expectedSize, 7);
  await bench.heardAll(1);
  assert.deepEqual(bench.heard, ['written 3']);
  assert.equal(bench.content, 'headabc');
  assert.deepEqual(bench.calls, ['truncate 4', 'write 3']);
});

test('whoever knows that no more comes in a turn need not wait for its end', async (t) => {
  const bench = new Bench(t);
  bench.append(1, 'a');
  bench.append(2, 'b');
  bench.file.flush();
  assert.deepEqual(bench.heard, ['written 2']);
  bench.file.flush();
  await turn();
  assert.deepEqual(bench.heard, ['written 2']);
  bench.slowSync = true;
  bench.append(3, 'c', true);
  bench.file.flush();
  bench.append(4, 'd');
  bench.file.flush();
  bench.finishSync();
  await bench.heardAll(3);
  assert.deepEqual(bench.heard, ['written 2', 'written 3', 'written 4']);
  assert.equal(bench.content, 'abcd');
});

test('what is appended during a sync is one write after it, with one sync', async (t) => {
  const bench = new Bench(t);
  bench.slowSync = true;
  bench.append(1, 'a', true);
  await turn();
  for (let tag = 2; tag < 50; tag++) bench.append(tag, 'b', tag === 7 || tag === 9);
  await turn();
  assert.deepEqual(bench.heard, []);
  bench.finishSync();
  await turn();
  await turn();
  assert.deepEqual(bench.heard, ['written 1']);
  bench.finishSync();
  assert.deepEqual(bench.heard, ['written 1', 'written 49']);
  assert.deepEqual(bench.calls, ['truncate 0', 'write 1', 'sync', 'write 48', 'sync']);
});

test('nothing is synced when nothing asks for it', async (t) => {
  const bench = new Bench(t);
  bench.append(1, 'a');
  await bench.heardAll(1);
  assert.ok(!bench.calls.includes('sync'));
});

test('bytes behind the last good record are cut off before the first write', async (t) => {
  const bench = new Bench(t, 'good|torn torn', 5);
  bench.append(1, 'x');
  await bench.heardAll(1);
  assert.equal(bench.content, 'good|x');
});

test('a full disk refuses a group, leaves nothing of it, and is no end', async (t) => {
  const bench = new Bench(t, 'head');
  bench.room = 7;
  bench.append(1, 'ab');
  await bench.heardAll(1);
  bench.append(2, 'cdef');
  bench.append(3, 'g');
  await bench.heardAll(2);
  assert.deepEqual(bench.heard, ['written 1', 'failed 2-3 ENOSPC']);
  assert.equal(bench.content, 'headab');
  bench.append(4, 'hi');
  await bench.heardAll(3);
  assert.deepEqual(bench.heard.at(-1), 'failed 4-4 ENOSPC');
  assert.equal(bench.content, 'headab');
  bench.room = 100;
  bench.append(5, 'jk');
  await bench.heardAll(4);
  assert.equal(bench.heard.at(-1), 'written 5');
  assert.equal(bench.content, 'headabjk');
});

test('what is appended before the failure is known goes the same way, not what comes after', async (t) => {
  const bench = new Bench(t);
  bench.room = 0;
  bench.append(1, 'a');
  await new Promise<void>((resolve) => {
    // Runs behind the failed write, in front of the news of it.
    setImmediate(() => {
      bench.append(2, 'b');
      resolve();
    });
  });
  bench.onHeard = (text) => {
    if (!text.startsWith('failed 1')) return;
    bench.room = 100;
    bench.append(3, 'c');
  };
  await bench.heardAll(2);
  assert.deepEqual(bench.heard, ['failed 1-1 ENOSPC', 'written 3']);
  assert.equal(bench.content, 'c');
});

test('after a failed sync only a new file is trusted', async (t) => {
  const bench = new Bench(t, 'head');
  bench.syncError = Object.assign(new Error('bad disk'), { code: 'EIO' });
  bench.append(1, 'a', true);
  await bench.heardAll(1);
  bench.syncError = null;
  bench.append(2, 'b');
  await bench.heardAll(2);
  assert.deepEqual(bench.heard, ['failed 1-1 EIO', 'failed 2-2 EIO']);
  assert.ok(bench.file.broken !== null);
  assert.equal(bench.content, 'head');
  await bench.file.hold();
  fs.writeFileSync(`${bench.path}2`, 'new');
  bench.file.replaceWith(fs.openSync(`${bench.path}2`, 'r+'), 3);
  bench.file.release();
  bench.append(3, 'c');
  await bench.heardAll(3);
  assert.equal(fs.readFileSync(`${bench.path}2`, 'latin1'), 'newc');
});

test('large groups are written from a thread, in their place', async (t) => {
  const bench = new Bench(t);
  const large = 'x'.repeat(700_000);
  bench.append(1, 'a');
  await bench.heardAll(1);
  bench.append(2, large);
  bench.append(3, 'b');
  await turn();
  bench.append(4, 'c');
  await bench.heardAll(3);
  assert.deepEqual(bench.heard, ['written 1', 'written 3', 'written 4']);
  assert.equal(bench.content, `a${large}bc`);
});

test('while the file is held nothing is written, and everything after', async (t) => {
  const bench = new Bench(t);
  bench.slowSync = true;
  bench.append(1, 'a', true);
  await turn();
  let held = false;
  const holding = bench.file.hold().then(() => {
    held = true;
  });
  bench.append(2, 'b');
  await turn();
  assert.equal(held, false);
  bench.finishSync();
  await holding;
  for (let i = 0; i < 5; i++) await turn();
  assert.deepEqual(bench.heard, ['written 1']);
  assert.equal(bench.content, 'a');
  bench.file.release();
  await bench.heardAll(2);
  assert.equal(bench.content, 'ab');
});

test('drained waits for everything appended', async (t) => {
  const bench = new Bench(t);
  bench.append(1, 'a', true);
  bench.append(2, 'b');
  await bench.file.drained();
  assert.deepEqual(bench.heard, ['written 2']);
  await bench.file.drained();
});

test('close writes what was appended', async (t) => {
  const bench = new Bench(t);
  bench.append(1, 'a', true);
  await turn();
  bench.append(2, 'b');
  await bench.file.close();
  assert.equal(bench.content, 'ab');
});
