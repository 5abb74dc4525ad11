/** Real ledgers are recorded; the same steps are made again, and again with something changed. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Effect, Engine } from '../../engine/index.ts';
import type { LogRecord } from '../../io/index.ts';
import { toHex } from '../../stdx/index.ts';
import { HEADER_SIZE, MessagePool } from '../../wire/index.ts';
import { formatLedger } from '../format.ts';
import type { ReplicaServer } from '../replica-server.ts';
import { startReplicaServer } from '../start-ledger.ts';
import { BytesReader } from './bytes-reader.ts';
import { FILE_HEAD_SIZE, NOTE_ACQUIRE, THREW } from './format.ts';
import { Recorder } from './recorder.ts';
import {
  freePorts,
  type Piece,
  piecesOf,
  replayLedger,
  reseal,
  rewrite,
  stepsOf,
  work,
} from './recording-test-helper.ts';

const folder = fs.mkdtempSync(join(tmpdir(), 'roundelay-recording-'));
after(() => fs.rmSync(folder, { recursive: true }));
const local = { host: '127.0.0.1', port: 0 };
/** Of a first life and of a second one over the same file. */
const first = join(folder, 'first');
const second = join(folder, 'second');
const roots: string[] = [];

before(async () => {
  const path = join(folder, 'file');
  await formatLedger({ path, development: true });
  for (const record of [first, second]) {
    const server = await startReplicaServer({ path, addresses: [local], record });
    // Enough for a checkpoint, and for a log that is read when it starts again.
    await work([server.address.port], 80, record === first ? 100 : 1000);
    roots.push(server.root());
    await server.close();
  }
});

test('the same steps bring the same effects, and the same state', async () => {
  for (const [index, path] of [first, second].entries()) {
    const { machine, ...report } = await replayLedger(path);
    assert.equal(report.difference, null, report.difference?.text);
    assert.equal(report.end, 'closed');
    assert.equal(report.lives, 1);
    assert.equal(report.threw, null);
    assert.ok(report.steps > 200, `${report.steps} steps`);
    assert.equal(report.steps, stepsOf(fs.readFileSync(path)).length);
    assert.equal(toHex(machine.root()), roots[index]);
  }
});

test('recordings belong to their owner', () => {
  assert.equal(fs.statSync(first).mode & 0o777, 0o600);
});

/** The so-manieth step that brings a request with a body. */
function requestStep(steps: readonly Piece[], nth: number): number {
  const withBody = steps.flatMap(({ payload }, index) => {
    // Kind, size of the event, type of the event: 1 is a message.
    return payload[5] === 1 && payload.length > HEADER_SIZE + 120 ? [index] : [];
  });
  return withBody[nth] as number;
}

test('a changed byte is noticed at its step', async () => {
  let index = 0;
  const change = (isSealed: boolean) => (bytes: Uint8Array) => {
    const steps = stepsOf(bytes);
    index = requestStep(steps, 30);
    const step = steps[index] as Piece;
    // Within the body: behind kind, event size, type, clocks, connection, class, size and header.
    step.payload[1 + 4 + 1 + 16 + 4 + 1 + 4 + HEADER_SIZE + 20]! ^= 1;
    if (isSealed) reseal(bytes, step);
    return bytes;
  };
  const damaged = await replayLedger(rewrite(first, change(false)));
  assert.equal(damaged.end, 'damaged');
  assert.equal(damaged.steps, index);
  assert.equal(damaged.difference, null);
  const differs = await replayLedger(rewrite(first, change(true)));
  assert.equal(differs.difference?.step.number, index + 1);
  assert.equal(differs.steps, index);
  assert.equal(differs.difference.step.event.type, 'message');
  assert.match(differs.difference.text, /^effect \d+ is a write with other content$/);
});

test('a changed mark is noticed at its step', async () => {
  let index = 0;
  const path = rewrite(second, (bytes) => {
    const steps = stepsOf(bytes);
    index = steps.findIndex(({ payload }, at) => {
      const reader = afterEventIn(payload);
      const notes = reader.u16();
      reader.bytes(4 * notes);
      return at > 99 && reader.u16() > 0;
    });
    const step = steps[index] as Piece;
    step.payload[step.payload.length - 1]! ^= 0x80;
    reseal(bytes, step);
    return bytes;
  });
  const { difference } = await replayLedger(path);
  assert.equal(difference?.step.number, index + 1);
});

