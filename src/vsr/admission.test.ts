import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CLIENTS_MAX,
  COUNTER_ADD,
  COUNTER_READ,
  CounterMachine,
  REQUEST_QUEUE_MAX,
} from '../engine/index.ts';
import { readSafeU64, readU32, toHex, writeSafeU64, writeU32 } from '../stdx/index.ts';
import {
  Command,
  HEADER_SIZE,
  Offset,
  PingClientOffset,
  ReplyOffset,
  RequestOffset,
} from '../wire/index.ts';
import { formatDisk, seal, TestClient, TestServer } from './replica-test-helper.ts';

const one = Uint8Array.of(1, 0, 0, 0);

function serve(options: ConstructorParameters<typeof TestServer>[2] = {}): TestServer {
  return new TestServer(formatDisk(), new CounterMachine(), options).open();
}

type Change = (bytes: Uint8Array) => Uint8Array | undefined;

function byte(offset: number, value: number): Change {
  return (bytes) => {
    bytes[offset] = value;
    return undefined;
  };
}

function word(offset: number, value: number): Change {
  return (bytes) => {
    writeU32(bytes, offset, value);
    return undefined;
  };
}

/** What came of a message, in one word: `reply`, `pong`, `evict 4`, `drop …`, `close …`, `none`. */
function outcome(server: TestServer, act: () => void): string {
  server.take();
  server.closed.length = 0;
  const before = { ...server.replica.status().dropped };
  act();
  server.run();
  const sent = server.take();
  assert.ok(sent.length + server.closed.length <= 1);
  if (server.closed.length > 0) return `close ${server.closed[0]!.reason}`;
  if (sent.length > 0) {
    const { bytes } = sent[0]!;
    if (bytes[Offset.command] === Command.eviction) return `evict ${bytes[255]}`;
    return bytes[Offset.command] === Command.pongClient ? 'pong' : 'reply';
  }
  const after = server.replica.status().dropped;
  for (const [reason, count] of Object.entries(after)) {
    if (before[reason as keyof typeof before] !== count) return `drop ${reason}`;
  }
  return 'none';
}

/** A change of the second request (the first after register), and what comes of it. */
const cases: readonly (readonly [string, string, Change])[] = [
  ['as it should be', 'reply', () => undefined],
  ['newer view than ours', 'drop newer-view', word(Offset.view, 2)],
  ['older view', 'reply', word(Offset.view, 0)],
  ['release 0.16.66', 'evict 2', word(Offset.release, 0x1042)],
  ['release 0.17.0', 'evict 8', word(Offset.release, 0x1100)],
  ['release 0.17.10', 'evict 3', word(Offset.release, 0x110a)],
  ['release zero', 'drop invalid-header', word(Offset.release, 0)],
  ['unknown operation', 'evict 4', byte(RequestOffset.operation, 200)],
  ['pulse by a client', 'drop invalid-header', byte(RequestOffset.operation, 4)],
  ['root by a client', 'drop invalid-header', byte(RequestOffset.operation, 1)],
  [
    'reconfigure',
    'evict 4',
    (b) => {
      const larger = new Uint8Array(512);
      larger.set(b.subarray(0, HEADER_SIZE));
      larger[RequestOffset.operation] = 3;
      writeU32(larger, Offset.size, 512);
      return larger;
    },
  ],
  [
    'noop',
    'reply',
    (b) => {
      b[RequestOffset.operation] = 6;
      writeU32(b, Offset.size, HEADER_SIZE);
      return b.slice(0, HEADER_SIZE);
    },
  ],
  [
    'body too short',
    'evict 5',
    (b) => {
      writeU32(b, Offset.size, HEADER_SIZE + 3);
      return b.slice(0, HEADER_SIZE + 3);
    },
  ],
  ['session too low', 'evict 7', (b) => void writeSafeU64(b, RequestOffset.session, 1)],
  ['session too high', 'drop session-newer', (b) => void writeSafeU64(b, RequestOffset.session, 9)],
  ['session beyond 2^53', 'drop session-newer', (b) => void b.fill(0xff, 176, 184)],
  ['session zero', 'drop invalid-header', (b) => void writeSafeU64(b, RequestOffset.session, 0)],
  ['request zero', 'drop invalid-header', word(RequestOffset.request, 0)],
  ['request skipped', 'drop request-gap', word(RequestOffset.request, 2)],
  ['request far ahead', 'drop request-gap', word(RequestOffset.request, 0xffff_ffff)],
  ['other parent', 'drop request-parent', byte(RequestOffset.parent + 3, 0)],
  ['unknown client', 'evict 1', byte(RequestOffset.client + 15, 9)],
  ['client zero', 'drop invalid-header', (b) => void b.fill(0, 160, 176)],
  ['timestamp', 'drop invalid-header', byte(RequestOffset.timestamp, 1)],
  ['parent padding', 'drop invalid-header', byte(144, 1)],
  ['reserved byte', 'drop invalid-header', byte(255, 1)],
  ['protocol', 'drop invalid-header', byte(Offset.protocol, 1)],
  ['replica', 'drop invalid-header', byte(Offset.replica, 1)],
  ['command prepare', 'close unexpected-command', byte(Offset.command, 6)],
  ['command reply', 'close unexpected-command', byte(Offset.command, 8)],
];

