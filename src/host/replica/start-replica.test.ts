/** Lives of replicas with a user's machine: memory and folders, alone and three, both engines. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { connectReplica } from '../../client/index.ts';
import {
  COUNTER_ADD,
  COUNTER_READ,
  CounterMachine,
  defineMachine,
  type EngineName,
} from '../../engine/index.ts';
import type { LogRecord } from '../../io/index.ts';
import { readSafeU64 } from '../../stdx/index.ts';
import { freePorts } from '../free-ports.ts';
import {
  agreed,
  engines,
  type Put,
  type Shelf,
  type ShelfReplica,
  shelf,
  until,
} from './replica-test-helper.ts';
import { startCluster } from './start-cluster.ts';
import { type AppliedEvent, type StartReplicaOptions, startReplica } from './start-replica.ts';

const folder = fs.mkdtempSync(join(tmpdir(), 'roundelay-replica-'));
after(() => fs.rmSync(folder, { recursive: true }));
let folders = 0;

function newFolder(): string {
  folders += 1;
  return join(folder, `f${folders}`);
}

const alone = '127.0.0.1:0';

for (const engine of engines) {
  test(`${engine}: alone in memory, from the first command to the end of its block`, async () => {
    const log: LogRecord[] = [];
    let ended: Promise<Error | null>;
    {
      await using replica = await startReplica({
        engine,
        machine: shelf,
        addresses: alone,
        log: (record) => log.push(record),
      });
      ended = replica.ended;
      assert.equal(replica.engine, engine);
      assert.equal(replica.path, null);
      assert.equal(replica.address, `127.0.0.1:${replica.port}`);
      assert.equal(replica.addresses, replica.address);
      const applied: unknown[] = [];
      const off = replica.on('applied', ({ command, result, isReplay }) =>
        applied.push([command.key, result, isReplay]),
      );
      replica.on('applied', () => {
        throw new Error('a listener');
      });
      await using client = await connectReplica({ addresses: replica.addresses, machine: shelf });
      const many = await Promise.all(
        Array.from({ length: 500 }, (_, i) => client.submit({ key: `k${i % 3}`, add: 1 })),
      );
      assert.equal(Math.max(...many), 167);
      assert.equal(await client.query('k0'), 167);
      await assert.rejects(client.submit({ key: 'k0', add: -1 }), { code: 'ERR_NEGATIVE' });
      await assert.rejects(client.submit({ key: 'bug', add: 1 }), { code: 'ERR_COMMAND_FAILED' });
      assert.equal(replica.state().total, 500);
      assert.deepEqual(replica.leader, { replica: 0, view: replica.status().view, isSelf: true });
      assert.equal(applied.length, 500);
      assert.deepEqual(applied[499], ['k1', 167, false]);
      off();
      await client.submit({ key: 'k0', add: 1 });
      assert.equal(applied.length, 500);
      assert.match(replica.root(), /^[0-9a-f]{32}$/);
      assert.equal(replica.status().engine, engine);
      assert.equal(replica.status().durability, 'memory');
    }
    assert.equal(await ended, null);
    const errors = log.filter(({ level }) => level === 'error');
    assert.ok(errors.some(({ event }) => event === 'applied-threw'));
    assert.match(errors.find(({ event }) => event === 'apply-threw')?.message ?? '', /a bug of/);
  });

  test(`${engine}: a folder keeps everything, and its file says whose it is`, async () => {
    const directory = newFolder();
    const options = { engine, machine: shelf, addresses: alone, directory, development: true };
    const first = await startReplica(options);
    assert.equal(first.path, join(directory, `shelf_0_0.${engine}`));
    assert.equal(fs.statSync(first.path).mode & 0o777, 0o600);
    const client = await connectReplica({ addresses: first.addresses, machine: shelf });
    // More requests than a log of this size holds: the state comes from a checkpoint and the log.
    for (let round = 0; round < 100; round++) {
      const puts = Array.from({ length: 40 }, (_, i) =>
        client.submit({ key: `k${round * 40 + i}`, add: i }),
      );
      await Promise.all(puts);
    }
    await client.close();
    const root = first.root();
    const { total } = first.state();
    await assert.rejects(startReplica(options), { code: 'ERR_DATA_FILE_LOCKED' });
    await first.close();

    const told: AppliedEvent<Put, number>[] = [];
    const ready: number[] = [];
    const second = await startReplica({
      ...options,
      on: { applied: (event) => told.push(event), ready: ({ op }) => ready.push(op) },
    });
    await until(
      'replayed',
      () => second.root(),
      (now) => now === root,
    );
    assert.equal(second.state().total, total);
    assert.deepEqual(ready.length, 1);
    assert.ok(told.length > 0, 'what came after the checkpoint is told again');
    const before = told.filter(({ op }) => op <= (ready[0] ?? 0));
    assert.ok(before.every(({ isReplay }) => isReplay));
    const again = await connectReplica({ addresses: second.addresses, machine: shelf });
    assert.equal(await again.query('k39'), 39);
    assert.equal(await again.submit({ key: 'k39', add: 1 }), 40);
    assert.equal(told.at(-1)?.isReplay, false);
    await again.close();
    await second.close();
  });

  test(`${engine}: three in memory: one goes, the others go on`, async () => {
    await using cluster = await startCluster({ engine, machine: shelf, electionTimerMs: 200 });
    const { replicas, addresses } = cluster;
    assert.equal(replicas.length, 3);
    await using client = await connectReplica({ addresses, machine: shelf });
    const changes: (number | null)[] = [];
    for (let i = 1; i <= 50; i++) assert.equal(await client.submit({ key: 'a', add: 1 }), i);
    await agreed(replicas);
    for (const replica of replicas) assert.equal(replica.state().items.get('a'), 50);
    const leader = await until(
      'a leader',
      () => leaderOf(replicas),
      (one) => one !== undefined,
    );
    assert.ok(leader !== undefined);
    const others = replicas.filter((one) => one !== leader);
    others[0]?.on('leader', ({ replica }) => changes.push(replica));
    await leader.close();
    for (let i = 51; i <= 100; i++) assert.equal(await client.submit({ key: 'a', add: 1 }), i);
    await agreed(others);
    const next = leaderOf(others)?.replica;
    assert.ok(next !== undefined && next !== leader.replica);
    await until(
      'the news',
      () => changes,
      (all) => all.includes(next),
    );
  });

  test(`${engine}: three in folders: all stop, all come back`, async () => {
    const directory = newFolder();
    const shape = { development: true, electionTimerMs: 200 };
    const options = { engine, machine: shelf, directory, ...shape };
    const first = await startCluster(options);
    const client = await connectReplica({ addresses: first.addresses, machine: shelf });
    await Promise.all(
      Array.from({ length: 300 }, (_, i) => client.submit({ key: `k${i % 50}`, add: 1 })),
    );
    await client.close();
    await agreed(first.replicas);
    const [root] = first.replicas.map((one) => one.root());
    await first.close();
    assert.deepEqual(
      fs.readdirSync(directory).sort(),
      [0, 1, 2].map((replica) => `shelf_0_${replica}.${engine}`),
    );
    await using second = await startCluster(options);
    await using again = await connectReplica({ addresses: second.addresses, machine: shelf });
    assert.equal(await again.query('k7'), 6);
    await agreed(second.replicas);
    assert.equal(second.replicas[0]?.root(), root);
  });
}

for (const engine of engines) {
  test(`${engine}: who was away too long takes over the state of another`, async () => {
    const directory = newFolder();
    const ports = await freePorts(3);
    const addresses = ports.map((port) => `127.0.0.1:${port}`);
    const size = { development: true, snapshotBytesMin: 16_384, electionTimerMs: 200 };
    const options = { engine, machine: shelf, addresses, directory, ...size };
    const start = (
      replica: number,
      on: StartReplicaOptions<Shelf, Put, number>['on'] = {},
    ): Promise<ShelfReplica> => startReplica({ ...options, replica, on });
    const first = await Promise.all([start(0), start(1), start(2)]);
    await using client = await connectReplica({ addresses, machine: shelf });
    await client.submit({ key: 'a', add: 1 });
    await first[2]?.close();
    for (let i = 2; i <= 200; i++) await client.submit({ key: 'a', add: 1 });
    // What they keep in memory for those that lag is gone with them.
    await Promise.all(first.map((one) => one.close()));
    const ready: number[] = [];
    const told: number[] = [];
    const others = await Promise.all([start(0), start(1)]);
    const returned = await start(2, {
      ready: ({ op }) => ready.push(op),
      applied: ({ result }) => told.push(result),
    });
    const all = [...others, returned];
    try {
      await client.submit({ key: 'a', add: 1 });
      await agreed(all);
      assert.equal(returned.state().items.get('a'), 201);
      assert.equal(ready.length, 2, 'by a checkpoint, not by the log');
      assert.ok((ready[1] ?? 0) > (ready[0] ?? 0) + 50);
      assert.deepEqual(
        told,
        [...told].sort((x, y) => x - y),
        'in order',
      );
      await client.submit({ key: 'a', add: 1 });
      await until(
        'news',
        () => told.at(-1),
        (last) => last === 202,
      );
    } finally {
      await Promise.all(all.map((one) => one.close()));
    }
  });
}

function leaderOf(replicas: readonly ShelfReplica[]): ShelfReplica | undefined {
  return replicas.find((one) => one.leader.isSelf);
}

test("a machine of one's own class runs as well", async () => {
  for (const engine of engines) {
    await using replica = await startReplica({
      engine,
      machine: () => new CounterMachine(),
      name: 'counter',
      addresses: alone,
    });
    await using client = await connectReplica({ addresses: replica.addresses });
    await client.request(COUNTER_ADD, Uint8Array.of(7, 0, 0, 0));
    const { body } = await client.request(COUNTER_READ, new Uint8Array(0));
    assert.equal(readSafeU64(body, 0), 7);
    assert.ok(replica.machine instanceof CounterMachine);
    assert.equal(replica.machine.total, 7);
    assert.throws(() => replica.state(), /only what defineMachine has made/);
  }
});

test('a state that cannot be written down stops the replica, and says what it is', async () => {
  for (const engine of engines) {
    const broken = defineMachine({
      name: 'broken',
      initial: (): { count: number; handler: unknown } => ({ count: 0, handler: null }),
      apply: (state, _command: null): number => {
        state.handler = () => {};
        state.count += 1;
        return state.count;
      },
    });
    const halted: Error[] = [];
    const replica = await startReplica({
      engine,
      machine: broken,
      addresses: alone,
      snapshotBytesMin: 4_096,
      on: { halted: ({ error }) => halted.push(error) },
    });
    const client = await connectReplica({ addresses: replica.addresses, machine: broken });
    const submitting = (async () => {
      for (;;) await client.submit(null);
    })();
    const error = await replica.ended;
    assert.match(String(error), /handler is a function, which cannot be stored/);
    await client.close();
    await assert.rejects(submitting);
    assert.deepEqual(halted, [error]);
    await replica.close();
  }
});

test('replicas of different engines have nothing to say to each other', async () => {
  const log: string[] = [];
  const addresses = (await freePorts(2)).map((port) => `127.0.0.1:${port}`);
  const start = (replica: number, engine: EngineName): Promise<ShelfReplica> =>
    startReplica({
      engine,
      machine: shelf,
      addresses,
      replica,
      log: ({ message }) => log.push(message),
    });
  const both = await Promise.all([start(0, 'vsr'), start(1, 'raft')]);
  await until(
    'a word about it',
    () => log,
    (all) => all.some((text) => /it runs raft, this replica vsr/.test(text)),
  );
  for (const one of both) assert.equal(one.status().connected, 1);
  await Promise.all(both.map((one) => one.close()));
});

test('a signal ends the start, or what was started', async () => {
  const aborted = AbortSignal.abort(new Error('no need'));
  const options = { engine: 'vsr', machine: shelf, addresses: alone } as const;
  await assert.rejects(startReplica({ ...options, signal: aborted }), /no need/);
  const controller = new AbortController();
  const directory = newFolder();
  const starting = startReplica({
    ...options,
    directory,
    development: true,
    signal: controller.signal,
  });
  controller.abort(new Error('changed my mind'));
  await assert.rejects(starting, /changed my mind/);
  const later = new AbortController();
  const replica = await startReplica({ ...options, directory, signal: later.signal });
  later.abort();
  assert.equal(await replica.ended, null);
  await (await startReplica({ ...options, directory })).close();
});

test('the wrong file is refused, and says why', async () => {
  const directory = newFolder();
  const made: { readonly [engine in EngineName]: string } = { vsr: newFolder(), raft: newFolder() };
  for (const engine of engines) {
    const options = { engine, machine: shelf, addresses: alone, development: true };
    await (await startReplica({ ...options, directory: made[engine] })).close();
    const other = engine === 'vsr' ? 'raft' : 'vsr';
    const refused = async (
      changes: Partial<StartReplicaOptions<Shelf, Put, number>>,
      message: RegExp,
    ): Promise<void> => {
      const attempt = startReplica({ ...options, directory: made[engine], ...changes });
      await assert.rejects(attempt, { code: 'ERR_DATA_FILE_MISMATCH', message });
    };
    await refused({ engine: other }, new RegExp(`belongs to machine shelf on engine ${engine}`));
    await refused({ machine: () => new CounterMachine(), name: 'counter' }, /machine shelf on/);
    await refused({ addresses: ['127.0.0.1:4001', '127.0.0.1:4002'] }, /formatted for 1 replica/);
    // Names can be changed, contents tell.
    const renamed = newFolder();
    fs.mkdirSync(renamed);
    const file = join(made[engine], `shelf_0_0.${engine}`);
    fs.copyFileSync(file, join(renamed, `shelf_5_0.${engine}`));
    await refused({ directory: renamed, cluster: 5 }, /belongs to another cluster than 5/);
    fs.renameSync(join(renamed, `shelf_5_0.${engine}`), join(renamed, `shelf_0_0.${other}`));
    const attempt = startReplica({ ...options, engine: other, directory: renamed });
    await assert.rejects(attempt, { code: /^ERR_DATA_FILE_(MISMATCH|CORRUPT)$/ });
    assert.deepEqual(fs.readdirSync(renamed), [`shelf_0_0.${other}`], 'no lock is left');
  }
  fs.mkdirSync(directory);
  fs.writeFileSync(join(directory, 'shelf_0_0.vsr'), 'a text');
  const plain = { machine: shelf, addresses: alone, directory };
  await assert.rejects(startReplica({ ...plain, engine: 'vsr' }), {
    code: 'ERR_DATA_FILE_CORRUPT',
  });
});

test('options that make no sense have a code', async () => {
  const options = { engine: 'vsr', machine: shelf, addresses: alone } as const;
  const cases: readonly (readonly [object, string])[] = [
    [{ engine: 'paxos' }, 'ERR_OPTION_INVALID'],
    [{ replica: 1 }, 'ERR_OPTION_INVALID'],
    [{ replica: 0.5 }, 'ERR_OPTION_INVALID'],
    [{ cluster: -1 }, 'ERR_OPTION_INVALID'],
    [{ cluster: 1n << 128n }, 'ERR_OPTION_INVALID'],
    [{ cluster: 0.5 }, 'ERR_OPTION_INVALID'],
    [{ machine: () => new CounterMachine(), name: '../x' }, 'ERR_OPTION_INVALID'],
    [{ electionTimerMs: 1 }, 'ERR_OPTION_INVALID'],
    [{ snapshotBytesMin: Number.NaN }, 'ERR_OPTION_INVALID'],
    [{ addresses: [] }, 'ERR_ADDRESS_INVALID'],
    [{ addresses: 'localhost:3' }, 'ERR_ADDRESS_INVALID'],
    [{ addresses: '127.0.0.1:0,127.0.0.1:1' }, 'ERR_ADDRESS_INVALID'],
    [{ addresses: '127.0.0.1:1,127.0.0.1:1' }, 'ERR_ADDRESS_INVALID'],
    [{ addresses: '1,2,3,4,5,6,7' }, 'ERR_ADDRESS_INVALID'],
  ];
  for (const [change, code] of cases) {
    await assert.rejects(
      startReplica({ ...options, ...change }),
      { code },
      JSON.stringify(Object.keys(change)),
    );
  }
  for (const replicas of [0, 1.5, 7]) {
    await assert.rejects(startCluster({ engine: 'vsr', machine: shelf, replicas }), {
      code: /^ERR_(OPTION|ADDRESS)_INVALID$/,
    });
  }
});

test('an address in use is said so; free ports are free', async () => {
  const [port = 0] = await freePorts(1);
  const addresses = `127.0.0.1:${port}`;
  await using replica = await startReplica({ engine: 'vsr', machine: shelf, addresses });
  await assert.rejects(startReplica({ engine: 'vsr', machine: shelf, addresses }), {
    code: 'ERR_ADDRESS_IN_USE',
  });
  assert.equal(replica.port, port);
});
