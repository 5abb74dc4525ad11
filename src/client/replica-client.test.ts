/**
 * The client of anybody's machine, without sockets: what shares a request, what is told of errors,
 * time-outs and lost sessions, and that nothing is done twice. At the end, what stands in the way
 * of a connect, with sockets.
 */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { setTimeout as pause, setImmediate } from 'node:timers/promises';
import { CommandError, defineMachine, type MachineDefinition, unpack } from '../engine/index.ts';
import { toHex } from '../stdx/index.ts';
import { EvictionReason, HEADER_SIZE, RequestOffset } from '../wire/index.ts';
import { CALLS_WAITING_MAX } from './call-queue.ts';
import type { ReplicaClientError } from './errors.ts';
import { connectReplica, ReplicaClient } from './replica-client.ts';
import {
  checksum,
  clientOf,
  type Handler,
  ScriptedCluster,
  type ScriptedOptions,
} from './scripted-cluster-test-helper.ts';

type Add = { readonly add: number; readonly padding?: string };

/** Adds up; says no to what is below 0. */
const adder = defineMachine({
  name: 'adder',
  initial: () => ({ total: 0 }),
  apply: (state: { total: number }, { add }: Add): number => {
    if (add < 0) throw new CommandError('ERR_NEGATIVE', `${add} is below 0`);
    state.total += add;
    return state.total;
  },
  query: ({ total }, question: 'total' | 'half') => (question === 'half' ? total / 2 : total),
});

type Adder = ReplicaClient<Add, number, 'total' | 'half', number>;

async function withCluster(
  options: ScriptedOptions,
  run: (client: Adder, cluster: ScriptedCluster) => Promise<void>,
): Promise<void> {
  const cluster = new ScriptedCluster({ machine: adder.machine(checksum), ...options });
  const client = new ReplicaClient(cluster.connection, adder);
  await cluster.connection.open();
  try {
    await run(client, cluster);
  } finally {
    client.close();
  }
}

const commandsIn = (request: Uint8Array): number =>
  unpack(request.subarray(HEADER_SIZE))?.length ?? 0;

test('what is submitted at once shares a request, and is executed in order', async () => {
  await withCluster({}, async (client, cluster) => {
    const numbers = Array.from({ length: 100 }, (_, index) => index + 1);
    const totals = await Promise.all(numbers.map((add) => client.submit({ add })));
    assert.deepEqual(
      totals,
      numbers.map((n) => (n * (n + 1)) / 2),
    );
    assert.deepEqual(cluster.calls.map(commandsIn), [100]);
  });
});

test('loops that wait for their answers share requests, too', async () => {
  await withCluster({}, async (client, cluster) => {
    const loop = async (): Promise<void> => {
      for (let i = 0; i < 10; i++) await client.submit({ add: 1 });
    };
    await Promise.all(Array.from({ length: 20 }, loop));
    assert.deepEqual(cluster.calls.map(commandsIn), new Array(10).fill(20));
  });
});

test('what comes while a request is under way shares the next one', async () => {
  await withCluster({}, async (client, cluster) => {
    const first = client.submit({ add: 1 });
    await setImmediate();
    assert.equal(cluster.calls.length, 1);
    const others = [2, 3].map((add) => client.submit({ add }));
    const totals = await Promise.all([first, ...others]);
    assert.deepEqual(totals, [1, 3, 6]);
    assert.deepEqual(cluster.calls.map(commandsIn), [1, 2]);
  });
});

test('a request holds what its limit allows, and one that cannot fit is not sent', async () => {
  await withCluster({ bodySizeMax: 60 }, async (client, cluster) => {
    const size = adder.encodeCommand({ add: 1 }).length;
    assert.ok(3 * (size + 4) <= 60 && 4 * (size + 4) > 30);
    const each = Math.floor(60 / (size + 4));
    const totals = await Promise.all(Array.from({ length: 7 }, () => client.submit({ add: 1 })));
    assert.deepEqual(totals, [1, 2, 3, 4, 5, 6, 7]);
    assert.equal(cluster.calls.length, Math.ceil(7 / each));
    assert.ok(cluster.calls.every((request) => request.length <= HEADER_SIZE + 60));
    const large = client.submit({ add: 1, padding: 'x'.repeat(60) });
    await rejects(large, 'ERR_COMMAND_TOO_LARGE', 'not-done');
    assert.equal(await client.submit({ add: 1 }), 8);
  });
});