test('a request is judged in the order of the protocol', () => {
  for (const [name, expected, change] of cases) {
    const server = serve();
    new TestClient(77, 500).register(server);
    const client = new TestClient(1);
    client.register(server);
    const bytes = client.build(COUNTER_ADD, one);
    const changed = change(bytes) ?? bytes;
    // The unknown client must come on a connection of its own.
    const connection = name === 'unknown client' ? 99 : 1;
    assert.equal(
      outcome(server, () => server.receive(connection, seal(changed))),
      expected,
      name,
    );
    // Whatever it was, the client itself goes on undisturbed.
    if (expected !== 'reply' && name !== 'client zero') {
      client.call(server, COUNTER_ADD, one);
    }
    server.stop();
  }
});

test('repeated requests', () => {
  const server = serve();
  const client = new TestClient(1);
  const register = client.buildRegister();
  const registered = server.ask(1, register)!;
  assert.deepEqual(server.ask(1, register), registered, 'a register again: the same reply');
  client.accept(registered);
  const first = client.build(COUNTER_ADD, one);
  const reply = server.ask(1, first)!;
  assert.deepEqual(server.ask(1, first), reply, 'byte for byte');
  const forked = first.slice();
  forked[HEADER_SIZE] = 2;
  const dropped = (bytes: Uint8Array): string =>
    outcome(server, () => server.receive(1, seal(bytes)));
  assert.equal(dropped(forked), 'drop request-forked');
  client.accept(reply);
  client.call(server, COUNTER_READ);
  assert.equal(dropped(first), 'drop request-older');
  assert.equal(dropped(register), 'drop request-older');
  assert.equal(server.replica.status().commitMin, 3);
  server.stop();
});

test('a client has one request under way, in queue or pipeline', () => {
  const server = serve();
  const client = new TestClient(1);
  const register = client.buildRegister();
  server.isHeld = true;
  server.receive(1, register);
  assert.equal(server.replica.status().dropped['in-flight'], 0);
  server.receive(1, register);
  assert.equal(server.replica.status().dropped['in-flight'], 1);
  // An operation of a client whose register is not executed yet: no eviction.
  const early = new TestClient(1);
  early.session = 1;
  early.request = 1;
  server.receive(1, early.build(COUNTER_ADD, one));
  assert.equal(server.replica.status().dropped['in-flight'], 2);
  server.run();
  assert.equal(server.take().length, 1);
  client.session = 1;
  server.stop();
});

test('registers: body, size, release', () => {
  const ofBody = (body: Uint8Array, change?: (client: TestClient) => void): string => {
    const server = serve();
    const client = new TestClient(3);
    change?.(client);
    const result = outcome(server, () => server.receive(1, client.build(2, body)));
    server.stop();
    return result;
  };
  assert.equal(ofBody(new Uint8Array(256)), 'reply');
  assert.equal(ofBody(new Uint8Array(0)), 'evict 6');
  assert.equal(ofBody(new Uint8Array(255)), 'drop invalid-header');
  assert.equal(ofBody(new Uint8Array(256).fill(1, 4, 5)), 'evict 5');
  const release = (value: number) => (client: TestClient) => {
    client.release = value;
  };
  assert.equal(ofBody(new Uint8Array(256), release(0x10ff)), 'evict 2');
  // An ancient client registers without a body; it learns why it is refused.
  assert.equal(ofBody(new Uint8Array(0), release(0x0e02)), 'evict 2');
  assert.equal(ofBody(new Uint8Array(256), release(0x1100)), 'reply');
  assert.equal(ofBody(new Uint8Array(256), release(0x110a)), 'evict 3');
});

