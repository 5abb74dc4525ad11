/**
 * One server with others that exist only as messages. Its disk is always done at once, its machine
 * too.
 */
import assert from 'node:assert/strict';
import type { Effect, Status } from './effect.ts';
import type { AppendReply, Msg } from './message.ts';
import { firstHeader, Node, type Payload } from './node-test-helper.ts';
import { POLICY_OWN, type Policy } from './options.ts';

export type Sent = Msg<Payload> & { readonly to: string };

export class Alone {
  readonly node: Node;
  nowMs: number = 0;
  readonly #servers: readonly string[];
  /** How commands have ended. */
  readonly completed: { readonly status: Status; readonly index: number }[] = [];

  /** `id` may be none of the servers: then it is about to join. */
  constructor(servers: readonly string[], policy: Partial<Policy> = {}, id: string = 'a') {
    this.#servers = servers;
    const header = firstHeader(servers, 1000);
    const full = { ...POLICY_OWN, electionRandomMs: 1, ...policy };
    this.node = new Node({ id, header, policy: full });
    this.carryOut(this.node.start(1, 0) ?? []);
    for (const peer of servers.filter((one) => one !== id)) {
      this.node.step({ type: 'connected', peer, address: peer, isDialled: false }, 0);
    }
  }

  /** Carries out what stays inside, until nothing is left to do; returns what was sent. */
  carryOut(effects: readonly Effect<Payload>[]): Sent[] {
    const sent: Sent[] = [];
    const { disk } = this.node;
    for (const effect of effects) {
      if (effect.type === 'append') disk.append(effect.seq, effect.records);
      if (effect.type === 'replace-file') disk.replace(effect.seq, effect.header, effect.records);
      if (effect.type === 'complete') this.completed.push(effect);
      if (effect.type === 'send') sent.push({ ...effect.message, to: effect.peer ?? '' });
      else if (effect.type === 'request-sync' || effect.type === 'replace-file') {
        sent.push(...this.step({ type: 'synced', seq: effect.seq }));
      } else if (effect.type === 'deliver') this.node.deliver(effect.entry);
      else if (effect.type === 'deliver-snapshot') this.node.restore(effect.snapshot);
    }
    if (!this.node.isApplyDue) return sent;
    this.node.isApplyDue = false;
    return [...sent, ...this.step({ type: 'applied', index: this.node.appliedIndex })];
  }

  step(event: Parameters<Node['step']>[0]): Sent[] {
    return this.carryOut(this.node.step(event, this.nowMs));
  }

  hear(peer: string, message: Msg<Payload>): Sent[] {
    return this.step({ type: 'message', peer, message });
  }

  /** The named deadline is now. */
  timeout(name: 'election' | 'ping' | 'upkeep'): Sent[] {
    this.node.inside.deadlines.set(name, this.nowMs);
    return this.step({ type: 'tick' });
  }

  propose(name: string): Sent[] {
    const event = { type: 'propose', command: 1, data: [name], size: 10, eid: name } as const;
    return this.step({ ...event, prerequisite: null });
  }

  snapshot(): Sent[] {
    const { appliedIndex: index, applied } = this.node;
    return this.step({ type: 'snapshot-ready', command: 2, index, data: [...applied], size: 0 });
  }

  /** Elected by all. */
  lead(): void {
    this.timeout('election');
    for (const isPreVote of [true, false]) {
      const { term } = this.node.inside.member;
      for (const peer of this.#servers.slice(1)) {
        this.hear(peer, { type: 'vote-reply', term, vote: 'a', isPreVote });
      }
    }
    assert(this.node.inside.member.isLeader, 'is elected');
  }

  /** `peer` has everything; or, with `refuses`, not the entry at `index`. */
  reply(peer: string, index: number, refuses: { readonly logEnd: number } | null = null): Sent[] {
    const { term } = this.node.inside.member;
    const reply: AppendReply = {
      type: 'append-reply',
      term,
      logEnd: refuses?.logEnd ?? index + 1,
      prevIndex: index,
      prevTerm: term,
      entryCount: 0,
      round: 0,
      result: refuses === null ? 'ok' : 'inconsistency',
    };
    return this.hear(peer, reply);
  }
}

export const ofType = (sent: readonly Sent[], type: string): Sent[] =>
  sent.filter((message) => message.type === type);
