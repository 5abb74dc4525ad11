/**
 * Who leads, as clients and admission see it. A Raft leader is in office here when its first entry
 * is committed and executed: then it has executed all that was ever acknowledged, knows every
 * session, and nothing in its log is unknown to it.
 *
 * Clients find the leader by a view: term × number of replicas + index of the leader. It only goes
 * up, since a term has one leader at most.
 */
import type { Author } from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';
import type { ReplicaParts } from './parts.ts';

/** The view's field in a header has 32 bits. */
const VIEW_MAX = 0xffff_ffff;

export class Office {
  readonly replicaCount: number;
  readonly replica: number;
  /** While another could lead, what this replica may not do itself is held for it. */
  readonly isSolo: boolean = false;
  readonly #parts: ReplicaParts;
  readonly #release: number;
  #isReady: boolean = false;
  #isOpen: boolean = false;
  /** The term in which this replica was found to be established, and up to where that went. */
  #term: number = 0;
  #index: number = 0;
  #view: number = 0;
  /** The leader that requests were passed on to, and its term. */
  #followed: string = '';

  constructor(parts: ReplicaParts, release: number) {
    this.#parts = parts;
    this.replica = parts.head.replica;
    this.replicaCount = parts.head.replicaCount;
    this.#release = release;
  }

  /** Leads, and serves. */
  get isNormalPrimary(): boolean {
    return this.#isOpen;
  }

  /** Follows a leader that it knows. */
  get isNormalBackup(): boolean {
    const leader = this.#leader;
    return this.#isReady && leader !== null && leader !== this.replica;
  }

  get status(): 'recovering' | 'normal' {
    return this.#isReady ? 'normal' : 'recovering';
  }

  /** Index of the replica that leads, or did when one was last heard of. */
  get primary(): number {
    return this.#leader ?? this.#view % this.replicaCount;
  }

  get view(): number {
    return this.#view;
  }

  authorToClients(): Author {
    const { cluster, replica } = this.#parts.head;
    return { cluster, view: this.#view, replica, release: this.#release };
  }

  /** Somebody waits here for what is under way at the leader. */
  expedite(): void {
    this.#parts.core.push({ type: 'expedite' });
  }

  /** What this replica has executed at open says of views. */
  ready(): void {
    this.#isReady = true;
    this.#raise(this.#parts.state.view);
  }

  /** Something may have changed: takes office, leaves it, turns to another leader. */
  update(): void {
    if (!this.#isReady) return;
    const { member, leader, commits } = this.#parts.core.inside;
    const index = this.#leader;
    if (index !== null) this.#raise(viewOf(member.term, index, this.replicaCount));
    if (this.#isOpen && !(member.isLeader && member.term === this.#term)) this.#close();
    if (member.isLeader) {
      if (member.term !== this.#term && leader.isEstablished) {
        this.#term = member.term;
        this.#index = commits.index;
      }
      const isComplete = this.#parts.state.commitMin >= this.#index;
      if (!this.#isOpen && member.term === this.#term && isComplete) this.#open();
      return;
    }
    this.#follow(index, member.term);
  }

  invariants(): void {
    if (!this.#isOpen) return;
    const { member } = this.#parts.core.inside;
    assert(this.#isReady, 'Office: serves without having recovered');
    assert(member.isLeader && member.term === this.#term, 'Office: serves without leading');
    assert(this.#parts.state.commitMin >= this.#index, 'Office: has not executed everything');
  }

  get #leader(): number | null {
    const leader = this.#parts.core.leader;
    return leader === null ? null : Number(leader);
  }

  #open(): void {
    const { outbox, primary, admission, heldRequests } = this.#parts;
    this.#isOpen = true;
    outbox.trace('info', 'primary', { view: this.#view, op: this.#index });
    primary.open();
    admission.redirectClients();
    heldRequests.onOffice();
  }

  #close(): void {
    const { primary, admission, outbox } = this.#parts;
    this.#isOpen = false;
    outbox.trace('info', 'office-lost', { view: this.#view });
    primary.close();
    admission.onOfficeLost();
  }

  #follow(leader: number | null, term: number): void {
    if (leader === null) return;
    const followed = `${term} ${leader}`;
    if (followed === this.#followed) return;
    this.#followed = followed;
    this.#parts.heldRequests.onFollow();
  }

  #raise(view: number): void {
    this.#view = Math.max(this.#view, Math.min(view, VIEW_MAX));
  }
}

export function viewOf(term: number, leader: number, replicaCount: number): number {
  return term * replicaCount + leader;
}
