/**
 * Checkpoints of one replica on a disk that is as slow and as quick as a test likes. What crashes
 * do to them is the simulator's business.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Block,
  CHECKPOINT_SLACK_OPS,
  COUNTER_ADD,
  CounterMachine,
  KEY_VALUE_DELETE,
  KEY_VALUE_PUT,
  KeyValueMachine,
  keyValueBody,
} from '../engine/index.ts';
import { Prng, toHex, U64_ZERO } from '../stdx/index.ts';
import { createMemory, MessagePool } from '../wire/index.ts';
import { Checkpoints } from './checkpoint.ts';
import {
  checkpointAfter,
  fixedSize,
  type Geometry,
  SUPERBLOCK_AREA_SIZE,
  SUPERBLOCK_COPY_SIZE,
} from './file/geometry.ts';
import { type CheckpointReference, readSuperblock } from './file/superblock-codec.ts';
import { Outbox } from './outbox.ts';
import { poolSizes } from './pool-sizes.ts';
import {
  checksum,
  formatDisk,
  GEOMETRY_SMALL,
  TestClient,
  type TestDisk,
  TestServer,
} from './replica-test-helper.ts';
import { ReplicatedState } from './state.ts';
import { SuperblockStore } from './superblock.ts';

const CLIENTS = 12;
const ROUNDS = 14;
const one = Uint8Array.of(1, 0, 0, 0);

/** What the superblock said of each checkpoint, by op; where its blocks lie left out. */
type Named = Map<number, Partial<CheckpointReference>>;

/** The checkpoint that the file names, if it has one, goes into `named`. */
function note(named: Named, { disk, replica }: TestServer): void {
  const { op } = replica.status().checkpoint;
  if (op === 0 || named.has(op)) return;
  const read = readSuperblock(disk.read(0, SUPERBLOCK_AREA_SIZE), checksum);
  // While the next one is being named, the file may be ahead of the replica.
  if (!read.ok || read.superblock.checkpoint.op !== op) return;
  const { timestamp, prepareChecksum, digest, root, id, idParent } = read.superblock.checkpoint;
  named.set(op, { op, timestamp, prepareChecksum, digest, root, id, idParent });
}

class Crash extends Error {}

/** Requests of each round, one per client: always the same. */
function history(): [number, Uint8Array][][] {
  const prng = new Prng(3);
  return Array.from({ length: ROUNDS }, () =>
    Array.from({ length: CLIENTS }, () => {
      const key = `key ${prng.below(50)}`;
      if (prng.chance(1, 5)) return [KEY_VALUE_DELETE, keyValueBody(key)];
      return [KEY_VALUE_PUT, keyValueBody(key, new Uint8Array(prng.below(3000)).fill(7))];
    }),
  );
}

/**
 * One run of the history; a life ends after so many steps as `lifeOf` says, then the next begins.
 */
class Run {
  readonly named: Named = new Map();
  /** Most operations executed beyond a cut. */
  meanwhile: number = 0;
  lives: number = 0;
  readonly #clients: TestClient[] = Array.from(
    { length: CLIENTS },
    (_, i) => new TestClient(i + 1),
  );
  readonly #behave: (server: TestServer) => void;
  readonly #lifeOf: () => number;
  #disk: TestDisk;
  #server: TestServer;

  constructor(
    geometry: Geometry,
    behave: (server: TestServer) => void,
    lifeOf: () => number = () => Number.POSITIVE_INFINITY,
  ) {
    this.#behave = behave;
    this.#lifeOf = lifeOf;
    this.#disk = formatDisk(geometry);
    this.#server = this.#start();
    this.#ask(this.#clients.map((client) => client.buildRegister()));
    for (const requests of history()) {
      this.#ask(requests.map(([operation, body], i) => this.#clients[i]!.build(operation, body)));
    }
    this.#server.stop();
  }

  #start(): TestServer {
    const server = new TestServer(this.#disk, new KeyValueMachine(checksum));
    let stepsLeft = this.#lifeOf();
    this.lives++;
    const step = server.replica.step.bind(server.replica);
    server.replica.step = (event, now) => {
      if (stepsLeft-- <= 0) throw new Crash();
      const effects = step(event, now);
      note(this.named, server);
      return effects;
    };
    this.#behave(server);
    return server;
  }

  /** Sends all requests, and again after a crash those that were not answered, in that order. */
  #ask(requests: readonly Uint8Array[]): void {
    const left = new Map(requests.map((bytes, i) => [i + 1, bytes]));
    while (left.size > 0) {
      try {
        if (!this.#server.isReady) this.#server.open();
        this.#server.isHeld = true;
        for (const [connection, bytes] of left) this.#server.receive(connection, bytes);
        this.#server.run();
      } catch (error) {
        if (!(error instanceof Crash)) throw error;
        this.#disk = this.#server.disk;
        this.#server = this.#start();
        continue;
      }
      for (const { connection, bytes } of this.#server.take()) {
        this.#clients[connection - 1]!.accept(bytes);
        left.delete(connection);
      }
      for (const { event, fields } of this.#server.traces.splice(0)) {
        const meanwhile = event === 'checkpoint' ? Number(fields['operationsMeanwhile']) : 0;
        this.meanwhile = Math.max(this.meanwhile, meanwhile);
      }
    }
  }
}

