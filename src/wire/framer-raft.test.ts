/** Frames of Raft: small ones where acknowledgements go, large ones where requests go. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Framer } from './framer.ts';
import { Command, HEADER_SIZE, initHeader, sealBody, sealHeader } from './header.ts';
import { MessagePool } from './pool.ts';

const cluster = new Uint8Array(16);
const sizes = { requestSlotSize: 16_384, requestSlots: 1, replySlots: 1, smallSlots: 1 };

test('frames of Raft take a small slot or one for requests, and are no larger than that', () => {
  for (const [size, slotClass] of [
    [HEADER_SIZE, 'small'],
    [4096, 'small'],
    [4097, 'request'],
    [16_384, 'request'],
    [16_385, null],
  ] as const) {
    const pool = new MessagePool(sizes);
    const bytes = new Uint8Array(size);
    const fields = { command: Command.raft, size, cluster, view: 0, release: 1, replica: 0 };
    initHeader(bytes, fields);
    sealBody(bytes, pool.checksum);
    sealHeader(bytes, pool.checksum);
    const framer = new Framer({ pool, cluster, requestSizeMax: 8192 });
    const { outcome, error, message } = framer.push(bytes, 0);
    if (slotClass === null) assert.deepEqual([outcome, error?.kind], ['error', 'size']);
    else assert.deepEqual([outcome, message?.slotClass], ['message', slotClass]);
    if (message !== null) pool.release(message);
    assert.equal(pool.leaked(), 0);
  }
});
