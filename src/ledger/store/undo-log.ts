/**
 * What a linked chain changed in place, so that it can be taken back: balances and flags of
 * accounts, pending status of transfers. What a chain appended needs no log: the tables are
 * truncated to the counts of its start.
 *
 * The log is active while a chain is open and applied in reverse, so a record that was changed
 * several times ends as it began. Its arrays grow to the largest chain seen and stay.
 */
import { assert } from '../../stdx/index.ts';
import { AccountWord } from '../format/constants.ts';
import type { Rows } from '../rows.ts';
import type { PendingColumn } from './pending-column.ts';

/** Row, the sixteen words of the balances, code and flags. */
const ACCOUNT_WORDS = 18;
const BALANCE_WORDS = 16;
/** Row, status. */
const STATUS_WORDS = 2;

export class UndoLog {
  active: boolean = false;
  #accounts: Uint32Array = new Uint32Array(ACCOUNT_WORDS * 64);
  #accountCount: number = 0;
  #statuses: Uint32Array = new Uint32Array(STATUS_WORDS * 64);
  #statusCount: number = 0;

  begin(): void {
    assert(!this.active, 'UndoLog: already active');
    assert(this.#accountCount === 0 && this.#statusCount === 0, 'UndoLog: not empty');
    this.active = true;
  }

  /** Forgets everything: the chain's effects stay, or were taken back. */
  end(): void {
    assert(this.active, 'UndoLog: not active');
    this.active = false;
    this.#accountCount = 0;
    this.#statusCount = 0;
  }

  /** An account, at `words[base]`, is about to change. */
  saveAccount(row: number, words: Uint32Array, base: number): void {
    assert(this.active, 'UndoLog: not active');
    let at = this.#accountCount * ACCOUNT_WORDS;
    if (at === this.#accounts.length) this.#accounts = grown(this.#accounts);
    const log = this.#accounts;
    log[at++] = row;
    const from = base + AccountWord.debitsPending;
    for (let i = 0; i < BALANCE_WORDS; i++) log[at + i] = words[from + i];
    log[at + BALANCE_WORDS] = words[base + AccountWord.codeFlags];
    this.#accountCount++;
  }

  /** The pending status of a transfer is about to change from `status`. */
  saveStatus(row: number, status: number): void {
    assert(this.active, 'UndoLog: not active');
    const at = this.#statusCount * STATUS_WORDS;
    if (at === this.#statuses.length) this.#statuses = grown(this.#statuses);
    this.#statuses[at] = row;
    this.#statuses[at + 1] = status;
    this.#statusCount++;
  }

  /** Puts everything back. The leaves concerned were marked when the records changed. */
  rollback(accounts: Rows, pending: PendingColumn): void {
    assert(this.active, 'UndoLog: not active');
    const log = this.#accounts;
    for (let i = this.#accountCount - 1; i >= 0; i--) {
      const at = i * ACCOUNT_WORDS;
      const row = log[at];
      const words = accounts.chunkOf(row);
      const base = accounts.baseOf(row);
      const to = base + AccountWord.debitsPending;
      for (let word = 0; word < BALANCE_WORDS; word++) words[to + word] = log[at + 1 + word];
      words[base + AccountWord.codeFlags] = log[at + 1 + BALANCE_WORDS];
    }
    for (let i = this.#statusCount - 1; i >= 0; i--) {
      const at = i * STATUS_WORDS;
      pending.set(this.#statuses[at], this.#statuses[at + 1]);
    }
    this.#accountCount = 0;
    this.#statusCount = 0;
  }
}

function grown(log: Uint32Array): Uint32Array {
  const larger = new Uint32Array(log.length * 2);
  larger.set(log);
  return larger;
}
