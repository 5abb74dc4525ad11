/**
 * What is true of a history, whatever its replicas know: which headers there are, which of them
 * were committed, and what each view began with. Says when one contradicts the other.
 */
import { readSafeU64 } from '../../stdx/index.ts';
import { PrepareOffset } from '../../wire/index.ts';
import type { Selection } from './log-selection.ts';
import { uniqueHeader } from './vote-test-helper.ts';

export type Selected = Selection & { readonly kind: 'selected' };

export class Oracle {
  readonly #replication: number;
  /** Every header there ever was, by its checksum. */
  readonly #headers: Map<number, Uint8Array> = new Map();
  /** View and header → who has acknowledged it in that view. */
  readonly #acked: Map<string, Set<number>> = new Map();
  /** Header → view in which it was committed. */
  readonly #committed: Map<Uint8Array, number> = new Map();
  /** What each view has begun with. */
  readonly #begun: Map<number, Selected> = new Map();

  /** `replication`: acknowledgements that make an operation committed. */
  constructor(replication: number) {
    this.#replication = replication;
  }

  get committed(): number {
    return this.#committed.size;
  }

  invent(op: number, view: number, commit: number, parent: Uint8Array): Uint8Array {
    const header = uniqueHeader({ op, view, commit, parent: parent.subarray(0, 16) });
    this.#headers.set(idOf(header), header);
    if (op === 0) this.#committed.set(header, 0);
    return header;
  }

  parent(header: Uint8Array): Uint8Array | undefined {
    return opOf(header) === 0
      ? undefined
      : this.#headers.get(readSafeU64(header, PrepareOffset.parent) ?? -1);
  }

  /** The header at `op` in the log that `header` is the head of. */
  ancestor(header: Uint8Array, op: number): Uint8Array | undefined {
    let at: Uint8Array | undefined = header;
    while (at !== undefined && opOf(at) > op) at = this.parent(at);
    return at;
  }

  acknowledge(header: Uint8Array, view: number, replica: number): void {
    const key = `${view} ${idOf(header)}`;
    const acked = this.#acked.get(key) ?? new Set();
    this.#acked.set(key, acked.add(replica));
    if (acked.size === this.#replication) this.#commitFrom(header, view);
  }

  /** A primary has chosen the log of its view. */
  begin(view: number, selection: Selected): void {
    this.#begun.set(view, selection);
  }

  /** A selection that a primary of `view` could make. */
  check(selection: Selection, view: number): void {
    if (selection.kind !== 'selected') return;
    const { headers, op, commitMax } = selection;
    const head = headers[0]!;
    if (opOf(head) !== op) throw new Error('the head is not the head');
    for (let i = 1; i < headers.length; i++) {
      if (this.parent(headers[i - 1]!) !== headers[i]) throw new Error('not a chain');
    }
    const certain = this.ancestor(head, commitMax);
    const isCertain = certain !== undefined && this.#committed.has(certain);
    if (!isCertain) throw new Error(`${commitMax} is not committed`);
    for (const [header, since] of this.#committed) {
      if (since < view) this.#checkKeeps(selection, header, view);
    }
  }

  /**
   * A primary commits in order, by the acknowledgements of its own view; so from here on the
   * operation is committed if all before it are, and then those behind it may be too. Whether or
   * not anybody has noticed.
   */
  #commitFrom(header: Uint8Array, view: number): void {
    const parent = this.parent(header);
    const since = parent === undefined ? 0 : this.#committed.get(parent);
    if (since === undefined || since > view || this.#committed.has(header)) return;
    this.#committed.set(header, view);
    for (const [begun, selection] of this.#begun) {
      if (begun > view) this.#checkKeeps(selection, header, begun);
    }
    for (const [key, acked] of this.#acked) {
      const [ackedIn, id] = key.split(' ').map(Number) as [number, number];
      const next = this.#headers.get(id)!;
      if (acked.size < this.#replication || this.parent(next) !== header) continue;
      this.#commitFrom(next, ackedIn);
    }
  }

  #checkKeeps({ headers }: Selected, header: Uint8Array, view: number): void {
    if (this.ancestor(headers[0]!, opOf(header)) === header) return;
    throw new Error(`view ${view} begins without ${opOf(header)}, which was committed`);
  }
}

export function opOf(header: Uint8Array): number {
  return readSafeU64(header, PrepareOffset.op) ?? 0;
}

function idOf(header: Uint8Array): number {
  return readSafeU64(header, 0) ?? 0;
}