test('another engine is noticed where it is another', async () => {
  let steps = 0;
  const drop = (engine: Engine): Engine => ({
    step: (event, now) => {
      const effects = engine.step(event, now);
      return ++steps < 150 || effects.length === 0 ? effects : effects.slice(1);
    },
    invariants: () => {},
  });
  const { difference } = await replayLedger(first, { wrap: drop });
  assert.ok(difference !== null && difference.step.number >= 150);
  assert.equal(difference.index, 0);
  assert.equal(difference.replayed.length, difference.recorded.length - 1);
});

test('a recording that was cut off is replayed up to where it ends', async () => {
  const bytes = new Uint8Array(fs.readFileSync(second));
  const pieces = piecesOf(bytes);
  const at = (pieces[60] as Piece).offset;
  for (const length of [at, at + 1, at + 7, at + 8, at + 20, bytes.length - 11]) {
    const report = await replayLedger(rewrite(second, () => bytes.slice(0, length)));
    assert.equal(report.end, 'cut-off', `${length} bytes`);
    assert.equal(report.difference, null);
    const whole = pieces.filter((piece) => piece.offset + 8 + piece.payload.length <= length);
    assert.equal(report.steps, whole.length - 1);
  }
});

test('what is no recording is refused', async () => {
  const path = rewrite(first, (bytes) => bytes.slice(0, FILE_HEAD_SIZE - 1));
  await assert.rejects(replayLedger(path), { code: 'ERR_RECORDING_UNREADABLE' });
  const other = rewrite(first, (bytes) => {
    bytes[8] = 99;
    return bytes;
  });
  await assert.rejects(replayLedger(other), /is of another version/);
  await assert.rejects(replayLedger(join(folder, 'nowhere')), /cannot be read: ENOENT/);
  const machine = (): null => null;
  await assert.rejects(replayLedger(first, { machine }), { code: 'ERR_RECORDING_MACHINE' });
});

test('a full recording ends, the server goes on', async () => {
  const path = join(folder, 'small');
  const record = join(folder, 'small-recording');
  await formatLedger({ path, development: true });
  const logged: LogRecord[] = [];
  const log = (one: LogRecord): unknown => logged.push(one);
  const options = { path, addresses: [local], log, record, recordSizeMax: 500_000 };
  const server = await startReplicaServer(options);
  await work([server.address.port], 40, 100);
  assert.equal(logged.filter(({ event }) => event === 'recording-full').length, 1);
  assert.ok(fs.statSync(record).size <= 500_000 + 10);
  await server.close();
  const report = await replayLedger(record);
  assert.equal(report.end, 'full');
  assert.equal(report.difference, null);
});

test('a recording is never written over a file, nor does the data file stay locked', async () => {
  const path = join(folder, 'small');
  const options = { path, addresses: [local] };
  const taken = startReplicaServer({ ...options, record: first });
  await assert.rejects(taken, { code: 'ERR_RECORDING_EXISTS' });
  const nowhere = startReplicaServer({ ...options, record: join(folder, 'no', 'where') });
  await assert.rejects(nowhere, { code: 'ERR_RECORDING_NOT_WRITABLE' });
  const server = await startReplicaServer(options);
  await server.close();
});

test('each of three replicas can be replayed, also through a restart', async () => {
  const ports = await freePorts(3);
  const addresses = ports.map((port) => ({ host: '127.0.0.1', port }));
  const paths = [0, 1, 2].map((replica) => join(folder, `r${replica}`));
  for (const [replica, path] of paths.entries()) {
    await formatLedger({ path, replica, replicaCount: 3, development: true });
  }
  const recordings: string[] = [];
  const start = (replica: number) => {
    const record = join(folder, `recording-${recordings.length}`);
    recordings.push(record);
    return startReplicaServer({ path: paths[replica] as string, addresses, record });
  };
  const servers: ReplicaServer[] = await Promise.all([start(0), start(1), start(2)]);
  await work(ports, 30, 100);
  await servers[2]?.close();
  await work(ports, 200, 1000);
  // More than a log holds, and nobody remembers more: it needs a checkpoint, and so a second life.
  await Promise.all([servers[0]?.close(), servers[1]?.close()]);
  servers.splice(0, 2, ...(await Promise.all([start(0), start(1)])));
  const back = await start(2);
  await work(ports, 30, 5000);
  const untilMs = performance.now() + 10_000;
  while (back.root() !== servers[0]?.root() && performance.now() < untilMs) {
    await new Promise((done) => setTimeout(done, 20));
  }
  assert.equal(back.root(), servers[0]?.root());
  for (const server of [servers[0], servers[1], back]) await server?.close();
  let lives = 0;
  for (const path of recordings) {
    const report = await replayLedger(path);
    assert.equal(report.difference, null, report.difference?.text);
    assert.equal(report.end, 'closed');
    lives += report.lives;
  }
  assert.ok(lives > recordings.length, 'nobody began a second life');
});

