/**
 * The latest transactions of a database, so that clients that come back are told what they missed
 * only. It ends where telling everything is cheaper: after a number of transactions, or when they
 * hold more atoms than the database.
 */
import { assert } from '../../stdx/index.ts';
import { UUID_ZERO, type Uuid } from '../data/uuid.ts';
import type { ChangeSet } from '../store/change-set.ts';

interface Entry {
  readonly txnId: Uuid;
  readonly changes: ChangeSet;
}

export class History {
  readonly #max: number;
  readonly #entries: Entry[] = [];
  #atoms: number = 0;

  /** `max`: transactions. */
  constructor(max: number) {
    assert(max >= 1, 'History: the latest transaction is always kept');
    this.#max = max;
  }

  get length(): number {
    return this.#entries.length;
  }

  get atoms(): number {
    return this.#atoms;
  }

  /** Zero: none has an id. */
  get lastTxnId(): Uuid {
    return this.#entries.at(-1)?.txnId ?? UUID_ZERO;
  }

  /** Transactions without an id, as standalone servers have them, are not kept. */
  add(changes: ChangeSet, txnId: Uuid, databaseAtoms: number): void {
    if (txnId === UUID_ZERO) return;
    this.#entries.push({ txnId, changes });
    this.#atoms += changes.atoms;
    while (this.#entries.length > 1 && (this.length > this.#max || this.#atoms > databaseAtoms)) {
      this.#atoms -= this.#entries.shift()?.changes.atoms ?? 0;
    }
  }

  /** What came after the transaction; `null`: it is not known, or no longer. */
  since(txnId: Uuid): readonly ChangeSet[] | null {
    const place = this.#entries.findLastIndex((entry) => entry.txnId === txnId);
    if (txnId === UUID_ZERO || place < 0) return null;
    return this.#entries.slice(place + 1).map(({ changes }) => changes);
  }
}
