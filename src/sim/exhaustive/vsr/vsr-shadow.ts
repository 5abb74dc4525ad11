/**
 * What a replica keeps to itself and what must be known to tell two replicas apart: followed from
 * outside, by listening to the calls between its parts.
 */
import { readSafeU64, toHex } from '../../../stdx/index.ts';
import type { Parts } from '../../../vsr/index.ts';
import { PeerOffset, readView } from '../../../wire/index.ts';
import { before } from './vsr-listen.ts';
import { VsrRepairShadow } from './vsr-repair-shadow.ts';
import { opOf, shortChecksum } from './vsr-text.ts';

/** An acknowledgement that a primary, or a primary-to-be, has heard in its view. */
interface Ack {
  readonly from: number;
  readonly op: number;
  /** Of the header. */
  readonly checksum: string;
}

export class VsrShadow {
  readonly #parts: Parts;
  /** Who wants to leave the current view. */
  readonly #exits: Set<number> = new Set();
  /** Votes of this view change, by replica. */
  readonly #votes: Map<number, string> = new Map();
  readonly #acks: Map<string, Ack> = new Map();
  /** Operations that were sent again to a replica which seemed to have lost them. */
  readonly #inferred: Set<string> = new Set();
  /** Of the last commit message of this view. */
  #heartbeat: number = 0;
  /** The view of which the log was last asked for, as one that has begun. */
  #askedView: number = 0;
  /** The log of this view was told to all. */
  #isAnnounced: boolean = false;
  readonly repair: VsrRepairShadow;
  /** What the primary says of an operation that is not executed here. */
  #claimOp: number = 0;
  #claim: string = '';
  /** The last prepare of this view that each replica has handed over. */
  readonly #passed: Map<number, number> = new Map();
  readonly #deadlines: Map<string, number> = new Map();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#listenToViewChange();
    this.#listenToVotes();
    this.#listenToPrimary();
    this.#listenToBackup();
    this.repair = new VsrRepairShadow(parts);
    before(parts.deadlines, 'set', (name, atNs) => this.#deadlines.set(name, atNs));
  }

  text(): string {
    const { commitMin } = this.#parts.state;
    const exits = [...this.#exits].sort((a, b) => a - b).join();
    const votes = [...this.#votes].sort((a, b) => a[0] - b[0]).join();
    const numbers = `${this.#heartbeat} ${this.#askedView} ${this.#isAnnounced}`;
    const claim = this.#claimOp > commitMin ? `${this.#claimOp} ${this.#claim}` : '';
    const passed = [...this.#passed].sort((a, b) => a[0] - b[0]).join();
    const lines = [exits, votes, this.#acksText(), claim, passed, numbers, this.repair.text()];
    return lines.join(';');
  }

  /** When a deadline that is set ends, ns. */
  deadlineNs(name: string): number {
    return this.#deadlines.get(name) ?? 0;
  }

  /** Once it leads, only those of its pipeline count. */
  #acksText(): string {
    const { member, state, log } = this.#parts;
    const counts = ({ op, checksum }: Ack): boolean => {
      if (!member.isNormalPrimary) return true;
      const header = log.header(op);
      return op > state.commitMin && header !== null && shortChecksum(header) === checksum;
    };
    const acks = [...this.#acks].filter(([, ack]) => counts(ack)).map(([text]) => text);
    const inferred = [...this.#inferred].filter(
      (key) => Number(key.split(' ')[0]) > state.commitMin,
    );
    return [...acks.sort(byText), ...inferred.sort(byText)].join();
  }

  #listenToViewChange(): void {
    const { viewChange, member, startView } = this.#parts;
    const forget = (): void => {
      this.#exits.clear();
      this.#votes.clear();
    };
    before(viewChange, 'enter', forget);
    before(viewChange, 'enter', () => this.#acks.clear());
    before(viewChange, 'onViewStarted', forget);
    before(viewChange, 'onPrimaryHeard', () => this.#exits.delete(member.replica));
    before(startView, 'reset', () => {
      this.#isAnnounced = false;
    });
    before(startView, 'announce', () => {
      this.#isAnnounced = true;
    });
    let isAsking = false;
    before(startView, 'request', () => {
      isAsking = true;
    });
    const onNewerView = viewChange.onNewerView.bind(viewChange);
    viewChange.onNewerView = (view) => {
      isAsking = false;
      onNewerView(view);
      if (isAsking) this.#askedView = view;
    };
  }

  #listenToVotes(): void {
    const { viewChange, member, peers } = this.#parts;
    const mayVote = (): boolean => member.isNormal || member.status === 'view-change';
    const vote = viewChange.vote.bind(viewChange);
    viewChange.vote = () => {
      const { view } = member;
      const counts = mayVote();
      vote();
      if (counts && member.view === view) this.#exits.add(member.replica);
    };
    const onExit = viewChange.onStartViewChange.bind(viewChange);
    viewChange.onStartViewChange = (from, bytes) => {
      const view = readView(bytes);
      const counts = view >= member.view && mayVote() && peers.isTrusted(from);
      onExit(from, bytes);
      if (counts && member.view === view) this.#exits.add(from);
    };
    const onVote = viewChange.onDoViewChange.bind(viewChange);
    viewChange.onDoViewChange = (from, bytes) => {
      onVote(from, bytes);
      const isCollecting = member.status === 'view-change' && !viewChange.isRepairing;
      if (member.isPrimary && isCollecting && readView(bytes) === member.view) {
        this.#votes.set(from, toHex(bytes.subarray(0, 8)));
      }
    };
  }

  #listenToPrimary(): void {
    const { primary, member, commits, state, outbox } = this.#parts;
    before(commits, 'claim', (op, digest, offset) => {
      if (op <= state.commitMin) return;
      this.#claimOp = op;
      this.#claim = toHex(digest.subarray(offset, offset + 8));
    });
    let isInferring = false;
    before(outbox, 'trace', (_, event, fields) => {
      if (!isInferring || event !== 'prepare-resent') return;
      this.#inferred.add(`${fields['op']} to ${fields['replica']}`);
    });
    const onOk = primary.onPrepareOk.bind(primary);
    primary.onPrepareOk = (from, bytes) => {
      isInferring = true;
      onOk(from, bytes);
      isInferring = false;
      const op = readSafeU64(bytes, PeerOffset.op) ?? 0;
      const checksum = shortChecksum(bytes, PeerOffset.checksum);
      if (member.isPrimary) this.#acks.set(`${from} ${op} ${checksum}`, { from, op, checksum });
    };
    before(primary, 'close', () => {
      this.#acks.clear();
      this.#inferred.clear();
    });
  }

  #listenToBackup(): void {
    const { backup, member } = this.#parts;
    before(backup, 'open', () => {
      this.#passed.clear();
      this.#heartbeat = 0;
    });
    before(backup, 'forward', (from, { bytes }) => {
      this.#passed.set(from, Math.max(this.#passed.get(from) ?? 0, opOf(bytes)));
    });
    const onCommit = backup.onCommit.bind(backup);
    backup.onCommit = (bytes) => {
      const isHeard = member.isNormalBackup && readView(bytes) === member.view;
      const sentNs = readSafeU64(bytes, PeerOffset.monotonic) ?? 0;
      if (isHeard) this.#heartbeat = Math.max(this.#heartbeat, sentNs);
      onCommit(bytes);
    };
  }
}

const byText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
