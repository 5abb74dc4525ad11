/** Commands that are a header and nothing else get no slot for a body they claim to have. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Framer } from './framer.ts';
import { Command, commandName, HEADER_SIZE, initHeader, MESSAGE_SIZE_MAX } from './header.ts';
import { MessagePool } from './pool.ts';

const cluster = new Uint8Array(16);
const sizes = { requestSlotSize: 16_384, requestSlots: 1, replySlots: 1, smallSlots: 1 };

test('commands without a body are refused at their header when they claim one', () => {
  const pool = new MessagePool(sizes);
  const { pingClient, pongClient, eviction, status } = Command;
  for (const command of [pingClient, pongClient, eviction, status]) {
    for (const size of [HEADER_SIZE, 257, 4096, 4097, MESSAGE_SIZE_MAX]) {
      const header = new Uint8Array(HEADER_SIZE);
      initHeader(header, { command, size, cluster, view: 0, release: 1, replica: 0 });
      pool.checksum.digest(header, HEADER_SIZE, 0, header, 32);
      pool.checksum.digest(header, 16, HEADER_SIZE - 16, header, 0);
      const framer = new Framer({ pool, cluster, requestSizeMax: 16_384 });
      const { outcome, error, message } = framer.push(header, 0);
      const what = `${commandName(command)} ${size}`;
      if (size === HEADER_SIZE) assert.equal(outcome, 'message', what);
      else assert.deepEqual([outcome, error?.kind], ['error', 'size'], what);
      if (message !== null) pool.release(message);
      assert.equal(pool.leaked(), 0, what);
    }
  }
});
