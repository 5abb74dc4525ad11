import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeSafeU64, writeU32 } from '../../stdx/index.ts';
import {
  Command,
  createChecksum,
  HEADER_SIZE,
  initHeader,
  PeerOffset,
  PrepareOffset,
  sealBody,
  sealHeader,
} from '../../wire/index.ts';
import { eventText, messageText } from './trace-line.ts';

const checksum = createChecksum();

function message(command: Command, change: (bytes: Uint8Array) => void, bodies = 0): Uint8Array {
  const size = HEADER_SIZE * (1 + bodies);
  const bytes = new Uint8Array(size);
  const cluster = new Uint8Array(16);
  initHeader(bytes, { command, size, cluster, view: 7, release: 1, replica: 1 });
  change(bytes);
  sealBody(bytes, checksum);
  sealHeader(bytes, checksum);
  return bytes;
}

test('messages between replicas show the fields by which they are known', () => {
  const ok = message(Command.prepareOk, (bytes) => {
    writeSafeU64(bytes, PeerOffset.op, 42);
    writeSafeU64(bytes, PeerOffset.commitMin, 40);
    writeSafeU64(bytes, PeerOffset.opHead, 43);
    writeU32(bytes, PeerOffset.bits, 5);
    bytes.fill(0xab, PeerOffset.checksum, PeerOffset.checksum + 16);
  });
  assert.equal(
    messageText(ok),
    'prepareOk view 7 size 256 op 42 checksum abababab commitMin 40 opHead 43 bits 101',
  );
  const vote = message(Command.doViewChange, () => {}, 2);
  assert.match(messageText(vote), /^doViewChange view 7 size 768 op 0 logView 0 .* headers 2$/);
  const prepare = message(Command.prepare, (bytes) => {
    writeSafeU64(bytes, PrepareOffset.op, 9);
    writeSafeU64(bytes, PrepareOffset.commit, 8);
    bytes[PrepareOffset.operation] = 200;
  });
  assert.match(
    messageText(prepare),
    /^prepare view 7 size 256 op 9 commit 8 operation 200 by r1 [0-9a-f]{8} after 00000000$/,
  );
});

test('events of links show who is there', () => {
  const replicaId = new Uint8Array(16).fill(0xcd);
  const up = { type: 'peer-up', replica: 2, replicaId, isRecovered: true } as const;
  assert.equal(eventText(up), 'r2 cdcdcdcd recovered');
  assert.equal(eventText({ type: 'peer-down', replica: 2 }), 'r2');
});
