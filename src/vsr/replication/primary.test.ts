/** The primary of view 1 of three, or of view 4 of five, seen from outside. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PIPELINE_MAX } from '../../engine/index.ts';
import { bytesEqual, readSafeU64, readU64, u64Compare } from '../../stdx/index.ts';
import { Command, PeerOffset, PrepareOffset, ReplyOffset, readCommand } from '../../wire/index.ts';
import { peerNumber } from '../peer-message.ts';
import { Bench, idOf, MS, opOf, request, type Sent } from './bench-test-helper.ts';

const VIEW = 1;

/** Replica 1 of three leads view 1, and clocks agree. */
function primary(): Bench {
  const bench = new Bench({ replica: 1 });
  bench.sleep(5000);
  bench.lead(VIEW);
  bench.take();
  return bench;
}

/** So many clients register; returns the prepares, each as sent to the first backup. */
function register(bench: Bench, ...clients: readonly number[]): Uint8Array[] {
  for (const client of clients) bench.receive(client, request(client, {}));
  return preparesTo(bench.take(Command.prepare), 0);
}

function preparesTo(sent: readonly Sent[], replica: number): Uint8Array[] {
  const prepares = sent.filter(({ command, to }) => command === Command.prepare && to === replica);
  return prepares.map(({ bytes }) => bytes);
}

function told(sent: readonly Sent[], field: number): string[] {
  return sent.map(({ to, bytes }) => `${to} ${peerNumber(bytes, field)}`);
}

function repliesTo(bench: Bench): number[] {
  return bench.replies.splice(0).flatMap(({ connection, bytes }) => {
    return readCommand(bytes) === Command.reply ? [connection] : [];
  });
}

test('a request goes to all backups and to the disk at once', () => {
  const bench = primary();
  bench.isHeld = true;
  bench.receive(7, request(7, {}));
  const prepares = bench.take(Command.prepare);
  assert.deepEqual(
    prepares.map(({ to, bytes }) => `${to} ${opOf(bytes)}`),
    ['2 1', '0 1'],
  );
  bench.write();
  assert.equal(bench.parts.state.commitMin, 0);
  bench.stop();
});

test('its own copy and one of two backups commit; the client hears, and so do the backups', () => {
  const bench = primary();
  const [prepare] = register(bench, 7) as [Uint8Array];
  assert.deepEqual(repliesTo(bench), []);
  bench.acknowledge(2, prepare, VIEW);
  assert.deepEqual(repliesTo(bench), [7]);
  const commits = bench.take(Command.commit);
  assert.deepEqual(told(commits, PeerOffset.commitMax), ['0 1', '2 1']);
  assert.ok(bytesEqual((commits[0] as Sent).bytes, PeerOffset.checksum, prepare, 0, 16));
  bench.stop();
});

test('two backups are enough, its own disk may be slow', () => {
  const bench = primary();
  bench.isHeld = true;
  bench.receive(7, request(7, {}));
  const [prepare] = preparesTo(bench.take(), 0) as [Uint8Array];
  bench.acknowledge(0, prepare, VIEW);
  assert.equal(bench.parts.state.commitMin, 0);
  bench.acknowledge(2, prepare, VIEW);
  assert.deepEqual(repliesTo(bench), [7]);
  bench.write();
  bench.stop();
});

/** Client 7 has registered, and its first request is prepared. */
function firstRequest(bench: Bench): Uint8Array {
  const [register1] = register(bench, 7) as [Uint8Array];
  bench.acknowledge(2, register1, VIEW);
  const context = contextOf(bench);
  bench.receive(7, request(7, { session: 1, request: 1, parent: context }));
  const [prepare] = preparesTo(bench.take(Command.prepare), 0) as [Uint8Array];
  return prepare;
}

function contextOf(bench: Bench): Uint8Array {
  const reply = bench.replies.splice(0).at(-1);
  assert.ok(reply !== undefined && readCommand(reply.bytes) === Command.reply);
  return reply.bytes.slice(ReplyOffset.context, ReplyOffset.context + 16);
}

