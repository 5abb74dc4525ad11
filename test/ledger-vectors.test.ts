/**
 * The recorded conversation of the official client with a reference server, replayed through a
 * whole replica with the ledger on it: every message of the server must come out byte for byte.
 *
 * The recording's clock moved one second per request message, resends included; operation numbers
 * began at 2 with the register, in view 0, and no pulse was proposed. Before the last step the
 * server forgot all sessions; here as many other clients register as the table holds.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { CLIENTS_MAX } from '../src/engine/index.ts';
import { Ledger } from '../src/ledger/index.ts';
import { fromHex, toHex, u64FromBigInt } from '../src/stdx/index.ts';
import { GEOMETRY_DEFAULT } from '../src/vsr/index.ts';
import { formatDisk, TestClient, TestServer } from '../src/vsr/replica-test-helper.ts';
import { createChecksum } from '../src/wire/index.ts';

interface Recorded {
  readonly direction: 'client->server' | 'server->client';
  readonly command: string;
  readonly hex: string;
}

const fixture = new URL('./fixtures/ledger-wire-vectors.json', import.meta.url);
const { steps } = JSON.parse(readFileSync(fixture, 'utf8')) as {
  readonly steps: readonly { readonly step: string; readonly messages: readonly Recorded[] }[];
};
const CONNECTION = 1000;
const NS_PER_SECOND = 1_000_000_000n;

test('every message of the recorded server comes out byte for byte', () => {
  // A log of full-size slots, but few of them: a register and 22 requests fit.
  const geometry = { ...GEOMETRY_DEFAULT, slots: 128 };
  const server = new TestServer(formatDisk(geometry), new Ledger({ checksum: createChecksum() }), {
    harness: { keepView: true, nextOp: 2, hasPulses: false },
  }).open();
  let requests = 0n;
  let compared = 0;
  for (const { step, messages } of steps) {
    if (step === 'eviction') {
      for (let i = 0; i < CLIENTS_MAX; i++) new TestClient(i + 1).register(server);
    }
    server.take();
    const answers: string[] = [];
    for (const { direction, command, hex } of messages) {
      if (direction === 'server->client') continue;
      if (command === 'request') requests++;
      server.wall = u64FromBigInt((1_750_000_000n + requests) * NS_PER_SECOND);
      // Only the answer to the last copy of a request counts: the first one was withheld.
      if (step === 'duplicate_request') answers.length = 0;
      server.receive(CONNECTION, fromHex(hex));
      for (const sent of server.take()) answers.push(toHex(sent.bytes));
    }
    const expected = messages.filter(({ direction }) => direction === 'server->client');
    assert.deepEqual(
      answers,
      expected.map(({ hex }) => hex),
      step,
    );
    compared += answers.length;
  }
  assert.equal(compared, 23);
  server.stop();
});
