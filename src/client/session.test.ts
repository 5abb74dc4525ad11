/**
 * The session against the captured conversation of the official client (byte for byte), and
 * against a scripted server: resends, views, evictions.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { bytesEqual, fromHex, readU32, toHex, writeSafeU64, writeU32 } from '../stdx/index.ts';
import {
  Command,
  createChecksum,
  EvictionOffset,
  EvictionReason,
  HEADER_SIZE,
  headerValid,
  initHeader,
  Offset,
  OPERATION_REGISTER,
  PingClientOffset,
  PongClientOffset,
  pingClientProblem,
  ReplyOffset,
  RequestOffset,
  readCommand,
  requestProblem,
  sealBody,
  sealHeader,
  sealReply,
} from '../wire/index.ts';
import {
  ClientSession,
  RESEND_MS_FIRST,
  RESEND_MS_MIN,
  RESEND_SPREAD_MS_MAX,
  RTT_MS_START,
  type SessionEffect,
} from './session.ts';

const RELEASE = 0x1109;
const checksum = createChecksum();
const cluster = new Uint8Array(16);

interface Vector {
  readonly direction: string;
  readonly command: string;
  readonly hex: string;
}
interface Step {
  readonly step: string;
  readonly messages: readonly Vector[];
}

test('the session repeats the official client byte for byte', () => {
  const path = new URL('../../test/fixtures/ledger-wire-vectors.json', import.meta.url);
  const { steps } = JSON.parse(readFileSync(path, 'utf8')) as { steps: readonly Step[] };
  const requests = steps
    .flatMap((step) => step.messages)
    .filter((message) => message.command === 'request')
    .map((message) => fromHex(message.hex));
  const first = requests[0];
  const clientId = first.slice(RequestOffset.client, RequestOffset.client + 16);
  const session = newSession({ clientId });
  let nowMs = 1000;
  session.onConnected(0, nowMs);
  let effects = session.start(nowMs);
  let index = 0;
  for (const step of steps.filter((candidate) => candidate.step !== 'ping')) {
    for (const message of step.messages) {
      const bytes = fromHex(message.hex);
      if (message.command === 'request') {
        if (step.step === 'duplicate_request' && session.state === 'waiting') {
          effects = session.onTick(nowMs + RESEND_MS_FIRST);
        } else if (index > 0) {
          const slot = bytes.slice();
          slot.fill(0, 0, HEADER_SIZE);
          effects = session.submit(slot, slot.length, bytes[RequestOffset.operation], nowMs);
        }
        index += 1;
        assert.equal(toHex(sent(effects, Command.request)), message.hex, step.step);
      } else {
        // The next request reports how long this one took; resends share the number.
        const next = requests.slice(index).find((request) => differs(request, requests[index - 1]));
        const latencyUs =
          next === undefined ? 0 : readU32(next, RequestOffset.previousRequestLatency);
        effects = session.onMessage(bytes, nowMs + latencyUs / 1000);
        if (message.command === 'eviction') assert.equal(session.state, 'evicted');
        else assert.equal(session.state, 'idle', step.step);
        nowMs += 10_000;
      }
    }
  }
  assert.equal(index, requests.length);
  assert.equal(index, 23);
});

test('messages obey the field rules that servers check', () => {
  const session = newSession({});
  session.start(5);
  const effects = session.onConnected(0, 5);
  const ping = sent(effects, Command.pingClient);
  assert.equal(pingClientProblem(ping), null);
  assert.equal(requestProblem(sent(effects, Command.request)), null);
  assert.equal(headerValid(ping, checksum), true);
  assert.equal(readU32(ping, PingClientOffset.pingTimestampMonotonic), 5_000_000);
});

test('each request goes to the primary and to one other that can be reached, by chance', () => {
  const seen = new Set<string>();
  for (let seed = 0; seed < 40; seed++) {
    const session = newSession({ replicaCount: 4, seed });
    for (let replica = 0; replica < 4; replica++) session.onConnected(replica, 0);
    session.onDisconnected(2);
    seen.add(targetsOf(session.start(0)).join('+'));
  }
  assert.deepEqual(seen, new Set(['0+1', '0+3']));
});

test('resends wait two round trips and a spread that grows, and visit all others', () => {
  for (const rttMs of [null, 40]) {
    const session = newSession({ replicaCount: 3 });
    session.start(0);
    let last = 0;
    for (let replica = 0; replica < 3; replica++) {
      const effects = session.onConnected(replica, 0);
      if (rttMs !== null) session.onMessage(pongTo(sent(effects, Command.pingClient), replica), 40);
    }
    const others = new Set<number>();
    let longest = 0;
    for (let i = 0; i < 40; i++) {
      const nowMs = session.deadlineMs;
      const gap = nowMs - last;
      const base = i === 0 ? RESEND_MS_FIRST : 2 * (rttMs ?? RTT_MS_START) + RESEND_MS_MIN;
      const spread = i === 0 ? 0 : Math.min(RESEND_SPREAD_MS_MAX, RESEND_MS_MIN * 2 ** i);
      assert.ok(gap >= base && gap <= base + spread, `gap ${gap} after ${i} resends`);
      longest = Math.max(longest, gap);
      const targets = targetsOf(session.onTick(nowMs));
      assert.equal(targets[0], 0);
      assert.equal(targets.length, 2);
      others.add(targets[1] as number);
      last = nowMs;
    }
    assert.deepEqual(others, new Set([1, 2]));
    assert.ok(longest > RESEND_SPREAD_MS_MAX / 2, `${longest}`);
  }
});

test('a pong that echoes no ping of ours teaches no round trip', () => {
  const session = newSession({ replicaCount: 2 });
  session.start(0);
  const ping = sent(session.onConnected(1, 5), Command.pingClient);
  const late = pongTo(ping, 1);
  writeSafeU64(late, PongClientOffset.pingTimestampMonotonic, 4_000_000);
  session.onMessage(late, 20);
  session.onMessage(pong(0), 20);
  session.onTick(RESEND_MS_FIRST);
  assert.ok(session.deadlineMs - RESEND_MS_FIRST >= 2 * RTT_MS_START);
});

test('a pong with a higher view moves the request to the new primary at once', () => {
  const session = newSession({ replicaCount: 3 });
  session.start(0);
  for (let replica = 0; replica < 3; replica++) session.onConnected(replica, 0);
  const effects = [...session.onMessage(pong(7), 1)];
  assert.equal(session.view, 7);
  assert.equal(session.primary, 1);
  assert.deepEqual(targetsOf(effects), [1]);
  assert.deepEqual(targetsOf(session.onMessage(pong(4), 2)), []);
  assert.equal(session.view, 7);
});

test('what waits is sent when the primary can be reached, and to the first other', () => {
  const session = newSession({ replicaCount: 3 });
  assert.deepEqual(targetsOf(session.start(0)), []);
  assert.deepEqual(targetsOf(session.onConnected(1, 10)), [1]);
  assert.deepEqual(targetsOf(session.onConnected(2, 10)), []);
  session.onDisconnected(2);
  assert.deepEqual(targetsOf(session.onConnected(0, 20)), [0]);
  session.onDisconnected(0);
  assert.deepEqual(targetsOf(session.onTick(RESEND_MS_FIRST)), [1]);
  assert.deepEqual(targetsOf(session.onConnected(0, 700)), [0]);
});

test('when the primary is lost the others get the request with the next tick', () => {
  const session = newSession({ replicaCount: 3 });
  session.start(0);
  for (let replica = 0; replica < 3; replica++) session.onConnected(replica, 0);
  session.onDisconnected(1);
  assert.ok(session.deadlineMs > 100);
  session.onDisconnected(0);
  assert.ok(session.deadlineMs <= 100);
  assert.deepEqual(targetsOf(session.onTick(100)), [2]);
  assert.ok(session.deadlineMs > 100);
});

test('replies that do not belong to the request are ignored', () => {
  const spoils: readonly [string, (reply: Uint8Array) => void][] = [
    ['another client', (reply) => reply.fill(9, ReplyOffset.client, ReplyOffset.client + 16)],
    ['another request', (reply) => writeU32(reply, ReplyOffset.request, 1)],
    [
      'another operation',
      (reply) => reply.fill(3, ReplyOffset.operation, ReplyOffset.operation + 1),
    ],
    ['another checksum', (reply) => reply.fill(1, ReplyOffset.requestChecksum, 144)],
    ['a foreign release', (reply) => writeU32(reply, Offset.release, RELEASE + 1)],
    ['op zero', (reply) => reply.fill(0, ReplyOffset.op, ReplyOffset.timestamp)],
    ['op other than commit', (reply) => writeSafeU64(reply, ReplyOffset.commit, 77)],
    ['no timestamp', (reply) => reply.fill(0, ReplyOffset.timestamp, ReplyOffset.timestamp + 8)],
  ];
  for (const [name, spoil] of spoils) {
    const session = newSession({});
    session.start(0);
    const request = sent(session.onConnected(0, 0), Command.request);
    const reply = registerReply(request, 3);
    spoil(reply);
    sealHeader(reply, checksum);
    assert.deepEqual([...session.onMessage(reply, 1)], [], name);
    assert.equal(session.state, 'registering', name);
    session.onMessage(registerReply(request, 3), 1);
    assert.equal(session.state, 'idle', name);
  }
});

test('an eviction counts when it is for this client and not from an older view', () => {
  const clientId = new Uint8Array(16).fill(5);
  const session = newSession({ clientId });
  session.start(0);
  session.onConnected(0, 0);
  session.onMessage(pong(4), 0);
  const { noSession } = EvictionReason;
  for (const ignored of [
    eviction(clientId, 3, noSession),
    eviction(new Uint8Array(16).fill(6), 4, noSession),
    eviction(clientId, 4, 0),
  ]) {
    assert.deepEqual([...session.onMessage(ignored, 1)], []);
  }
  const effects = session.onMessage(eviction(clientId, 4, noSession), 1);
  assert.deepEqual([...effects], [{ type: 'evicted', reason: noSession, release: RELEASE }]);
  assert.equal(session.deadlineMs, Number.POSITIVE_INFINITY);
  assert.deepEqual([...session.onTick(1e9)], []);
});

function newSession(options: {
  clientId?: Uint8Array;
  replicaCount?: number;
  seed?: number;
}): ClientSession {
  return new ClientSession({
    clientId: options.clientId ?? new Uint8Array(16).fill(1),
    cluster,
    replicaCount: options.replicaCount ?? 1,
    release: RELEASE,
    checksum,
    seed: options.seed ?? 1,
  });
}

/** The one message of this command among the effects. */
function sent(effects: readonly SessionEffect[], command: number): Uint8Array {
  const found = effects.flatMap((effect) =>
    effect.type === 'send' && readCommand(effect.bytes) === command ? [effect.bytes] : [],
  );
  assert.equal(found.length, 1);
  return found[0];
}