test('questions and commands keep their order', async () => {
  await withCluster({}, async (client, cluster) => {
    const answers = await Promise.all([
      client.submit({ add: 4 }),
      client.query('half'),
      client.submit({ add: 4 }),
      client.submit({ add: 2 }),
      client.query('total'),
    ]);
    assert.deepEqual(answers, [4, 2, 8, 10, 10]);
    assert.deepEqual(
      cluster.calls.map((request) => request[RequestOffset.operation]),
      [128, 129, 128, 129],
    );
  });
});

test('an error of the machine is that command’s alone, with its own code', async () => {
  await withCluster({}, async (client) => {
    const [one, two, three] = await Promise.allSettled(
      [1, -2, 3].map((add) => client.submit({ add })),
    );
    assert.deepEqual(
      [one, three].map((each) => each?.status),
      ['fulfilled', 'fulfilled'],
    );
    assert.ok(two?.status === 'rejected' && two.reason instanceof CommandError);
    assert.equal(two.reason.code, 'ERR_NEGATIVE');
    assert.equal(two.reason.message, '-2 is below 0');
    await assert.rejects(client.submit({ add: (() => 1) as unknown as number }), TypeError);
  });
});

/** Results so large that two of them fill a reply. */
function largeMachine(executed: number[]): MachineDefinition<object, number, string> {
  return defineMachine({
    name: 'large',
    initial: () => ({}),
    resultSizeMax: 400_000,
    apply: (_, n: number) => {
      executed.push(n);
      return String(n).repeat(390_000);
    },
  });
}

test('what a machine defers is sent again, in order, and executed once', async () => {
  const executed: number[] = [];
  const large = largeMachine(executed);
  const cluster = new ScriptedCluster({ machine: large.machine(checksum) });
  const client = new ReplicaClient(cluster.connection, large);
  await cluster.connection.open();
  const calls = [1, 2, 3, 4, 5].map((n) => client.submit(n));
  await setImmediate();
  calls.push(...[6, 7].map((n) => client.submit(n)));
  const results = await Promise.all(calls);
  client.close();
  const numbers = [1, 2, 3, 4, 5, 6, 7];
  assert.deepEqual(
    results.map((text) => Number(text[0])),
    numbers,
  );
  assert.deepEqual(executed, numbers);
  assert.deepEqual(cluster.calls.map(commandsIn), [5, 5, 3, 1]);
});

test('what is deferred when nobody waits any more is not sent again', async () => {
  const executed: number[] = [];
  const large = largeMachine(executed);
  const machine = large.machine(checksum);
  const cluster = new ScriptedCluster({ machine, handler: () => null, requestTimeoutMs: 40 });
  const client = new ReplicaClient(cluster.connection, large);
  await cluster.connection.open();
  const calls = [1, 2, 3, 4].map((n) => client.submit(n));
  for (const call of calls) await rejects(call, 'ERR_OUTCOME_UNKNOWN', 'unknown');
  cluster.say(cluster.execute(cluster.calls[0] as Uint8Array));
  await pause(60);
  client.close();
  assert.deepEqual(executed, [1, 2]);
  assert.equal(cluster.calls.length, 1);
});

