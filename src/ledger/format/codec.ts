/**
 * Public objects to bytes and back, one pair of functions for each struct of the wire format.
 * For clients and tests: it allocates and uses BigInt, so the machine has no part in it.
 *
 * Encoders write one record at the start of `view` and set every byte of it; decoders read one
 * record there. `encodeRecords` and `decodeRecords` do arrays.
 */
import { assert } from '../../stdx/index.ts';
import { CHANGE_EVENT_SIZE } from './constants.ts';
import type {
  Account,
  AccountBalance,
  AccountFilter,
  ChangeEvent,
  ChangeEventAccount,
  ChangeEventsFilter,
  CreateAccountResult,
  CreateTransferResult,
  QueryFilter,
  Transfer,
} from './objects.ts';
import type { CreateAccountStatus, CreateTransferStatus } from './status.ts';

const MASK_64 = (1n << 64n) - 1n;

function getU128(view: DataView, offset: number): bigint {
  return (view.getBigUint64(offset + 8, true) << 64n) | view.getBigUint64(offset, true);
}

function setU128(view: DataView, offset: number, value: bigint): void {
  assert(value >= 0n && value >> 128n === 0n, 'codec: not a 128-bit unsigned integer');
  view.setBigUint64(offset, value & MASK_64, true);
  view.setBigUint64(offset + 8, value >> 64n, true);
}

function setU64(view: DataView, offset: number, value: bigint): void {
  assert(value >= 0n && value <= MASK_64, 'codec: not a 64-bit unsigned integer');
  view.setBigUint64(offset, value, true);
}

function setU32(view: DataView, offset: number, value: number): void {
  assert(value >>> 0 === value, 'codec: not a 32-bit unsigned integer');
  view.setUint32(offset, value, true);
}

function setU16(view: DataView, offset: number, value: number): void {
  assert((value & 0xffff) === value, 'codec: not a 16-bit unsigned integer');
  view.setUint16(offset, value, true);
}

function clear(view: DataView, offset: number, end: number): void {
  new Uint8Array(view.buffer, view.byteOffset + offset, end - offset).fill(0);
}

/** A codec for records of one kind. */
export interface RecordCodec<T> {
  /** Bytes of a record. */
  readonly size: number;
  encode(view: DataView, object: T): void;
  decode(view: DataView): T;
}

/** The records of `objects`, back to back. */
export function encodeRecords<T>(codec: RecordCodec<T>, objects: readonly T[]): Uint8Array {
  const bytes = new Uint8Array(objects.length * codec.size);
  for (const [index, object] of objects.entries()) {
    codec.encode(new DataView(bytes.buffer, index * codec.size, codec.size), object);
  }
  return bytes;
}

/** The objects in `bytes`, which must hold whole records. */
export function decodeRecords<T>(codec: RecordCodec<T>, bytes: Uint8Array): T[] {
  assert(bytes.length % codec.size === 0, 'decodeRecords: torn record');
  const objects: T[] = [];
  for (let offset = 0; offset < bytes.length; offset += codec.size) {
    objects.push(codec.decode(new DataView(bytes.buffer, bytes.byteOffset + offset, codec.size)));
  }
  return objects;
}

export const idCodec: RecordCodec<bigint> = {
  size: 16,
  encode: (view, id) => setU128(view, 0, id),
  decode: (view) => getU128(view, 0),
};

export const accountCodec: RecordCodec<Account> = {
  size: 128,
  encode(view, account) {
    setU128(view, 0, account.id);
    setU128(view, 16, account.debits_pending);
    setU128(view, 32, account.debits_posted);
    setU128(view, 48, account.credits_pending);
    setU128(view, 64, account.credits_posted);
    setU128(view, 80, account.user_data_128);
    setU64(view, 96, account.user_data_64);
    setU32(view, 104, account.user_data_32);
    setU32(view, 108, account.reserved);
    setU32(view, 112, account.ledger);
    setU16(view, 116, account.code);
    setU16(view, 118, account.flags);
    setU64(view, 120, account.timestamp);
  },
  decode: (view) => ({
    id: getU128(view, 0),
    debits_pending: getU128(view, 16),
    debits_posted: getU128(view, 32),
    credits_pending: getU128(view, 48),
    credits_posted: getU128(view, 64),
    user_data_128: getU128(view, 80),
    user_data_64: view.getBigUint64(96, true),
    user_data_32: view.getUint32(104, true),
    reserved: view.getUint32(108, true),
    ledger: view.getUint32(112, true),
    code: view.getUint16(116, true),
    flags: view.getUint16(118, true),
    timestamp: view.getBigUint64(120, true),
  }),
};

