import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromHex, readU32, toHex, writeU16, writeU32 } from '../stdx/index.ts';
import { createChecksum } from './checksum.ts';
import {
  bodyValid,
  Command,
  commandName,
  EvictionOffset,
  EvictionReason,
  HEADER_SIZE,
  headerValid,
  initHeader,
  isKnownCommand,
  MESSAGE_SIZE_MAX,
  Offset,
  PongClientOffset,
  ReplyOffset,
  RequestOffset,
  readCommand,
  readProtocol,
  readRelease,
  readReplica,
  readSize,
  readView,
  releaseText,
  sealBody,
  sealHeader,
  sealReply,
} from './header.ts';
import { checksumKinds, messageVectors } from './vectors-test-helper.ts';

const cluster = new Uint8Array(16).fill(7);

test('both checksums of every captured message recompute, with every kind', () => {
  assert.equal(messageVectors.length, 47);
  for (const kind of checksumKinds) {
    const checksum = createChecksum({ kind });
    for (const { step, command, bytes } of messageVectors) {
      const what = `${kind}: ${step}, ${command}`;
      assert.ok(headerValid(bytes, checksum), what);
      assert.ok(bodyValid(bytes, checksum), what);
      const sealed = bytes.slice();
      sealed.fill(0, 0, 16);
      sealed.fill(0, Offset.checksumBody, Offset.checksumBody + 16);
      sealBody(sealed, checksum);
      sealHeader(sealed, checksum);
      assert.deepEqual(sealed, bytes, what);
    }
  }
});

test('captured messages read as what they are', () => {
  for (const { command, bytes } of messageVectors) {
    assert.equal(readSize(bytes), bytes.length);
    assert.equal(readProtocol(bytes), 0);
    assert.equal(releaseText(readRelease(bytes)), '0.17.9');
    const expected = command === 'ping_client' ? 'pingClient' : command;
    const name = expected === 'pong_client' ? 'pongClient' : expected;
    assert.equal(commandName(readCommand(bytes)), name);
  }
});

test('a sealed reply is byte for byte the one that the official client accepted', () => {
  const checksum = createChecksum();
  const replies = messageVectors.filter(({ command }) => command === 'reply');
  assert.ok(replies.length > 20);
  for (const { step, bytes } of replies) {
    const reply = bytes.slice();
    reply.fill(0, Offset.checksum, 16);
    reply.fill(0xff, ReplyOffset.context, ReplyOffset.context + 16);
    sealReply(reply, checksum);
    assert.deepEqual(reply, bytes, step);
  }
});

test('a reply sent again in a newer view keeps its context', () => {
  const checksum = createChecksum();
  const found = messageVectors.find(({ command }) => command === 'reply');
  assert.ok(found !== undefined);
  const reply = found.bytes.slice();
  writeU32(reply, Offset.view, readView(reply) + 5);
  sealHeader(reply, checksum);
  assert.ok(headerValid(reply, checksum));
  const context = [ReplyOffset.context, ReplyOffset.context + 16] as const;
  assert.deepEqual(reply.slice(...context), found.bytes.slice(...context));
  assert.notDeepEqual(reply.slice(0, 16), found.bytes.slice(0, 16));
});

test('a pong and an eviction are byte for byte the captured ones', () => {
  const checksum = createChecksum();
  const captured = (command: string): Uint8Array => {
    const found = messageVectors.find((vector) => vector.command === command);
    assert.ok(found !== undefined, command);
    return found.bytes;
  };
  const make = (like: Uint8Array, command: Command): Uint8Array => {
    const bytes = new Uint8Array(HEADER_SIZE).fill(0xee);
    initHeader(bytes, {
      command,
      size: HEADER_SIZE,
      cluster: like.slice(Offset.cluster, Offset.cluster + 16),
      view: readView(like),
      release: 0x1109,
      replica: readReplica(like),
    });
    return bytes;
  };
  const pong = make(captured('pong_client'), Command.pongClient);
  const ping = PongClientOffset.pingTimestampMonotonic;
  pong.set(captured('ping_client').slice(144, 152), ping);
  sealBody(pong, checksum);
  sealHeader(pong, checksum);
  assert.equal(toHex(pong), toHex(captured('pong_client')));

  const eviction = make(captured('eviction'), Command.eviction);
  const client = captured('eviction').slice(EvictionOffset.client, EvictionOffset.client + 16);
  eviction.set(client, EvictionOffset.client);
  eviction[EvictionOffset.reason] = EvictionReason.noSession;
  sealBody(eviction, checksum);
  sealHeader(eviction, checksum);
  assert.equal(toHex(eviction), toHex(captured('eviction')));
});

test('any flipped byte is noticed by the header or by the body checksum', () => {
  const checksum = createChecksum();
  const found = messageVectors.find(({ step }) => step === 'lookup_accounts');
  assert.ok(found !== undefined);
  const bytes = found.bytes.slice();
  for (let i = 0; i < bytes.length; i++) {
    bytes[i] ^= 0x10;
    if (i < HEADER_SIZE) assert.ok(!headerValid(bytes, checksum), `header byte ${i}`);
    else assert.ok(!bodyValid(bytes, checksum), `body byte ${i}`);
    bytes[i] ^= 0x10;
  }
  assert.ok(headerValid(bytes, checksum) && bodyValid(bytes, checksum));
});

test('initHeader writes the common fields where the wire has them and zeros elsewhere', () => {
  const bytes = new Uint8Array(300).fill(0xee);
  initHeader(bytes, {
    command: Command.request,
    size: 300,
    cluster,
    view: 0x01020304,
    release: 0x1109,
    replica: 3,
  });
  const expected = new Uint8Array(300).fill(0xee, HEADER_SIZE);
  expected.fill(7, 80, 96);
  expected.set(
    fromHex('2c010000' + '00000000' + '04030201' + '09110000' + '0000' + '05' + '03'),
    96,
  );
  assert.equal(toHex(bytes), toHex(expected));
});

test('known commands are those of a current release and our own', () => {
  const known = Array.from({ length: 256 }, (_, i) => i).filter(isKnownCommand);
  assert.deepEqual(
    known,
    [
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19, 20, 24, 128, 129, 130, 131,
      132,
    ],
  );
  assert.equal(commandName(99), 'unknown');
  assert.equal(commandName(0), 'unknown');
});

test('fields of a command do not overlap and end with the header', () => {
  const request = Object.values(RequestOffset);
  const reply = Object.values(ReplyOffset);
  for (const offsets of [request, reply]) {
    assert.deepEqual(
      offsets,
      [...new Set(offsets)].sort((a, b) => a - b),
    );
    assert.equal(offsets[0], Offset.fields);
    assert.ok(Math.max(...offsets) < HEADER_SIZE);
  }
  assert.equal(MESSAGE_SIZE_MAX - HEADER_SIZE, 1_048_320);
});

test('releases read as text', () => {
  for (const [release, text] of [
    [0x1109, '0.17.9'],
    [0x1004, '0.16.4'],
    [1, '0.0.1'],
    [0xffff_0000, '65535.0.0'],
    [0x0001_0203, '1.2.3'],
  ] as const) {
    assert.equal(releaseText(release), text);
  }
  const bytes = new Uint8Array(HEADER_SIZE);
  bytes.set(fromHex('09110000'), Offset.release);
  assert.equal(readU32(bytes, Offset.release), 0x1109);
  writeU16(bytes, Offset.protocol, 1);
  assert.equal(readProtocol(bytes), 1);
});
