import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSafeU64, readU32, readU64, toHex, u64FromNumber } from '../stdx/index.ts';
import {
  bodyValid,
  Command,
  HEADER_SIZE,
  headerValid,
  Offset,
  PrepareOffset,
  ReplyOffset,
  RequestOffset,
  readCommand,
  readRelease,
  readView,
} from '../wire/index.ts';
import { buildReply, buildRoot, prepareFromRequest, refreshReply } from './message.ts';
import { checksum, TestClient } from './replica-test-helper.ts';

const author = { cluster: new Uint8Array(16), view: 9, replica: 0, release: 0x1109 };
const position = {
  op: 1234,
  parent: new Uint8Array(16).fill(1),
  checkpointId: new Uint8Array(16).fill(2),
  commit: 1233,
  timestamp: u64FromNumber(55),
};

function request(): Uint8Array {
  const client = new TestClient(77);
  client.release = 0x1105;
  client.session = 5;
  client.request = 3;
  client.parent.fill(8);
  return client.build(200, Uint8Array.of(1, 2, 3));
}

test('a request becomes a prepare in place; its body and body checksum stay', () => {
  const bytes = request();
  const before = bytes.slice();
  prepareFromRequest(bytes, author, position, checksum);
  assert.equal(readCommand(bytes), Command.prepare);
  assert.ok(headerValid(bytes, checksum));
  assert.ok(bodyValid(bytes, checksum));
  assert.deepEqual(bytes.subarray(HEADER_SIZE), before.subarray(HEADER_SIZE));
  const hex = (from: Uint8Array, at: number, length = 16): string =>
    toHex(from.slice(at, at + length));
  assert.equal(hex(bytes, Offset.checksumBody), hex(before, Offset.checksumBody));
  assert.equal(hex(bytes, PrepareOffset.requestChecksum), hex(before, Offset.checksum));
  assert.equal(hex(bytes, PrepareOffset.client), hex(before, RequestOffset.client));
  assert.equal(hex(bytes, PrepareOffset.parent), hex(position.parent, 0));
  assert.equal(hex(bytes, PrepareOffset.checkpoint), hex(position.checkpointId, 0));
  assert.equal(readSafeU64(bytes, PrepareOffset.op), 1234);
  assert.equal(readSafeU64(bytes, PrepareOffset.commit), 1233);
  assert.equal(readSafeU64(bytes, PrepareOffset.session), 5);
  assert.deepEqual(readU64(bytes, PrepareOffset.timestamp), position.timestamp);
  assert.equal(readU32(bytes, PrepareOffset.request), 3);
  assert.equal(bytes[PrepareOffset.operation], 200);
  assert.equal(readView(bytes), 9);
  assert.equal(readRelease(bytes), 0x1105, 'a prepare keeps the release of the client');
});

test('a reply says what its prepare says, and keeps its context in a newer view', () => {
  const prepare = request();
  const requestChecksum = prepare.slice(0, 16);
  prepareFromRequest(prepare, author, position, checksum);
  const reply = new Uint8Array(HEADER_SIZE + 100);
  buildReply(reply, prepare, 100, checksum);
  assert.ok(headerValid(reply, checksum));
  assert.ok(bodyValid(reply, checksum));
  assert.deepEqual(reply.slice(128, 144), requestChecksum);
  assert.equal(readSafeU64(reply, ReplyOffset.op), 1234);
  assert.equal(readSafeU64(reply, ReplyOffset.commit), 1234);
  assert.equal(readRelease(reply), 0x1105);
  const before = reply.slice();
  refreshReply(reply, 10, checksum);
  assert.ok(headerValid(reply, checksum));
  assert.deepEqual(reply.slice(ReplyOffset.context), before.slice(ReplyOffset.context));
  assert.notDeepEqual(reply.slice(0, 16), before.slice(0, 16));
  assert.throws(() => refreshReply(reply, 10, checksum), /not a newer view/);
});

test('the root is the same for one cluster and another one for another', () => {
  const root = (cluster: number): string => {
    const bytes = new Uint8Array(HEADER_SIZE);
    buildRoot(bytes, new Uint8Array(16).fill(cluster), checksum);
    assert.ok(headerValid(bytes, checksum));
    return toHex(bytes.subarray(0, 16));
  };
  assert.equal(root(1), root(1));
  assert.notEqual(root(1), root(2));
});
