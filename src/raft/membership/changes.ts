/**
 * Adding and removing servers, on the leader: one at a time, through the log, in force as soon as
 * the configuration is there. A server is brought up to date before it is added, so that it can
 * carry its part of the quorum from its first moment; until then nobody counts it.
 *
 * The next change waits until the one before is committed and something of this leader's own term
 * too: else two leaders could each have a change that the other does not know, and quorums that do
 * not meet.
 */
import type { ServerId, Servers } from '../entry.ts';
import type { Token } from '../event.ts';
import type { RemoveServerRequest, VoteRequest } from '../message.ts';
import { SERVERS_MAX } from '../options.ts';
import type { Parts } from '../parts.ts';
import { Progress } from '../replication/progress.ts';

export type ChangePhase = 'catch-up' | 'caught-up' | 'committing' | 'removing';

/** Who is to be told: a server that has asked, or a command given here. */
type Asker = { readonly peer: ServerId } | { readonly command: Token };

interface Addition {
  readonly id: ServerId;
  readonly address: string;
  readonly progress: Progress;
  readonly askers: Asker[];
  phase: 'catch-up' | 'caught-up' | 'committing';
}

interface Removal {
  readonly id: ServerId;
  readonly address: string;
  readonly askers: Asker[];
  isCommitting: boolean;
}

/** What a reply calls it, for those who read along; the words of ovsdb-server. */
const REASONS = {
  success: 'completed',
  'not-leader': 'not leader',
  'already-in-cluster': 'already in cluster',
  'already-not-in-cluster': 'already not in cluster',
  'already-in-progress': 'in progress',
  'lost-leadership': 'lost leadership',
  canceled: 'canceled',
  committing: 'committing',
  'would-be-empty': 'empty',
  'out-of-range': 'too many servers',
} as const;
type Outcome = keyof typeof REASONS;

export class Changes<T> {
  readonly #parts: Parts<T>;
  readonly #additions: Map<ServerId, Addition> = new Map();
  readonly #removals: Map<ServerId, Removal> = new Map();

  constructor(parts: Parts<T>) {
    this.#parts = parts;
  }

