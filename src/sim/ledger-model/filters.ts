/**
 * The three filters that queries carry, decoded and encoded field after field, and the rule that
 * says whether a filter is valid. An invalid filter is not an error: its result is empty.
 */
import { AccountFilterFlag, QueryFilterFlag, TIMESTAMP_MAX, U128_MAX } from './codes.ts';
import { Reader, Writer } from './structs.ts';

export interface AccountFilter {
  accountId: bigint;
  userData128: bigint;
  userData64: bigint;
  userData32: number;
  code: number;
  reservedIsZero: boolean;
  timestampMin: bigint;
  timestampMax: bigint;
  limit: number;
  flags: number;
}

export interface QueryFilter {
  userData128: bigint;
  userData64: bigint;
  userData32: number;
  ledger: number;
  code: number;
  reservedIsZero: boolean;
  timestampMin: bigint;
  timestampMax: bigint;
  limit: number;
  flags: number;
}

export interface ChangeEventsFilter {
  timestampMin: bigint;
  timestampMax: bigint;
  limit: number;
  reservedIsZero: boolean;
}

export function decodeAccountFilter(bytes: Uint8Array, offset: number = 0): AccountFilter {
  const reader = new Reader(bytes, offset);
  return {
    accountId: reader.u128(),
    userData128: reader.u128(),
    userData64: reader.u64(),
    userData32: reader.u32(),
    code: reader.u16(),
    reservedIsZero: reader.zeros(58),
    timestampMin: reader.u64(),
    timestampMax: reader.u64(),
    limit: reader.u32(),
    flags: reader.u32(),
  };
}

export function decodeQueryFilter(bytes: Uint8Array, offset: number = 0): QueryFilter {
  const reader = new Reader(bytes, offset);
  return {
    userData128: reader.u128(),
    userData64: reader.u64(),
    userData32: reader.u32(),
    ledger: reader.u32(),
    code: reader.u16(),
    reservedIsZero: reader.zeros(6),
    timestampMin: reader.u64(),
    timestampMax: reader.u64(),
    limit: reader.u32(),
    flags: reader.u32(),
  };
}

export function decodeChangeEventsFilter(bytes: Uint8Array): ChangeEventsFilter {
  const reader = new Reader(bytes);
  return {
    timestampMin: reader.u64(),
    timestampMax: reader.u64(),
    limit: reader.u32(),
    reservedIsZero: reader.zeros(44),
  };
}

/** Reserved bytes are written as zero; a caller that wants a dirty filter dirties the bytes. */
export function encodeAccountFilter(filter: AccountFilter): Uint8Array {
  return new Writer(128)
    .u128(filter.accountId)
    .u128(filter.userData128)
    .u64(filter.userData64)
    .u32(filter.userData32)
    .u16(filter.code)
    .skip(58)
    .u64(filter.timestampMin)
    .u64(filter.timestampMax)
    .u32(filter.limit)
    .u32(filter.flags).bytes;
}

export function encodeQueryFilter(filter: QueryFilter): Uint8Array {
  return new Writer(64)
    .u128(filter.userData128)
    .u64(filter.userData64)
    .u32(filter.userData32)
    .u32(filter.ledger)
    .u16(filter.code)
    .skip(6)
    .u64(filter.timestampMin)
    .u64(filter.timestampMax)
    .u32(filter.limit)
    .u32(filter.flags).bytes;
}

export function encodeChangeEventsFilter(filter: ChangeEventsFilter): Uint8Array {
  return new Writer(64).u64(filter.timestampMin).u64(filter.timestampMax).u32(filter.limit).bytes;
}

export function accountFilterIsValid(filter: AccountFilter): boolean {
  const { accountId, flags } = filter;
  if (accountId === 0n || accountId === U128_MAX) return false;
  if ((flags & AccountFilterFlag.unknown) !== 0) return false;
  if ((flags & (AccountFilterFlag.debits | AccountFilterFlag.credits)) === 0) return false;
  return rangeIsValid(filter);
}

export function queryFilterIsValid(filter: QueryFilter): boolean {
  return (filter.flags & QueryFilterFlag.unknown) === 0 && rangeIsValid(filter);
}

/** What all three filters have in common; zero as an end of the range means "no end". */
export function rangeIsValid(filter: ChangeEventsFilter): boolean {
  const { timestampMin, timestampMax, limit, reservedIsZero } = filter;
  if (!reservedIsZero || limit === 0) return false;
  if (timestampMin > TIMESTAMP_MAX || timestampMax > TIMESTAMP_MAX) return false;
  return timestampMax === 0n || timestampMin <= timestampMax;
}
