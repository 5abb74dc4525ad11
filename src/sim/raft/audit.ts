/**
 * Listens to everything that the members of a Raft cluster say to each other, and reads their files
 * while they say it. It knows Raft's rules and nothing of how a member keeps them:
 *
 * - a term has one leader, in one life; a vote is given once in a term, and to one who has as much;
 * - nothing is said in a term, no vote given and no entry acknowledged, that a power cut at this
 *   very moment would undo;
 * - two entries with the same index and term are the same, and so is all before them;
 * - a leader has everything that was called committed in an older term;
 * - what is called committed for the first time lies in the files of a majority, and is not only
 *   counted there as something of an older term;
 * - what machines do is what the committed log says, for each request once.
 */
import type {
  AppendReply,
  AppendRequest,
  InstallSnapshotReply,
  InstallSnapshotRequest,
  Msg,
  VoteReply,
  VoteRequest,
} from '../../raft/index.ts';
import type { AuditParts, ClusterAudit } from '../checks/cluster-audit.ts';
import type { Explanation } from '../checks/order-audit.ts';
import { check } from '../world/failure.ts';
import { Committed, INDEX_FIRST } from './committed.ts';
import { lastIndex, memberOf, RaftFiles, type ReadContent, termAt } from './files.ts';
import { Promises } from './promises.ts';
import { Requests } from './requests.ts';
import { SeenLog } from './seen.ts';
import { RaftWire } from './wire.ts';

type What = () => string;

/** Who says something, and how a failure calls it. */
interface Speech {
  readonly from: number;
  readonly to: number;
  readonly life: number;
  readonly what: What;
}

export class RaftAudit implements ClusterAudit {
  readonly #parts: AuditParts;
  readonly #wire: RaftWire = new RaftWire();
  readonly #files: RaftFiles;
  readonly #promises: Promises;
  readonly #seen: SeenLog = new SeenLog();
  readonly #committed: Committed;
  readonly #requests: Requests;
  /** Lives begun, as far as looked at. */
  readonly #lives: number[];

  constructor(parts: AuditParts, readContent: ReadContent) {
    this.#parts = parts;
    this.#files = new RaftFiles(parts, readContent);
    this.#promises = new Promises(parts.replicaCount);
    this.#committed = new Committed(this.#seen);
    this.#requests = new Requests(this.#committed);
    this.#lives = new Array<number>(parts.replicaCount).fill(0);
  }

  onSend(from: number, life: number, to: number, bytes: Uint8Array): void {
    const heard = this.#wire.hear(from, to, bytes);
    if (heard === null) return;
    const { message } = heard;
    this.onMessage(from, life, to, message);
  }

