/**
 * The recorded conversation of the official client with a reference server, replayed through the
 * machine alone: the bodies of all replies must come out byte for byte.
 *
 * The recording's clock moved one second per request message, resends included, and operation
 * numbers began at 2 with the register.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { REPLY_BODY_SIZE_MAX } from '../engine/index.ts';
import { fromHex, toHex, u64FromBigInt } from '../stdx/index.ts';
import { createChecksum, HEADER_SIZE } from '../wire/index.ts';
import { Ledger } from './ledger.ts';

interface Recorded {
  direction: string;
  command: string;
  hex: string;
}

const fixture = new URL('../../test/fixtures/ledger-wire-vectors.json', import.meta.url);
const { steps } = JSON.parse(readFileSync(fixture, 'utf8')) as {
  steps: { step: string; messages: Recorded[] }[];
};

test('bodies of all recorded replies', () => {
  const ledger = new Ledger({ checksum: createChecksum() });
  const reply = new Uint8Array(REPLY_BODY_SIZE_MAX);
  let clock = 1_750_000_000n * 1_000_000_000n;
  let last = 0n;
  let op = 2;
  let compared = 0;
  for (const { step, messages } of steps) {
    const request = messages.find((message) => message.command === 'request');
    if (request === undefined) continue;
    const conversation = messages.filter((message) => message.command !== 'pong_client');
    for (const [index, message] of conversation.entries()) {
      if (message.direction !== 'client->server') continue;
      clock += 1_000_000_000n;
      const answer = conversation[index + 1];
      if (answer?.command !== 'reply') continue;
      const bytes = fromHex(message.hex);
      const operation = bytes[196] as number;
      if (operation < 128) {
        last = clock > last ? clock : last + 1n;
        continue;
      }
      const body = bytes.slice(HEADER_SIZE);
      assert.equal(ledger.validate(operation, body, REPLY_BODY_SIZE_MAX), 'valid', step);
      const start = last + 1n > clock ? last + 1n : clock;
      last = start + BigInt(ledger.reserve(operation, body));
      reply.fill(0xa5);
      const context = { op: ++op, timestamp: u64FromBigInt(last) };
      const size = ledger.apply(context, operation, body, reply);
      assert.equal(toHex(reply.subarray(0, size)), answer.hex.slice(2 * HEADER_SIZE), step);
      compared++;
    }
  }
  assert.equal(compared, 20);
});
