/** Requests that reach a backup: replica 1 of three in view 0, whose primary is replica 0. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLIENTS_MAX } from '../engine/index.ts';
import { bytesEqual, u64Add } from '../stdx/index.ts';
import {
  Command,
  EvictionOffset,
  EvictionReason,
  Offset,
  ReplyOffset,
  readCommand,
} from '../wire/index.ts';
import { prepareFromRequest } from './message.ts';
import { checksum, seal, WALL_START } from './replica-test-helper.ts';
import { author, Bench, request, type Sent } from './replication/bench-test-helper.ts';

/** The prepares that replica 0 makes of requests. */
class Primary {
  readonly #bench: Bench;
  #op: number = 0;
  #parent: Uint8Array;

  constructor(bench: Bench) {
    this.#bench = bench;
    const root = bench.parts.log.header(0);
    assert.ok(root !== null);
    this.#parent = root.slice(0, 16);
  }

  prepare(bytes: Uint8Array): Uint8Array {
    const op = ++this.#op;
    const checkpointId = this.#bench.parts.checkpoints.idFor(op);
    const timestamp = u64Add(WALL_START, op);
    const prepare = bytes.slice();
    const position = { op, parent: this.#parent, checkpointId, commit: op - 1, timestamp };
    prepareFromRequest(prepare, author(0, 0), position, checksum);
    this.#parent = prepare.slice(0, 16);
    return prepare;
  }
}

function backup(): { bench: Bench; primary: Primary } {
  const bench = new Bench({ replica: 1 });
  return { bench, primary: new Primary(bench) };
}

function forwarded(bench: Bench): Sent[] {
  return bench.take(Command.request);
}

function repliesTo(bench: Bench): number[] {
  return bench.replies.splice(0).flatMap(({ connection, bytes }) => {
    return readCommand(bytes) === Command.reply ? [connection] : [];
  });
}

const commit = (bench: Bench, commitMax: number): void =>
  bench.tell(0, Command.commit, 0, { commitMax, monotonic: bench.monoNs + 1 });

test('a request is kept for a moment, and passed on when no prepare of it comes', () => {
  const { bench } = backup();
  const bytes = request(7, {});
  bench.receive(7, bytes);
  assert.equal(bench.parts.heldRequests.count, 1);
  assert.deepEqual(forwarded(bench), []);
  bench.sleep(5);
  const [one, ...more] = forwarded(bench);
  assert.ok(one !== undefined && more.length === 0 && one.to === 0);
  assert.ok(bytesEqual(one.bytes, 0, bytes, 0, 16));
  // Once only, and remembered a little for the next primary.
  bench.sleep(1000);
  assert.deepEqual(forwarded(bench), []);
  assert.equal(bench.parts.heldRequests.count, 1);
  bench.sleep(2000);
  assert.equal(bench.parts.heldRequests.count, 0);
  bench.stop();
});

test('a request whose prepare comes in time is not passed on, nor answered here', () => {
  const { bench, primary } = backup();
  const bytes = request(7, {});
  bench.receive(7, bytes);
  bench.sleep(1);
  bench.deliver(0, primary.prepare(bytes));
  assert.equal(bench.parts.heldRequests.count, 0);
  bench.sleep(3000);
  assert.deepEqual(forwarded(bench), []);
  commit(bench, 1);
  assert.equal(bench.parts.state.commitMin, 1);
  assert.deepEqual(repliesTo(bench), []);
  bench.stop();
});

test('a request that comes after its prepare is forgotten when that is executed', () => {
  const { bench, primary } = backup();
  const bytes = request(7, {});
  bench.deliver(0, primary.prepare(bytes));
  bench.receive(7, bytes);
  assert.equal(bench.parts.heldRequests.count, 1);
  commit(bench, 1);
  assert.equal(bench.parts.heldRequests.count, 0);
  bench.sleep(100);
  assert.deepEqual(forwarded(bench), []);
  bench.stop();
});

test('who has passed a request on sends the answer too', () => {
  const { bench, primary } = backup();
  const bytes = request(7, {});
  bench.receive(70, bytes);
  bench.sleep(5);
  assert.equal(forwarded(bench).length, 1);
  bench.deliver(0, primary.prepare(bytes));
  assert.deepEqual(repliesTo(bench), []);
  commit(bench, 1);
  assert.deepEqual(repliesTo(bench), [70]);
  bench.stop();
});

test('another prepare of the same client is not the answer to its request', () => {
  const { bench, primary } = backup();
  bench.receive(70, request(7, {}));
  bench.sleep(5);
  forwarded(bench);
  const other = request(7, {}).slice();
  other[4] ^= 1;
  bench.deliver(0, primary.prepare(other));
  assert.equal(bench.parts.heldRequests.count, 1);
  commit(bench, 1);
  assert.deepEqual(repliesTo(bench), []);
  bench.stop();
});

test('the same request again changes nothing; a client has one at most', () => {
  const { bench } = backup();
  const bytes = request(7, {});
  for (let i = 0; i < 7; i++) {
    bench.receive(7, bytes);
    bench.sleep(0.5);
  }
  assert.equal(bench.parts.heldRequests.count, 1);
  bench.sleep(0.6);
  assert.equal(forwarded(bench).length, 1, 'counted from the first one');
  // Another request of the client, as it would make it in another view.
  const next = request(7, {});
  next[Offset.view] = 1;
  bench.receive(7, seal(next));
  assert.equal(bench.parts.heldRequests.count, 1);
  bench.sleep(5);
  const [last, ...more] = forwarded(bench);
  assert.ok(last !== undefined && more.length === 0 && bytesEqual(last.bytes, 0, next, 0, 16));
  bench.stop();
});

test('a client whose session is gone hears so from a backup too', () => {
  const { bench, primary } = backup();
  const asked = (session: number): string => {
    const held = bench.parts.heldRequests.count;
    bench.receive(7, request(7, { session, request: 1 }));
    const evictions = bench.replies.splice(0).flatMap(({ bytes }) => {
      return readCommand(bytes) === Command.eviction ? [bytes[EvictionOffset.reason]] : [];
    });
    if (evictions.length === 0) return bench.parts.heldRequests.count > held ? 'held' : 'nothing';
    return `evicted ${evictions}`;
  };
  assert.equal(asked(1), 'held', 'a session that is not made yet, as far as is known here');
  bench.sleep(5000);
  bench.deliver(0, primary.prepare(request(8, {})));
  commit(bench, 1);
  assert.equal(bench.parts.state.commitMin, 1);
  assert.equal(asked(1), `evicted ${EvictionReason.noSession}`);
  assert.equal(asked(2), 'held');
  bench.sleep(5000);
  // It has begun again: its old session is no less gone.
  bench.deliver(0, primary.prepare(request(7, {})));
  commit(bench, 2);
  assert.equal(bench.parts.state.commitMin, 2);
  assert.equal(asked(1), `evicted ${EvictionReason.sessionTooLow}`);
  assert.equal(asked(3), 'held', 'a newer one may have been made elsewhere');
  bench.stop();
});

test('no more are kept than there are clients', () => {
  const { bench } = backup();
  for (let client = 1; client <= CLIENTS_MAX + 5; client++) {
    bench.receive(client, request(client, {}));
  }
  assert.equal(bench.parts.heldRequests.count, CLIENTS_MAX);
  assert.equal(bench.parts.counters.dropped['queue-full'], 5);
  bench.stop();
});

test('it learns how long prepares usually take to come', () => {
  const { bench, primary } = backup();
  const round = (client: number, ms: number): number => {
    const bytes = request(client, {});
    bench.receive(client, bytes);
    bench.sleep(ms);
    const count = forwarded(bench).length;
    bench.deliver(0, primary.prepare(bytes));
    return count;
  };
  assert.equal(round(7, 3.5), 0);
  // Each a little later than the one before, never twice as late as usual.
  let client = 8;
  for (let ms = 4; ms < 12; ms += 0.5) assert.equal(round(client++, ms), 0, `${ms} ms`);
  bench.stop();
});

test('a client that has nobody else is passed on at once, and tried every now and then', () => {
  const { bench, primary } = backup();
  const { sessions } = bench.parts.state;
  let op = 0;
  /** How long the request was held, ms, and whether it was passed on at all. */
  const ask = (preparedAtMs: number): { heldMs: number; isForwarded: boolean } => {
    const last = op === 0 ? null : sessions.reply(0).bytes;
    const parent = last?.slice(ReplyOffset.context, ReplyOffset.context + 16);
    const fields = parent === undefined ? {} : { session: 1, request: op, parent };
    const bytes = request(7, fields);
    bench.receive(7, bytes);
    let heldMs = 0;
    let isForwarded = forwarded(bench).length === 1;
    while (!isForwarded && heldMs < preparedAtMs) {
      bench.sleep(1);
      heldMs += 1;
      isForwarded = forwarded(bench).length === 1;
    }
    bench.deliver(0, primary.prepare(bytes));
    op += 1;
    bench.sleep(0.1);
    commit(bench, op);
    assert.equal(bench.parts.state.commitMin, op);
    return { heldMs, isForwarded };
  };
  const first = ask(1000);
  assert.ok(first.isForwarded && first.heldMs >= 4, `${first.heldMs}`);
  for (let i = 0; i < 16; i++) assert.deepEqual(ask(1000), { heldMs: 0, isForwarded: true });
  // It is held for longer, since it may be that the patience was too short.
  const trial = ask(1000);
  assert.ok(trial.isForwarded && trial.heldMs > first.heldMs && trial.heldMs < 60);
  for (let i = 0; i < 16; i++) assert.deepEqual(ask(1000), { heldMs: 0, isForwarded: true });
  assert.equal(ask(1000).heldMs, trial.heldMs, 'nothing was learned from its own patience');
  for (let i = 0; i < 16; i++) assert.deepEqual(ask(1000), { heldMs: 0, isForwarded: true });
  // It has found the primary: the next trial shows it, and then it is held like anybody else.
  assert.deepEqual(ask(3), { heldMs: 3, isForwarded: false });
  assert.deepEqual(ask(1), { heldMs: 1, isForwarded: false });
  bench.stop();
});

test('while no primary is in reach, requests wait for one', () => {
  const { bench } = backup();
  bench.receive(7, request(7, {}));
  bench.down(0);
  bench.sleep(100);
  assert.deepEqual(forwarded(bench), []);
  assert.equal(bench.parts.heldRequests.count, 1);
  bench.stop();
});

test('the next primary gets them at once', () => {
  const { bench } = backup();
  bench.receive(7, request(7, {}));
  bench.down(0);
  const root = bench.parts.log.header(0);
  assert.ok(root !== null);
  bench.tell(2, Command.startView, 2, { op: 0, commitMax: 0 }, [root.slice()]);
  assert.equal(bench.parts.member.view, 2);
  assert.deepEqual(
    forwarded(bench).map(({ to }) => to),
    [2],
  );
  // Also those that another one had got.
  bench.up(0);
  bench.tell(0, Command.startView, 3, { op: 0, commitMax: 0 }, [root.slice()]);
  assert.deepEqual(
    forwarded(bench).map(({ to }) => to),
    [0],
  );
  bench.stop();
});

test('whoever becomes the primary itself prepares them', () => {
  const { bench } = backup();
  bench.sleep(5000);
  bench.receive(7, request(7, {}));
  bench.receive(8, request(8, {}));
  bench.down(0);
  bench.lead(1);
  assert.equal(bench.parts.heldRequests.count, 0);
  assert.equal(bench.parts.primary.pipelineLength, 2);
  bench.stop();
});