const rootsOf = (named: Named): Map<number, string> =>
  new Map([...named].map(([op, { root }]) => [op, toHex(root!)]));

for (const slots of [40, 64]) {
  const geometry = { ...GEOMETRY_SMALL, slots };
  const growing = fixedSize(geometry);
  /** Completions in any order, those of blocks early or late. */
  const moody = (prng: Prng): ((server: TestServer) => void) => {
    return (server) => {
      if (prng.chance(1, 2)) server.shuffle = prng;
      const odds = prng.below(5);
      server.isLate = (offset) => offset >= growing && prng.chance(odds, 4);
    };
  };

  test(`${slots} slots: the same history gives the same roots on any disk`, () => {
    const plain = rootsOf(new Run(geometry, () => {}).named);
    assert.ok(plain.size >= 4, `${plain.size} checkpoints`);
    let meanwhile = 0;
    for (let seed = 0; seed < 12; seed++) {
      const run = new Run(geometry, moody(new Prng(seed)));
      meanwhile = Math.max(meanwhile, run.meanwhile);
      assert.deepEqual(rootsOf(run.named), plain, `seed ${seed}`);
    }
    assert.ok(meanwhile >= 7, `at most ${meanwhile} operations beyond a cut`);
  });

  test(`${slots} slots: and over any crashes`, () => {
    const plain = rootsOf(new Run(geometry, () => {}).named);
    for (let seed = 0; seed < 6; seed++) {
      const prng = new Prng(seed);
      const run = new Run(geometry, moody(prng), () => prng.between(10, 400));
      assert.ok(run.lives > 3, `${run.lives} lives`);
      for (const [op, root] of rootsOf(run.named)) assert.equal(root, plain.get(op), `op ${op}`);
    }
  });

  test(`${slots} slots: the same log gives the same id, however far execution has come`, () => {
    const prng = new Prng(slots);
    /** Files of which the log goes beyond a checkpoint that they do not have. */
    const disks: [number, TestDisk][] = [];
    const run = new Run(geometry, (server) => {
      server.isLate = (offset) => offset >= growing;
      const step = server.replica.step.bind(server.replica);
      server.replica.step = (event, now) => {
        const effects = step(event, now);
        const { commitMin, checkpoint } = server.replica.status();
        const due = checkpointAfter(geometry, checkpoint.op);
        if (commitMin > due && prng.chance(1, 8)) disks.push([due, server.disk.clone()]);
        return effects;
      };
    });
    assert.ok(disks.length >= 10, `${disks.length} disks`);
    for (const [op, disk] of disks) {
      const server = new TestServer(disk, new KeyValueMachine(checksum));
      const named: Named = new Map();
      const step = server.replica.step.bind(server.replica);
      server.replica.step = (event, now) => {
        const effects = step(event, now);
        note(named, server);
        return effects;
      };
      moody(prng)(server);
      server.open();
      assert.ok(server.isReady);
      assert.ok(named.has(op), `op ${op}`);
      for (const [at, checkpoint] of named) assert.deepEqual(checkpoint, run.named.get(at));
      server.stop();
    }
  });
}

test('what is complete is written before the checkpoint falls due', () => {
  const geometry = { ...GEOMETRY_SMALL, slots: 96 };
  const first = checkpointAfter(geometry, 0);
  const server = new TestServer(formatDisk(geometry), new KeyValueMachine(checksum)).open();
  const client = new TestClient(1);
  client.register(server);
  const blocks = (): number =>
    server.writes.filter(({ offset }) => offset >= fixedSize(geometry)).length;
  for (let op = 2; op < first; op++) {
    client.call(server, KEY_VALUE_PUT, keyValueBody(`key ${op}`, one));
  }
  const ahead = blocks();
  assert.ok(ahead > 20, `${ahead} blocks ahead`);
  client.call(server, KEY_VALUE_PUT, keyValueBody('key', one));
  assert.equal(server.replica.status().checkpoint.op, first);
  // At most five buckets, the table of sessions, a reply, the manifest.
  assert.ok(blocks() - ahead <= 8, `${blocks() - ahead} writes after the cut`);
  const [trace] = server.traces.filter(({ event }) => event === 'checkpoint');
  assert.ok(Number(trace?.fields['blocksWritten']) > ahead);
  server.stop();
});

