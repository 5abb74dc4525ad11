import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BouncePool } from './bounce-pool.ts';
import { type Lane, Lanes } from './lanes.ts';

class Work {
  readonly lanes: Lanes = new Lanes(4, 2);
  readonly begun: string[] = [];
  readonly #releases: Map<string, () => void> = new Map();

  run(lane: Lane, name: string): void {
    this.lanes.run(lane, (release) => {
      this.begun.push(name);
      this.#releases.set(name, release);
    });
  }

  end(name: string): void {
    this.#releases.get(name)?.();
  }
}

test('bulk work never fills all places, urgent work goes first', () => {
  const work = new Work();
  for (const name of ['b1', 'b2', 'b3', 'b4']) work.run('bulk', name);
  assert.deepEqual(work.begun, ['b1', 'b2']);
  for (const name of ['u1', 'u2', 'u3', 'u4']) work.run('urgent', name);
  assert.deepEqual(work.begun, ['b1', 'b2', 'u1', 'u2']);
  work.end('b1');
  assert.deepEqual(work.begun.slice(4), ['u3']);
  work.end('u1');
  assert.deepEqual(work.begun.slice(5), ['u4']);
  work.end('u2');
  assert.deepEqual(work.begun.slice(6), ['b3']);
  for (const name of ['u3', 'u4']) work.end(name);
  assert.deepEqual(work.begun.slice(7), [], 'two of bulk are the limit');
  work.end('b2');
  assert.deepEqual(work.begun.slice(7), ['b4']);
});

test('close drops what has not begun and waits for what has, but not for ever', async () => {
  const work = new Work();
  for (const name of ['b1', 'b2', 'b3']) work.run('bulk', name);
  const closed = work.lanes.close(1_000);
  work.end('b1');
  work.end('b2');
  assert.equal(await closed, true);
  assert.deepEqual(work.begun, ['b1', 'b2']);

  const stuck = new Work();
  stuck.run('urgent', 'u1');
  assert.equal(await stuck.lanes.close(10), false);
  assert.equal(await new Work().lanes.close(0), true);
});

test('a release twice is a bug', () => {
  const work = new Work();
  work.run('urgent', 'u1');
  work.end('u1');
  assert.throws(() => work.end('u1'), /twice/);
});

test('bounce buffers are aligned copies, few, and of limited size', () => {
  const pool = new BouncePool(2);
  const bytes = new Uint8Array(8192).fill(3);
  const first = pool.copy(bytes);
  const second = pool.copy(bytes);
  assert.ok(first !== null && second !== null);
  assert.deepEqual(first, bytes);
  assert.equal(second.byteOffset % 4096, 0);
  assert.notEqual(first.byteOffset, second.byteOffset);
  assert.equal(pool.copy(bytes), null, 'all in use');
  pool.free(first);
  assert.throws(() => pool.free(first), /twice/);
  assert.equal(pool.copy(new Uint8Array(131_072)), null, 'too large');
  assert.ok(pool.copy(bytes) !== null);
});
