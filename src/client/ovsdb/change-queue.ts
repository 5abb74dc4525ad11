/**
 * What one reader of a monitor has not taken yet. A reader who is slower than the database costs no
 * more than one entry a row: what exceeds the queue is merged into its last element.
 */
import type { Uuid } from '../../ovsdb/index.ts';
import type { RowChange } from './replica.ts';

export interface Change {
  /**
   * `initial`: the first of every reader, all rows as inserts; `update`: transactions of others and
   * ours; `resync`: what changed while there was no connection.
   */
  readonly kind: 'initial' | 'update' | 'resync';
  readonly rows: readonly RowChange[];
  /** Id of the last transaction in it; `null`: the server tells none. */
  readonly lastTransaction: Uuid | null;
}

/** Changes that wait unmerged. */
export const QUEUE_CHANGES_MAX = 1000;

export class ChangeQueue {
  #changes: Change[] = [];
  /** Of the last element, once something was merged into it: by table and row. */
  #merged: Map<string, RowChange> | null = null;
  #wake: (() => void) | null = null;
  #end: { error: Error | null } | null = null;

  push(change: Change): void {
    if (this.#end !== null) return;
    if (this.#changes.length < QUEUE_CHANGES_MAX) {
      this.#merged = null;
      this.#changes.push(change);
    } else this.#merge(change);
    this.#notify();
  }

  /** Nothing comes any more; `error`: why. What is there can still be taken. */
  end(error: Error | null): void {
    this.#end ??= { error };
    this.#notify();
  }

  /** The next change, `null` at the end; rejects when it did not end in peace. */
  async next(): Promise<Change | null> {
    for (;;) {
      const change = this.#changes.shift();
      if (change !== undefined) {
        if (this.#changes.length === 0 && this.#merged !== null) {
          const rows = [...this.#merged.values()];
          this.#merged = null;
          return { ...change, rows };
        }
        return change;
      }
      if (this.#end !== null) {
        if (this.#end.error !== null) throw this.#end.error;
        return null;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }

  #merge(change: Change): void {
    const last = this.#changes[this.#changes.length - 1] as Change;
    this.#merged ??= new Map(last.rows.map((row) => [keyOf(row), row]));
    for (const row of change.rows) mergeRow(this.#merged, row);
    this.#changes[this.#changes.length - 1] = { ...last, lastTransaction: change.lastTransaction };
  }
}

function keyOf({ table, uuid }: RowChange): string {
  return `${table} ${uuid}`;
}

function mergeRow(merged: Map<string, RowChange>, later: RowChange): void {
  const key = keyOf(later);
  const earlier = merged.get(key);
  const before = earlier === undefined ? later.before : earlier.before;
  const { after } = later;
  if (before === null && after === null) {
    merged.delete(key);
    return;
  }
  const kind = before === null ? 'insert' : after === null ? 'delete' : 'modify';
  merged.set(key, { ...later, kind, before, after });
}
