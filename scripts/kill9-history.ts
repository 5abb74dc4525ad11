/**
 * The judgement of the kill -9 test: what was sent and acknowledged, held against the database
 * after each restart, and in the end against the naive model, which executes the same history.
 */
import type { LedgerConnection } from '../src/client/index.ts';
import {
  checkMultiBatch,
  createTransferResultCodec,
  decodeRecords,
  Operation,
  payloadSize,
  STATUS_CREATED,
  TRANSFER_SIZE,
} from '../src/ledger/index.ts';
import { LedgerModel } from '../src/sim/ledger-model/index.ts';
import { assert, bytesEqual, toHex } from '../src/stdx/index.ts';
import type { Checksum } from '../src/wire/index.ts';
import { lookup, type Sent } from './kill9-load.ts';

/** Finds out, by lookup, whether requests without an answer were executed. */
export async function settle(
  connection: LedgerConnection,
  unknown: readonly Sent[],
): Promise<{ found: number; lost: number }> {
  const ids = unknown.map((sent) => sent.firstId);
  const found = await lookup(connection, ids);
  let count = 0;
  for (const sent of unknown) {
    const timestamp = found.get(sent.firstId);
    if (timestamp === undefined) {
      sent.fate = 'lost';
    } else {
      sent.fate = 'found';
      sent.timestamp = timestamp + BigInt(sent.eventCount - 1);
      count += 1;
    }
  }
  return { found: count, lost: unknown.length - count };
}

/** Ids and timestamps of the transfers that a reply says were created. */
export function acknowledgedTransfers(sent: Sent): [bigint, bigint][] {
  const { reply } = sent;
  if (sent.operation !== Operation.createTransfers || reply === null) return [];
  assert(checkMultiBatch(reply, createTransferResultCodec.size) === 1, 'a malformed reply');
  const size = payloadSize(reply, createTransferResultCodec.size);
  const results = decodeRecords(createTransferResultCodec, reply.subarray(0, size));
  assert(results.length === sent.eventCount, 'a result is missing');
  const view = new DataView(sent.body.buffer, sent.body.byteOffset);
  return results.flatMap((result, index): [bigint, bigint][] => {
    if (result.status !== STATUS_CREATED) return [];
    const at = index * TRANSFER_SIZE;
    const id = (view.getBigUint64(at + 8, true) << 64n) | view.getBigUint64(at, true);
    return [[id, result.timestamp]];
  });
}

/** Every acknowledged transfer of these requests must be there, unchanged. Returns how many. */
export async function checkAcknowledged(
  connection: LedgerConnection,
  history: readonly Sent[],
): Promise<number> {
  const expected = history.flatMap(acknowledgedTransfers);
  const ids = expected.map(([id]) => id);
  const found = await lookup(connection, ids);
  for (const [id, timestamp] of expected) {
    if (found.get(id) === timestamp) continue;
    const there = found.has(id) ? `has timestamp ${found.get(id)}` : 'is not there';
    throw new Error(`transfer ${id}, acknowledged with timestamp ${timestamp}, ${there}`);
  }
  return expected.length;
}

/**
 * Executes everything that was committed, in order, on the model. Replies must be equal byte for
 * byte; returns the model's root and what it holds.
 */
export function replay(
  history: readonly Sent[],
  checksum: Checksum,
): { root: string; requests: number; transfers: number } {
  const committed = history.filter((sent) => sent.timestamp > 0n);
  const ordered = committed.toSorted((a, b) => (a.timestamp < b.timestamp ? -1 : 1));
  const model = new LedgerModel();
  let transfers = 0;
  let opLast = 0;
  for (const [index, sent] of ordered.entries()) {
    const { operation, body, timestamp, reply, op } = sent;
    if (index > 0) assert(timestamp > (ordered[index - 1] as Sent).timestamp, 'a timestamp twice');
    if (op > 0) {
      assert(op > opLast, 'log order and time order differ');
      opLast = op;
    }
    const expected = model.apply(index + 1, timestamp, operation, body);
    if (reply !== null && !same(expected, reply)) {
      throw new Error(`the reply to op ${op} differs from the model's`);
    }
    transfers += operation === Operation.createTransfers ? sent.eventCount : 0;
  }
  return { root: toHex(model.root(checksum)), requests: ordered.length, transfers };
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && bytesEqual(a, 0, b, 0, a.length);
}