function targetsOf(effects: readonly SessionEffect[]): number[] {
  return effects.flatMap((effect) =>
    effect.type === 'send' && readCommand(effect.bytes) === Command.request ? [effect.replica] : [],
  );
}

function differs(a: Uint8Array, b: Uint8Array): boolean {
  return !bytesEqual(a, Offset.checksum, b, Offset.checksum, 16);
}

function pong(view: number): Uint8Array {
  const bytes = new Uint8Array(HEADER_SIZE);
  const fields = { command: Command.pongClient, size: HEADER_SIZE, cluster, release: RELEASE };
  initHeader(bytes, { ...fields, view, replica: 0 });
  return bytes;
}

function pongTo(ping: Uint8Array, replica: number): Uint8Array {
  const bytes = new Uint8Array(HEADER_SIZE);
  const fields = { command: Command.pongClient, size: HEADER_SIZE, cluster, release: RELEASE };
  initHeader(bytes, { ...fields, view: 0, replica });
  const from = PingClientOffset.pingTimestampMonotonic;
  bytes.set(ping.subarray(from, from + 8), PongClientOffset.pingTimestampMonotonic);
  return bytes;
}

function eviction(clientId: Uint8Array, view: number, reason: number): Uint8Array {
  const bytes = new Uint8Array(HEADER_SIZE);
  const fields = { command: Command.eviction, size: HEADER_SIZE, cluster, release: RELEASE };
  initHeader(bytes, { ...fields, view, replica: 0 });
  bytes.set(clientId, EvictionOffset.client);
  bytes[EvictionOffset.reason] = reason;
  return bytes;
}

function registerReply(request: Uint8Array, op: number): Uint8Array {
  const bytes = new Uint8Array(HEADER_SIZE + 64);
  const fields = { command: Command.reply, size: bytes.length, cluster, release: RELEASE };
  initHeader(bytes, { ...fields, view: 0, replica: 0 });
  bytes.set(request.subarray(Offset.checksum, 16), ReplyOffset.requestChecksum);
  bytes.set(request.subarray(RequestOffset.client, RequestOffset.client + 16), ReplyOffset.client);
  writeSafeU64(bytes, ReplyOffset.op, op);
  writeSafeU64(bytes, ReplyOffset.commit, op);
  writeSafeU64(bytes, ReplyOffset.timestamp, 1);
  bytes[ReplyOffset.operation] = OPERATION_REGISTER;
  writeU32(bytes, HEADER_SIZE, 1_048_320);
  sealBody(bytes, checksum);
  sealReply(bytes, checksum);
  return bytes;
}
