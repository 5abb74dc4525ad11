/** One replica of a history: what it has on disk, and what it would lose in a crash. */
import type { Vote } from './log-selection.ts';

export type Headers = readonly (Uint8Array | null)[];

/** One operation in a replica's memory. */
export interface Entry {
  readonly header: Uint8Array;
  /** The prepare is here, or on its way to disk. */
  hasBody: boolean;
  isClean: boolean;
}

export class Replica {
  readonly index: number;
  isUp: boolean = true;
  /** Durable the moment they are set. */
  view: number = 0;
  logView: number = 0;
  /** What the superblock has of the log: of the view's beginning, or as said in the view change. */
  told: { op: number; headers: Headers };
  commitSaved: number = 0;
  readonly disk: Map<number, { readonly header: Uint8Array; isBad: boolean }> = new Map();
  /** Volatile. */
  status: 'normal' | 'change' | 'uncertain' = 'normal';
  log: Map<number, Entry> = new Map();
  faulty: Set<number> = new Set();
  head: number = 0;
  commit: number = 0;
  bornAt: number = 0;
  /** Has chosen a log, and breaks the rule that its log view moves at once. */
  isLate: boolean = false;
  readonly votes: Map<number, Vote> = new Map();
  readonly oks: Map<Uint8Array, Set<number>> = new Map();

  constructor(index: number, root: Uint8Array) {
    this.index = index;
    this.told = { op: 0, headers: [root] };
    this.disk.set(0, { header: root, isBad: false });
    this.log.set(0, { header: root, hasBody: true, isClean: true });
  }

  /** Has chosen the log of its view and does not lead yet. */
  get isBeginning(): boolean {
    return this.status === 'change' && (this.logView === this.view || this.isLate);
  }
}
