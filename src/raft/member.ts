/**
 * What this server is: its role, its term and vote, who leads, and whether it belongs to the
 * cluster. Term and vote are written down the moment they change; what speaks of them waits for the
 * disk.
 */
import { assert } from '../stdx/index.ts';
import type { ServerId } from './entry.ts';
import type { Parts } from './parts.ts';

export type Role = 'follower' | 'candidate' | 'leader';

/**
 * `joining`: takes entries and votes, gives nothing to the machine, starts no election. `leaving`:
 * a full member that has asked to be removed. `left`, `failed`: does nothing any more.
 */
export type Phase = 'joining' | 'member' | 'leaving' | 'left' | 'failed';

export class Member<T> {
  readonly id: ServerId;
  readonly address: string;
  readonly #parts: Parts<T>;
  #role: Role = 'follower';
  #phase: Phase = 'member';
  #term: number = 0;
  #vote: ServerId | null = null;
  #leader: ServerId | null = null;
  /** A leader was known since the last election began, and ever. */
  #hadLeader: boolean = false;
  #everHadLeader: boolean = false;
  /** The second election in a row without a leader in between. */
  #isRetrying: boolean = false;

  constructor(parts: Parts<T>, id: ServerId, address: string) {
    this.#parts = parts;
    this.id = id;
    this.address = address;
  }

  get role(): Role {
    return this.#role;
  }

  get isLeader(): boolean {
    return this.#role === 'leader';
  }

  get phase(): Phase {
    return this.#phase;
  }

  get isJoining(): boolean {
    return this.#phase === 'joining';
  }

  /** Left or failed: says and does nothing. */
  get isStopped(): boolean {
    return this.#phase === 'left' || this.#phase === 'failed';
  }

  get term(): number {
    return this.#term;
  }

  get vote(): ServerId | null {
    return this.#vote;
  }

  /** Who leads the current term, as far as known. */
  get leader(): ServerId | null {
    return this.#leader;
  }

  /** For clients: part of a cluster that has or had a leader and is not looking for one in vain. */
  get isConnected(): boolean {
    return this.#phase === 'member' && this.#everHadLeader && !this.#isRetrying;
  }

  open(term: number, vote: ServerId | null, isJoining: boolean): void {
    this.#term = term;
    this.#vote = vote;
    this.#phase = isJoining ? 'joining' : 'member';
  }

  /** A newer term, in which nobody has this server's vote yet. */
  enterTerm(term: number): void {
    assert(term > this.#term, 'Member: the term goes back');
    this.#term = term;
    this.#vote = null;
    this.#parts.storage.writeTerm({ type: 'term', term });
  }

  /** A newer term in which this server stands for election itself. */
  enterTermAsCandidate(): void {
    this.#term++;
    this.#vote = this.id;
    this.#parts.storage.writeTerm({ type: 'vote', term: this.#term, vote: this.id });
  }

  giveVote(candidate: ServerId): void {
    assert(this.#vote === null, 'Member: a second vote in one term');
    this.#vote = candidate;
    this.#parts.storage.writeTerm({ type: 'vote', term: this.#term, vote: candidate });
  }

  becomeFollower(): void {
    this.#role = 'follower';
    this.#leader = null;
  }

  /** `isFresh`: not the real vote after its own pre-vote, which belongs to the same attempt. */
  becomeCandidate(isFresh: boolean): void {
    this.#role = 'candidate';
    this.#leader = null;
    if (!isFresh) return;
    this.#isRetrying = !this.#hadLeader;
    this.#hadLeader = false;
  }

  becomeLeader(): void {
    assert(this.#role === 'candidate', 'Member: leads without election');
    this.#role = 'leader';
    this.#setLeader(this.id);
  }

  follow(leader: ServerId): void {
    assert(this.#role !== 'leader', 'Member: two leaders in one term');
    this.#role = 'follower';
    if (this.#leader !== leader) {
      this.#parts.storage.note({ type: 'leader', term: this.#term, leader });
    }
    this.#setLeader(leader);
  }

  /** The leader is known to be gone. */
  forgetLeader(): void {
    this.#leader = null;
  }

  joined(): void {
    assert(this.#phase === 'joining', 'Member: joined twice');
    this.#phase = 'member';
  }

  leave(): void {
    assert(this.#phase === 'member', 'Member: leaves without being in');
    this.#phase = 'leaving';
  }

  stop(phase: 'left' | 'failed'): void {
    this.#phase = phase;
    this.#role = 'follower';
    this.#leader = null;
  }

  invariants(): void {
    assert(this.#role !== 'leader' || this.#leader === this.id, 'Member: leads for another');
    assert(this.#role !== 'candidate' || this.#leader === null, 'Member: candidate with a leader');
  }

  #setLeader(leader: ServerId): void {
    this.#leader = leader;
    this.#hadLeader = true;
    this.#everHadLeader = true;
    this.#isRetrying = false;
  }
}