test('a request that follows one not executed here yet is prepared as soon as that is', () => {
  // The client had its answer from the primary before this one: here from a twin.
  const twin = primary();
  twin.acknowledge(2, firstRequest(twin), VIEW);
  const parent = contextOf(twin);
  twin.stop();
  const bench = primary();
  const first = firstRequest(bench);
  bench.receive(7, request(7, { session: 1, request: 2, parent }));
  assert.deepEqual(preparesTo(bench.take(Command.prepare), 0), []);
  bench.acknowledge(2, first, VIEW);
  assert.deepEqual(preparesTo(bench.take(Command.prepare), 0).map(opOf), [3]);
  assert.equal(bench.parts.heldRequests.count, 0);
  bench.stop();
});

test('acknowledgements that are not worth one: twice, of another prepare, view, file or digest', () => {
  const bench = primary();
  bench.isHeld = true;
  bench.receive(7, request(7, {}));
  const [prepare] = preparesTo(bench.take(), 0) as [Uint8Array];
  bench.acknowledge(0, prepare, VIEW);
  bench.acknowledge(0, prepare, VIEW);
  const other = prepare.slice();
  other[0] ^= 1;
  bench.acknowledge(2, other, VIEW);
  bench.acknowledge(2, prepare, 0);
  const fields = { op: 1, checksum: prepare.slice(0, 16), bits: -1 };
  bench.down(2);
  bench.up(2, idOf(40));
  bench.tell(2, Command.prepareOk, VIEW, fields);
  assert.equal(bench.parts.commits.commitMax, 0);
  // A file that was made again: its word counts when its id is durable here, so that it still does
  // after a crash.
  bench.down(2);
  bench.up(2, idOf(41, 3), true);
  bench.acknowledge(2, prepare, VIEW);
  assert.equal(bench.parts.commits.commitMax, 0);
  bench.write();
  assert.equal(bench.parts.commits.commitMax, 1, 'its own');
  assert.equal(bench.parts.commits.commitMax, 1);
  // What it says it has executed is not what was executed here.
  bench.receive(8, request(8, {}));
  const [second] = preparesTo(bench.take(Command.prepare), 0) as [Uint8Array];
  const digest = new Uint8Array(16).fill(3);
  const diverged = { op: 2, checksum: second.slice(0, 16), commitMin: 1, digest, bits: -1 };
  for (const from of [0, 2]) bench.tell(from, Command.prepareOk, VIEW, diverged);
  assert.equal(bench.parts.commits.commitMax, 1);
  assert.ok(bench.traces.includes('peer-diverged'));
  bench.write();
  bench.stop();
});

test('operations commit in their order, whatever the order of acknowledgements', () => {
  const bench = primary();
  const prepares = register(bench, 7, 8, 9);
  bench.acknowledge(0, prepares[2] as Uint8Array, VIEW);
  bench.acknowledge(2, prepares[1] as Uint8Array, VIEW);
  assert.equal(bench.parts.commits.commitMax, 0);
  bench.acknowledge(0, prepares[0] as Uint8Array, VIEW);
  assert.equal(bench.parts.state.commitMin, 3);
  assert.deepEqual(repliesTo(bench), [7, 8, 9]);
  bench.stop();
});

