/** What the benchmark beside the original measures; each case starts a server of its own. */
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { encodeUtf8, type Json, serialize } from '../../src/ovsdb/index.ts';
import { type Whose, World } from '../../test/e2e/ovsdb-programs.ts';
import { WireSession } from '../../test/ovsdb-peer/wire-session.ts';

export interface Figure {
  readonly figure: string;
  readonly value: number;
  /** In words, of the ratio ours to theirs. */
  readonly goal: string;
}

export interface Case {
  readonly name: string;
  run(whose: Whose): Promise<Figure[]>;
}

const SCHEMA = `{"name":"D","version":"1.0.0","tables":{"T":{"isRoot":true,"indexes":[["name"]],
"columns":{"name":{"type":"string"},"n":{"type":"integer"},"kv":{"type":{"key":"string",
"value":"string","min":0,"max":"unlimited"}}}}}}`;

/** A world with one server on database D, or on an installed schema. */
async function withServer<T>(
  whose: Whose,
  schema: string | null,
  body: (world: World, pid: number) => Promise<T>,
): Promise<T> {
  const world = new World();
  try {
    writeFileSync(world.path('D.ovsschema'), SCHEMA);
    const server = await world.startServer(whose, {
      schemas: [schema ?? world.path('D.ovsschema')],
      socket: 's',
    });
    return await body(world, server.pid ?? 0);
  } finally {
    await world.end();
  }
}

/** Requests before those that count: a server runs for months, and its code is compiled by then. */
const WARM_UP = 10_000;

const row = (name: string, size = 20): Json => ({
  op: 'insert',
  table: 'T',
  row: { name, n: 0, kv: ['map', [['k', 'x'.repeat(size)]]] },
});
const byName = (name: string): Json => [['name', '==', name]];

/** Requests per second with so many in flight on one connection. */
async function rate(path: string, inFlight: number, count: number, operation: (i: number) => Json) {
  const socket = connect(path);
  await new Promise((done) => socket.once('connect', done));
  // Made before, as the client shares the cores.
  const messages = Array.from({ length: count }, (_, i) =>
    encodeUtf8(serialize({ id: i, method: 'transact', params: ['D', operation(i)] })),
  );
  const message = (i: number): Uint8Array => messages[i] as Uint8Array;
  let sent = 0;
  let answered = 0;
  const beganMs = performance.now();
  await new Promise<void>((done) => {
    socket.on('data', (chunk: Buffer) => {
      const replies = occurrences(chunk, socket, '"id":');
      answered += replies;
      if (answered >= count) done();
      const next: Uint8Array[] = [];
      for (let i = 0; i < replies && sent < count; i++) next.push(message(sent++));
      if (next.length > 0) socket.write(Buffer.concat(next));
    });
    const first: Uint8Array[] = [];
    while (sent < Math.min(inFlight, count)) first.push(message(sent++));
    socket.write(Buffer.concat(first));
  });
  const seconds = (performance.now() - beganMs) / 1000;
  socket.destroy();
  return count / seconds;
}

const tails = new WeakMap<Socket, Buffer>();

/** How often a text came, also across chunks. */
function occurrences(chunk: Buffer, socket: Socket, text: string): number {
  const tail = tails.get(socket);
  const bytes = tail === undefined ? chunk : Buffer.concat([tail, chunk]);
  let count = 0;
  let end = 0;
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) {
    count += 1;
    end = at + text.length;
  }
  tails.set(socket, bytes.subarray(Math.max(end, bytes.length - text.length + 1)));
  return count;
}

function transactions(name: string, inFlight: number, count: number, goal: string): Case {
  return {
    name,
    run: (whose) =>
      withServer(whose, null, async (world) => {
        const session = await WireSession.open(world.path('s'));
        await session.request('transact', [
          'D',
          ...Array.from({ length: 100 }, (_, i) => row(`r${i}`)),
        ]);
        const mutate = (i: number): Json => ({
          op: 'mutate',
          table: 'T',
          where: byName(`r${i % 100}`),
          mutations: [['n', '+=', 1]],
        });
        await rate(world.path('s'), inFlight, WARM_UP, mutate);
        const value = await rate(world.path('s'), inFlight, count, mutate);
        return [{ figure: `transactions/s, ${inFlight} in flight`, value, goal }];
      }),
  };
}

const select: Case = {
  name: 'select',
  run: (whose) =>
    withServer(whose, null, async (world) => {
      const session = await WireSession.open(world.path('s'));
      await session.request('transact', [
        'D',
        ...Array.from({ length: 100 }, (_, i) => row(`r${i}`)),
      ]);
      const operation = (i: number): Json => ({
        op: 'select',
        table: 'T',
        where: byName(`r${i % 100}`),
      });
      await rate(world.path('s'), 1, WARM_UP, operation);
      const value = await rate(world.path('s'), 1, 10_000, operation);
      return [{ figure: 'selects/s, 1 in flight', value, goal: 'at least 1.0' }];
    }),
};

const oneShot: Case = {
  name: 'one-shot',
  run: (whose) =>
    withServer(whose, 'ovn-nb.ovsschema', async (world) => {
      const call = (i: number): Promise<string> =>
        world.must('ovn-nbctl', [`--db=unix:${world.path('s')}`, 'ls-add', `sw${i}`]);
      await call(-1);
      const beganMs = performance.now();
      for (let i = 0; i < 100; i++) await call(i);
      const value = performance.now() - beganMs;
      return [{ figure: '100 × ovn-nbctl ls-add, ms', value, goal: 'at most 1.0' }];
    }),
};

