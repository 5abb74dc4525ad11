/**
 * A cluster reduced to what matters for the choice of a log: replicas append, acknowledge what is
 * durable, crash and lose what is not, leave views and begin new ones with the function under test.
 * Messages are lost, late and out of order; writes are torn; what was durable rots. It knows which
 * operations were committed, and says when a new view begins without one of them.
 */
import { PIPELINE_MAX } from '../../engine/index.ts';
import type { Prng } from '../../stdx/index.ts';
import { readView } from '../../wire/index.ts';
import { Oracle, opOf, type Selected } from './history-oracle-test-helper.ts';
import { type Headers, Replica } from './history-replica-test-helper.ts';
import type { Selection, selectLog, Vote } from './log-selection.ts';
import { type Quorums, quorumsOf } from './quorums.ts';
import { voteProblem } from './vote-codec.ts';

export type Select = typeof selectLog;

interface Message {
  readonly to: number;
  readonly view: number;
  readonly sentAt: number;
  readonly content:
    | { readonly kind: 'prepare'; readonly header: Uint8Array; readonly commit: number }
    | { readonly kind: 'ok'; readonly from: number; readonly header: Uint8Array }
    | { readonly kind: 'leave' }
    | { readonly kind: 'vote'; readonly vote: Vote }
    | { readonly kind: 'start'; readonly headers: readonly Uint8Array[]; readonly commit: number };
}

export interface HistoryCounts {
  /** Logs chosen, and operations that were cut off by them. */
  views: number;
  cut: number;
  undecided: number;
  decided: number;
}

/** Rules of the protocol that a history breaks, to show that it notices. */
export type Breach = (typeof BREACHES)[number];
export const BREACHES = [
  'the log view moves only when the new primary leads',
  'what is lost is denied',
  'a restarted primary goes on',
  'what is not durable is acknowledged',
  'what was cut off comes back after a crash',
] as const;

export class History {
  readonly #prng: Prng;
  /** How rarely something bad happens. */
  readonly #calm: number;
  readonly #select: Select;
  readonly #breach: Breach | null;
  readonly #quorums: Quorums;
  readonly #oracle: Oracle;
  readonly #replicas: readonly Replica[];
  #messages: Message[] = [];
  #time: number = 0;
  /** Op → replicas whose disks may have lost it. */
  readonly #rotten: Map<number, Set<number>> = new Map();
  get committed(): number {
    return this.#oracle.committed;
  }

  readonly counts: HistoryCounts = { views: 0, cut: 0, undecided: 0, decided: 0 };

  constructor(replicaCount: number, prng: Prng, select: Select, breach: Breach | null = null) {
    this.#prng = prng;
    this.#calm = prng.pick([1, 2, 4, 8]);
    this.#select = select;
    this.#breach = breach;
    this.#quorums = quorumsOf(replicaCount);
    this.#oracle = new Oracle(this.#quorums.replication);
    const root = this.#oracle.invent(0, 0, 0, new Uint8Array(16));
    this.#replicas = Array.from({ length: replicaCount }, (_, i) => new Replica(i, root));
  }

