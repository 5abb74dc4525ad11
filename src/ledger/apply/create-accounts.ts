/** create_accounts: the checks of one account, in the order of the protocol. */
import { ACCOUNT_FLAGS_RESERVED, AccountFlags, AccountWord } from '../format/constants.ts';
import { CreateAccountStatus as Status } from '../format/status.ts';
import { hashId } from '../store/id-index.ts';
import type { LedgerState } from '../store/state.ts';
import { copy64 } from '../store/u64.ts';
import { isEqual, isMax, isZero } from '../store/u128.ts';
import { EventBatch } from './event-batch.ts';

/** −1: a small integer for V8, and 2^32 − 1 again in a reply. */
const CREATED = Status.created | 0;
const LIMITS =
  AccountFlags.debits_must_not_exceed_credits | AccountFlags.credits_must_not_exceed_debits;

export class AccountBatch extends EventBatch {
  constructor(state: LedgerState) {
    super(state, {
      importedFlag: AccountFlags.imported,
      importedStatus: Status.imported_event_expected,
    });
  }

  protected override create(_index: number): number {
    const { words, offset, state } = this;
    const flags = words[offset + AccountWord.codeFlags] >>> 16;
    if (words[offset + AccountWord.reserved] !== 0) return Status.reserved_field;
    if ((flags & ACCOUNT_FLAGS_RESERVED) !== 0) return Status.reserved_flag;
    if (isZero(words, offset)) return Status.id_must_not_be_zero;
    if (isMax(words, offset)) return Status.id_must_not_be_int_max;
    const hash = hashId(words, offset);
    const row = state.accountIndex.find(hash, words, offset);
    if (row >= 0) return this.#exists(row);
    const status = this.#checkFields(flags);
    if (status !== CREATED) return status;
    if (this.imported) {
      // Timestamps are unique over both tables.
      if (
        state.hasReached(state.accounts, this.time) ||
        state.hasTimestamp(state.transfers, this.time)
      ) {
        return Status.imported_event_timestamp_must_not_regress;
      }
    }
    state.appendAccount(hash, words, offset, this.time);
    return CREATED;
  }

  #checkFields(flags: number): number {
    const { words, offset } = this;
    if ((flags & LIMITS) === LIMITS) return Status.flags_are_mutually_exclusive;
    if (!isZero(words, offset + AccountWord.debitsPending))
      return Status.debits_pending_must_be_zero;
    if (!isZero(words, offset + AccountWord.debitsPosted)) return Status.debits_posted_must_be_zero;
    if (!isZero(words, offset + AccountWord.creditsPending))
      return Status.credits_pending_must_be_zero;
    if (!isZero(words, offset + AccountWord.creditsPosted))
      return Status.credits_posted_must_be_zero;
    if (words[offset + AccountWord.ledger] === 0) return Status.ledger_must_not_be_zero;
    if ((words[offset + AccountWord.codeFlags] & 0xffff) === 0) return Status.code_must_not_be_zero;
    return CREATED;
  }

  /**
   * The id is taken: says which field is the first to differ. Flags are compared with what they are
   * now, so an account that was closed later differs from the request that made it.
   */
  #exists(row: number): number {
    const { words, offset } = this;
    const stored = this.state.accounts.chunkOf(row);
    const at = this.state.accounts.baseOf(row);
    const codeFlags = words[offset + AccountWord.codeFlags];
    const storedCodeFlags = stored[at + AccountWord.codeFlags];
    if (codeFlags >>> 16 !== storedCodeFlags >>> 16) return Status.exists_with_different_flags;
    if (!isEqual(words, offset + AccountWord.userData128, stored, at + AccountWord.userData128)) {
      return Status.exists_with_different_user_data_128;
    }
    const userData64 = AccountWord.userData64;
    if (
      words[offset + userData64] !== stored[at + userData64] ||
      words[offset + userData64 + 1] !== stored[at + userData64 + 1]
    ) {
      return Status.exists_with_different_user_data_64;
    }
    if (words[offset + AccountWord.userData32] !== stored[at + AccountWord.userData32]) {
      return Status.exists_with_different_user_data_32;
    }
    if (words[offset + AccountWord.ledger] !== stored[at + AccountWord.ledger]) {
      return Status.exists_with_different_ledger;
    }
    if ((codeFlags & 0xffff) !== (storedCodeFlags & 0xffff))
      return Status.exists_with_different_code;
    copy64(this.resultTime, stored, at + AccountWord.timestamp);
    return Status.exists;
  }
}