const crowd: Case = {
  name: 'crowd',
  run: (whose) =>
    withServer(whose, 'ovn-nb.ovsschema', async (world) => {
      let failures = 0;
      const beganMs = performance.now();
      const worker = async (w: number): Promise<void> => {
        for (let i = 0; i < 10; i++) {
          const parameters = [`--db=unix:${world.path('s')}`, 'ls-add', `sw${w}-${i}`];
          if ((await world.run('ovn-nbctl', parameters)).code !== 0) failures += 1;
        }
      };
      await Promise.all(Array.from({ length: 50 }, (_, w) => worker(w)));
      const ms = performance.now() - beganMs;
      return [
        { figure: '50 × 10 one-shot clients, ms', value: ms, goal: 'told only' },
        { figure: 'failures of 500', value: failures, goal: 'ours: none' },
      ];
    }),
};

const MONITORS = 500;
const COMMITS_BEFORE = 60;
const COMMITS = 100;

const monitors: Case = {
  name: 'monitors',
  run: (whose) =>
    withServer(whose, null, async (world) => {
      const path = world.path('s');
      const writer = await WireSession.open(path);
      await writer.request('transact', ['D', row('r')]);
      let arrived = 0;
      const sockets: Socket[] = [];
      const params = ['D', 'm', { T: [{ columns: ['name', 'n'] }] }];
      const subscribe = encodeUtf8(serialize({ id: 1, method: 'monitor_cond', params }));
      for (let i = 0; i < MONITORS; i++) {
        const socket = connect(path);
        sockets.push(socket);
        await new Promise((done) => socket.once('connect', done));
        socket.write(subscribe);
        await new Promise((done) => socket.once('data', done));
        socket.on('data', (chunk: Buffer) => {
          arrived += occurrences(chunk, socket, '"update2"');
        });
      }
      const commit = async (n: number): Promise<void> => {
        const operation = { op: 'update', table: 'T', where: byName('r'), row: { n } };
        await writer.request('transact', ['D', operation]);
        while (arrived < MONITORS * n) await new Promise(setImmediate);
      };
      for (let n = 1; n <= COMMITS_BEFORE; n++) await commit(n);
      const beganMs = performance.now();
      for (let n = 1; n <= COMMITS; n++) await commit(COMMITS_BEFORE + n);
      const seconds = (performance.now() - beganMs) / 1000;
      for (const socket of sockets) socket.destroy();
      const value = (MONITORS * COMMITS) / seconds;
      return [{ figure: 'notifications/s, 500 monitors', value, goal: 'at least 1.0' }];
    }),
};

/** A file of 50 MB, made once. */
let large: string | null = null;

async function largeDatabase(): Promise<string> {
  if (large !== null && existsSync(large)) return large;
  const folder = mkdtempSync(join(tmpdir(), 'ovsdb-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const made = join(folder, 'D.db');
  await withServer('theirs', null, async (world) => {
    const session = await WireSession.open(world.path('s'));
    for (let i = 0; i < 63; i++) {
      const rows = Array.from({ length: 1000 }, (_, k) => row(`row${i}-${k}`, 680));
      await session.request('transact', ['D', ...rows]);
    }
    session.destroy();
    execFileSync('ovs-appctl', ['-t', world.path('s.ctl'), 'ovsdb-server/compact']);
    copyFileSync(world.path('D.db'), made);
  });
  large = made;
  return made;
}

const largeFile: Case = {
  name: 'large',
  async run(whose) {
    const file = await largeDatabase();
    const world = new World();
    try {
      writeFileSync(world.path('D.ovsschema'), SCHEMA);
      copyFileSync(file, world.path('D.db'));
      const beganMs = performance.now();
      const server = await world.startServer(whose, {
        schemas: [world.path('D.ovsschema')],
        socket: 's',
      });
      const session = await WireSession.open(world.path('s'));
      await session.request('transact', [
        'D',
        { op: 'select', table: 'T', where: byName('row1-1') },
      ]);
      const startMs = performance.now() - beganMs;
      await sleep(500);
      const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
      const rssMb = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
      const pauseMs = await longestPause(world, session);
      return [
        { figure: 'start with 50 MB, ms', value: startMs, goal: 'at most 1.0' },
        { figure: 'resident memory, MB', value: rssMb, goal: 'at most 1.2' },
        {
          figure: 'longest answer while compacting, ms',
          value: pauseMs,
          goal: 'ours at most 50 ms',
        },
      ];
    } finally {
      await world.end();
    }
  },
};

/** Of transactions one after another while the file is compacted, ms. */
async function longestPause(world: World, session: WireSession): Promise<number> {
  let isCompacting = true;
  const compaction = world
    .must('ovs-appctl', ['-t', world.path('s.ctl'), 'ovsdb-server/compact'])
    .finally(() => {
      isCompacting = false;
    });
  let longestMs = 0;
  for (let i = 0; isCompacting; i++) {
    const beganMs = performance.now();
    const operation = { op: 'update', table: 'T', where: byName('row1-1'), row: { n: i } };
    await session.request('transact', ['D', operation]);
    longestMs = Math.max(longestMs, performance.now() - beganMs);
  }
  await compaction;
  return longestMs;
}

export const cases: readonly Case[] = [
  oneShot,
  transactions('mutate-1', 1, 4000, 'at least 1.5'),
  transactions('mutate-64', 64, 16_000, 'at least 1.5'),
  select,
  monitors,
  crowd,
  largeFile,
];
