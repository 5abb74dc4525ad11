/**
 * Protocol rules as text: a file of commands, each followed by `----` and what the servers did. The
 * network and the disks stand still until a command moves them, so a rule can be shown at exactly
 * the moment that matters. `REWRITE=1` writes what happened into the files; review the diff.
 *
 * Commands (a, b, … are servers; an empty line ends what is expected):
 *   cluster a b c [preVote=off …]   a cluster of these, running, with a policy
 *   elect a | ping a | upkeep a     that deadline of a is now
 *   wait 500                        time passes, nobody's timer fires
 *   deliver [a>b]                   what is under way now arrives (not what that causes)
 *   drop [a>b] | cut a b | heal     messages under way are lost; no more get through; they do again
 *   sync a                          a's disk is done with all it was asked for
 *   settle                          deliver and sync to the end; says only how commands end
 *   propose a NAME [after OTHER]    a command for the log
 *   read a NAME | kick a b NAME | leave a NAME | transfer a [b] | timer a MS | snapshot a [INDEX]
 *   join d [via a]                  a new server that knows a's address, or none and waits
 *   add a d NAME                    a is told to add d
 *   fail a                          a's disk refuses a write
 *   crash a [all]                   a dies, with all that was not synced (all: keeps that)
 *   start a | refused a b           a runs again; nobody listens where a dials b
 *   status [a] | log a              what a believes
 */
import assert from 'node:assert/strict';
import { Prng } from '../stdx/index.ts';
import { describe, entryText, recordText } from './describe-test-helper.ts';
import type { Effect } from './effect.ts';
import type { FileHeader, ServerId } from './entry.ts';
import type { Event } from './event.ts';
import type { Msg } from './message.ts';
import { addressOf, firstHeader, idOf, Node, type Payload } from './node-test-helper.ts';
import { POLICY_OWN, type Policy } from './options.ts';
import type { Parts } from './parts.ts';

interface Letter {
  readonly from: ServerId;
  readonly to: ServerId;
  readonly message: Msg<Payload>;
}

export class Lab {
  readonly nodes: Map<ServerId, Node> = new Map();
  nowMs: number = 0;
  readonly #onParts: ((parts: Parts<Payload>) => void) | undefined;
  #policy: Policy = { ...POLICY_OWN, electionRandomMs: 1 };
  #letters: Letter[] = [];
  #lines: string[] = [];
  #isSilent: boolean = false;
  readonly #cuts: Set<string> = new Set();
  readonly #dials: Map<string, { readonly from: ServerId; readonly peer: ServerId | null }> =
    new Map();
  readonly #links: Set<string> = new Set();
  readonly #syncs: Map<ServerId, number> = new Map();
  readonly #names: Map<number, string> = new Map();
  readonly #shots: Map<string, readonly string[]> = new Map();
  #token: number = 0;

  constructor(onParts?: (parts: Parts<Payload>) => void) {
    this.#onParts = onParts;
  }

  /** Carries out one line; returns what happened, a line each. */
  run(line: string): string {
    this.#lines = [];
    const [verb, ...args] = line.split(/\s+/);
    this.#command(verb, args);
    this.#link();
    return this.#lines.length === 0 ? 'nothing' : this.#lines.join('\n');
  }

  step(id: ServerId, event: Event<Payload>): void {
    const node = this.#node(id);
    if (!node.isUp) return;
    this.#carryOut(node, node.step(event, this.nowMs));
    while (node.isApplyDue) {
      node.isApplyDue = false;
      this.#shots.set(`${id} ${node.appliedIndex}`, [...node.applied]);
      this.#carryOut(node, node.step({ type: 'applied', index: node.appliedIndex }, this.nowMs));
    }
  }