/** A recorder over an engine of a few lines. */
function scripted(name: string, step: (pool: MessagePool) => readonly Effect[]) {
  const sizes = { requestSlotSize: 4096, requestSlots: 0, replySlots: 1, smallSlots: 1 };
  const pool = new MessagePool(sizes);
  const path = join(folder, name);
  const recorder = new Recorder({ path, pool, log: () => {} });
  const life = {
    engine: 'vsr' as const,
    machine: 'none',
    release: 1,
    pool: sizes,
    head: { id: new Uint8Array([1, 2]) },
    options: {},
  };
  const engine = recorder.record(life, { step: () => step(pool), invariants: () => {} });
  const now = { monoNs: 5, wall: { lo: 1, hi: 2 } };
  return { pool, path, recorder, step: () => engine.step({ type: 'open' }, now) };
}

/** What follows the event in a step's payload. */
function afterEvent(path: string): BytesReader {
  const [piece] = stepsOf(fs.readFileSync(path));
  const reader = new BytesReader((piece as Piece).payload);
  reader.u8();
  reader.bytes(reader.u32());
  return reader;
}

test('what the pool answers within a step is noted, and nothing else', () => {
  const { pool, path, recorder, step } = scripted('notes', () => {
    const message = pool.acquire('small');
    assert.ok(message !== null);
    assert.equal(pool.acquire('small'), null);
    assert.equal(pool.available('reply'), 1);
    pool.release(message);
    return [];
  });
  assert.equal(pool.acquire('request'), null);
  step();
  recorder.close();
  const reader = afterEvent(path);
  assert.deepEqual([reader.u16(), reader.u32(), reader.u32()], [2, NOTE_ACQUIRE + 1, 1]);
  assert.equal(Object.hasOwn(pool, 'acquire'), false);
});

test('what an engine throws is recorded, and thrown on', () => {
  const { path, recorder, step } = scripted('threw', () => {
    throw new Error('planted');
  });
  assert.throws(step, /planted/);
  recorder.close();
  const reader = afterEvent(path);
  assert.equal(reader.u16(), 0);
  assert.deepEqual([reader.u16(), reader.text()], [THREW, 'planted']);
  assert.ok(new TextDecoder().decode(fs.readFileSync(path)).includes('{"$bytes":"0102"}'));
});

test('a throw that does not come again is a difference; one that does is the end', async () => {
  const path = rewrite(first, (bytes) => {
    // The engine's last words, in place of its marks.
    const steps = stepsOf(bytes);
    const step = steps.find(({ payload }) => afterEventIn(payload).u16() === 0) as Piece;
    const index = steps.indexOf(step);
    throwAt = index + 1;
    const reader = afterEventIn(step.payload);
    const start = step.payload.length - reader.left + 2;
    const end = step.offset + 8 + step.payload.length;
    const words = [...new TextEncoder().encode('planted')];
    const tail = [0xff, 0xff, words.length, 0, 0, 0, ...words];
    const payload = new Uint8Array([...step.payload.subarray(0, start), ...tail]);
    const changed = new Uint8Array(step.offset + 8 + payload.length);
    changed.set(bytes.subarray(0, step.offset));
    changed.set(payload, step.offset + 8);
    changed[step.offset] = payload.length & 0xff;
    changed[step.offset + 1] = payload.length >>> 8;
    changed[step.offset + 2] = payload.length >>> 16;
    changed[step.offset + 3] = 0;
    reseal(changed, { offset: step.offset, kind: 2, payload: changed.subarray(step.offset + 8) });
    assert.ok(end <= bytes.length);
    return changed;
  });
  const gone = await replayLedger(path);
  assert.equal(gone.difference?.step.number, throwAt);
  assert.equal(gone.difference.text, 'threw "planted", which it does not now');
  let steps = 0;
  const wrap = (engine: Engine): Engine => ({
    step: (event, now) => {
      if (++steps === throwAt) throw new Error('planted');
      return engine.step(event, now);
    },
    invariants: () => {},
  });
  const again = await replayLedger(path, { wrap });
  assert.equal(again.difference, null);
  assert.equal(again.threw, 'planted');
  assert.equal(again.steps, throwAt);
});

let throwAt = 0;

function afterEventIn(payload: Uint8Array): BytesReader {
  const reader = new BytesReader(payload);
  reader.u8();
  reader.bytes(reader.u32());
  return reader;
}
