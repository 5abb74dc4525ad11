import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import type { Entry, Snapshot } from '../entry.ts';
import { RECENT_EIDS_MAX } from '../options.ts';
import { Log } from './log.ts';

const servers = (...ids: string[]): ReadonlyMap<string, string> =>
  new Map(ids.map((id) => [id, `tcp:${id}:1`]));

const snapshotAt = (index: number, term: number): Snapshot<string> => ({
  index,
  term,
  eid: null,
  servers: servers('a'),
  electionTimerMs: 1000,
  data: '',
  size: 0,
});

const data = (index: number, term: number, size: number = 1): Entry<string> => ({
  index,
  term,
  kind: 'data',
  eid: `e${index}.${term}`,
  data: '',
  size,
});

test('Log: starts after its snapshot and knows the term of that', () => {
  const log = new Log<string>(snapshotAt(5, 2));
  assert.deepEqual([log.start, log.end, log.last, log.lastTerm], [6, 6, 5, 2]);
  assert(log.has(5) && !log.has(4) && !log.has(6));
});

test('Log: a batch holds at least one entry, and no more than the limits', () => {
  const log = new Log<string>(snapshotAt(1, 1));
  for (let i = 2; i < 10; i++) log.append(data(i, 1, 100), 1);
  for (const [entriesMax, bytesMax, count] of [
    [100, 10_000, 8],
    [3, 10_000, 3],
    [100, 250, 2],
    [100, 1, 1],
  ]) {
    assert.equal(log.slice(2, entriesMax, bytesMax).length, count);
  }
  assert.equal(log.slice(10, 1, 1).length, 0);
});

test('Log: the configuration in force follows what is appended and cut off', () => {
  const log = new Log<string>(snapshotAt(1, 1));
  log.append({ index: 2, term: 1, kind: 'config', servers: servers('a', 'b') }, 1);
  log.append(data(3, 1), 1);
  log.append({ index: 4, term: 1, kind: 'config', servers: servers('a', 'b', 'c') }, 1);
  const sizes = [1, 2, 3, 4].map((index) => log.serversAt(index).size);
  assert.deepEqual(sizes, [1, 2, 2, 3]);
  assert.equal(log.configIndex, 4);
  assert.equal(log.truncate(4), true);
  assert.equal(log.servers.size, 2);
  assert.equal(log.truncate(3), false);
  log.compact(log.describe(2, '', 0, 1000));
  assert.deepEqual([log.servers.size, log.configIndex], [2, 2]);
});

test('Log: the newest name is that of a data entry, whatever comes after it', () => {
  const log = new Log<string>(snapshotAt(1, 1));
  assert.equal(log.eid, null);
  log.append(data(2, 1), 1);
  log.append({ index: 3, term: 2, kind: 'noop' }, 1);
  assert.equal(log.eid, 'e2.1');
  log.append(data(4, 2), 1);
  log.truncate(4);
  assert.equal(log.eid, 'e2.1');
  log.compact(log.describe(3, '', 0, 1000));
  assert.deepEqual([log.eid, log.snapshot.eid], ['e2.1', 'e2.1']);
});

test('Log: an entry is durable with its own write, not with an earlier one at its index', () => {
  const log = new Log<string>(snapshotAt(1, 1));
  log.append(data(2, 1), 1);
  log.append(data(3, 1), 2);
  assert.deepEqual(
    [0, 1, 2].map((seq) => log.durableIndex(seq)),
    [1, 2, 3],
  );
  log.truncate(3);
  log.append(data(3, 2), 5);
  assert.deepEqual(
    [2, 4, 5].map((seq) => log.durableIndex(seq)),
    [2, 2, 3],
  );
  assert.equal(log.seqAt(3), 5);
});

test('Log: remembers the names that went into a snapshot', () => {
  const log = new Log<string>(snapshotAt(1, 1));
  for (let i = 2; i < 6; i++) log.append(data(i, 1), 1);
  log.compact(log.describe(4, '', 0, 1000));
  assert.deepEqual([log.indexOf('e2.1'), log.indexOf('e5.1'), log.indexOf('e9.1')], [4, 5, null]);
  log.truncate(5);
  assert.equal(log.indexOf('e5.1'), null);
});

test('Log: remembers only so many names', () => {
  const log = new Log<string>(snapshotAt(1, 1));
  const count = RECENT_EIDS_MAX + 100;
  for (let i = 2; i < count + 2; i++) log.append(data(i, 1), 1);
  log.append({ index: log.end, term: 1, kind: 'noop' }, 1);
  log.compact(log.describe(log.last, '', 0, 1000));
  const known = Array.from({ length: count }, (_, i) => log.indexOf(`e${i + 2}.1`) !== null);
  assert.equal(known.indexOf(true), 100);
  assert(known.slice(100).every((is) => is));
});

/** The same, without any cleverness. */
class Twin {
  base: { index: number; term: number } = { index: 1, term: 1 };
  list: { entry: Entry<string>; seq: number }[] = [];

  get end(): number {
    return this.base.index + 1 + this.list.length;
  }

  termAt(index: number): number {
    const found = this.list.find((item) => item.entry.index === index);
    return found?.entry.term ?? this.base.term;
  }
}

test('Log: does what a plain list does', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const prng = new Prng(seed);
    const log = new Log<string>(snapshotAt(1, 1));
    const twin = new Twin();
    let seq = 0;
    for (let i = 0; i < 60; i++) {
      const kind = prng.below(10);
      if (kind < 7) {
        seq += prng.below(2);
        const term = twin.termAt(twin.end - 1) + prng.below(2);
        const entry = data(twin.end, term);
        log.append(entry, seq);
        twin.list.push({ entry, seq });
      } else if (kind < 9 && twin.list.length > 0) {
        const index = prng.pick(twin.list).entry.index;
        log.truncate(index);
        twin.list = twin.list.filter((item) => item.entry.index < index);
      } else if (twin.list.length > 0) {
        const { index, term } = prng.pick(twin.list).entry;
        log.compact(log.describe(index, '', 0, 1000));
        twin.base = { index, term };
        twin.list = twin.list.filter((item) => item.entry.index > index);
      }
      assert.deepEqual([log.start, log.end], [twin.base.index + 1, twin.end]);
      for (let at = twin.base.index; at < twin.end; at++) {
        assert.equal(log.termAt(at), twin.termAt(at));
      }
      const some = prng.between(0, seq);
      const durable = twin.list.findLast((item) => item.seq <= some)?.entry.index;
      assert.equal(log.durableIndex(some), durable ?? twin.base.index);
      log.invariants();
    }
  }
});