  #command(verb: string, args: readonly string[]): void {
    const [first, second, third] = args;
    const name = (token: string): number => this.#name(token);
    switch (verb) {
      case 'cluster':
        this.#cluster(args);
        break;
      case 'elect':
      case 'ping':
      case 'upkeep':
        this.#node(first).inside.deadlines.set(verb === 'elect' ? 'election' : verb, this.nowMs);
        this.step(first, { type: 'tick' });
        break;
      case 'wait':
        this.nowMs += Number(first);
        break;
      case 'deliver':
        this.#deliver(first ?? null);
        break;
      case 'drop':
        this.#letters = this.#letters.filter((one) => !isOn(one, first ?? null));
        break;
      case 'cut':
        for (const way of [`${first}>${second}`, `${second}>${first}`]) this.#cuts.add(way);
        this.#letters = this.#letters.filter((one) => !this.#isCut(one));
        break;
      case 'heal':
        this.#cuts.clear();
        break;
      case 'sync':
        this.#sync(first);
        break;
      case 'settle':
        this.#settle();
        break;
      case 'join':
        this.#add(first, {
          type: 'joining',
          remotes: third === undefined ? [] : [addressOf(third)],
        });
        break;
      case 'crash':
        this.#crash(first, second === 'all');
        break;
      case 'start':
        this.#start(first);
        break;
      case 'status':
        for (const id of args.length > 0 ? args : this.nodes.keys()) this.#status(id);
        break;
      case 'log':
        this.#log(first);
        break;
      default:
        this.#ask(verb, args, name);
    }
  }

  #ask(verb: string, args: readonly string[], name: (token: string) => number): void {
    const [id, second, third] = args;
    const command = name(['kick', 'add'].includes(verb) ? third : (second ?? verb));
    switch (verb) {
      case 'propose': {
        const prerequisite = args[3] ?? null;
        this.step(id, {
          type: 'propose',
          command,
          data: [second],
          size: 10,
          eid: second,
          prerequisite,
        });
        break;
      }
      case 'read':
        this.step(id, { type: 'read', read: command, mode: 'linearizable' });
        break;
      case 'kick':
        this.step(id, { type: 'kick', command, server: second });
        break;
      case 'add': {
        const address = addressOf(second);
        this.step(id, { type: 'add-server', command: name(third), server: second, address });
        break;
      }
      case 'leave':
        this.step(id, { type: 'leave', command });
        break;
      case 'transfer':
        this.step(id, { type: 'transfer', command, target: second ?? null, reason: 'asked' });
        break;
      case 'timer': {
        const electionTimerMs = Number(second);
        this.step(id, { type: 'change-election-timer', command, electionTimerMs });
        break;
      }
      case 'snapshot': {
        const index = second === undefined ? this.#node(id).appliedIndex : Number(second);
        const data = this.#shots.get(`${id} ${index}`) ?? [];
        this.step(id, { type: 'snapshot-ready', command, index, data, size: 0 });
        break;
      }
      case 'fail':
        this.step(id, { type: 'write-failed' });
        break;
      case 'refused':
        this.step(id, { type: 'refused', peer: second });
        break;
      default:
        throw new Error(`no such command: ${verb}`);
    }
  }

  #cluster(args: readonly string[]): void {
    const settings = args.filter((arg) => arg.includes('=')).map((arg) => arg.split('='));
    const ids = args.filter((arg) => !arg.includes('='));
    const values = settings.map(([key, value]) => [key, parseValue(value)]);
    this.#policy = { ...this.#policy, ...Object.fromEntries(values) };
    for (const id of ids) this.#add(id, firstHeader(ids, this.#policy.electionTimerMs));
    this.#link();
    this.#letters = [];
    if (ids.length > 1) this.#lines = [];
  }

  #add(id: ServerId, header: FileHeader<Payload>): void {
    const node = new Node({ id, header, policy: this.#policy, onParts: this.#onParts });
    this.nodes.set(id, node);
    this.#start(id);
  }

  #start(id: ServerId): void {
    const effects = this.#node(id).start(id.charCodeAt(0), this.nowMs);
    if (effects === null) {
      this.#say(`${id}: may not start`);
      return;
    }
    this.#carryOut(this.#node(id), effects);
    const node = this.#node(id);
    if (node.isApplyDue) {
      node.isApplyDue = false;
      this.#shots.set(`${id} ${node.appliedIndex}`, [...node.applied]);
      this.step(id, { type: 'applied', index: node.appliedIndex });
    }
  }

  #crash(id: ServerId, keepsAll: boolean): void {
    const node = this.#node(id);
    if (keepsAll) node.disk.synced(Number.MAX_SAFE_INTEGER);
    // A generator that always picks the least: the oldest file, and nothing that was not synced.
    const worst = new Prng(0);
    worst.below = () => 0;
    node.crash(worst);
    this.#syncs.delete(id);
    this.#letters = this.#letters.filter((one) => one.from !== id && one.to !== id);
    for (const dial of this.#dials.keys()) if (dial.startsWith(`${id} `)) this.#dials.delete(dial);
    for (const link of this.#links) {
      const [from, to] = link.split(' ');
      if (from !== id && to !== id) continue;
      this.#links.delete(link);
      this.step(from === id ? to : from, { type: 'disconnected', peer: id });
    }
  }

  /** Every dialled pair of running servers is connected at once. */
  #link(): void {
    for (const [dial, { from, peer }] of this.#dials) {
      const to = dial.split(' ')[1];
      const link = `${from} ${to}`;
      if (this.#links.has(link) || !this.nodes.get(to)?.isUp || !this.#node(from).isUp) continue;
      this.#links.add(link);
      const connected = { type: 'connected', address: addressOf(to) } as const;
      this.step(to, { ...connected, peer: from, isDialled: false });
      this.step(from, { ...connected, peer, isDialled: true });
      if (peer === null) this.step(from, { ...connected, peer: to, isDialled: false });
    }
  }

  #deliver(way: string | null): void {
    const due = this.#letters.filter((one) => isOn(one, way));
    this.#letters = this.#letters.filter((one) => !isOn(one, way));
    for (const { from, to, message } of due)
      this.step(to, { type: 'message', peer: from, message });
  }

  #sync(id: ServerId): void {
    const seq = this.#syncs.get(id);
    if (seq === undefined) return;
    this.#syncs.delete(id);
    this.#node(id).disk.synced(seq);
    this.step(id, { type: 'synced', seq });
  }

  #settle(): void {
    this.#isSilent = true;
    for (let i = 0; this.#letters.length + this.#syncs.size > 0; i++) {
      assert(i < 1000, 'settle: it never ends');
      for (const id of [...this.#syncs.keys()]) this.#sync(id);
      this.#deliver(null);
      this.#link();
    }
    this.#isSilent = false;
  }

  #carryOut(node: Node, effects: readonly Effect<Payload>[]): void {
    for (const effect of effects) {
      this.#do(node, effect);
      const text = describe(effect, (token) => this.#names.get(token) ?? `${token}`);
      const isAnswer = effect.type === 'complete' || effect.type === 'read-ready';
      if (text !== null && isAnswer) this.#lines.push(`${node.id}${text}`);
      else if (text !== null) this.#say(`${node.id}${text}`);
    }
  }

  #do(node: Node, effect: Effect<Payload>): void {
    switch (effect.type) {
      case 'append':
        node.disk.append(effect.seq, effect.records);
        break;
      case 'request-sync':
        this.#syncs.set(node.id, effect.seq);
        break;
      case 'replace-file':
        node.disk.replace(effect.seq, effect.header, effect.records);
        this.#syncs.set(node.id, effect.seq);
        break;
      case 'send': {
        const { message } = effect;
        const letter = { from: node.id, to: effect.peer ?? idOf(effect.address), message };
        const isUp = this.nodes.get(letter.to)?.isUp ?? false;
        if (message.type === 'hello-request' || !isUp || this.#isCut(letter)) break;
        this.#letters.push(letter);
        break;
      }
      case 'connect': {
        const dial = { from: node.id, peer: effect.peer };
        this.#dials.set(`${node.id} ${idOf(effect.address)}`, dial);
        break;
      }
      case 'disconnect':
        this.#dials.delete(`${node.id} ${idOf(effect.address)}`);
        break;
      case 'deliver':
        node.deliver(effect.entry);
        break;
      case 'deliver-snapshot':
        node.restore(effect.snapshot);
        break;
      default:
        break;
    }
  }

  #status(id: ServerId): void {
    const node = this.#node(id);
    if (!node.isUp) {
      this.#say(`${id}: down`);
      return;
    }
    const { role, phase, term, leader, logStart, logEnd, commitIndex, electionTimerMs } =
      node.engine.status();
    const { isConnected, servers } = node.engine.status();
    const names = servers.map((one) => (one.phase === null ? one.id : `${one.id}(${one.phase})`));
    const words = [`${role} term=${term} leader=${leader ?? '-'}`];
    words.push(`log=[${logStart},${logEnd - 1}] commit=${commitIndex} servers=${names.join(',')}`);
    if (phase !== 'member') words.push(phase);
    if (!isConnected) words.push('unconnected');
    if (electionTimerMs !== this.#policy.electionTimerMs) words.push(`timer=${electionTimerMs}`);
    this.#say(`${id}: ${words.join(' ')}`);
  }

  #log(id: ServerId): void {
    const { log } = this.#node(id).inside;
    const entries = [];
    for (let i = log.start; i < log.end; i++) entries.push(entryText(log.at(i)));
    this.#say(`${id}: ${entries.join(', ')}`);
    const { records } = this.#node(id).disk.durable();
    this.#say(`  durable: ${records.map(recordText).join(', ')}`);
  }

  #name(text: string): number {
    this.#names.set(++this.#token, text);
    return this.#token;
  }

  #node(id: ServerId): Node {
    const node = this.nodes.get(id);
    assert(node !== undefined, `no such server: ${id}`);
    return node;
  }

  #isCut(letter: Letter): boolean {
    return this.#cuts.has(`${letter.from}>${letter.to}`);
  }

  #say(line: string): void {
    if (!this.#isSilent) this.#lines.push(line);
  }
}

function isOn(letter: Letter, way: string | null): boolean {
  return way === null || way === `${letter.from}>${letter.to}`;
}

function parseValue(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  return Number.isNaN(Number(text)) ? text : Number(text);
}
