import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Machine } from '../../engine/index.ts';
import { Ledger } from '../../ledger/index.ts';
import { toHex, u64FromBigInt } from '../../stdx/index.ts';
import { createChecksum } from '../../wire/index.ts';
import {
  concatenate,
  encodeAccount,
  encodeBatches,
  encodeTransfer,
  ModelMachine,
  Operation,
  PULSE,
  TransferFlag,
} from './index.ts';

const checksum = createChecksum();
const nothing = {
  userData128: 0n,
  userData64: 0n,
  userData32: 0,
  ledger: 1,
  code: 1,
  timestamp: 0n,
};
const BATCH = 8189;

function accounts(): Uint8Array {
  const balances = { debitsPending: 0n, debitsPosted: 0n, creditsPending: 0n, creditsPosted: 0n };
  const events = [1n, 2n].map((id) => ({ id, ...balances, ...nothing, reserved: 0, flags: 0 }));
  return encodeBatches([concatenate(events.map(encodeAccount))], 128);
}

/** As many pending transfers as a request holds, each ending after `timeout` seconds. */
function pendings(idFirst: number, timeout: number): Uint8Array {
  const sides = { debitAccountId: 1n, creditAccountId: 2n, amount: 1n, pendingId: 0n };
  const events = Array.from({ length: BATCH }, (_, i) =>
    encodeTransfer({
      id: BigInt(idFirst + i),
      ...sides,
      ...nothing,
      timeout,
      flags: TransferFlag.pending,
    }),
  );
  return encodeBatches([concatenate(events)], 128);
}

test('a pulse expires 8190 transfers and leaves the rest to the next', () => {
  const machines: Machine[] = [new ModelMachine(checksum), new Ledger({ checksum })];
  const reply = new Uint8Array(1_048_320);
  let op = 0;
  let timestamp = 1_000_000_000_000n;
  const apply = (operation: number, body: Uint8Array): void => {
    op += 1;
    timestamp += BigInt(machines[0]?.reserve(operation, body) ?? 0);
    const context = { op, timestamp: u64FromBigInt(timestamp) };
    for (const machine of machines) machine.apply(context, operation, body, reply);
  };
  const due = (at: bigint) => machines.map((machine) => machine.due(u64FromBigInt(at)));

  apply(Operation.createAccounts, accounts());
  // Two seconds later and two seconds shorter: each expires with one of the other request, and
  // the older of both is first.
  apply(Operation.createTransfers, pendings(1, 9));
  timestamp += 2_000_000_000n - BigInt(BATCH);
  apply(Operation.createTransfers, pendings(10_001, 7));
  assert.deepEqual(due(timestamp), [false, false]);
  timestamp += 20_000_000_000n;
  for (const pulsesLeft of [2, 1]) {
    assert.deepEqual(due(timestamp), [true, true], `${pulsesLeft} pulses left`);
    apply(PULSE, new Uint8Array(0));
    const [model, ledger] = machines.map((machine) => toHex(machine.root()));
    assert.equal(ledger, model);
  }
  assert.deepEqual(due(timestamp + (1n << 60n)), [false, false]);
});