test('no message of its own says what the next prepare says', () => {
  const bench = primary();
  const prepares = register(bench, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  assert.equal(prepares.length, PIPELINE_MAX, 'the ninth waits for room');
  bench.acknowledge(0, prepares[0] as Uint8Array, VIEW);
  const sent = bench.take();
  assert.deepEqual(
    sent.map(({ command }) => command),
    [Command.prepare, Command.prepare],
  );
  const [ninth] = preparesTo(sent, 2) as [Uint8Array];
  assert.equal(readSafeU64(ninth, PrepareOffset.commit), 1);
  assert.equal(opOf(ninth), 9);
  bench.stop();
});

test('without a quorum in time a prepare is sent again, later and later, to who is missing', () => {
  const bench = new Bench({ replica: 4, replicaCount: 5 });
  bench.sleep(5000);
  bench.lead(4);
  bench.receive(7, request(7, {}));
  const [prepare] = preparesTo(bench.take(), 0) as [Uint8Array];
  bench.acknowledge(1, prepare, 4);
  const times: number[] = [];
  for (let ms = 0; ms < 2000; ms++) {
    bench.sleep(1);
    const again = bench.take(Command.prepare);
    if (again.length === 0) continue;
    times.push(ms);
    assert.deepEqual(
      again.map(({ to }) => to),
      [0, 2, 3],
    );
  }
  const waits = times.map((ms, i) => ms - (times[i - 1] ?? 0));
  assert.ok(waits.length >= 3, `${waits}`);
  for (let i = 1; i < waits.length; i++) {
    const [before, after] = [waits[i - 1] as number, waits[i] as number];
    assert.ok(after >= 1.9 * before && after <= 2.1 * before, `${waits}`);
  }
  // With a quorum there is an end of it.
  bench.acknowledge(2, prepare, 4);
  bench.take();
  bench.sleep(3000);
  assert.deepEqual(bench.take(Command.prepare), []);
  bench.stop();
});

test('what has a quorum and waits for another is not sent again', () => {
  const bench = new Bench({ replica: 4, replicaCount: 5 });
  bench.sleep(5000);
  bench.lead(4);
  const prepares = register(bench, 7, 8);
  for (const from of [0, 1]) bench.acknowledge(from, prepares[1] as Uint8Array, 4);
  bench.take();
  bench.sleep(1000);
  const again = bench.take(Command.prepare).map(({ bytes }) => opOf(bytes));
  assert.deepEqual([...new Set(again)], [1]);
  bench.stop();
});

test('it knows how long a quorum takes, and waits twice that', () => {
  const bench = primary();
  let client = 7;
  const round = (ms: number): number => {
    bench.receive(client, request(client, {}));
    client++;
    const [prepare] = preparesTo(bench.take(Command.prepare), 0) as [Uint8Array];
    for (let passed = 0; passed < ms; passed++) {
      bench.sleep(1);
      if (bench.take(Command.prepare).length > 0) return passed;
    }
    bench.acknowledge(0, prepare, VIEW);
    return -1;
  };
  for (let i = 0; i < 12; i++) assert.equal(round(20), -1);
  const waitedMs = round(1000);
  assert.ok(waitedMs >= 38 && waitedMs <= 60, `${waitedMs} ms`);
  bench.stop();
});

test('who has a later prepare and not an earlier one has lost it, and gets it at once', () => {
  const bench = primary();
  const prepares = register(bench, 7, 8, 9);
  bench.take();
  // Operation 3 is here, 2 is not, 1 is.
  bench.acknowledge(2, prepares[2] as Uint8Array, VIEW, 0b101);
  const again = bench.take(Command.prepare);
  assert.deepEqual(
    again.map(({ to, bytes }) => `${to} ${opOf(bytes)}`),
    ['2 2'],
  );
  bench.acknowledge(2, prepares[2] as Uint8Array, VIEW, 0b101);
  assert.deepEqual(bench.take(Command.prepare), [], 'once');
  bench.stop();
});

test('a primary that has nothing to say says so every half second, and sooner after a load', () => {
  const bench = primary();
  bench.sleep(20_000);
  bench.take();
  const count = (ms: number): number => {
    bench.sleep(ms);
    return bench.take(Command.commit).filter(({ to }) => to === 0).length;
  };
  const idle = count(5000);
  assert.ok(idle >= 9 && idle <= 11, `${idle}`);
  // Backups have got used to hearing of it every 100 ms: they are not to lose patience.
  for (let client = 7; client < 27; client++) {
    const [prepare] = register(bench, client) as [Uint8Array];
    bench.acknowledge(0, prepare, VIEW);
    bench.sleep(100);
  }
  bench.take();
  assert.ok(count(400) >= 1);
  bench.stop();
});

test('what gets no quorum for ten seconds makes it fall silent, and call for another', () => {
  const bench = primary();
  register(bench, 7);
  bench.sleep(9900);
  assert.deepEqual(bench.take(Command.startViewChange), []);
  bench.sleep(200);
  assert.ok(bench.take(Command.startViewChange).length > 0);
  assert.ok(bench.traces.includes('abdicated'));
  bench.sleep(5000);
  assert.deepEqual(bench.take(Command.commit), []);
  bench.stop();
});

test('one backup that acknowledges the same over and over is no progress', () => {
  const bench = new Bench({ replica: 4, replicaCount: 5 });
  bench.sleep(5000);
  bench.lead(4);
  const [prepare] = register(bench, 7) as [Uint8Array];
  for (let second = 0; second < 12; second++) {
    bench.acknowledge(0, prepare, 4);
    bench.sleep(1000);
  }
  assert.ok(bench.traces.includes('abdicated'));
  bench.stop();
});

test('when a quorum lags in executing, nothing new is prepared until it has caught up', () => {
  const bench = primary();
  let client = 7;
  const round = (commitMin: number): boolean => {
    bench.receive(client, request(client, {}));
    client++;
    const prepares = preparesTo(bench.take(Command.prepare), 0);
    for (const prepare of prepares) {
      const fields = { op: opOf(prepare), checksum: prepare.slice(0, 16), bits: -1, commitMin };
      const { digest } = bench.parts.state;
      bench.tell(0, Command.prepareOk, VIEW, { ...fields, digest });
    }
    return prepares.length > 0;
  };
  let count = 0;
  while (count < 100 && round(0)) count++;
  assert.equal(count, 1 + 2 * PIPELINE_MAX);
  assert.equal(bench.parts.state.commitMin, count, 'all of it is committed');
  bench.tell(2, Command.ping, VIEW, { commitMin: 3, monotonic: 1 });
  assert.ok(round(3), 'one of the two is not so far behind');
  bench.stop();
});

test('without agreement of the clocks nothing is prepared; with it everything that waits', () => {
  const bench = new Bench({ replica: 1, hasClocks: false });
  bench.lead(VIEW);
  bench.receive(7, request(7, {}));
  bench.sleep(3000);
  assert.deepEqual(bench.take(Command.prepare), []);
  assert.equal(bench.parts.admission.queueLength, 1);
  bench.hasClocks = true;
  bench.sleep(5000);
  // A message, or time, makes it look.
  assert.deepEqual([...new Set(preparesTo(bench.take(), 0).map(opOf))], [1]);
  bench.stop();
});

test('timestamps grow by at least one, though all clocks go back', () => {
  const bench = primary();
  const stamps = register(bench, 4, 5, 6).map((one) => readU64(one, PrepareOffset.timestamp));
  bench.take();
  for (const op of [1, 2, 3]) bench.acknowledge(0, bench.parts.log.header(op) as Uint8Array, VIEW);
  for (let client = 7; client < 27; client++) {
    const [prepare] = register(bench, client) as [Uint8Array];
    stamps.push(readU64(prepare, PrepareOffset.timestamp));
    bench.acknowledge(0, prepare, VIEW);
    if (client === 15) bench.wall = { hi: bench.wall.hi - 1, lo: bench.wall.lo };
    bench.sleep(10);
  }
  stamps.forEach((stamp, i) => {
    assert.ok(i === 0 || u64Compare(stamp, stamps[i - 1]) > 0);
  });
  bench.stop();
});

test('in another view nobody’s acknowledgement of this one counts', () => {
  const bench = primary();
  bench.isHeld = true;
  bench.receive(7, request(7, {}));
  const [prepare] = preparesTo(bench.take(), 0) as [Uint8Array];
  bench.acknowledge(0, prepare, VIEW);
  for (const from of [0, 2]) bench.tell(from, Command.startViewChange, VIEW);
  assert.equal(bench.parts.member.view, 2);
  bench.acknowledge(2, prepare, VIEW);
  bench.acknowledge(2, prepare, 2);
  assert.equal(bench.parts.commits.commitMax, 0);
  assert.equal(bench.parts.primary.pipelineLength, 0);
  bench.write();
  bench.stop();
});

test('a reply says which operation it is of', () => {
  const bench = primary();
  const [prepare] = register(bench, 7) as [Uint8Array];
  bench.acknowledge(0, prepare, VIEW);
  const [reply] = bench.replies;
  assert.ok(reply !== undefined);
  assert.equal(readSafeU64(reply.bytes, ReplyOffset.op), 1);
  assert.ok(bench.monoNs >= 5000 * MS);
  bench.stop();
});
