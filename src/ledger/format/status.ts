/**
 * What became of an event: the status codes of create_accounts and create_transfers, with the
 * client library's names. The order of the codes is not the order of the checks.
 */

/** Both operations: the event took effect. */
export const STATUS_CREATED = 0xffff_ffff;

export const CreateAccountStatus = {
  created: 0xffff_ffff,
  linked_event_failed: 1,
  linked_event_chain_open: 2,
  timestamp_must_be_zero: 3,
  reserved_field: 4,
  reserved_flag: 5,
  id_must_not_be_zero: 6,
  id_must_not_be_int_max: 7,
  flags_are_mutually_exclusive: 8,
  debits_pending_must_be_zero: 9,
  debits_posted_must_be_zero: 10,
  credits_pending_must_be_zero: 11,
  credits_posted_must_be_zero: 12,
  ledger_must_not_be_zero: 13,
  code_must_not_be_zero: 14,
  exists_with_different_flags: 15,
  exists_with_different_user_data_128: 16,
  exists_with_different_user_data_64: 17,
  exists_with_different_user_data_32: 18,
  exists_with_different_ledger: 19,
  exists_with_different_code: 20,
  exists: 21,
  imported_event_expected: 22,
  imported_event_not_expected: 23,
  imported_event_timestamp_out_of_range: 24,
  imported_event_timestamp_must_not_advance: 25,
  imported_event_timestamp_must_not_regress: 26,
} as const;
export type CreateAccountStatus = (typeof CreateAccountStatus)[keyof typeof CreateAccountStatus];

export const CreateTransferStatus = {
  created: 0xffff_ffff,
  linked_event_failed: 1,
  linked_event_chain_open: 2,
  timestamp_must_be_zero: 3,
  reserved_flag: 4,
  id_must_not_be_zero: 5,
  id_must_not_be_int_max: 6,
  flags_are_mutually_exclusive: 7,
  debit_account_id_must_not_be_zero: 8,
  debit_account_id_must_not_be_int_max: 9,
  credit_account_id_must_not_be_zero: 10,
  credit_account_id_must_not_be_int_max: 11,
  accounts_must_be_different: 12,
  pending_id_must_be_zero: 13,
  pending_id_must_not_be_zero: 14,
  pending_id_must_not_be_int_max: 15,
  pending_id_must_be_different: 16,
  timeout_reserved_for_pending_transfer: 17,
  ledger_must_not_be_zero: 19,
  code_must_not_be_zero: 20,
  debit_account_not_found: 21,
  credit_account_not_found: 22,
  accounts_must_have_the_same_ledger: 23,
  transfer_must_have_the_same_ledger_as_accounts: 24,
  pending_transfer_not_found: 25,
  pending_transfer_not_pending: 26,
  pending_transfer_has_different_debit_account_id: 27,
  pending_transfer_has_different_credit_account_id: 28,
  pending_transfer_has_different_ledger: 29,
  pending_transfer_has_different_code: 30,
  exceeds_pending_transfer_amount: 31,
  pending_transfer_has_different_amount: 32,
  pending_transfer_already_posted: 33,
  pending_transfer_already_voided: 34,
  pending_transfer_expired: 35,
  exists_with_different_flags: 36,
  exists_with_different_debit_account_id: 37,
  exists_with_different_credit_account_id: 38,
  exists_with_different_amount: 39,
  exists_with_different_pending_id: 40,
  exists_with_different_user_data_128: 41,
  exists_with_different_user_data_64: 42,
  exists_with_different_user_data_32: 43,
  exists_with_different_timeout: 44,
  exists_with_different_code: 45,
  exists: 46,
  overflows_debits_pending: 47,
  overflows_credits_pending: 48,
  overflows_debits_posted: 49,
  overflows_credits_posted: 50,
  overflows_debits: 51,
  overflows_credits: 52,
  overflows_timeout: 53,
  exceeds_credits: 54,
  exceeds_debits: 55,
  imported_event_expected: 56,
  imported_event_not_expected: 57,
  imported_event_timestamp_out_of_range: 58,
  imported_event_timestamp_must_not_advance: 59,
  imported_event_timestamp_must_not_regress: 60,
  imported_event_timestamp_must_postdate_debit_account: 61,
  imported_event_timestamp_must_postdate_credit_account: 62,
  imported_event_timeout_must_be_zero: 63,
  closing_transfer_must_be_pending: 64,
  debit_account_already_closed: 65,
  credit_account_already_closed: 66,
  exists_with_different_ledger: 67,
  id_already_failed: 68,
} as const;
export type CreateTransferStatus = (typeof CreateTransferStatus)[keyof typeof CreateTransferStatus];

/**
 * Whether a failure depends on the state of the ledger rather than on the event itself. Such an
 * id can never be used again, so that a retry cannot succeed behind the client's back.
 */
export function isTransient(status: number): boolean {
  switch (status) {
    case CreateTransferStatus.debit_account_not_found:
    case CreateTransferStatus.credit_account_not_found:
    case CreateTransferStatus.pending_transfer_not_found:
    case CreateTransferStatus.exceeds_credits:
    case CreateTransferStatus.exceeds_debits:
    case CreateTransferStatus.debit_account_already_closed:
    case CreateTransferStatus.credit_account_already_closed:
      return true;
    default:
      return false;
  }
}

/** The name of a status of `names`, or its number as text. For messages and tables. */
export function statusName(names: { readonly [name: string]: number }, status: number): string {
  for (const name of Object.keys(names)) {
    if (names[name] === status) return name;
  }
  return String(status);
}
