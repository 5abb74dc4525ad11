/**
 * The shared table of the ledger: `account ID`, `transfer ID DEBIT CREDIT AMOUNT`, `pending` with
 * the same, `post ID PENDING` and `void ID PENDING`, answered with the status; `balance ID`, with
 * what is posted and what is pending on both sides.
 */
import {
  accountCodec,
  CreateAccountStatus,
  CreateTransferStatus,
  checkMultiBatch,
  createAccountResultCodec,
  createTransferResultCodec,
  decodeRecords,
  encodeMultiBatch,
  encodeRecords,
  idCodec,
  Ledger,
  Operation,
  payloadSize,
  type RecordCodec,
  type Transfer,
  TransferFlags,
  transferCodec,
} from '../../ledger/index.ts';
import { assert } from '../../stdx/index.ts';
import type { SharedCase } from './shared-table.ts';
import type { Demand } from './subject.ts';

export const ledgerCase: SharedCase = {
  name: 'ledger',
  rows: [
    ['balance 1', 'none'],
    ['account 1', 'created'],
    ['account 2', 'created'],
    ['account 1', 'exists'],
    ['account 0', 'id_must_not_be_zero'],
    ['transfer 10 1 2 100', 'created'],
    ['transfer 10 1 2 100', 'exists'],
    ['transfer 10 1 2 101', 'exists_with_different_amount'],
    ['transfer 11 1 1 5', 'accounts_must_be_different'],
    ['transfer 12 9 2 5', 'debit_account_not_found'],
    ['transfer 12 1 2 5', 'id_already_failed'],
    ['balance 1', 'debits 100+0 credits 0+0'],
    ['pending 20 2 1 30', 'created'],
    ['balance 2', 'debits 0+30 credits 100+0'],
    ['post 21 20', 'created'],
    ['void 22 20', 'pending_transfer_already_posted'],
    ['pending 30 2 1 7', 'created'],
    ['void 31 30', 'created'],
    ['balance 1', 'debits 100+0 credits 30+0'],
    ['balance 2', 'debits 30+0 credits 100+0'],
  ],
  look: 'balance 1',
  machine: (checksum) => new Ledger({ checksum }),
  demand: (command): Demand => {
    const [verb, ...numbers] = command.split(' ');
    const [id = 0n, a = 0n, b = 0n, amount = 0n] = numbers.map(BigInt);
    switch (verb) {
      case 'account':
        return demandOf(
          Operation.createAccounts,
          encodeRecords(accountCodec, [accountOf(id)]),
          128,
        );
      case 'balance':
        return demandOf(Operation.lookupAccounts, encodeRecords(idCodec, [id]), 16);
      case 'transfer':
        return transferDemand({ id, debit_account_id: a, credit_account_id: b, amount });
      case 'pending': {
        const fields = { id, debit_account_id: a, credit_account_id: b, amount };
        return transferDemand({ ...fields, flags: TransferFlags.pending });
      }
      default: {
        assert(verb === 'post' || verb === 'void', 'ledgerCase: an unknown verb');
        const { post_pending_transfer, void_pending_transfer } = TransferFlags;
        const flags = verb === 'post' ? post_pending_transfer : void_pending_transfer;
        // All of it: the highest amount for a post, none for a void.
        const all = verb === 'post' ? 2n ** 128n - 1n : 0n;
        return transferDemand({ id, pending_id: a, amount: all, flags });
      }
    }
  },
  answer: (operation, reply) => {
    if (operation === Operation.createAccounts) {
      return statusOf(CreateAccountStatus, read(reply, createAccountResultCodec)[0]?.status);
    }
    if (operation === Operation.createTransfers) {
      return statusOf(CreateTransferStatus, read(reply, createTransferResultCodec)[0]?.status);
    }
    const [account] = read(reply, accountCodec);
    if (account === undefined) return 'none';
    const { debits_posted, debits_pending, credits_posted, credits_pending } = account;
    return `debits ${debits_posted}+${debits_pending} credits ${credits_posted}+${credits_pending}`;
  },
};

function accountOf(id: bigint) {
  return {
    id,
    debits_pending: 0n,
    debits_posted: 0n,
    credits_pending: 0n,
    credits_posted: 0n,
    user_data_128: 0n,
    user_data_64: 0n,
    user_data_32: 0,
    reserved: 0,
    ledger: 1,
    code: 1,
    flags: 0,
    timestamp: 0n,
  };
}

function transferDemand(fields: Partial<Transfer>): Demand {
  const isPlain = fields.pending_id === undefined;
  const transfer: Transfer = {
    id: 0n,
    debit_account_id: 0n,
    credit_account_id: 0n,
    amount: 0n,
    pending_id: 0n,
    user_data_128: 0n,
    user_data_64: 0n,
    user_data_32: 0,
    timeout: 0,
    ledger: isPlain ? 1 : 0,
    code: isPlain ? 1 : 0,
    flags: 0,
    timestamp: 0n,
    ...fields,
  };
  return demandOf(Operation.createTransfers, encodeRecords(transferCodec, [transfer]), 128);
}

function demandOf(operation: number, payload: Uint8Array, eventSize: number): Demand {
  return { operation, body: encodeMultiBatch([payload], eventSize) };
}

function read<T>(reply: Uint8Array, codec: RecordCodec<T>): readonly T[] {
  assert(checkMultiBatch(reply, codec.size) === 1, 'ledgerCase: not one batch');
  return decodeRecords(codec, reply.subarray(0, payloadSize(reply, codec.size)));
}

function statusOf(
  statuses: { readonly [name: string]: number },
  status: number | undefined,
): string {
  return Object.entries(statuses).find(([, code]) => code === status)?.[0] ?? `status ${status}`;
}