export const transferCodec: RecordCodec<Transfer> = {
  size: 128,
  encode(view, transfer) {
    setU128(view, 0, transfer.id);
    setU128(view, 16, transfer.debit_account_id);
    setU128(view, 32, transfer.credit_account_id);
    setU128(view, 48, transfer.amount);
    setU128(view, 64, transfer.pending_id);
    setU128(view, 80, transfer.user_data_128);
    setU64(view, 96, transfer.user_data_64);
    setU32(view, 104, transfer.user_data_32);
    setU32(view, 108, transfer.timeout);
    setU32(view, 112, transfer.ledger);
    setU16(view, 116, transfer.code);
    setU16(view, 118, transfer.flags);
    setU64(view, 120, transfer.timestamp);
  },
  decode: (view) => ({
    id: getU128(view, 0),
    debit_account_id: getU128(view, 16),
    credit_account_id: getU128(view, 32),
    amount: getU128(view, 48),
    pending_id: getU128(view, 64),
    user_data_128: getU128(view, 80),
    user_data_64: view.getBigUint64(96, true),
    user_data_32: view.getUint32(104, true),
    timeout: view.getUint32(108, true),
    ledger: view.getUint32(112, true),
    code: view.getUint16(116, true),
    flags: view.getUint16(118, true),
    timestamp: view.getBigUint64(120, true),
  }),
};

function encodeResult(view: DataView, result: { timestamp: bigint; status: number }): void {
  setU64(view, 0, result.timestamp);
  setU32(view, 8, result.status);
  setU32(view, 12, 0);
}

export const createAccountResultCodec: RecordCodec<CreateAccountResult> = {
  size: 16,
  encode: encodeResult,
  decode: (view) => ({
    timestamp: view.getBigUint64(0, true),
    status: view.getUint32(8, true) as CreateAccountStatus,
  }),
};

export const createTransferResultCodec: RecordCodec<CreateTransferResult> = {
  size: 16,
  encode: encodeResult,
  decode: (view) => ({
    timestamp: view.getBigUint64(0, true),
    status: view.getUint32(8, true) as CreateTransferStatus,
  }),
};

export const accountFilterCodec: RecordCodec<AccountFilter> = {
  size: 128,
  encode(view, filter) {
    setU128(view, 0, filter.account_id);
    setU128(view, 16, filter.user_data_128);
    setU64(view, 32, filter.user_data_64);
    setU32(view, 40, filter.user_data_32);
    setU16(view, 44, filter.code);
    clear(view, 46, 104);
    setU64(view, 104, filter.timestamp_min);
    setU64(view, 112, filter.timestamp_max);
    setU32(view, 120, filter.limit);
    setU32(view, 124, filter.flags);
  },
  decode: (view) => ({
    account_id: getU128(view, 0),
    user_data_128: getU128(view, 16),
    user_data_64: view.getBigUint64(32, true),
    user_data_32: view.getUint32(40, true),
    code: view.getUint16(44, true),
    timestamp_min: view.getBigUint64(104, true),
    timestamp_max: view.getBigUint64(112, true),
    limit: view.getUint32(120, true),
    flags: view.getUint32(124, true),
  }),
};

export const queryFilterCodec: RecordCodec<QueryFilter> = {
  size: 64,
  encode(view, filter) {
    setU128(view, 0, filter.user_data_128);
    setU64(view, 16, filter.user_data_64);
    setU32(view, 24, filter.user_data_32);
    setU32(view, 28, filter.ledger);
    setU16(view, 32, filter.code);
    clear(view, 34, 40);
    setU64(view, 40, filter.timestamp_min);
    setU64(view, 48, filter.timestamp_max);
    setU32(view, 56, filter.limit);
    setU32(view, 60, filter.flags);
  },
  decode: (view) => ({
    user_data_128: getU128(view, 0),
    user_data_64: view.getBigUint64(16, true),
    user_data_32: view.getUint32(24, true),
    ledger: view.getUint32(28, true),
    code: view.getUint16(32, true),
    timestamp_min: view.getBigUint64(40, true),
    timestamp_max: view.getBigUint64(48, true),
    limit: view.getUint32(56, true),
    flags: view.getUint32(60, true),
  }),
};

