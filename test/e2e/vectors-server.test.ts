/**
 * The recorded conversation of the official client, sent to a real server process. Its clock, view
 * and log positions are its own, so bodies are compared with every timestamp replaced by its rank:
 * the n-th distinct timestamp of the recording must be the n-th distinct one of this run. Statuses,
 * balances, trailers and all other bytes must be the recorded ones.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { Operation } from '../../src/ledger/index.ts';
import { fromHex, readU64, toHex, u64ToBigInt, writeU64 } from '../../src/stdx/index.ts';
import { HEADER_SIZE, RequestOffset } from '../../src/wire/index.ts';
import { RawSession } from './raw-client.ts';
import { ServerProcess } from './server-process.ts';

interface Recorded {
  readonly direction: string;
  readonly command: string;
  readonly hex: string;
}

const fixture = join(resolve(import.meta.dirname, '..'), 'fixtures/ledger-wire-vectors.json');
const { steps } = JSON.parse(readFileSync(fixture, 'utf8')) as {
  readonly steps: readonly { readonly step: string; readonly messages: readonly Recorded[] }[];
};

/** Where a result of each operation keeps its timestamp: record size and offset. */
const timestampAt: ReadonlyMap<number, readonly [size: number, offset: number]> = new Map([
  [Operation.lookupAccounts, [128, 120]],
  [Operation.lookupTransfers, [128, 120]],
  [Operation.getAccountTransfers, [128, 120]],
  [Operation.getAccountBalances, [128, 64]],
  [Operation.queryAccounts, [128, 120]],
  [Operation.queryTransfers, [128, 120]],
  [Operation.createAccounts, [16, 0]],
  [Operation.createTransfers, [16, 0]],
]);

/** Numbers timestamps in the order in which they are met. */
class Ranks {
  readonly #ranks = new Map<bigint, number>();

  /** A copy of the body with ranks where timestamps were; the trailer stays. */
  replace(operation: number, body: Uint8Array): Uint8Array {
    const place = timestampAt.get(operation);
    assert.ok(place !== undefined, `operation ${operation} has no results`);
    const [size, offset] = place;
    const copy = body.slice();
    for (let at = 0; at + size < body.length; at += size) {
      const timestamp = u64ToBigInt(readU64(copy, at + offset));
      const rank = this.#ranks.get(timestamp) ?? this.#ranks.size + 1;
      this.#ranks.set(timestamp, rank);
      writeU64(copy, at + offset, { hi: 0, lo: rank });
    }
    return copy;
  }
}

/** Request and reply bodies of a step, resends left out. */
function exchanges(messages: readonly Recorded[]): { request: Uint8Array; reply: Uint8Array }[] {
  const requests = new Map(
    messages.filter(({ command }) => command === 'request').map(({ hex }) => [hex, fromHex(hex)]),
  );
  const replies = messages.filter(({ command }) => command === 'reply').map(({ hex }) => hex);
  const asked = [...requests.values()];
  assert.ok(replies.length === asked.length || replies.length === 0);
  return replies.map((hex, i) => ({ request: asked[i] as Uint8Array, reply: fromHex(hex) }));
}

let server: ServerProcess;

before(async () => {
  server = await ServerProcess.start();
});

after(async () => {
  await server.stop();
});

test('a real server answers the recorded requests with the recorded bodies', async () => {
  const session = await RawSession.open(server.port);
  const recorded = new Ranks();
  const ours = new Ranks();
  let compared = 0;
  for (const { step, messages } of steps) {
    for (const { request, reply } of exchanges(messages)) {
      const operation = request[RequestOffset.operation] as number;
      if (operation === 2) continue;
      const body = await session.call(operation, request.subarray(HEADER_SIZE));
      const expected = recorded.replace(operation, reply.subarray(HEADER_SIZE));
      assert.equal(toHex(ours.replace(operation, body)), toHex(expected), step);
      compared += 1;
    }
  }
  assert.equal(compared, 20);
  session.client.close();
});
