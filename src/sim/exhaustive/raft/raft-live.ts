/**
 * One real Raft server with its disk, moved step by step. Its time is its own: it stands still but
 * for the timers that are made to end.
 */

import {
  type Effect,
  type Entry,
  type Event,
  type FileHeader,
  type Msg,
  type Parts,
  POLICY_OWN,
  type Policy,
  Raft,
  recover,
  type Snapshot,
} from '../../../raft/index.ts';
import { AssertionError, assert } from '../../../stdx/index.ts';
import type { Choice, Live, Move, Outcome, Sent } from '../subject.ts';
import { type Content, RaftDisk } from './raft-disk.ts';
import { RaftBudget, type RaftScope } from './raft-scope.ts';
import { RaftShadow } from './raft-shadow.ts';
import { type RaftState, type RaftSummary, stateText, summaryOf } from './raft-state.ts';
import { entryText, type Payload, type RaftLetter } from './raft-text.ts';

/** What one step shows to whoever watches all servers. */
export type RaftFact =
  | {
      readonly type: 'leads';
      readonly term: number;
      readonly start: number;
      readonly log: string[];
    }
  /** `term`: that of the server which knows it. */
  | {
      readonly type: 'committed';
      readonly index: number;
      readonly entry: string;
      readonly term: number;
    }
  | { readonly type: 'restored'; readonly index: number; readonly names: readonly string[] }
  | { readonly type: 'acknowledged'; readonly index: number; readonly name: string };

const ELECTION_TIMER_MS = 100_000;

export const nameOf = (index: number): string => `n${index + 1}`;
const indexOf = (name: string): number => Number(name.slice(1)) - 1;
const addressOf = (index: number): string => `tcp:${nameOf(index)}:1`;

function firstHeader(servers: number): FileHeader<Payload> {
  const names = Array.from({ length: servers }, (_, i) => [nameOf(i), addressOf(i)] as const);
  const fields = { index: 1, term: 1, eid: null, electionTimerMs: ELECTION_TIMER_MS };
  return { type: 'snapshot', snapshot: { ...fields, servers: new Map(names), data: [], size: 0 } };
}

/** Nothing is left to chance or to time: see {@link RaftScope}. */
function policyOf(scope: RaftScope): Policy {
  return {
    ...POLICY_OWN,
    preVote: scope.preVote,
    batchEntriesMax: scope.batchEntriesMax,
    ackCopies: scope.copies,
    electionTimerMs: ELECTION_TIMER_MS,
    electionRandomMs: 1,
    // Far more heartbeats than budgets allow come before the next election timer ends.
    pingDivisor: 1000,
    commandTimeoutTimers: 1_000_000,
  };
}

export interface RaftLiveOptions {
  readonly member: number;
  readonly scope: RaftScope;
  /** A planted bug. */
  readonly onParts: ((parts: Parts<Payload>) => void) | null;
}

export class RaftLive implements Live<RaftLetter, RaftFact, RaftSummary> {
  readonly #options: RaftLiveOptions;
  readonly #policy: Policy;
  #disk: RaftDisk<Payload>;
  #raft!: Raft<Payload>;
  #parts!: Parts<Payload>;
  #shadow!: RaftShadow;
  #nowMs: number = 0;
  #applied: string[] = [];
  #appliedIndex: number = 0;
  #isPreVote: boolean = false;
  #isSlow: boolean;
  /** Commands placed here and not answered: name → index. */
  #commands: Map<string, number> = new Map();
  #sent: Sent<RaftLetter>[] = [];
  #facts: RaftFact[] = [];
  #cut: number[] = [];

  constructor(options: RaftLiveOptions) {
    this.#options = options;
    this.#policy = policyOf(options.scope);
    this.#disk = new RaftDisk({ header: firstHeader(options.scope.servers), records: [] });
    this.#isSlow = options.scope.slowDisks === null;
    this.#start();
  }