export const accountBalanceCodec: RecordCodec<AccountBalance> = {
  size: 128,
  encode(view, balance) {
    setU128(view, 0, balance.debits_pending);
    setU128(view, 16, balance.debits_posted);
    setU128(view, 32, balance.credits_pending);
    setU128(view, 48, balance.credits_posted);
    setU64(view, 64, balance.timestamp);
    clear(view, 72, 128);
  },
  decode: (view) => ({
    debits_pending: getU128(view, 0),
    debits_posted: getU128(view, 16),
    credits_pending: getU128(view, 32),
    credits_posted: getU128(view, 48),
    timestamp: view.getBigUint64(64, true),
  }),
};

export const changeEventsFilterCodec: RecordCodec<ChangeEventsFilter> = {
  size: 64,
  encode(view, filter) {
    setU64(view, 0, filter.timestamp_min);
    setU64(view, 8, filter.timestamp_max);
    setU32(view, 16, filter.limit);
    clear(view, 20, 64);
  },
  decode: (view) => ({
    timestamp_min: view.getBigUint64(0, true),
    timestamp_max: view.getBigUint64(8, true),
    limit: view.getUint32(16, true),
  }),
};

/** One account block of a change event at `offset`; its timestamp stands elsewhere. */
function encodeSide(
  view: DataView,
  offset: number,
  timestampOffset: number,
  side: ChangeEventAccount,
): void {
  setU128(view, offset, side.id);
  setU128(view, offset + 16, side.debits_pending);
  setU128(view, offset + 32, side.debits_posted);
  setU128(view, offset + 48, side.credits_pending);
  setU128(view, offset + 64, side.credits_posted);
  setU128(view, offset + 80, side.user_data_128);
  setU64(view, offset + 96, side.user_data_64);
  setU32(view, offset + 104, side.user_data_32);
  setU16(view, offset + 108, side.code);
  setU16(view, offset + 110, side.flags);
  setU64(view, timestampOffset, side.timestamp);
}

function decodeSide(view: DataView, offset: number, timestampOffset: number): ChangeEventAccount {
  return {
    id: getU128(view, offset),
    debits_pending: getU128(view, offset + 16),
    debits_posted: getU128(view, offset + 32),
    credits_pending: getU128(view, offset + 48),
    credits_posted: getU128(view, offset + 64),
    user_data_128: getU128(view, offset + 80),
    user_data_64: view.getBigUint64(offset + 96, true),
    user_data_32: view.getUint32(offset + 104, true),
    code: view.getUint16(offset + 108, true),
    flags: view.getUint16(offset + 110, true),
    timestamp: view.getBigUint64(timestampOffset, true),
  };
}

export const changeEventCodec: RecordCodec<ChangeEvent> = {
  size: CHANGE_EVENT_SIZE,
  encode(view, event) {
    setU128(view, 0, event.transfer_id);
    setU128(view, 16, event.transfer_amount);
    setU128(view, 32, event.transfer_pending_id);
    setU128(view, 48, event.transfer_user_data_128);
    setU64(view, 64, event.transfer_user_data_64);
    setU32(view, 72, event.transfer_user_data_32);
    setU32(view, 76, event.transfer_timeout);
    setU16(view, 80, event.transfer_code);
    setU16(view, 82, event.transfer_flags);
    setU32(view, 84, event.ledger);
    clear(view, 88, 128);
    view.setUint8(88, event.type);
    encodeSide(view, 128, 368, event.debit_account);
    encodeSide(view, 240, 376, event.credit_account);
    setU64(view, 352, event.timestamp);
    setU64(view, 360, event.transfer_timestamp);
  },
  decode: (view) => ({
    type: view.getUint8(88),
    timestamp: view.getBigUint64(352, true),
    ledger: view.getUint32(84, true),
    transfer_id: getU128(view, 0),
    transfer_amount: getU128(view, 16),
    transfer_pending_id: getU128(view, 32),
    transfer_user_data_128: getU128(view, 48),
    transfer_user_data_64: view.getBigUint64(64, true),
    transfer_user_data_32: view.getUint32(72, true),
    transfer_timeout: view.getUint32(76, true),
    transfer_code: view.getUint16(80, true),
    transfer_flags: view.getUint16(82, true),
    transfer_timestamp: view.getBigUint64(360, true),
    debit_account: decodeSide(view, 128, 368),
    credit_account: decodeSide(view, 240, 376),
  }),
};