test('who waits too long is told whether it was sent, and the session goes on', async () => {
  const held: Uint8Array[] = [];
  const handler: Handler = (request, cluster) => {
    if (held.push(request) === 1) return null;
    return cluster.execute(request);
  };
  await withCluster({ handler, requestTimeoutMs: 60 }, async (client, cluster) => {
    const sent = client.submit({ add: 5 });
    await setImmediate();
    const behind = client.submit({ add: 7 });
    await rejects(sent, 'ERR_OUTCOME_UNKNOWN', 'unknown');
    await rejects(behind, 'ERR_NOT_SENT', 'not-done');
    assert.equal(cluster.calls.length, 1);
    const later = client.submit({ add: 1 });
    await setImmediate();
    assert.equal(cluster.calls.length, 1, 'one request at a time');
    cluster.say(cluster.execute(held[0] as Uint8Array));
    assert.equal(await later, 6, 'it was executed in the end, once, and what was not sent was not');
    assert.equal(cluster.registrations, 1);
  });
});

test('a session that is lost leaves an unknown outcome; the next call has a new one', async () => {
  let evictions = 2;
  const handler: Handler = (request, cluster) => {
    if (evictions-- > 0) return cluster.eviction(request, EvictionReason.noSession);
    return cluster.execute(request);
  };
  await withCluster({ handler }, async (client, cluster) => {
    for (const add of [1, 2]) await rejects(client.submit({ add }), 'ERR_SESSION_LOST', 'unknown');
    assert.deepEqual(await Promise.all([3, 4].map((add) => client.submit({ add }))), [3, 7]);
    assert.equal(cluster.registrations, 3);
    assert.equal(new Set(cluster.requests.map((one) => toHex(clientOf(one)))).size, 3);
    // Nothing is under way: nobody needs to know, and nobody registers for nothing.
    cluster.say(cluster.eviction(cluster.requests.at(-1) as Uint8Array, EvictionReason.noSession));
    await pause(60);
    assert.equal(cluster.registrations, 3);
    assert.equal(await client.submit({ add: 1 }), 8);
    assert.equal(cluster.registrations, 4);
  });
});

test('what waits when a session is lost is sent in the next one', async () => {
  const handler: Handler = (request, cluster) =>
    cluster.registrations === 1
      ? cluster.eviction(request, EvictionReason.sessionTooLow)
      : cluster.execute(request);
  await withCluster({ handler }, async (client) => {
    const lost = client.submit({ add: 1 });
    await setImmediate();
    const waiting = client.submit({ add: 10 });
    await rejects(lost, 'ERR_SESSION_LOST', 'unknown');
    assert.equal(await waiting, 10);
  });
});

test('a request that the cluster does not take is known not to be done', async () => {
  const handler: Handler = (request, cluster) =>
    request[RequestOffset.operation] === 200
      ? cluster.eviction(request, EvictionReason.invalidRequestOperation)
      : cluster.execute(request);
  await withCluster({ handler }, async (client) => {
    await rejects(client.request(200, new Uint8Array(3)), 'ERR_REQUEST_REFUSED', 'not-done');
    assert.equal(await client.submit({ add: 1 }), 1);
    assert.throws(() => client.request(127, new Uint8Array(0)), { name: 'AssertionError' });
  });
});

test('raw requests go out one by one, and their replies come back as they are', async () => {
  const handler: Handler = (request, cluster) =>
    cluster.reply(request, request.slice(HEADER_SIZE).reverse());
  await withCluster({ handler }, async (client, cluster) => {
    const bodies = [[1, 2], [3], []].map((values) => Uint8Array.from(values));
    const replies = await Promise.all(bodies.map((body) => client.request(140, body)));
    assert.deepEqual(
      replies.map(({ body }) => [...body]),
      [[2, 1], [3], []],
    );
    assert.ok(replies.every(({ op, timestamp }) => op > 0 && timestamp > 0n));
    assert.equal(cluster.calls.length, 3);
  });
});

test('a reply that makes no sense is an error, of each command that it was for', async () => {
  // The last one holds an outcome too many.
  const failed = [1, 0, 0, 0, 3];
  for (const body of [[], [1, 2, 3], [1, 0, 0, 0, 99], [...failed, ...failed, ...failed]]) {
    const handler: Handler = (request, cluster) => cluster.reply(request, Uint8Array.from(body));
    await withCluster({ handler }, async (client) => {
      const calls = [1, 2].map((add) => client.submit({ add }));
      for (const call of calls) await rejects(call, 'ERR_PROTOCOL', 'unknown');
    });
  }
});

