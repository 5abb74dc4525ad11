/**
 * The numbers of the ledger's client protocol, as the naive model knows them: operations, flags,
 * status codes and limits. The model keeps a list of its own, typed from the documented tables and
 * not shared with the real ledger, so that a wrong number in one of the two shows as a difference.
 */

/** Operations that a client may send. */
export const Operation = {
  getChangeEvents: 137,
  lookupAccounts: 140,
  lookupTransfers: 141,
  getAccountTransfers: 142,
  getAccountBalances: 143,
  queryAccounts: 144,
  queryTransfers: 145,
  createAccounts: 146,
  createTransfers: 147,
} as const;

/** What a request consists of: sizes in bytes, and whether a batch may hold several events. */
export interface OperationShape {
  readonly name: string;
  readonly eventSize: number;
  readonly resultSize: number;
  /** Whether one batch may hold any number of events; otherwise it holds exactly one. */
  readonly batchable: boolean;
  /** Whether the body carries several batches and a trailer that counts their events. */
  readonly multiBatch: boolean;
}

function shape(
  name: string,
  eventSize: number,
  resultSize: number,
  batchable: boolean,
): OperationShape {
  return { name, eventSize, resultSize, batchable, multiBatch: name !== 'get_change_events' };
}

export const operationShapes: ReadonlyMap<number, OperationShape> = new Map([
  [Operation.getChangeEvents, shape('get_change_events', 64, 384, false)],
  [Operation.lookupAccounts, shape('lookup_accounts', 16, 128, true)],
  [Operation.lookupTransfers, shape('lookup_transfers', 16, 128, true)],
  [Operation.getAccountTransfers, shape('get_account_transfers', 128, 128, false)],
  [Operation.getAccountBalances, shape('get_account_balances', 128, 128, false)],
  [Operation.queryAccounts, shape('query_accounts', 64, 128, false)],
  [Operation.queryTransfers, shape('query_transfers', 64, 128, false)],
  [Operation.createAccounts, shape('create_accounts', 128, 16, true)],
  [Operation.createTransfers, shape('create_transfers', 128, 16, true)],
]);

export const U128_MAX: bigint = (1n << 128n) - 1n;
/** Largest timestamp, nanoseconds; the smallest is 1. */
export const TIMESTAMP_MAX: bigint = (1n << 63n) - 1n;
export const NANOSECONDS_PER_SECOND: bigint = 1_000_000_000n;
/** Largest reply body, bytes. */
export const REPLY_SIZE_MAX = 1_048_320;
/** Most results of one query: a full reply less one trailer. */
export const QUERY_RESULTS_MAX = 8189;
/** Most results of get_change_events: a full reply without trailer. */
export const CHANGE_EVENTS_MAX = 2730;
/** Most transfers that one pulse expires. */
export const PULSE_EXPIRIES_MAX = 8190;

export const AccountFlag = {
  linked: 1,
  debitsMustNotExceedCredits: 2,
  creditsMustNotExceedDebits: 4,
  history: 8,
  imported: 16,
  closed: 32,
  unknown: 0xffc0,
} as const;

export const TransferFlag = {
  linked: 1,
  pending: 2,
  postPendingTransfer: 4,
  voidPendingTransfer: 8,
  balancingDebit: 16,
  balancingCredit: 32,
  closingDebit: 64,
  closingCredit: 128,
  imported: 256,
  unknown: 0xfe00,
} as const;

export const AccountFilterFlag = {
  debits: 1,
  credits: 2,
  reversed: 4,
  unknown: 0xfffffff8,
} as const;
export const QueryFilterFlag = { reversed: 1, unknown: 0xfffffffe } as const;

/** Status of a created event, accounts and transfers alike. */
export const CREATED = 0xffff_ffff;

/** The three statuses that both create operations number alike. */
export const LINKED_EVENT_FAILED = 1;
export const LINKED_EVENT_CHAIN_OPEN = 2;
export const TIMESTAMP_MUST_BE_ZERO = 3;

