/**
 * The public objects of the ledger, with the field names of the client library: 128-bit and 64-bit
 * fields are `bigint`, smaller ones `number`. Clients and tests use them; the machine never does.
 */
import type { CreateAccountStatus, CreateTransferStatus } from './status.ts';

export interface Account {
  /** Unique, chosen by the client; not 0 and not 2^128 − 1. */
  readonly id: bigint;
  /** The four balances must be 0 in requests. */
  readonly debits_pending: bigint;
  readonly debits_posted: bigint;
  readonly credits_pending: bigint;
  readonly credits_posted: bigint;
  readonly user_data_128: bigint;
  readonly user_data_64: bigint;
  readonly user_data_32: number;
  readonly reserved: number;
  /** Transfers connect accounts of the same ledger only; not 0. */
  readonly ledger: number;
  /** 16 bits, not 0. */
  readonly code: number;
  /** Bits of AccountFlags. */
  readonly flags: number;
  /** Nanoseconds since 1970, given by the cluster; 0 in requests unless imported. */
  readonly timestamp: bigint;
}

export interface Transfer {
  readonly id: bigint;
  readonly debit_account_id: bigint;
  readonly credit_account_id: bigint;
  readonly amount: bigint;
  /** The pending transfer to post or void, else 0. */
  readonly pending_id: bigint;
  readonly user_data_128: bigint;
  readonly user_data_64: bigint;
  readonly user_data_32: number;
  /** Seconds until a pending transfer expires; 0 is never. */
  readonly timeout: number;
  readonly ledger: number;
  readonly code: number;
  /** Bits of TransferFlags. */
  readonly flags: number;
  readonly timestamp: bigint;
}

export interface CreateAccountResult {
  readonly timestamp: bigint;
  readonly status: CreateAccountStatus;
}

export interface CreateTransferResult {
  readonly timestamp: bigint;
  readonly status: CreateTransferStatus;
}

/** Zero means no condition, but for `account_id`, `limit` and the two sides in `flags`. */
export interface AccountFilter {
  readonly account_id: bigint;
  readonly user_data_128: bigint;
  readonly user_data_64: bigint;
  readonly user_data_32: number;
  readonly code: number;
  /** Both bounds are inclusive. */
  readonly timestamp_min: bigint;
  readonly timestamp_max: bigint;
  readonly limit: number;
  /** Bits of AccountFilterFlags. */
  readonly flags: number;
}

/** Zero means no condition, but for `limit`. */
export interface QueryFilter {
  readonly user_data_128: bigint;
  readonly user_data_64: bigint;
  readonly user_data_32: number;
  readonly ledger: number;
  readonly code: number;
  readonly timestamp_min: bigint;
  readonly timestamp_max: bigint;
  readonly limit: number;
  /** Bits of QueryFilterFlags. */
  readonly flags: number;
}

/** The balances of an account right after the transfer with this timestamp. */
export interface AccountBalance {
  readonly debits_pending: bigint;
  readonly debits_posted: bigint;
  readonly credits_pending: bigint;
  readonly credits_posted: bigint;
  readonly timestamp: bigint;
}

export interface ChangeEventsFilter {
  readonly timestamp_min: bigint;
  readonly timestamp_max: bigint;
  readonly limit: number;
}

/** One side of a change event: the account as of the event, its user data and code as of now. */
export interface ChangeEventAccount {
  readonly id: bigint;
  readonly debits_pending: bigint;
  readonly debits_posted: bigint;
  readonly credits_pending: bigint;
  readonly credits_posted: bigint;
  readonly user_data_128: bigint;
  readonly user_data_64: bigint;
  readonly user_data_32: number;
  readonly code: number;
  readonly flags: number;
  readonly timestamp: bigint;
}

export interface ChangeEvent {
  /** A number of ChangeEventType. */
  readonly type: number;
  readonly timestamp: bigint;
  readonly ledger: number;
  readonly transfer_id: bigint;
  readonly transfer_amount: bigint;
  readonly transfer_pending_id: bigint;
  readonly transfer_user_data_128: bigint;
  readonly transfer_user_data_64: bigint;
  readonly transfer_user_data_32: number;
  readonly transfer_timeout: number;
  readonly transfer_code: number;
  readonly transfer_flags: number;
  readonly transfer_timestamp: bigint;
  readonly debit_account: ChangeEventAccount;
  readonly credit_account: ChangeEventAccount;
}
