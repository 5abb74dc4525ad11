/** One real replica with its disk, moved step by step, and what each step shows of it. */
import { AssertionError, assert, readSafeU64, readU32 } from '../../../stdx/index.ts';
import type { Parts } from '../../../vsr/index.ts';
import {
  Command,
  PeerOffset,
  PrepareOffset,
  ReplyOffset,
  readCommand,
  readReplica,
  readView,
} from '../../../wire/index.ts';
import type { Choice, Live, Move, Outcome, Sent } from '../subject.ts';
import { registerBytes } from './vsr-client.ts';
import { SUPERBLOCK_GROUP } from './vsr-disk.ts';
import { checksum, VsrProcess } from './vsr-process.ts';
import { brokenPromise } from './vsr-promises.ts';
import { VsrBudget, type VsrScope } from './vsr-scope.ts';
import { nextTrail, stateText, summaryOf, type VsrSummary } from './vsr-state.ts';
import { headerText, letterText, type VsrLetter } from './vsr-text.ts';

/** What one step shows to whoever watches all replicas. */
export type VsrFact =
  /** `life`: which of its lives leads; `log`: what its log holds, from operation 1 on. */
  | { readonly type: 'leads'; readonly view: number; readonly life: number; readonly log: string[] }
  | {
      readonly type: 'prepared';
      readonly op: number;
      readonly view: number;
      readonly header: string;
    }
  /** `view`: that of the replica which executes it; `request`: whose, and which of its requests. */
  | {
      readonly type: 'executed';
      readonly op: number;
      readonly view: number;
      readonly header: string;
      readonly request: string;
      readonly digest: string;
    }
  | { readonly type: 'answered'; readonly op: number; readonly request: string };

/** Timers that a budget lets end, at any time at which they are set. */
const TIMERS = [
  'detector',
  'heartbeat',
  'prepare',
  'votes-expire',
  'view-resend',
  'view-status',
  'repair',
  'behind',
] as const;
/** No primary may be silent for so long, ns. */
const SILENCE_NS = 7_000_000_000;

export interface VsrLiveOptions {
  readonly member: number;
  readonly scope: VsrScope;
  /** What clients ask, when they have registered. */
  readonly requests: readonly Uint8Array[];
  /** A planted bug. */
  readonly onParts: ((parts: Parts) => void) | null;
}

export class VsrLive implements Live<VsrLetter, VsrFact, VsrSummary> {
  readonly #options: VsrLiveOptions;
  readonly process: VsrProcess;
  #wasPrimaryOf: number = -1;
  #commitMax: number = 0;
  #executed: number = 0;
  /** Whose connections this life has seen. */
  readonly #clients: Set<number> = new Set();
  /** All that was done in this life since a timer first ended; then times matter. */
  #trail: string = '';
  #sent: Sent<VsrLetter>[] = [];
  #facts: VsrFact[] = [];
  #cut: number[] = [];
  /** What it says is compared with what it keeps. */
  isJudged: boolean = false;
  /** Time goes on, see `vsr-calm`: pings and pongs leave too. */
  isFree: boolean = false;
  /** Answers to clients in the last move. */
  replies: Uint8Array[] = [];

  /** On a fresh file; not open yet, see the move `opens`. */
  constructor(options: VsrLiveOptions) {
    this.#options = options;
    const { member, scope, onParts } = options;
    this.process = new VsrProcess({
      member,
      replicas: scope.replicas,
      isAlwaysSlow: scope.slowDisks === null,
      onParts,
      onSend: (to, bytes) => this.#post(to, bytes),
      onReply: (bytes) => this.#answer(bytes),
    });
  }