  /** `message` leaves. */
  onMessage(from: number, life: number, to: number, message: Msg<Uint8Array>): void {
    const { coverage } = this.#parts.world;
    if (!('term' in message)) return;
    const what = (): string => `r${from} ${message.type} to r${to} in term ${message.term}`;
    const speech: Speech = { from, to, life, what };
    if (this.#promises.speaks(from, message.term, what)) coverage.add('termsSeen');
    this.#checkTerm(from, message.term, what);
    switch (message.type) {
      case 'append-request':
        this.#onAppend(speech, message);
        break;
      case 'append-reply':
        this.#onAck(speech, message);
        break;
      case 'vote-request':
        if (!message.isPreVote) this.#onCandidate(speech, message);
        break;
      case 'vote-reply':
        this.#onVote(speech, message);
        break;
      case 'install-snapshot-request':
        this.#onSnapshot(speech, message);
        break;
      case 'install-snapshot-reply':
        this.#onInstalled(speech, message);
        break;
      default:
        // Nothing is promised.
        break;
    }
  }

  /** A new life begins with what was promised in those before. */
  onStepped(replica: number, life: number): void {
    if (this.#parts.replicaCount === 1) this.#lookAtFile(replica);
    if (this.#lives[replica] === life) return;
    this.#lives[replica] = life;
    if (life === 1) return;
    const what = (): string => `r${replica} begins life ${life}`;
    const state = this.#files.now(replica);
    const { term, vote, commitIndex } = state;
    const promised = this.#promises.term(replica);
    check(term >= promised, 'view', () => `${what()} in term ${term}, it spoke in ${promised}`);
    const given = this.#promises.voteOf(replica, term);
    check(given === null || given === vote, 'view', () => {
      return `${what()} with a vote for r${vote} in term ${term}, it was given to r${given}`;
    });
    this.#committed.checkFile(state, (index) => index <= commitIndex, what);
  }

  /** Noops and configurations; requests that came a second time, or without a session. */
  explains(op: number): Explanation | null {
    if (op === INDEX_FIRST || this.#requests.effect(op) === 'nothing') return 'nothing';
    return this.#requests.isRegisteredAgain(op) ? 'registered-again' : null;
  }

  finish(): void {
    const { replicaCount, history } = this.#parts;
    for (let replica = 0; replica < replicaCount; replica++) {
      const what = (): string => `r${replica} at the end`;
      const state = this.#files.now(replica);
      const promised = this.#promises.term(replica);
      check(state.term >= promised, 'view', () => `${what()}: term ${state.term} of ${promised}`);
      check(lastIndex(state) >= this.#committed.max, 'lost-operation', () => {
        return `${what()}: its log ends at ${lastIndex(state)}, committed is ${this.#committed.max}`;
      });
      this.#committed.checkFile(state, () => true, what);
    }
    this.#requests.check(history);
  }

  /** Who is alone tells nobody anything: what is durable is committed. */
  #lookAtFile(replica: number): void {
    const state = this.#files.durable(replica);
    if (lastIndex(state) <= this.#committed.max) return;
    const what = (): string => `r${replica}, alone, in term ${state.term}`;
    for (const entry of state.entries) this.#seen.add(entry, null, what);
    this.#committed.advance({
      index: lastIndex(state),
      term: state.term,
      files: [state],
      quorum: 1,
      told: () => null,
      what,
    });
  }

  #onAppend(speech: Speech, request: AppendRequest<Uint8Array>): void {
    const { what } = speech;
    const { term, prevIndex, prevTerm, entries, leaderCommit } = request;
    this.#onLeader(speech, term);
    let before = prevTerm;
    if (prevIndex > INDEX_FIRST) this.#tells(term, prevIndex, prevTerm, what);
    for (const entry of entries) {
      this.#seen.add(entry, before, what);
      this.#tells(term, entry.index, entry.term, what);
      before = entry.term;
    }
    this.#promises.commits(term, leaderCommit);
    if (leaderCommit <= this.#committed.max) return;
    this.#advance(term, leaderCommit, what);
    // What it knew before it led counts; else it has counted what it must not.
    const known = this.#promises.commitFirst(term) ?? leaderCommit;
    const isRightly = this.#committed.term(leaderCommit) >= term || known >= leaderCommit;
    check(isRightly, 'not-durable', () => {
      const entryTerm = this.#committed.term(leaderCommit);
      return `${what()}: entry ${leaderCommit} of term ${entryTerm} is committed by being counted`;
    });
  }

  #onLeader({ from, life, what }: Speech, term: number): void {
    if (!this.#promises.leads(from, term, life, what)) return;
    this.#parts.world.coverage.add('leadersHeard');
    const state = this.#files.durable(from);
    const isOwn = state.term > term || state.vote === from;
    check(isOwn, 'view', () => `${what()}: leads, and its file says it voted for r${state.vote}`);
    const isBound = (index: number): boolean => this.#committed.calledIn(index) < term;
    this.#committed.checkFile(state, isBound, what);
  }

  /** The leader of `term` has this in its log: nothing that contradicts what is committed. */
  #tells(term: number, index: number, entryTerm: number, what: What): void {
    this.#promises.tells(term, index, entryTerm, what);
    if (index > this.#committed.max || this.#committed.calledIn(index) >= term) return;
    const committed = this.#committed.term(index);
    check(entryTerm === committed, 'lost-operation', () => {
      return `${what()}: entry ${index} is of term ${entryTerm}, committed was one of ${committed}`;
    });
  }

  /** `index` is called committed for the first time. */
  #advance(term: number, index: number, what: What): void {
    const { replicaCount, quorum } = this.#parts;
    const files = Array.from({ length: replicaCount }, (_, member) => this.#files.durable(member));
    // Nobody has told others yet what only a file holds.
    for (const entry of files.flatMap((file) => file.entries)) {
      if (entry.index > this.#committed.max) this.#seen.add(entry, null, what);
    }
    const told = (at: number): number | null => this.#promises.told(term, at);
    this.#committed.advance({ index, term, files, quorum, told, what });
  }

  #onAck({ from, what }: Speech, reply: AppendReply): void {
    if (reply.result !== 'ok') return;
    const { coverage } = this.#parts.world;
    const last = reply.prevIndex + reply.entryCount;
    if (reply.entryCount > 0) coverage.add('acks');
    const told = this.#promises.told(reply.term, last);
    this.#checkHolds(from, last, told, what);
  }

  #onCandidate({ from, what }: Speech, request: VoteRequest): void {
    const { term, lastIndex: index, lastTerm } = request;
    this.#promises.votes(from, term, from, what);
    this.#checkVote(from, term, from, what);
    this.#checkHolds(from, index, lastTerm, what);
  }