test('the reply to register names the request limit and the session', () => {
  const server = serve();
  new TestClient(8).register(server);
  const reply = new TestClient(9).register(server);
  assert.equal(readU32(reply, HEADER_SIZE), 4096 - HEADER_SIZE);
  assert.equal(reply.length, HEADER_SIZE + 64);
  assert.equal(readSafeU64(reply, ReplyOffset.commit), 2);
  assert.equal(readU32(reply, Offset.release), 0x1109);
  server.stop();
});

test('an eviction writes one line that names both releases', () => {
  const server = serve();
  const client = new TestClient(1);
  client.release = 0x0f03;
  server.receive(1, client.buildRegister());
  server.receive(1, client.buildPing());
  const lines = server.traces.filter(({ event }) => event === 'client-evicted');
  assert.equal(lines.length, 2);
  for (const { fields } of lines) {
    assert.equal(fields['reason'], 'client-release-too-low');
    assert.equal(fields['clientRelease'], '0.15.3');
    assert.equal(fields['serverRelease'], '0.17.9');
    assert.equal(fields['clientReleaseMin'], '0.17.0');
  }
  assert.equal(server.replica.status().refused['client-release-too-low'], 2);
  server.stop();
});

test('releases are options of the constructor', () => {
  const server = serve({ release: 0x1205, releaseClientMin: 0x1200 });
  const client = new TestClient(1);
  client.release = 0x1109;
  assert.equal(
    outcome(server, () => server.receive(1, client.buildRegister())),
    'evict 2',
  );
  client.release = 0x1205;
  client.register(server);
  server.stop();
});

test('requests above the limit are evicted by their header alone', () => {
  const server = serve();
  const client = new TestClient(1);
  client.register(server);
  const header = client.build(COUNTER_ADD, one).slice(0, HEADER_SIZE);
  writeU32(header, Offset.size, 100_000);
  const result = (bytes: Uint8Array): string =>
    outcome(server, () => server.receiveOversize(1, seal2(bytes)));
  assert.equal(result(header), 'evict 6');
  writeU32(header, Offset.release, 0x1042);
  assert.equal(result(header), 'evict 2', 'the release comes first');
  header[255] = 1;
  assert.equal(result(header), 'drop invalid-header');
  header[Offset.command] = Command.prepare;
  assert.equal(result(header), 'close unexpected-command');
  client.call(server, COUNTER_ADD, one);
  server.stop();
});

/** Seals the header only: the body is not there. */
function seal2(header: Uint8Array): Uint8Array {
  const copy = seal(Uint8Array.from([...header, ...new Uint8Array(99_744)]));
  return copy.slice(0, HEADER_SIZE);
}

test('pings', () => {
  const server = serve();
  const client = new TestClient(1);
  const ping = (change: Change = () => undefined): string => {
    const bytes = client.buildPing();
    change(bytes);
    return outcome(server, () => server.receive(1, seal(bytes)));
  };
  assert.equal(ping(), 'pong', 'before it registers');
  client.register(server);
  assert.equal(ping(), 'pong');
  const pong = server.ask(1, client.buildPing(123_456))!;
  assert.equal(pong[Offset.command], Command.pongClient);
  assert.equal(readSafeU64(pong, 128), 123_456);
  assert.equal(readU32(pong, Offset.release), 0x1109);
  assert.equal(readU32(pong, Offset.view), 1);
  assert.equal(ping(word(Offset.view, 1)), 'drop invalid-header');
  assert.equal(ping(byte(PingClientOffset.reserved, 1)), 'drop invalid-header');
  assert.equal(ping(word(Offset.release, 0x1042)), 'evict 2');
  assert.equal(ping(word(Offset.release, 0x1200)), 'evict 3');
  const stranger = new TestClient(2, 2);
  const ask = (): string => outcome(server, () => server.receive(2, stranger.buildPing()));
  stranger.session = 1;
  assert.equal(ask(), 'evict 1', 'a session that is gone');
  stranger.session = 2;
  assert.equal(ask(), 'pong', 'a session that may yet be committed');
  server.stop();
});

test('one client per connection, and its newest connection counts', () => {
  const server = serve();
  const client = new TestClient(1, 10);
  client.register(server);
  const other = new TestClient(2, 10);
  assert.equal(
    outcome(server, () => server.receive(10, other.buildRegister())),
    'close client-changed',
  );
  server.step({ type: 'disconnected', connection: 10 });
  // The reply goes to where the client was last heard.
  const request = client.build(COUNTER_ADD, one);
  server.isHeld = true;
  server.receive(11, request);
  server.receive(12, request);
  server.isHeld = false;
  server.run();
  assert.deepEqual(
    server.take().map(({ connection }) => connection),
    [12],
  );
  server.closed.length = 0;
  server.receive(13, client.buildPing());
  assert.deepEqual(server.closed, [{ connection: 12, reason: 'client-replaced' }]);
  assert.deepEqual(
    server.take().map(({ connection }) => connection),
    [13],
  );
  // A client that left gets nothing, and finds its reply when it comes back.
  server.isHeld = true;
  client.accept(server.ask(13, request)!);
  const second = client.build(COUNTER_READ);
  server.receive(13, second);
  server.step({ type: 'disconnected', connection: 13 });
  server.run();
  assert.equal(server.take().length, 0);
  assert.equal(server.replica.status().dropped['no-connection'], 1);
  server.isHeld = false;
  assert.equal(readSafeU64(server.ask(14, second)!, HEADER_SIZE), 1);
  server.stop();
});