  move(move: Move<VsrLetter>): Outcome<VsrLetter, VsrFact> {
    const before = this.process.life > 0 && this.#mayTimersEnd ? this.text() : '';
    const outcome = this.#run(() => {
      if (move.type === 'do') this.#do(move.kind, move.at);
      else if (move.message === 'link-lost') this.process.renew(move.from);
      else this.process.take(move.from, move.message);
    });
    if (this.#mayTimersEnd) this.#follow(before, move);
    return outcome;
  }

  /** All that is due by now; not one of the moves that are explored. */
  wake(): Outcome<VsrLetter, VsrFact> {
    return this.#run(() => this.process.wake());
  }

  /** A new client comes; not one of the moves that are explored. */
  register(client: number): Outcome<VsrLetter, VsrFact> {
    return this.#run(() => this.#give(client, registerBytes(client, checksum)));
  }

  #run(step: () => void): Outcome<VsrLetter, VsrFact> {
    this.#sent = [];
    this.#facts = [];
    this.#cut = [];
    this.replies = [];
    step();
    this.process.settle();
    this.#observe();
    return { sent: this.#sent, cut: this.#cut, facts: this.#facts };
  }

  text(): string {
    const { parts, shadow, disk, life, isSlow } = this.process;
    const clients = [...this.#clients].sort((a, b) => a - b).join();
    const flags = `${life} ${isSlow} ${this.#wasPrimaryOf} ${clients} ${this.#trail}`;
    const mayCrash = this.#options.scope.crashes > 0;
    return stateText({ parts, shadow, disk, mayCrash, flags });
  }

  summary(): VsrSummary {
    return summaryOf(this.#options.member, this.process.parts);
  }

  choices(): readonly Choice[] {
    const { scope, member } = this.#options;
    const { parts, disk, isSlow } = this.process;
    const choices: Choice[] = [];
    const add = (kind: string, at: number, budget: number, spent: number = -1): void => {
      choices.push({ kind, at, budget, spent });
    };
    const groups = disk.groups();
    for (const group of groups) {
      if (group === SUPERBLOCK_GROUP) add('has written its superblock', -1, -1);
      else add('has written the prepare in slot', group, -1);
    }
    if (!isSlow) add('its disk becomes slow', -1, VsrBudget.slowDisks);
    if (parts.member.isNormalPrimary) {
      for (let i = 0; i < scope.requests; i++) {
        add('is given request', i + 1, VsrBudget.requests, i);
        add('is given once more request', i + 1, VsrBudget.repeats);
      }
    }
    for (let peer = 0; peer < scope.replicas; peer++) {
      const mayLose = scope.losers?.some(([a, b]) => a === member && b === peer) ?? true;
      if (peer !== member && mayLose) add('loses its link with', peer, VsrBudget.losses);
    }
    TIMERS.forEach((name, i) => {
      if (parts.deadlines.isSet(name)) add(`its timer ends: ${name}`, i, VsrBudget.timers);
    });
    const places = groups.filter((group) => group !== SUPERBLOCK_GROUP).length;
    add('crashes', -1, VsrBudget.crashes);
    for (let kept = 1; kept < 1 << places; kept++) {
      add('crashes and keeps prepares without headers', kept, VsrBudget.crashes);
    }
    return choices;
  }

  close(): void {
    this.process.close();
  }

  get #mayTimersEnd(): boolean {
    return this.#options.scope.timers > 0 && !this.isFree;
  }

  #do(kind: string, at: number): void {
    const { requests } = this.#options;
    switch (kind) {
      case 'opens':
        this.#open();
        break;
      case 'registers client':
        this.#give(at, registerBytes(at, checksum));
        break;
      case 'has written its superblock':
        this.process.finish(SUPERBLOCK_GROUP);
        break;
      case 'has written the prepare in slot':
        this.process.finish(at);
        break;
      case 'its disk becomes slow':
        this.process.isSlow = true;
        break;
      case 'is given request':
      case 'is given once more request':
        this.#give(at - 1, requests[at - 1]);
        break;
      case 'loses its link with':
        this.process.renew(at);
        this.#cut.push(at);
        this.#sent.push({ to: at, message: 'link-lost' });
        break;
      case 'crashes':
        this.#crash(0);
        break;
      case 'crashes and keeps prepares without headers':
        this.#crash(at);
        break;
      default:
        this.#endTimer(TIMERS[at]);
    }
  }

  /** A client's request, on the client's own connection. */
  #give(client: number, bytes: Uint8Array): void {
    this.#clients.add(client);
    this.process.give(client + 1, bytes);
  }

  #open(): void {
    this.#wasPrimaryOf = -1;
    this.#clients.clear();
    this.#trail = '';
    this.process.open();
    this.#commitMax = 0;
    this.#executed = this.process.parts.superblock.current.checkpoint.op;
  }

  /** `kept`: of the prepares that are being written, which get there; bit i ↔ the i-th. */
  #crash(kept: number): void {
    const { member, scope } = this.#options;
    this.process.end();
    this.process.disk.crash(kept);
    this.#open();
    // Others learn of it whenever they do.
    for (let peer = 0; peer < scope.replicas; peer++) {
      if (peer === member) continue;
      this.#cut.push(peer);
      this.#sent.unshift({ to: peer, message: 'link-lost' });
    }
  }

  /** One deadline ends, and no other, whatever the time is by then. */
  #endTimer(name: (typeof TIMERS)[number]): void {
    const { parts, shadow, nowNs } = this.process;
    const { deadlines } = parts;
    this.process.jump(name === 'detector' ? nowNs + SILENCE_NS : shadow.deadlineNs(name));
    const take = deadlines.take.bind(deadlines);
    deadlines.take = () => {
      deadlines.clear(name);
      return [name];
    };
    this.process.step({ type: 'timer', timer: 'wake' });
    deadlines.take = take;
  }

  /** Where times may matter, a replica is known by all that it has done. */
  #follow(before: string, move: Move<VsrLetter>): void {
    const isTimer = move.type === 'do' && move.kind.startsWith('its timer ends');
    if (this.#trail === '' && !isTimer) return;
    const isNothing = before === this.text() && this.#sent.length === 0;
    if (isNothing && !isTimer) return;
    const what =
      move.type === 'do' ? `${move.kind} ${move.at}` : `${move.from} ${letterText(move.message)}`;
    this.#trail = nextTrail(`${before}\n${what}`, checksum);
  }

  #post(to: number, bytes: Uint8Array): void {
    const { member, scope } = this.#options;
    const command = readCommand(bytes);
    if (command === Command.requestHeaders) {
      this.process.shadow.repair.onHeadersAsked(readSafeU64(bytes, PeerOffset.op) ?? 0);
    }
    if (!this.isFree && (command === Command.ping || command === Command.pong)) return;
    const problem =
      this.isJudged && !scope.isTrusting
        ? brokenPromise(member, this.process.disk, bytes, checksum)
        : null;
    if (problem !== null) throw new AssertionError(problem);
    this.#sent.push({ to, message: bytes });
  }

  #answer(bytes: Uint8Array): void {
    if (readCommand(bytes) !== Command.reply) return;
    this.replies.push(bytes);
    const op = readSafeU64(bytes, ReplyOffset.commit) ?? 0;
    const request = requestText(bytes, ReplyOffset.client, ReplyOffset.request);
    this.#facts.push({ type: 'answered', op, request });
  }

  /** What has changed that others may judge; what was done comes before what was said of it. */
  #observe(): void {
    const { member, log, state, commits } = this.process.parts;
    const { view } = member;
    assert(commits.commitMax >= this.#commitMax, 'its commit number goes back');
    this.#commitMax = commits.commitMax;
    const facts: VsrFact[] = [];
    const text = (op: number): string => {
      const header = log.header(op);
      return header === null ? 'nothing' : headerText(header);
    };
    if (member.isNormalPrimary && this.#wasPrimaryOf !== view) {
      this.#wasPrimaryOf = view;
      const ops = Array.from({ length: log.head }, (_, i) => i + 1);
      facts.push({ type: 'leads', view, life: this.process.life, log: ops.map(text) });
    }
    while (this.#executed < state.commitMin) {
      const op = ++this.#executed;
      const digest = op === state.commitMin ? letterDigest(state.digest) : '';
      const header = log.header(op);
      assert(header !== null, 'it does not know what it executes');
      const request = requestText(header, PrepareOffset.client, PrepareOffset.request);
      facts.push({ type: 'executed', op, view, header: text(op), request, digest });
    }
    for (let op = state.commitMin + 1; op <= log.head && member.isNormalPrimary; op++) {
      const header = log.header(op);
      if (header === null || readView(header) !== view) continue;
      if (readReplica(header) !== this.#options.member) continue;
      facts.push({ type: 'prepared', op, view, header: text(op) });
    }
    this.#facts = [...facts, ...this.#facts];
  }
}

function letterDigest(digest: Uint8Array): string {
  return digest.slice(0, 6).join('.');
}

function requestText(bytes: Uint8Array, client: number, request: number): string {
  return `c${readU32(bytes, client)}/${readU32(bytes, request)}`;
}