  #onVote({ from, to, what }: Speech, reply: VoteReply): void {
    const { coverage } = this.#parts.world;
    if (memberOf(reply.vote) !== to) return;
    coverage.add(reply.isPreVote ? 'preVotesGiven' : 'votesGiven');
    if (reply.isPreVote) return;
    this.#promises.votes(from, reply.term, to, what);
    this.#checkVote(from, reply.term, to, what);
  }

  #onSnapshot(speech: Speech, request: InstallSnapshotRequest<Uint8Array>): void {
    const { from, what } = speech;
    const { term, snapshot } = request;
    this.#onLeader(speech, term);
    const { index } = snapshot;
    if (index > this.#committed.max) this.#advance(term, index, what);
    if (index === INDEX_FIRST) return;
    const committed = this.#committed.term(index);
    check(committed === snapshot.term, 'fork', () => {
      return `${what()}: a snapshot to ${index} in term ${snapshot.term}, committed is ${committed}`;
    });
    this.#checkHolds(from, index, snapshot.term, what);
  }

  #onInstalled({ from, what }: Speech, reply: InstallSnapshotReply): void {
    this.#checkHolds(from, reply.lastIndex, reply.lastTerm, what);
  }

  /** A power cut now leaves the entry at `index` in the file; `entryTerm` null: any term. */
  #checkHolds(replica: number, index: number, entryTerm: number | null, what: What): void {
    if (index <= INDEX_FIRST) return;
    const found = termAt(this.#files.durable(replica), index);
    if (found === 'covered') return;
    check(found !== null, 'not-durable', () => {
      const end = lastIndex(this.#files.durable(replica));
      return `${what()}: speaks for entry ${index}, a power cut would leave ${end}`;
    });
    check(entryTerm === null || entryTerm === found, 'not-durable', () => {
      return `${what()}: speaks for entry ${index} of term ${entryTerm}, its file has term ${found}`;
    });
  }

  #checkTerm(replica: number, term: number, what: What): void {
    if (this.#files.termKnown(replica) >= term) return;
    const state = this.#files.durable(replica);
    check(state.term >= term, 'view', () => `${what()}: its file is in term ${state.term}`);
  }

  #checkVote(replica: number, term: number, candidate: number, what: What): void {
    const state = this.#files.durable(replica);
    const isKept = state.term > term || state.vote === candidate;
    check(isKept, 'view', () => `${what()}: its file says r${state.vote} in term ${state.term}`);
  }
}