test('close tells those under way, those that wait and those that come later', async () => {
  await withCluster({ handler: () => null }, async (client) => {
    const sent = client.submit({ add: 1 });
    await setImmediate();
    const waiting = client.submit({ add: 2 });
    // An async function starts at once: it is in the queue already.
    client.close();
    await rejects(sent, 'ERR_OUTCOME_UNKNOWN', 'unknown');
    await rejects(waiting, 'ERR_NOT_SENT', 'not-done');
    await rejects(client.submit({ add: 3 }), 'ERR_CLIENT_CLOSED', 'not-done');
  });
});

test('too many calls at a time are refused', async () => {
  await withCluster({ handler: () => null }, async (client) => {
    let failed = 0;
    const fail = (): void => {
      failed += 1;
    };
    const call = {
      operation: 128,
      bytes: new Uint8Array(1),
      isShared: true,
      take: () => true,
      fail,
    };
    for (let i = 0; i < CALLS_WAITING_MAX; i++) client.connection.enqueue(call);
    assert.equal(failed, 0);
    await rejects(client.submit({ add: 1 }), 'ERR_TOO_MANY_CALLS', 'not-done');
    client.close();
    assert.equal(failed, CALLS_WAITING_MAX);
  });
});

test('a release that is not taken ends the client, with its own code', async () => {
  const register: Handler = (request, cluster) =>
    cluster.eviction(request, EvictionReason.clientReleaseTooLow);
  const cluster = new ScriptedCluster({ register });
  await rejects(cluster.connection.open(), 'ERR_CLIENT_RELEASE_TOO_LOW', 'not-done');
});

test('nobody there: the connect says so, a later call that it was not sent', async () => {
  const cluster = new ScriptedCluster({ connectTimeoutMs: 50 });
  cluster.isReachable = false;
  await rejects(cluster.connection.open(), 'ERR_CONNECT_REFUSED', 'not-done');
  await withCluster({ requestTimeoutMs: 60 }, async (client, gone) => {
    gone.isReachable = false;
    gone.say(gone.eviction(gone.requests[0] as Uint8Array, EvictionReason.noSession));
    await assert.rejects(client.submit({ add: 1 }), {
      code: 'ERR_NOT_SENT',
      message: /^not sent within 60 ms: nobody listens at 127\.0\.0\.1:3001/,
    });
  });
});

test('with sockets: refused, silent, aborted', async () => {
  const server = createServer((socket) => socket.on('error', () => {}).resume());
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const silent = { addresses: address.port, connectTimeoutMs: 80 };
  await rejects(connectReplica(silent), 'ERR_CONNECT_TIMEOUT', 'not-done');
  const abort = new AbortController();
  const aborted = connectReplica({ ...silent, connectTimeoutMs: 5_000, signal: abort.signal });
  abort.abort();
  await assert.rejects(aborted, { name: 'AbortError' });
  await assert.rejects(connectReplica({ ...silent, signal: abort.signal }), { name: 'AbortError' });
  server.close();
  await rejects(connectReplica(silent), 'ERR_CONNECT_REFUSED', 'not-done');
  await assert.rejects(connectReplica({ addresses: '1,1' }), { code: 'ERR_ADDRESS_INVALID' });
  const eight = { addresses: [1, 2, 3, 4, 5, 6, 7, 8], connectTimeoutMs: 50 };
  await assert.rejects(connectReplica(eight), { code: 'ERR_ADDRESS_INVALID', message: /most 7/ });
});

async function rejects(
  promise: Promise<unknown>,
  code: string,
  outcome: ReplicaClientError['outcome'],
): Promise<void> {
  await assert.rejects(promise, { name: 'ReplicaClientError', code, outcome });
}