/** A counter whose checkpoint is large. */
class LargeMachine extends CounterMachine {
  static readonly BLOCKS = 100;
  made: number = 0;
  #left: number = 0;

  override cut(op: number): number {
    this.made = 0;
    this.#left = LargeMachine.BLOCKS;
    return super.cut(op) + LargeMachine.BLOCKS;
  }

  override slice(target?: Uint8Array): Block | null {
    assert.ok(target !== undefined);
    if (this.#left === 0) return super.slice();
    this.made++;
    return { kind: 2, index: --this.#left, bytes: target.fill(5) };
  }
}

test('a large checkpoint lets operations through as it gets on', () => {
  const geometry = { ...GEOMETRY_SMALL, slots: 96 };
  const first = checkpointAfter(geometry, 0);
  const machine = new LargeMachine();
  const server = new TestServer(formatDisk(geometry), machine).open();
  const clients = Array.from({ length: 60 }, (_, i) => new TestClient(i + 1));
  for (const client of clients) client.register(server);
  server.isHeld = true;
  server.isLate = (offset) => offset >= fixedSize(geometry);
  /** Operations beyond the cut → blocks that were made when that many were executed first. */
  const madeAt = new Map<number, number>();
  const step = server.replica.step.bind(server.replica);
  server.replica.step = (event, now) => {
    const { commitMin } = server.replica.status();
    const effects = step(event, now);
    const status = server.replica.status();
    for (let op = Math.max(commitMin, first) + 1; op <= status.commitMin; op++) {
      if (status.checkpoint.op === 0) madeAt.set(op - first, machine.made);
    }
    return effects;
  };
  for (const client of clients) server.receive(client.connection, client.build(COUNTER_ADD, one));
  server.run();
  assert.equal(server.take().length, 60);
  assert.equal(server.replica.status().checkpoint.op, first);
  assert.equal(madeAt.size, CHECKPOINT_SLACK_OPS, 'as many as may be');
  for (const [beyond, made] of madeAt) {
    const share = made / LargeMachine.BLOCKS;
    assert.ok(beyond <= 4 + 12 * share + 1, `${beyond} operations after ${made} blocks`);
  }
  assert.ok(madeAt.get(8)! < LargeMachine.BLOCKS, 'some while it is made');
  server.stop();
});

test('held, it writes nothing ahead, and says when all that was is durable', () => {
  const disk = formatDisk();
  const read = readSuperblock(disk.read(0, SUPERBLOCK_AREA_SIZE), checksum);
  assert.ok(read.ok);
  const { geometry } = read.superblock;
  const pool = new MessagePool(poolSizes(geometry));
  const outbox = new Outbox();
  const copy = new Uint8Array(createMemory(SUPERBLOCK_COPY_SIZE).buffer, 0, SUPERBLOCK_COPY_SIZE);
  const superblock = new SuperblockStore(read, outbox, checksum, copy);
  const machine = new KeyValueMachine(checksum);
  const state = new ReplicatedState(machine, pool, geometry.requestSizeMax);
  const checkpoints = new Checkpoints({ geometry, pool, outbox, superblock, state });
  const reply = new Uint8Array(64);
  const change = (keys: number): void => {
    for (let i = 0; i < keys; i++) {
      const context = { op: 1, timestamp: U64_ZERO };
      machine.apply(context, KEY_VALUE_PUT, keyValueBody(`key ${i}`, one), reply);
    }
  };
  const step = (action: () => void): readonly number[] => {
    outbox.begin({ monoNs: 0, wall: U64_ZERO });
    action();
    checkpoints.advance();
    return outbox.effects().flatMap((effect) => (effect.type === 'write' ? [effect.token] : []));
  };
  change(20);
  assert.deepEqual(
    step(() => {}),
    [],
    'nothing was executed yet',
  );
  const tokens = step(() => checkpoints.onCommit());
  assert.ok(tokens.length > 0);
  const hold = (): boolean => {
    let isQuiet = false;
    step(() => {
      isQuiet = checkpoints.hold();
    });
    return isQuiet;
  };
  assert.equal(hold(), false, 'a write is under way');
  assert.deepEqual(
    step(() => {
      for (const token of tokens) checkpoints.onWritten(token, null);
    }),
    [],
  );
  assert.equal(hold(), false, 'it is not flushed');
  step(() => checkpoints.onFlushed());
  assert.equal(hold(), true);
  change(40);
  assert.deepEqual(
    step(() => {}),
    [],
  );
  checkpoints.resume();
  assert.ok(step(() => {}).length > 0);
  checkpoints.releaseMessages();
  assert.equal(pool.leaked(), 0);
});