test('a client that moved with a request is not lost with its older connection', () => {
  const server = serve();
  const client = new TestClient(1, 1);
  client.register(server);
  const request = client.build(COUNTER_ADD, one);
  server.isHeld = true;
  server.receive(2, request);
  server.step({ type: 'disconnected', connection: 1 });
  server.isHeld = false;
  server.run();
  assert.deepEqual(
    server.take().map(({ connection }) => connection),
    [2],
  );
  assert.equal(server.replica.status().dropped['no-connection'], 0);
  server.stop();
});

test('the 65th client takes the place of the one whose last reply is oldest', () => {
  const server = serve();
  const clients = Array.from({ length: CLIENTS_MAX }, (_, i) => new TestClient(i + 1));
  for (const client of clients) client.register(server);
  // All but the 17th are used once more.
  clients.forEach((client, i) => {
    if (i !== 16) client.call(server, COUNTER_ADD, one);
  });
  assert.equal(server.replica.status().sessions, CLIENTS_MAX);
  const newcomer = new TestClient(1000);
  newcomer.register(server);
  assert.equal(server.replica.status().sessions, CLIENTS_MAX);
  const line = server.traces.find(({ event }) => event === 'session-evicted');
  assert.equal(line?.fields['sessionsMax'], CLIENTS_MAX);
  assert.equal(server.take().length, 0, 'the victim is not told by itself');
  const victim = clients[16]!;
  const request = victim.build(COUNTER_ADD, one);
  assert.equal(
    outcome(server, () => server.receive(17, request)),
    'evict 1',
  );
  assert.equal(
    outcome(server, () => server.receive(17, victim.buildPing())),
    'evict 1',
  );
  clients.forEach((client, i) => {
    if (i !== 16) client.call(server, COUNTER_ADD, one);
  });
  // It may come back as a new session.
  const back = new TestClient(17);
  back.register(server);
  assert.ok(back.session > newcomer.session);
  server.stop();
});

test('a client evicted while its request is under way gets its reply, once', () => {
  const server = serve();
  const clients = Array.from({ length: CLIENTS_MAX }, (_, i) => new TestClient(i + 1));
  for (const client of clients) client.register(server);
  server.isHeld = true;
  server.receive(1000, new TestClient(1000).buildRegister());
  const request = clients[0]!.build(COUNTER_ADD, one);
  server.receive(1, request);
  server.run();
  assert.deepEqual(
    server.take().map(({ connection }) => connection),
    [1000, 1],
  );
  server.isHeld = false;
  assert.equal(
    outcome(server, () => server.receive(1, request)),
    'evict 1',
  );
  server.stop();
});

test('the queue is bounded, and whoever is not admitted may ask again', () => {
  const server = serve();
  server.isHeld = true;
  const places = REQUEST_QUEUE_MAX + 8;
  const clients = Array.from({ length: places + 3 }, (_, i) => new TestClient(i + 1));
  for (const client of clients) server.receive(client.connection, client.buildRegister());
  assert.equal(server.replica.status().dropped['queue-full'], 3);
  assert.equal(server.replica.status().queued, REQUEST_QUEUE_MAX);
  server.run();
  assert.equal(server.take().length, places);
  server.isHeld = false;
  clients[places]!.register(server);
  server.stop();
});

test('before it serves a replica answers nobody', () => {
  const server = new TestServer(formatDisk(), new CounterMachine());
  server.isHeld = true;
  server.step({ type: 'open' });
  const client = new TestClient(1);
  server.receive(1, client.buildRegister());
  server.receive(1, client.buildPing());
  assert.equal(server.replica.status().dropped['not-normal'], 2);
  assert.equal(server.replica.status().role, 'recovering');
  server.run();
  assert.equal(server.isReady, true);
  assert.equal(server.take().length, 0);
  assert.match(toHex(client.id), /^01/);
  server.stop();
});