  /** Something happens; then every possible choice is looked at. Throws when something is wrong. */
  step(): void {
    const prng = this.#prng;
    const replica = prng.pick(this.#replicas);
    this.#time++;
    const action = prng.below(42);
    if (action < 16) for (let i = prng.below(5); i > 0; i--) this.#deliver();
    else if (action < 24) this.#request();
    else if (action < 32) this.#finishWrites(replica);
    else if (action < 34) this.#repair(replica);
    else if (action === 34) this.#restart(replica);
    else if (action === 35) this.#resend(replica);
    else if (action < 38) this.#begin(replica);
    else if (prng.chance(1, this.#calm)) {
      if (action === 38) this.#crash(replica);
      else if (action === 39) this.#rot(replica);
      else this.#leave(replica, replica.view + 1);
    }
    if (prng.chance(1, 4)) this.#tryEverything();
  }

  #primary(view: number): Replica {
    return this.#replicas[view % this.#replicas.length]!;
  }

  #send(from: Replica, to: number, content: Message['content']): void {
    if (to === from.index || this.#prng.chance(1, 8)) return;
    this.#messages.push({ to, view: from.view, sentAt: this.#time, content });
    if (this.#messages.length > 60) this.#messages.shift();
  }

  #broadcast(from: Replica, content: Message['content']): void {
    for (const { index } of this.#replicas) this.#send(from, index, content);
  }

  #deliver(): void {
    if (this.#messages.length === 0) return;
    const at = this.#prng.below(Math.min(this.#messages.length, 12));
    const message = this.#messages[at]!;
    if (!this.#prng.chance(1, 10)) this.#messages.splice(at, 1);
    const replica = this.#replicas[message.to]!;
    const { view, content } = message;
    if (!replica.isUp || view < replica.view) return;
    if (content.kind === 'start') this.#onStart(replica, message);
    if (replica.status === 'uncertain') return;
    const isCall = content.kind === 'leave' || content.kind === 'vote';
    if (isCall && view > replica.view) this.#leave(replica, view);
    if (content.kind === 'vote') this.#onVote(replica, content.vote);
    if (view !== replica.view) return;
    if (content.kind === 'prepare') this.#onPrepare(replica, content.header, content.commit);
    if (content.kind === 'ok') this.#onOk(replica, content.from, content.header);
  }

  #request(): void {
    const primary = this.#prng.pick(this.#replicas);
    const isLeading = primary.isUp && primary.status === 'normal';
    if (!isLeading || this.#primary(primary.view) !== primary) return;
    if (primary.head - primary.commit >= PIPELINE_MAX) return;
    const parent = primary.log.get(primary.head)?.header;
    if (parent === undefined) return;
    const header = this.#oracle.invent(primary.head + 1, primary.view, primary.commit, parent);
    primary.head++;
    primary.log.set(primary.head, { header, hasBody: true, isClean: false });
    this.#broadcast(primary, { kind: 'prepare', header, commit: primary.commit });
  }

  #onPrepare(replica: Replica, header: Uint8Array, commit: number): void {
    if (replica.status !== 'normal') return;
    replica.commit = Math.max(replica.commit, commit);
    const op = opOf(header);
    if (op > replica.head) replica.head = op;
    const entry = replica.log.get(op);
    if (readView(header) !== replica.logView || entry?.header === header) return;
    this.#place(replica, header, true);
  }

  #onOk(primary: Replica, from: number, header: Uint8Array): void {
    if (primary.status !== 'normal' || this.#primary(primary.view) !== primary) return;
    const oks = primary.oks.get(header) ?? new Set();
    primary.oks.set(header, oks.add(from));
    for (;;) {
      const next = primary.log.get(primary.commit + 1);
      if (next === undefined || primary.commit === primary.head) return;
      if ((primary.oks.get(next.header)?.size ?? 0) < this.#quorums.replication) return;
      primary.commit++;
    }
  }

  #finishWrites(replica: Replica): void {
    if (!replica.isUp) return;
    for (const [op, entry] of replica.log) {
      if (entry.isClean || !entry.hasBody || this.#prng.chance(1, 2)) continue;
      replica.disk.set(op, { header: entry.header, isBad: false });
      this.#rotten.get(op)?.delete(replica.index);
      entry.isClean = true;
      replica.faulty.delete(op);
      this.#acknowledge(replica, op);
    }
  }

  #acknowledge(replica: Replica, op: number): void {
    const entry = replica.log.get(op);
    const isFree = replica.status === 'normal' && replica.logView === replica.view;
    const isRash = this.#breach === 'what is not durable is acknowledged';
    if (!isFree || entry === undefined || op > replica.head) return;
    if (!entry.isClean && !isRash) return;
    if (!this.#isCanonical(replica, op)) return;
    const { header } = entry;
    const primary = this.#primary(replica.view);
    if (primary === replica) this.#onOk(primary, replica.index, header);
    this.#send(replica, primary.index, { kind: 'ok', from: replica.index, header });
    this.#oracle.acknowledge(header, replica.view, replica.index);
  }

  /** The header at an op below the head, or at it, as far as the head is known. */
  #truth(replica: Replica, op: number): Uint8Array | undefined {
    const head = replica.log.get(replica.head);
    return head === undefined ? undefined : this.#oracle.ancestor(head.header, op);
  }

  #isCanonical(replica: Replica, op: number): boolean {
    const entry = replica.log.get(op);
    return entry !== undefined && entry.header === this.#truth(replica, op);
  }

  #place(replica: Replica, header: Uint8Array, hasBody: boolean): void {
    const op = opOf(header);
    const entry = replica.log.get(op);
    if (entry?.header === header) {
      entry.hasBody ||= hasBody;
      return;
    }
    // What was lost there may have been this very operation.
    if (entry !== undefined) replica.faulty.delete(op);
    replica.log.set(op, { header, hasBody, isClean: false });
  }

