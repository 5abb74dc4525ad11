import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Account,
  accountCodec,
  decodeRecords,
  Operation,
  type Transfer,
  transferCodec,
  validate,
} from '../ledger/index.ts';
import { ID_ORDERS } from './id-order.ts';
import { sealBatch, Workload } from './workload.ts';

const BODY_SIZE_MAX = 1_048_320;

test('every generated account and transfer is one that a ledger accepts', () => {
  for (const idOrder of ID_ORDERS) {
    const workload = new Workload({ idOrder, seed: 9, accountCount: 50, transferCount: 400 });
    const accounts = read(accountCodec, (words) => workload.writeAccounts(words, 0, 50), 50);
    const ids = new Set(accounts.map((account: Account) => account.id));
    assert.equal(ids.size, 50);
    for (const account of accounts) {
      const zero = account.debits_pending + account.debits_posted + account.timestamp;
      assert.equal(zero + account.credits_pending + account.credits_posted, 0n);
      assert.ok(account.code > 0 && account.ledger > 0 && account.flags === 0);
    }
    const transfers = read(transferCodec, (words) => workload.writeTransfers(words, 100, 300), 300);
    for (const transfer of transfers) {
      assert.ok(ids.has(transfer.debit_account_id) && ids.has(transfer.credit_account_id));
      assert.notEqual(transfer.debit_account_id, transfer.credit_account_id);
      assert.ok(transfer.amount > 0n && transfer.code > 0 && transfer.pending_id === 0n);
      assert.equal(transfer.flags + transfer.timeout, 0);
      assert.equal(transfer.ledger, accounts[0].ledger);
    }
    assert.ok(new Set(transfers.map((t: Transfer) => t.user_data_64)).size > 290);
    const words = new Uint32Array(4 * 300);
    workload.writeTransferIds(words, 100, 300);
    assert.equal(BigInt(words[4]), transfers[1].id & 0xffff_ffffn);
  }
});

test('memory that was used before leaves nothing behind', () => {
  const write = (fill: number): Uint32Array => {
    const options = { seed: 1, accountCount: 9, transferCount: 20 } as const;
    const workload = new Workload({ ...options, idOrder: 'random' });
    const words = new Uint32Array(32 * 20).fill(fill);
    workload.writeTransfers(words, 0, 20);
    return words;
  };
  assert.deepEqual(write(0), write(0xffff_ffff));
});

test('a sealed batch is a valid body', () => {
  const workload = new Workload({
    idOrder: 'tbid',
    seed: 2,
    accountCount: 2,
    transferCount: 8189,
  });
  const body = new Uint8Array(BODY_SIZE_MAX);
  workload.writeTransfers(new Uint32Array(body.buffer), 0, 8189);
  const size = sealBatch(body, 128, 8189);
  assert.equal(size, BODY_SIZE_MAX);
  const verdict = validate(Operation.createTransfers, body, BODY_SIZE_MAX);
  assert.equal(verdict, 'valid');
});

function read<T>(
  codec: Parameters<typeof decodeRecords<T>>[0],
  write: (words: Uint32Array) => void,
  count: number,
): T[] {
  const words = new Uint32Array(32 * count).fill(0x5555_5555);
  write(words);
  return decodeRecords(codec, new Uint8Array(words.buffer));
}