  move(move: Move<RaftLetter>): Outcome<RaftLetter, RaftFact> {
    this.#sent = [];
    this.#facts = [];
    this.#cut = [];
    if (move.type === 'take') this.#take(move.from, move.message);
    else this.#do(move.kind, move.at);
    if (!this.#isSlow) while (this.#disk.asked.length > 0) this.#sync();
    return { sent: this.#sent, cut: this.#cut, facts: this.#facts };
  }

  text(): string {
    return stateText(this.#state());
  }

  summary(): RaftSummary {
    return summaryOf(this.#state());
  }

  choices(): readonly Choice[] {
    const { scope, member } = this.#options;
    const { isLeader } = this.#parts.member;
    const choices: Choice[] = [];
    const add = (kind: string, at: number, budget: number, spent: number = -1): void => {
      choices.push({ kind, at, budget, spent });
    };
    if (this.#disk.asked.length > 0) add('its disk has synced', -1, -1);
    if (!this.#isSlow) add('its disk becomes slow', -1, RaftBudget.slowDisks);
    const mayStand = scope.candidates?.includes(member) ?? true;
    if (mayStand && (!isLeader || scope.checksQuorum)) {
      add('its election timer ends', -1, RaftBudget.elections);
    }
    if (isLeader) {
      for (let i = 0; i < scope.commands; i++) {
        add('is given command', i + 1, RaftBudget.commands, i);
      }
      add('sends heartbeats', -1, RaftBudget.heartbeats);
    }
    for (let peer = 0; peer < scope.servers; peer++) {
      // Who does not lead learns nothing from it, and datagrams need no end to be lost.
      if (peer === member || (scope.network === 'datagrams' && !isLeader)) continue;
      add('loses its session with', peer, RaftBudget.losses);
    }
    if (this.#appliedIndex > this.#parts.log.snapshot.index) {
      add('makes a snapshot', -1, RaftBudget.snapshots);
    }
    if (scope.crashes > 0)
      for (const i of this.#contents().keys()) add('crashes', i, RaftBudget.crashes);
    return choices;
  }

  close(): void {
    // There is nothing to give back.
  }

  #state(): RaftState {
    return {
      parts: this.#parts,
      shadow: this.#shadow,
      disk: this.#disk,
      isPreVote: this.#isPreVote,
      isSlow: this.#isSlow,
      commands: this.#commands,
      nowMs: this.#nowMs,
      checksQuorum: this.#options.scope.checksQuorum,
    };
  }

  /** What a crash may leave: of those that open alike only one. */
  #contents(): Content<Payload>[] {
    const texts = new Set<string>();
    return this.#disk.afterCrash().filter((content) => {
      const text = contentText(this.#options.member, content);
      const isNew = !texts.has(text);
      texts.add(text);
      return isNew;
    });
  }

  /** Opens its file and is connected with all others. */
  #start(): void {
    const { member, scope, onParts } = this.#options;
    const { header, records } = this.#disk.durable();
    const id = nameOf(member);
    const found = recover({ self: id, header, records, electionTimerMs: ELECTION_TIMER_MS });
    if (!found.ok) throw new AssertionError(`${id} cannot open its file: ${found.problem}`);
    this.#nowMs = 0;
    this.#isSlow = scope.slowDisks === null;
    this.#applied = [];
    this.#appliedIndex = 0;
    this.#isPreVote = false;
    this.#commands = new Map();
    this.#raft = new Raft<Payload>({
      id,
      address: addressOf(member),
      seed: 1,
      policy: this.#policy,
      onParts: (parts) => {
        this.#parts = parts;
        onParts?.(parts);
        this.#shadow = new RaftShadow(parts);
      },
    });
    this.#step({ type: 'open', state: found.state });
    for (let peer = 0; peer < scope.servers; peer++) {
      if (peer === member) continue;
      const session = { peer: nameOf(peer), address: addressOf(peer), isDialled: true };
      this.#step({ type: 'connected', ...session });
    }
  }

  #take(from: number, message: RaftLetter): void {
    if (message.type === 'session-lost') {
      this.#renew(from);
      return;
    }
    const isVoteRequest = message.type === 'vote-request';
    // So long after the last word of a leader that it cannot be called a disruption.
    if (isVoteRequest && !this.#parts.member.isLeader) this.#nowMs += ELECTION_TIMER_MS;
    this.#step({ type: 'message', peer: nameOf(from), message });
  }

  #do(kind: string, at: number): void {
    switch (kind) {
      case 'its disk has synced':
        this.#sync();
        if (this.#disk.asked.length === 0) this.#isSlow = this.#options.scope.slowDisks === null;
        break;
      case 'its disk becomes slow':
        this.#isSlow = true;
        break;
      case 'its election timer ends':
        this.#tick('election');
        break;
      case 'sends heartbeats':
        this.#tick('ping');
        break;
      case 'is given command':
        this.#propose(at);
        break;
      case 'loses its session with':
        this.#renew(at);
        this.#cut.push(at);
        this.#post(at, { type: 'session-lost' });
        break;
      case 'makes a snapshot':
        this.#snapshot();
        break;
      case 'crashes':
        this.#crash(at);
        break;
      default:
        assert(false, 'RaftLive: unknown move');
    }
  }

  #sync(): void {
    this.#step({ type: 'synced', seq: this.#disk.sync() });
  }

