/**
 * How often each thing happened: statuses of both create operations first of all, and beside them
 * what else a run should have met. A run that never meets something proves nothing about it.
 */
import {
  AccountStatus,
  decodeBatches,
  decodeResult,
  Operation,
  TransferStatus,
} from '../ledger-model/index.ts';

/** Status codes by name, in the order of their numbers. */
const statusNames: { readonly [operation: number]: ReadonlyMap<number, string> } = {
  [Operation.createAccounts]: namesOf(AccountStatus),
  [Operation.createTransfers]: namesOf(TransferStatus),
};

function namesOf(statuses: { readonly [name: string]: number }): ReadonlyMap<number, string> {
  return new Map(Object.entries(statuses).map(([name, code]) => [code, snakeCase(name)]));
}

/** `existsWithDifferentUserData128` → `exists_with_different_user_data_128`. */
function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]|\d+/g, (part) => `_${part.toLowerCase()}`);
}

export function statusName(operation: number, status: number): string {
  return statusNames[operation]?.get(status) ?? `unknown status ${status}`;
}

export class Histogram {
  readonly #statuses: Map<number, Map<number, number>> = new Map([
    [Operation.createAccounts, new Map()],
    [Operation.createTransfers, new Map()],
  ]);
  readonly #others: Map<string, number> = new Map();

  /** Counts the results in the reply of a create operation; returns how many there are. */
  countResults(operation: number, reply: Uint8Array): number {
    const counts = this.#statuses.get(operation);
    if (counts === undefined) return 0;
    let results = 0;
    for (const batch of decodeBatches(reply, 16) ?? []) {
      for (let at = 0; at < batch.length; at += 16) {
        const { status } = decodeResult(batch, at);
        counts.set(status, (counts.get(status) ?? 0) + 1);
        results += 1;
      }
    }
    return results;
  }

  count(what: string, times: number = 1): void {
    this.#others.set(what, (this.#others.get(what) ?? 0) + times);
  }

  of(what: string): number {
    return this.#others.get(what) ?? 0;
  }

  add(other: Histogram): void {
    for (const [operation, counts] of other.#statuses) {
      const own = this.#statuses.get(operation) as Map<number, number>;
      for (const [status, count] of counts) own.set(status, (own.get(status) ?? 0) + count);
    }
    for (const [what, count] of other.#others) this.count(what, count);
  }

  /** Statuses that occurred fewer than `min` times, by name. */
  rarerThan(min: number): string[] {
    return this.#lines()
      .filter(({ count }) => count < min)
      .map(({ name }) => name);
  }

  /** One line per status, with its number, and one per other thing counted. */
  format(): string {
    const statuses = this.#lines().map(
      ({ name, code, count }) => `${count.toString().padStart(10)}  ${name} (${code})`,
    );
    const others = [...this.#others]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([what, count]) => `${count.toString().padStart(10)}  ${what}`);
    return [...statuses, ...others].join('\n');
  }

  #lines(): { name: string; code: number; count: number }[] {
    return [...this.#statuses].flatMap(([operation, counts]) => {
      const kind = operation === Operation.createAccounts ? 'account' : 'transfer';
      return [...(statusNames[operation] as ReadonlyMap<number, string>)].map(([code, name]) => {
        return { name: `${kind} ${name}`, code, count: counts.get(code) ?? 0 };
      });
    });
  }
}