export const AccountStatus = {
  linkedEventFailed: 1,
  linkedEventChainOpen: 2,
  timestampMustBeZero: 3,
  reservedField: 4,
  reservedFlag: 5,
  idMustNotBeZero: 6,
  idMustNotBeIntMax: 7,
  flagsAreMutuallyExclusive: 8,
  debitsPendingMustBeZero: 9,
  debitsPostedMustBeZero: 10,
  creditsPendingMustBeZero: 11,
  creditsPostedMustBeZero: 12,
  ledgerMustNotBeZero: 13,
  codeMustNotBeZero: 14,
  existsWithDifferentFlags: 15,
  existsWithDifferentUserData128: 16,
  existsWithDifferentUserData64: 17,
  existsWithDifferentUserData32: 18,
  existsWithDifferentLedger: 19,
  existsWithDifferentCode: 20,
  exists: 21,
  importedEventExpected: 22,
  importedEventNotExpected: 23,
  importedEventTimestampOutOfRange: 24,
  importedEventTimestampMustNotAdvance: 25,
  importedEventTimestampMustNotRegress: 26,
  created: 0xffff_ffff,
} as const;

export const TransferStatus = {
  linkedEventFailed: 1,
  linkedEventChainOpen: 2,
  timestampMustBeZero: 3,
  reservedFlag: 4,
  idMustNotBeZero: 5,
  idMustNotBeIntMax: 6,
  flagsAreMutuallyExclusive: 7,
  debitAccountIdMustNotBeZero: 8,
  debitAccountIdMustNotBeIntMax: 9,
  creditAccountIdMustNotBeZero: 10,
  creditAccountIdMustNotBeIntMax: 11,
  accountsMustBeDifferent: 12,
  pendingIdMustBeZero: 13,
  pendingIdMustNotBeZero: 14,
  pendingIdMustNotBeIntMax: 15,
  pendingIdMustBeDifferent: 16,
  timeoutReservedForPendingTransfer: 17,
  // 18 is retired: an amount of zero is legal since balancing takes the maximum as "all".
  ledgerMustNotBeZero: 19,
  codeMustNotBeZero: 20,
  debitAccountNotFound: 21,
  creditAccountNotFound: 22,
  accountsMustHaveTheSameLedger: 23,
  transferMustHaveTheSameLedgerAsAccounts: 24,
  pendingTransferNotFound: 25,
  pendingTransferNotPending: 26,
  pendingTransferHasDifferentDebitAccountId: 27,
  pendingTransferHasDifferentCreditAccountId: 28,
  pendingTransferHasDifferentLedger: 29,
  pendingTransferHasDifferentCode: 30,
  exceedsPendingTransferAmount: 31,
  pendingTransferHasDifferentAmount: 32,
  pendingTransferAlreadyPosted: 33,
  pendingTransferAlreadyVoided: 34,
  pendingTransferExpired: 35,
  existsWithDifferentFlags: 36,
  existsWithDifferentDebitAccountId: 37,
  existsWithDifferentCreditAccountId: 38,
  existsWithDifferentAmount: 39,
  existsWithDifferentPendingId: 40,
  existsWithDifferentUserData128: 41,
  existsWithDifferentUserData64: 42,
  existsWithDifferentUserData32: 43,
  existsWithDifferentTimeout: 44,
  existsWithDifferentCode: 45,
  exists: 46,
  overflowsDebitsPending: 47,
  overflowsCreditsPending: 48,
  overflowsDebitsPosted: 49,
  overflowsCreditsPosted: 50,
  overflowsDebits: 51,
  overflowsCredits: 52,
  overflowsTimeout: 53,
  exceedsCredits: 54,
  exceedsDebits: 55,
  importedEventExpected: 56,
  importedEventNotExpected: 57,
  importedEventTimestampOutOfRange: 58,
  importedEventTimestampMustNotAdvance: 59,
  importedEventTimestampMustNotRegress: 60,
  importedEventTimestampMustPostdateDebitAccount: 61,
  importedEventTimestampMustPostdateCreditAccount: 62,
  importedEventTimeoutMustBeZero: 63,
  closingTransferMustBePending: 64,
  debitAccountAlreadyClosed: 65,
  creditAccountAlreadyClosed: 66,
  existsWithDifferentLedger: 67,
  idAlreadyFailed: 68,
  created: 0xffff_ffff,
} as const;

/** Failures that make a transfer id unusable for ever. */
export const transientStatuses: ReadonlySet<number> = new Set([
  TransferStatus.debitAccountNotFound,
  TransferStatus.creditAccountNotFound,
  TransferStatus.pendingTransferNotFound,
  TransferStatus.exceedsCredits,
  TransferStatus.exceedsDebits,
  TransferStatus.debitAccountAlreadyClosed,
  TransferStatus.creditAccountAlreadyClosed,
]);