  /** An operation that is missing comes from whoever has it. */
  #repair(replica: Replica): void {
    if (!replica.isUp || !(replica.status === 'normal' || replica.isBeginning)) return;
    for (let op = replica.head; op >= 0; op--) {
      const header = this.#truth(replica, op);
      if (header === undefined) return;
      const entry = replica.log.get(op);
      if ((entry?.header === header && entry.hasBody) || this.#prng.chance(1, 3)) continue;
      if (!this.#canGet(header)) continue;
      this.#place(replica, header, true);
      return;
    }
  }

  #canGet(header: Uint8Array): boolean {
    return this.#replicas.some((replica) => {
      const entry = replica.log.get(opOf(header));
      return replica.isUp && entry?.header === header && entry.hasBody;
    });
  }

  #leave(replica: Replica, view: number): void {
    if (!replica.isUp || replica.status === 'uncertain' || view <= replica.view) return;
    if (replica.logView === replica.view || replica.isLate) replica.told = this.#account(replica);
    replica.isLate = false;
    replica.view = view;
    replica.status = 'change';
    replica.votes.clear();
    replica.oks.clear();
    replica.commitSaved = replica.commit;
    this.#broadcast(replica, { kind: 'leave' });
    this.#castVote(replica);
  }

  /** What the replica says of its log from now on until it has another. */
  #account(replica: Replica): { op: number; headers: Headers } {
    const { told } = replica;
    const op = Math.max(replica.head, told.op);
    const headers: (Uint8Array | null)[] = [];
    for (let at = op; at >= 0 && headers.length <= PIPELINE_MAX; at--) {
      const entry = this.#isCanonical(replica, at) ? replica.log.get(at)!.header : null;
      headers.push(entry ?? told.headers[told.op - at] ?? null);
      if (at <= replica.commit) break;
    }
    return { op, headers };
  }

  #voteOf(replica: Replica, told: { op: number; headers: Headers }): Vote {
    let present = 0;
    let nack = 0;
    told.headers.forEach((header, i) => {
      const entry = replica.log.get(told.op - i);
      const isFaulty = replica.faulty.has(told.op - i);
      const isDenied = !isFaulty || this.#breach === 'what is lost is denied';
      if (entry === undefined) nack |= isDenied ? 1 << i : 0;
      else if (header !== null && entry.header !== header) nack |= 1 << i;
      else if (header !== null) {
        present |= entry.hasBody ? 1 << i : 0;
        nack |= entry.isClean || isFaulty ? 0 : 1 << i;
      }
    });
    const { index, logView, commit } = replica;
    const commitMin = Math.min(replica.commitSaved, told.op);
    const numbers = { replica: index, logView, op: told.op, commitMin, commitMax: commit };
    return { ...numbers, checkpointOp: 0, headers: told.headers, present, nack };
  }

  #castVote(replica: Replica): void {
    const vote = this.#voteOf(replica, replica.told);
    const problem = voteProblem(vote);
    if (problem !== null) throw new Error(`history: ${problem}`);
    const primary = this.#primary(replica.view);
    if (primary === replica) this.#onVote(replica, vote);
    else this.#send(replica, primary.index, { kind: 'vote', vote });
  }

  #onVote(primary: Replica, vote: Vote): void {
    if (this.#primary(primary.view) !== primary || primary.status !== 'change') return;
    if (primary.isBeginning) return;
    primary.votes.set(vote.replica, vote);
    const votes = [...primary.votes.values()];
    for (let bits = 1; bits < 1 << votes.length; bits++) {
      const some = votes.filter((_, i) => ((bits >> i) & 1) !== 0);
      this.#oracle.check(this.#choose(some), primary.view);
    }
    const selection = this.#choose(votes);
    if (selection.kind === 'selected' && this.#prng.chance(2, 3)) this.#install(primary, selection);
  }

  #choose(votes: readonly Vote[]): Selection {
    return this.#select(votes, this.#quorums, this.#replicas.length);
  }

  #install(primary: Replica, selection: Selected): void {
    this.#oracle.begin(primary.view, selection);
    this.counts.views++;
    const { logView } = primary;
    this.#takeOver(primary, selection.headers, selection.commitMax);
    if (this.#breach === 'the log view moves only when the new primary leads') {
      primary.logView = logView;
      primary.isLate = true;
    }
  }

  /** The log of `replica.view` from now on. */
  #takeOver(replica: Replica, headers: readonly Uint8Array[], commit: number): void {
    const op = opOf(headers[0]!);
    for (let gone = replica.head; gone > op; gone--) {
      if (replica.log.delete(gone)) this.counts.cut++;
      replica.faulty.delete(gone);
    }
    for (const header of headers) this.#place(replica, header, false);
    replica.head = op;
    replica.commit = Math.max(replica.commit, commit);
    replica.logView = replica.view;
    replica.isLate = false;
    replica.told = { op, headers };
    replica.commitSaved = replica.commit;
    replica.votes.clear();
    replica.oks.clear();
  }

  /** Leads, if it has everything that is not committed; tells its log, if it knows the headers. */
  #begin(primary: Replica): void {
    if (!primary.isUp || !primary.isBeginning || this.#primary(primary.view) !== primary) return;
    for (let op = primary.head; op >= 0 && op > primary.head - PIPELINE_MAX - 1; op--) {
      const header = this.#truth(primary, op)!;
      if (this.#isCanonical(primary, op)) continue;
      if (!this.#replicas.some((other) => other.log.get(op)?.header === header)) return;
      this.#place(primary, header, false);
    }
    this.#start(primary);
    for (let op = primary.commit + 1; op <= primary.head; op++) {
      if (!primary.log.get(op)!.isClean) return;
    }
    primary.status = 'normal';
    primary.logView = primary.view;
    primary.isLate = false;
    for (let op = primary.commit + 1; op <= primary.head; op++) this.#acknowledge(primary, op);
  }

  #start(primary: Replica): void {
    const headers: Uint8Array[] = [];
    for (let op = primary.head; op >= 0 && headers.length <= PIPELINE_MAX; op--) {
      headers.push(this.#truth(primary, op)!);
    }
    this.#broadcast(primary, { kind: 'start', headers, commit: primary.commit });
  }

  #onStart(replica: Replica, { view, sentAt, content }: Message): void {
    if (content.kind !== 'start' || this.#primary(view) === replica) return;
    if (replica.status === 'uncertain' && view === replica.view && sentAt < replica.bornAt) return;
    const isOld = opOf(content.headers[0]!) < replica.head;
    if (replica.logView === view && isOld && replica.status !== 'uncertain') return;
    replica.view = view;
    this.#takeOver(replica, content.headers, content.commit);
    replica.status = 'normal';
    for (let op = replica.commit + 1; op <= replica.head; op++) this.#acknowledge(replica, op);
  }

  #resend(replica: Replica): void {
    if (!replica.isUp) return;
    if (replica.status === 'change' && !replica.isBeginning) this.#castVote(replica);
    const isLeading = replica.status === 'normal' && this.#primary(replica.view) === replica;
    if (!isLeading) return;
    if (this.#prng.chance(1, 2)) this.#start(replica);
    for (let op = replica.commit + 1; op <= replica.head; op++) {
      const header = replica.log.get(op)?.header;
      if (header === undefined) continue;
      this.#broadcast(replica, { kind: 'prepare', header, commit: replica.commit });
    }
  }

  #crash(replica: Replica): void {
    if (!replica.isUp || this.#prng.chance(1, 3)) return;
    replica.isUp = false;
    for (const [op, entry] of replica.log) {
      if (entry.isClean || !entry.hasBody) continue;
      const outcome = this.#prng.below(3);
      if (outcome > 0) replica.disk.set(op, { header: entry.header, isBad: outcome === 1 });
    }
    replica.log = new Map();
  }

  #restart(replica: Replica): void {
    if (replica.isUp) return;
    const { told, view, logView } = replica;
    replica.isUp = true;
    replica.bornAt = this.#time;
    replica.isLate = false;
    replica.faulty = new Set();
    replica.commit = replica.commitSaved;
    replica.head = told.op;
    for (const [op, { header, isBad }] of replica.disk) {
      if (isBad) replica.faulty.add(op);
      else if (this.#mayBeIn(replica, header)) {
        replica.log.set(op, { header, hasBody: true, isClean: true });
        if (logView === view) replica.head = Math.max(replica.head, op);
      }
    }
    for (const op of [...replica.log.keys()]) if (op > replica.head) replica.log.delete(op);
    const top = told.headers[0];
    if (top !== null && top !== undefined) this.#place(replica, top, false);
    replica.status = logView === view ? 'normal' : 'change';
    const isCertain = [...replica.faulty].every((op) => op < replica.head);
    if (logView === view && !isCertain) replica.status = 'uncertain';
    const wasPrimary = logView === view && this.#primary(view) === replica;
    if (wasPrimary && isCertain && this.#breach !== 'a restarted primary goes on') {
      this.#leave(replica, view + 1);
    }
  }

  /** What the superblock's headers and log view say of an operation on disk. */
  #mayBeIn({ told, logView }: Replica, header: Uint8Array): boolean {
    const op = opOf(header);
    const mayReturn = this.#breach === 'what was cut off comes back after a crash';
    if (op > told.op) return mayReturn || readView(header) === logView;
    const known = told.headers[told.op - op];
    if (known !== undefined && known !== null) return known === header;
    return readView(header) <= logView;
  }

  /** Damage, never to so many that a committed operation could be lost everywhere. */
  #rot(replica: Replica): void {
    const op = this.#prng.below(replica.head + 1);
    const place = replica.disk.get(op);
    if (place === undefined || op === 0) return;
    const rotten = this.#rotten.get(op) ?? new Set();
    if (rotten.size >= this.#quorums.replication - 1 && !rotten.has(replica.index)) return;
    this.#rotten.set(op, rotten.add(replica.index));
    place.isBad = true;
  }

  /** What would happen if everybody who can vote did it now, for every set of voters. */
  #tryEverything(): void {
    const voters = this.#replicas.filter(({ isUp, status }) => isUp && status !== 'uncertain');
    const view = Math.max(...this.#replicas.map((replica) => replica.view)) + 1;
    const votes = voters.map((replica) => {
      const isFresh = replica.logView === replica.view;
      return this.#voteOf(replica, isFresh ? this.#account(replica) : replica.told);
    });
    for (let bits = 1; bits < 1 << votes.length; bits++) {
      const some = votes.filter((_, i) => ((bits >> i) & 1) !== 0);
      this.#oracle.check(this.#choose(some), view);
    }
    this.#checkDecides(voters, this.#choose(votes));
  }

  /** As many faults as a cluster must bear never leave it undecided. */
  #checkDecides(voters: readonly Replica[], selection: Selection): void {
    const down = this.#replicas.length - voters.length;
    if (voters.length < this.#quorums.viewChange) return;
    const opMax = Math.max(...voters.map(({ head, told }) => Math.max(head, told.op)));
    let isBearable = true;
    for (let op = 0; op <= opMax; op++) {
      const silent = voters.filter((replica) => this.#isSilent(replica, op)).length;
      if (down + silent > this.#quorums.replication - 1) isBearable = false;
    }
    if (selection.kind === 'selected') this.counts.decided++;
    else this.counts.undecided++;
    if (isBearable && selection.kind !== 'selected') throw new Error('nothing is decided');
    if (selection.kind === 'wait' && down === 0) throw new Error('waits for nobody');
  }

  /**
   * Whether it can say nothing of the operation: it has lost it, or has told of none and has one.
   */
  #isSilent({ faulty, log, told, logView, view }: Replica, op: number): boolean {
    const isTold = logView < view && told.op >= op && told.headers[told.op - op] === null;
    return faulty.has(op) || (isTold && log.has(op));
  }
}
