/**
 * Lookups and queries. A query looks at every object there is, newest first when reversed, and
 * stops at its limit: slow and plain.
 */
import {
  AccountFilterFlag,
  AccountFlag,
  Operation,
  QUERY_RESULTS_MAX,
  QueryFilterFlag,
} from './codes.ts';
import {
  type AccountFilter,
  accountFilterIsValid,
  decodeAccountFilter,
  decodeQueryFilter,
  type QueryFilter,
  queryFilterIsValid,
} from './filters.ts';
import type { AccountEvent, AccountSnapshot, LedgerState } from './state.ts';
import { type Account, encodeAccount, encodeTransfer, type Transfer, Writer } from './structs.ts';

/** Objects in the order asked for; an id that is not there is left out, a repeated one repeated. */
export function lookupAccounts(state: LedgerState, ids: readonly bigint[]): Uint8Array[] {
  return ids
    .map((id) => state.accountById.get(id))
    .filter((account) => account !== undefined)
    .map(encodeAccount);
}

export function lookupTransfers(state: LedgerState, ids: readonly bigint[]): Uint8Array[] {
  return ids
    .map((id) => state.transferById.get(id))
    .filter((transfer) => transfer !== undefined)
    .map(encodeTransfer);
}

/** One filter of one of the four queries; the results' bytes one by one. */
export function query(state: LedgerState, operation: number, filter: Uint8Array): Uint8Array[] {
  switch (operation) {
    case Operation.getAccountTransfers:
      return accountTransfers(state, decodeAccountFilter(filter)).map(encodeTransfer);
    case Operation.getAccountBalances:
      return accountBalances(state, decodeAccountFilter(filter));
    case Operation.queryAccounts:
      return queryObjects(state.accounts, decodeQueryFilter(filter)).map(encodeAccount);
    default:
      return queryObjects(state.transfers, decodeQueryFilter(filter)).map(encodeTransfer);
  }
}

function accountTransfers(state: LedgerState, filter: AccountFilter): Transfer[] {
  if (!accountFilterIsValid(filter)) return [];
  const wantsDebits = (filter.flags & AccountFilterFlag.debits) !== 0;
  const wantsCredits = (filter.flags & AccountFilterFlag.credits) !== 0;
  const isReversed = (filter.flags & AccountFilterFlag.reversed) !== 0;
  return select(state.transfers, filter, isReversed, (transfer) => {
    const isDebit = transfer.debitAccountId === filter.accountId;
    const isCredit = transfer.creditAccountId === filter.accountId;
    return (wantsDebits && isDebit) || (wantsCredits && isCredit);
  });
}

/** The balances of an account with the history flag, after each of the transfers selected. */
function accountBalances(state: LedgerState, filter: AccountFilter): Uint8Array[] {
  const account = state.accountById.get(filter.accountId);
  if (account === undefined || (account.flags & AccountFlag.history) === 0) return [];
  const selected = accountTransfers(state, filter);
  const events = new Map<Transfer, AccountEvent>();
  for (const event of state.events) {
    if (event.kind !== 'expired') events.set(event.transfer, event);
  }
  return selected.map((transfer) => {
    const event = events.get(transfer) as AccountEvent;
    const isDebit = transfer.debitAccountId === account.id;
    return encodeBalance(isDebit ? event.debit : event.credit, transfer.timestamp);
  });
}

function encodeBalance(snapshot: AccountSnapshot, timestamp: bigint): Uint8Array {
  return new Writer(128)
    .u128(snapshot.debitsPending)
    .u128(snapshot.debitsPosted)
    .u128(snapshot.creditsPending)
    .u128(snapshot.creditsPosted)
    .u64(timestamp).bytes;
}

function queryObjects<T extends Account | Transfer>(
  objects: readonly T[],
  filter: QueryFilter,
): T[] {
  if (!queryFilterIsValid(filter)) return [];
  const isReversed = (filter.flags & QueryFilterFlag.reversed) !== 0;
  return select(
    objects,
    filter,
    isReversed,
    (object) => filter.ledger === 0 || object.ledger === filter.ledger,
  );
}

/** What account filters and query filters have in common; zero in a field is no condition. */
function select<T extends Account | Transfer>(
  objects: readonly T[],
  filter: Omit<AccountFilter, 'accountId'>,
  isReversed: boolean,
  matches: (object: T) => boolean,
): T[] {
  const { userData128, userData64, userData32, code, timestampMin, timestampMax } = filter;
  const limit = Math.min(filter.limit, QUERY_RESULTS_MAX);
  const selected: T[] = [];
  for (let i = 0; i < objects.length && selected.length < limit; i++) {
    const object = objects[isReversed ? objects.length - 1 - i : i] as T;
    if (object.timestamp < timestampMin) continue;
    if (timestampMax !== 0n && object.timestamp > timestampMax) continue;
    if (userData128 !== 0n && object.userData128 !== userData128) continue;
    if (userData64 !== 0n && object.userData64 !== userData64) continue;
    if (userData32 !== 0 && object.userData32 !== userData32) continue;
    if (code !== 0 && object.code !== code) continue;
    if (matches(object)) selected.push(object);
  }
  return selected;
}