  /** For the status page; null: stable. */
  phaseOf(id: ServerId): ChangePhase | null {
    if (this.#removals.has(id)) return 'removing';
    return this.#additions.get(id)?.phase ?? null;
  }

  isChanging(id: ServerId): boolean {
    return this.phaseOf(id) !== null;
  }

  /** Servers that are being added or removed. */
  changing(): readonly { readonly id: ServerId; readonly address: string }[] {
    return [...this.#additions.values(), ...this.#removals.values()];
  }

  /** Of a server that is being added. */
  progressOf(id: ServerId): Progress | null {
    return this.#additions.get(id)?.progress ?? null;
  }

  /** Those that are not yet in the configuration. */
  catchingUp(): readonly Progress[] {
    const waiting = [...this.#additions.values()].filter((add) => add.phase !== 'committing');
    return waiting.map((add) => add.progress);
  }

  /** Servers that are added without having asked, and so have to be dialled: address → id. */
  toDial(): ReadonlyMap<string, ServerId> {
    const added = [...this.#additions.values()].filter((add) =>
      add.askers.some((asker) => 'command' in asker),
    );
    return new Map(added.map((add) => [add.address, add.id]));
  }

  /** The server's connection has to outlive its place in the configuration. */
  isBeingRemoved(id: ServerId): boolean {
    return this.#removals.has(id);
  }

  add(id: ServerId, address: string, asker: Asker): void {
    const { member, log, leader } = this.#parts;
    const outcome = this.#whyNotAdd(id);
    if (outcome !== null) {
      this.#answerAdd(outcome, id, [asker]);
      return;
    }
    const progress = new Progress(id, log.end);
    progress.onSessionLost();
    this.#additions.set(id, { id, address, progress, askers: [asker], phase: 'catch-up' });
    this.#parts.outbox.trace('info', 'add-server', { server: id, term: member.term });
    this.#parts.sessions.reconcile();
    leader.greet(progress);
  }

  remove(id: ServerId, asker: Asker): void {
    const { member, joining } = this.#parts;
    // A leader does not remove itself: it leaves, which begins with finding a successor.
    if (member.isLeader && id === member.id) joining.begin();
    const outcome = this.#whyNotRemove(id);
    if (outcome !== null) {
      this.#answerRemove(outcome, id, [asker]);
      return;
    }
    const address = this.#parts.log.servers.get(id) as string;
    this.#removals.set(id, { id, address, askers: [asker], isCommitting: false });
    this.#parts.outbox.trace('info', 'remove-server', { server: id });
  }

  onAddRequest(from: ServerId, address: string): void {
    this.add(from, address, { peer: from });
  }

  onRemoveRequest(from: ServerId, request: RemoveServerRequest): void {
    this.remove(request.server, { peer: from });
  }

  /**
   * A candidate that is in no configuration any more, and whose log ends where that is known: what
   * it takes for its membership is older than what is committed here. Whoever was being let in
   * when it asked has a longer log, or is known as such.
   */
  isOutsider(candidate: ServerId, request: VoteRequest): boolean {
    const { member, log, commits } = this.#parts;
    const { index } = commits;
    if (member.isJoining || index === 0 || this.#additions.has(candidate)) return false;
    if (log.servers.has(candidate) || log.serversAt(index).has(candidate)) return false;
    const term = log.termAt(index);
    const { lastTerm, lastIndex } = request;
    return lastTerm < term || (lastTerm === term && lastIndex <= index);
  }

  /** It was removed, and the word that it was got lost. */
  dismiss(outsider: ServerId): void {
    const comment = REASONS['already-not-in-cluster'];
    const reply = {
      type: 'remove-server-reply',
      success: true,
      target: outsider,
      comment,
    } as const;
    this.#parts.storage.send(outsider, reply);
  }

  /** At the end of a step: begins the next change if it may. */
  settle(): void {
    const { leader, log } = this.#parts;
    if (!leader.isEstablished || this.#additions.size + this.#removals.size === 0) return;
    for (const add of this.#additions.values()) {
      if (add.phase === 'catch-up' && this.hasCaughtUp(add.progress)) add.phase = 'caught-up';
    }
    if (!this.mayChange()) return;
    const addition = [...this.#additions.values()].find((add) => add.phase === 'caught-up');
    const removal = this.#removals.values().next().value;
    const servers = new Map(log.servers);
    if (addition !== undefined) {
      servers.set(addition.id, addition.address);
      leader.append({ kind: 'config', servers });
      addition.phase = 'committing';
    } else if (removal !== undefined && !removal.isCommitting) {
      servers.delete(removal.id);
      removal.isCommitting = true;
      leader.append({ kind: 'config', servers });
    }
  }

  /** No configuration is under way. */
  mayChange(): boolean {
    return this.#parts.log.configIndex <= this.#parts.commits.index;
  }

  /** A server that has all there is takes part without holding anybody up. */
  hasCaughtUp(progress: Progress): boolean {
    return progress.match >= this.#parts.log.last;
  }

  /** On the leader. */
  onConfigCommitted(servers: Servers): void {
    for (const add of this.#additions.values()) {
      if (add.phase !== 'committing' || !servers.has(add.id)) continue;
      this.#additions.delete(add.id);
      this.#answerAdd('success', add.id, add.askers);
    }
    for (const removal of this.#removals.values()) {
      if (!removal.isCommitting || servers.has(removal.id)) continue;
      this.#removals.delete(removal.id);
      const isTold = removal.askers.some((one) => 'peer' in one && one.peer === removal.id);
      if (!isTold) removal.askers.push({ peer: removal.id });
      this.#answerRemove('success', removal.id, removal.askers);
      this.#parts.sessions.reconcile();
    }
  }

  /** A joining server that has gone begins anew when it comes back. */
  onDisconnected(peer: ServerId): void {
    const add = this.#additions.get(peer);
    // One that is dialled is the leader's own business, which will try again.
    if (add === undefined || add.phase === 'committing' || this.toDial().has(add.address)) return;
    this.#additions.delete(peer);
  }

  onOfficeLost(): void {
    for (const add of this.#additions.values()) {
      this.#answerAdd('lost-leadership', add.id, add.askers);
    }
    for (const removal of this.#removals.values()) {
      this.#answerRemove('lost-leadership', removal.id, removal.askers);
    }
    this.#additions.clear();
    this.#removals.clear();
    this.#parts.sessions.reconcile();
  }

  #whyNotAdd(id: ServerId): Outcome | null {
    const { member, log } = this.#parts;
    if (!member.isLeader) return 'not-leader';
    const removal = this.#removals.get(id);
    if (removal?.isCommitting) return 'committing';
    if (removal !== undefined) {
      this.#removals.delete(id);
      this.#answerRemove('canceled', id, removal.askers);
      return 'canceled';
    }
    if (this.#additions.has(id)) return 'already-in-progress';
    if (log.servers.size >= SERVERS_MAX) return 'out-of-range';
    return log.servers.has(id) ? 'already-in-cluster' : null;
  }

  #whyNotRemove(id: ServerId): Outcome | null {
    const { member, log } = this.#parts;
    if (id === member.id && member.phase === 'leaving') return 'already-in-progress';
    if (!member.isLeader) return 'not-leader';
    if (this.#removals.has(id)) return 'already-in-progress';
    const add = this.#additions.get(id);
    if (add?.phase === 'committing') return 'committing';
    if (add !== undefined) {
      this.#additions.delete(id);
      this.#answerAdd('canceled', id, add.askers);
      this.#parts.sessions.reconcile();
      return 'success';
    }
    if (!log.servers.has(id)) {
      // Only what is committed is for ever: the entry that takes it out may be cut off.
      const isOut = !log.serversAt(this.#parts.commits.index).has(id);
      return isOut ? 'already-not-in-cluster' : 'committing';
    }
    const staying = [...log.servers.keys()].filter((one) => !this.#removals.has(one));
    return staying.length <= 1 ? 'would-be-empty' : null;
  }

  #answerAdd(outcome: Outcome, id: ServerId, askers: readonly Asker[]): void {
    const { log, member, outbox, storage } = this.#parts;
    const success = outcome === 'success' || outcome === 'already-in-cluster';
    // Whoever is turned away may ask at the other addresses.
    const others = [...log.servers].filter(([one]) => one !== member.id && one !== id);
    const remotes = success ? [] : others.map(([, address]) => address);
    for (const asker of askers) {
      if ('command' in asker) outbox.complete(asker.command, outcome);
      else {
        const comment = REASONS[outcome];
        storage.send(asker.peer, { type: 'add-server-reply', success, remotes, comment });
      }
    }
  }

  #answerRemove(outcome: Outcome, id: ServerId, askers: readonly Asker[]): void {
    const { outbox, storage } = this.#parts;
    const success = outcome === 'success' || outcome === 'already-not-in-cluster';
    for (const asker of askers) {
      if ('command' in asker) {
        outbox.complete(asker.command, outcome);
        continue;
      }
      // Only the one that is out may take this for its own dismissal.
      const target = asker.peer === id ? null : id;
      const comment = REASONS[outcome];
      storage.send(asker.peer, { type: 'remove-server-reply', success, target, comment });
    }
  }
}