  #tick(name: 'election' | 'ping'): void {
    const deadline = this.#parts.deadlines.at(name);
    assert(deadline !== null, 'RaftLive: a timer that is not armed');
    this.#nowMs = Math.max(this.#nowMs, deadline);
    this.#step({ type: 'tick' });
  }

  #propose(number: number): void {
    const eid = `c${number}`;
    this.#commands.set(eid, this.#parts.log.end);
    const event = { type: 'propose', command: number, data: [eid], size: 1 } as const;
    this.#step({ ...event, eid, prerequisite: null });
  }

  #renew(peer: number): void {
    const session = { peer: nameOf(peer), address: addressOf(peer), isDialled: true };
    this.#step({ type: 'disconnected', peer: session.peer });
    this.#step({ type: 'connected', ...session });
  }

  #snapshot(): void {
    const index = this.#appliedIndex;
    const event = { type: 'snapshot-ready', command: 1000, index, size: 0 } as const;
    this.#step({ ...event, data: [...this.#applied] });
  }

  #crash(which: number): void {
    this.#disk = new RaftDisk(this.#contents()[which]);
    this.#start();
    // Others learn of it whenever they do.
    for (let peer = 0; peer < this.#options.scope.servers; peer++) {
      if (peer === this.#options.member) continue;
      this.#cut.push(peer);
      this.#post(peer, { type: 'session-lost' });
    }
  }

  #step(event: Event<Payload>): void {
    const wasLeader = this.#raft !== undefined && this.#parts.member.isLeader;
    const effects = this.#raft.step(event, this.#nowMs);
    this.#raft.invariants();
    this.#shadow.onStep();
    const { member, log } = this.#parts;
    const before = this.#appliedIndex;
    for (const effect of effects) this.#execute(effect);
    if (member.isLeader && !wasLeader) {
      const entries = Array.from({ length: log.end - log.start }, (_, i) => log.at(log.start + i));
      const { term } = member;
      this.#facts.push({ type: 'leads', term, start: log.start, log: entries.map(entryText) });
    }
    if (this.#appliedIndex > before) this.#step({ type: 'applied', index: this.#appliedIndex });
  }

  #execute(effect: Effect<Payload>): void {
    switch (effect.type) {
      case 'append':
        this.#disk.append(effect.seq, effect.records);
        break;
      case 'request-sync':
        this.#disk.ask(effect.seq);
        break;
      case 'replace-file':
        this.#disk.replace(effect.seq, effect.header, effect.records);
        break;
      case 'send':
        assert(effect.peer !== null, 'RaftLive: nobody joins');
        // Says nothing to a server that is no stranger.
        if (effect.message.type !== 'hello-request') this.#say(effect.peer, effect.message);
        break;
      case 'deliver':
        this.#deliver(effect.entry);
        break;
      case 'deliver-snapshot':
        this.#restore(effect.snapshot);
        break;
      case 'complete':
        this.#complete(effect);
        break;
      case 'trace':
        if (effect.event === 'pre-vote') this.#isPreVote = true;
        if (effect.event === 'election') this.#isPreVote = false;
        break;
      default:
        break;
    }
  }

  #say(peer: string, message: Msg<Payload>): void {
    const { member, scope } = this.#options;
    this.#post(indexOf(peer), message);
    const isAck = message.type === 'append-reply' && message.result === 'ok';
    if (!scope.copies || !isAck || message.entryCount === 0) return;
    for (let other = 0; other < scope.servers; other++) {
      if (other !== member && other !== indexOf(peer)) this.#post(other, message);
    }
  }

  #post(to: number, message: RaftLetter): void {
    const { member, scope } = this.#options;
    const isApart = scope.apart.some((pair) => pair.includes(member) && pair.includes(to));
    if (!isApart) this.#sent.push({ to, message });
  }

  #deliver(entry: Entry<Payload>): void {
    assert(entry.index === this.#appliedIndex + 1, 'RaftLive: delivered with a gap');
    this.#appliedIndex = entry.index;
    if (entry.kind === 'data') this.#applied.push(...entry.data);
    const { term } = this.#parts.member;
    this.#facts.push({ type: 'committed', index: entry.index, entry: entryText(entry), term });
  }

  #restore({ index, data }: Snapshot<Payload>): void {
    assert(index > this.#appliedIndex, 'RaftLive: taken back by a snapshot');
    this.#appliedIndex = index;
    this.#applied = [...(data ?? [])];
    if (index > 1) this.#facts.push({ type: 'restored', index, names: [...this.#applied] });
  }

  #complete({ command, status, index }: Effect<Payload> & { readonly type: 'complete' }): void {
    const name = `c${command}`;
    if (!this.#commands.delete(name)) return;
    if (status === 'success') this.#facts.push({ type: 'acknowledged', index, name });
  }
}

/** What a server would make of its file. */
function contentText(member: number, { header, records }: Content<Payload>): string {
  const self = nameOf(member);
  const found = recover({ self, header, records, electionTimerMs: ELECTION_TIMER_MS });
  if (!found.ok) return found.problem;
  const { term, vote, snapshot, entries, commitIndex } = found.state;
  const log = entries.map(entryText).join();
  return `${term} ${vote} ${snapshot.index}@${snapshot.term} ${commitIndex} ${log}`;
}
