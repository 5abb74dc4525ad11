/**
 * What this replica is at the moment: its status, its view, and the view its log belongs to. The
 * numbers here may run ahead of the superblock by the time of one write; what depends on their
 * being durable asks for that.
 *
 * `logView` is the last view in which this replica took over a log: as primary the moment it has
 * chosen it, as backup when the primary's StartView arrived.
 */
import { assert } from '../stdx/index.ts';
import type { Author } from './message.ts';
import type { SuperblockStore } from './superblock.ts';
import { type Quorums, quorumsOf } from './view-change/quorums.ts';

/**
 * `recovering`: opening its file. `recovering-head`: the end of its log is uncertain; waits for a
 * primary to tell, answers repairs, does not vote.
 */
export type Status = 'recovering' | 'normal' | 'view-change' | 'recovering-head';

export class Member {
  readonly replica: number;
  readonly replicaCount: number;
  readonly quorums: Quorums;
  readonly #superblock: SuperblockStore;
  readonly #release: number;
  #status: Status = 'recovering';
  #view: number;
  #logView: number;

  constructor(superblock: SuperblockStore, release: number) {
    const { replica, replicaCount, view, logView } = superblock.current;
    this.replica = replica;
    this.replicaCount = replicaCount;
    this.quorums = quorumsOf(replicaCount);
    this.#superblock = superblock;
    this.#release = release;
    this.#view = view;
    this.#logView = logView;
  }

  get status(): Status {
    return this.#status;
  }

  get view(): number {
    return this.#view;
  }

  get logView(): number {
    return this.#logView;
  }

  get isSolo(): boolean {
    return this.replicaCount === 1;
  }

  /** The replica that leads the current view. */
  get primary(): number {
    return this.#view % this.replicaCount;
  }

  /** This replica leads the current view, whatever its status. */
  get isPrimary(): boolean {
    return this.primary === this.replica;
  }

  get isNormal(): boolean {
    return this.#status === 'normal';
  }

  get isNormalPrimary(): boolean {
    return this.isNormal && this.isPrimary;
  }

  get isNormalBackup(): boolean {
    return this.isNormal && !this.isPrimary;
  }

  /** The view survives a crash, so others may hear of it. */
  get isViewDurable(): boolean {
    return this.#superblock.current.view >= this.#view;
  }

  /** That the log belongs to its view survives a crash, so it may be acknowledged and announced. */
  get isLogViewDurable(): boolean {
    return this.#superblock.current.logView >= this.#logView;
  }

  primaryOf(view: number): number {
    return view % this.replicaCount;
  }

  /** Of messages that replicas see: the view is the current one, which must be durable. */
  author(): Author {
    assert(this.isViewDurable, 'Member: speaks in a view that a crash would undo');
    return this.#author(this.#view);
  }

  /** Of messages that may leave at any time, to clients or as pings: the last durable view. */
  authorDurable(): Author {
    return this.#author(this.#superblock.current.view);
  }

  /** Of messages to clients, which must only hear of views that have begun. */
  authorToClients(): Author {
    return this.#author(this.#superblock.current.logView);
  }

  /** Takes over a log: normal in `view`, whose log this is. */
  enterNormal(view: number): void {
    assert(view >= this.#view, 'Member: view goes back');
    this.#view = view;
    this.#logView = view;
    this.#status = 'normal';
  }

  enterViewChange(view: number): void {
    assert(view >= this.#view, 'Member: view goes back');
    this.#view = view;
    this.#status = 'view-change';
  }

  /** The primary-to-be has chosen the log of its view. */
  enterLogView(): void {
    assert(this.#status === 'view-change' && this.isPrimary, 'Member: not the primary-to-be');
    this.#logView = this.#view;
  }

  enterRecoveringHead(): void {
    assert(this.#status === 'recovering', 'Member: recovered already');
    this.#status = 'recovering-head';
  }

  invariants(): void {
    assert(this.#view >= this.#logView, 'Member: log view above the view');
    assert(!this.isNormal || this.#view === this.#logView, 'Member: normal with an older log');
    const { view, logView } = this.#superblock.current;
    assert(view <= this.#view && logView <= this.#logView, 'Member: the superblock is ahead');
  }

  #author(view: number): Author {
    const { cluster } = this.#superblock.current;
    return { cluster, view, replica: this.replica, release: this.#release };
  }
}
