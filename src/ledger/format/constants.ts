/**
 * The numbers of the ledger's wire format: operations, sizes, limits, flags and where each field
 * stands. They are facts of the client protocol (release 0.17.9), not choices of ours; statuses
 * have a file of their own. Names of flags keep the spelling of the client library.
 *
 * Offsets are in 32-bit words, because the hot paths read records as `Uint32Array`; every record
 * starts at a multiple of 16 bytes, so each field is aligned.
 */
import { REPLY_BODY_SIZE_MAX } from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';

/** Operations of 0.17 clients. Older numbers (129 … 136, 138, 139) are not served. */
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
export type Operation = (typeof Operation)[keyof typeof Operation];

/** Sizes of the records, bytes. */
export const ID_SIZE = 16;
export const ACCOUNT_SIZE = 128;
export const TRANSFER_SIZE = 128;
export const CREATE_RESULT_SIZE = 16;
export const ACCOUNT_FILTER_SIZE = 128;
export const QUERY_FILTER_SIZE = 64;
export const ACCOUNT_BALANCE_SIZE = 128;
export const CHANGE_EVENTS_FILTER_SIZE = 64;
export const CHANGE_EVENT_SIZE = 384;

/** Most objects that one query may answer: what fits beside the trailer of one batch. */
export const QUERY_RESULTS_MAX: number = Math.floor((REPLY_BODY_SIZE_MAX - 128) / 128);
/** Most events that one get_change_events may answer: its reply has no trailer. */
export const CHANGE_EVENTS_MAX: number = Math.floor(REPLY_BODY_SIZE_MAX / CHANGE_EVENT_SIZE);
/** Most events of one batch (a create or lookup request with one batch at the full limit). */
export const EVENTS_MAX = 8189;
/** Most pending transfers that one pulse expires; also the timestamps that a pulse reserves. */
export const PULSE_EXPIRIES_MAX = 8190;

export const AccountFlags = {
  none: 0,
  linked: 1,
  debits_must_not_exceed_credits: 2,
  credits_must_not_exceed_debits: 4,
  history: 8,
  imported: 16,
  closed: 32,
} as const;
/** Account flag bits that must be zero. */
export const ACCOUNT_FLAGS_RESERVED = 0xffc0;

export const TransferFlags = {
  none: 0,
  linked: 1,
  pending: 2,
  post_pending_transfer: 4,
  void_pending_transfer: 8,
  balancing_debit: 16,
  balancing_credit: 32,
  closing_debit: 64,
  closing_credit: 128,
  imported: 256,
} as const;
/** Transfer flag bits that must be zero. */
export const TRANSFER_FLAGS_RESERVED = 0xfe00;

export const AccountFilterFlags = { none: 0, debits: 1, credits: 2, reversed: 4 } as const;
export const QueryFilterFlags = { none: 0, reversed: 1 } as const;

/** What a change event tells. */
export const ChangeEventType = {
  single_phase: 0,
  two_phase_pending: 1,
  two_phase_posted: 2,
  two_phase_voided: 3,
  two_phase_expired: 4,
} as const;

/**
 * Account, in words. `codeFlags` holds the code in its low and the flags in its high half; the
 * four 128-bit balances stand side by side.
 */
export const AccountWord = {
  id: 0,
  debitsPending: 4,
  debitsPosted: 8,
  creditsPending: 12,
  creditsPosted: 16,
  userData128: 20,
  userData64: 24,
  userData32: 26,
  reserved: 27,
  ledger: 28,
  codeFlags: 29,
  timestamp: 30,
} as const;

/** Transfer, in words; `codeFlags` as in {@link AccountWord}. */
export const TransferWord = {
  id: 0,
  debitAccountId: 4,
  creditAccountId: 8,
  amount: 12,
  pendingId: 16,
  userData128: 20,
  userData64: 24,
  userData32: 26,
  timeout: 27,
  ledger: 28,
  codeFlags: 29,
  timestamp: 30,
} as const;

/** Words of an account or transfer. */
export const RECORD_WORDS = 32;

assert(QUERY_RESULTS_MAX === 8189);
assert(CHANGE_EVENTS_MAX === 2730);
