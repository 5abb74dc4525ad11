/**
 * A simulated cluster: virtual time in milliseconds, a network that loses, doubles, delays and
 * reorders, partitions, crashes at any effect with the loss of what was not synced, slow disks,
 * clients that never pause. One seed, one run. What must hold is in `checker-test-helper.ts`.
 */
import assert from 'node:assert/strict';
import { Prng } from '../stdx/index.ts';
import { Checker } from './checker-test-helper.ts';
import type { Effect } from './effect.ts';
import type { FileHeader, ServerId } from './entry.ts';
import type { Event } from './event.ts';
import type { Msg } from './message.ts';
import { addressOf, firstHeader, idOf, Node, type Payload } from './node-test-helper.ts';
import { POLICY_OWN, type Policy } from './options.ts';
import type { Parts } from './parts.ts';

export interface WorldOptions {
  readonly seed: number;
  readonly servers: number;
  readonly policy?: Partial<Policy>;
  /** Servers of an old version: they do not ask pre-votes, and do not understand them. */
  readonly old?: readonly ServerId[];
  /** Sessions are streams, and a loss ends them; else datagrams that anything may happen to. */
  readonly isOrdered?: boolean;
  /** A planted bug, in every server. */
  readonly onParts?: ((parts: Parts<Payload>) => void) | undefined;
  readonly trace?: (line: string) => void;
}

interface Session {
  readonly dialler: ServerId;
  readonly acceptor: ServerId;
  isOpen: boolean;
  /** The dialler knows whom it has reached. */
  isNamed: boolean;
  /** To whom the last message will arrive when. */
  readonly arrivals: Map<ServerId, number>;
}

type Asked =
  | { readonly kind: 'command'; readonly eid: string }
  | { readonly kind: 'read'; readonly floor: number }
  | { readonly kind: 'admin' };

const ELECTION_TIMER_MS = 100;

export class World {
  readonly prng: Prng;
  readonly nodes: Map<ServerId, Node> = new Map();
  readonly checker: Checker = new Checker();
  readonly policy: Policy;
  nowMs: number = 0;
  steps: number = 0;
  /** One-way cuts, `a>b`. */
  readonly blocked: Set<string> = new Set();
  /** In thousandths: messages lost and doubled, effects after which a server crashes. */
  lossRate: number = 0;
  doubleRate: number = 0;
  crashRate: number = 0;
  delayMaxMs: number = 4;
  syncMaxMs: number = 3;
  readonly #options: WorldOptions;
  readonly #queue: { readonly atMs: number; readonly order: number; readonly run: () => void }[] =
    [];
  #order: number = 0;
  readonly #sessions: Set<Session> = new Set();
  /** Per server and life: address → who should be there. */
  readonly #dialling: Map<ServerId, Map<string, ServerId | null>> = new Map();
  readonly #timers: Map<ServerId, number> = new Map();
  readonly #asked: Map<number, Asked> = new Map();
  #token: number = 0;
  #names: number = 0;

  constructor(options: WorldOptions) {
    this.#options = options;
    this.prng = new Prng(options.seed, 7);
    this.policy = {
      ...POLICY_OWN,
      electionTimerMs: ELECTION_TIMER_MS,
      electionRandomMs: 100,
      // A datagram may be lost and its session goes on.
      snapshotRetryTimers: options.isOrdered === true ? 0 : 5,
      ...options.policy,
    };
    const ids = Array.from({ length: options.servers }, (_, i) => `n${i + 1}`);
    const header = firstHeader(ids, ELECTION_TIMER_MS);
    for (const id of ids) this.#addNode(id, header);
    this.#names = ids.length;
    for (const node of this.nodes.values()) this.start(node);
  }

  run(durationMs: number): void {
    const endMs = this.nowMs + durationMs;
    for (;;) {
      const next = this.#pop(endMs);
      if (next === null) break;
      this.nowMs = next.atMs;
      next.run();
      if (this.steps % 64 === 0) this.checker.logMatching([...this.nodes.values()]);
    }
    this.nowMs = endMs;
  }

  schedule(delayMs: number, run: () => void): void {
    const item = { atMs: this.nowMs + delayMs, order: this.#order++, run };
    const queue = this.#queue;
    queue.push(item);
    for (let i = queue.length - 1; i > 0; ) {
      const parent = (i - 1) >> 1;
      if (!isBefore(queue[i], queue[parent])) break;
      [queue[i], queue[parent]] = [queue[parent], queue[i]];
      i = parent;
    }
  }

  start(node: Node): void {
    this.#dialling.set(node.id, new Map());
    const effects = node.start(this.prng.u32(), this.nowMs);
    if (effects !== null) this.#execute(node, effects);
  }

  crash(node: Node): void {
    this.#log(`${node.id} crashes`);
    node.crash(this.prng);
    this.#dialling.delete(node.id);
    for (const session of this.#sessions) {
      if (session.dialler === node.id || session.acceptor === node.id) this.#close(session);
    }
  }

  /** A server that is to join, told of another; or of none, so that it has to be added. */
  join(knowsOne: boolean): ServerId {
    const id = `n${++this.#names}`;
    const remotes = knowsOne ? [addressOf(this.prng.pick([...this.nodes.keys()]))] : [];
    this.start(this.#addNode(id, { type: 'joining', remotes }));
    return id;
  }

  propose(node: Node, prerequisite: string | null = null): string {
    const eid = `c${this.#token + 1}`;
    const command = this.#ask({ kind: 'command', eid });
    const event = { type: 'propose', command, data: [eid], size: 10, eid, prerequisite } as const;
    this.step(node, event);
    return eid;
  }

  read(node: Node): void {
    const read = this.#ask({ kind: 'read', floor: this.checker.acknowledged });
    this.step(node, { type: 'read', read, mode: 'linearizable' });
  }

  /** Without the command's number, which is added. */
  admin(node: Node, make: (command: number) => Event<Payload>): void {
    this.step(node, make(this.#ask({ kind: 'admin' })));
  }

  /** As a machine does it: a cheap copy now, the bytes of it later. */
  snapshot(node: Node): void {
    const { appliedIndex: index, life } = node;
    const data = [...node.applied];
    this.schedule(this.prng.between(5, 20), () => {
      if (node.life !== life || !node.isUp) return;
      this.admin(node, (command) => ({ type: 'snapshot-ready', command, index, data, size: 0 }));
    });
  }

  /** Hands an event to a server, if it runs. */
  step(node: Node, event: Event<Payload>): void {
    if (!node.isUp) return;
    if (node.backlog !== null) {
      node.backlog.push(event);
      return;
    }
    this.steps++;
    this.#execute(node, node.step(event, this.nowMs));
    if (node.isUp) this.checker.onStep(node);
  }

  /** The process stands still: whatever comes waits, and its clock is ahead when it goes on. */
  pause(node: Node, durationMs: number): void {
    if (node.backlog !== null) return;
    node.backlog = [];
    this.#later(node, durationMs, () => {
      const events = node.backlog ?? [];
      node.backlog = null;
      for (const event of events) this.step(node, event);
    });
  }

  /** Its disk refuses a write: it ends, and is started again by and by. */
  failDisk(node: Node): void {
    if (node.backlog !== null) return;
    this.step(node, { type: 'write-failed' });
    if (!node.isUp) return;
    assert(node.inside.member.isStopped, 'goes on without a disk');
    this.crash(node);
  }

  cutSession(): void {
    const open = [...this.#sessions];
    if (open.length > 0) this.#close(this.prng.pick(open));
  }

  #addNode(id: ServerId, header: FileHeader<Payload>): Node {
    const { onParts } = this.#options;
    const policy: Policy = this.#isOld(id) ? { ...this.policy, preVote: 'off' } : this.policy;
    const node = new Node({ id, header, policy, onParts });
    this.nodes.set(id, node);
    return node;
  }

  #execute(node: Node, effects: readonly Effect<Payload>[]): void {
    for (const effect of effects) {
      if (this.crashRate > 0 && this.prng.chance(this.crashRate, 10_000)) {
        this.crash(node);
        return;
      }
      this.#carryOut(node, effect);
    }
    if (!node.isApplyDue) return;
    node.isApplyDue = false;
    this.#later(node, this.prng.below(3), () => {
      this.step(node, { type: 'applied', index: node.appliedIndex });
    });
  }

  #carryOut(node: Node, effect: Effect<Payload>): void {
    switch (effect.type) {
      case 'append':
        node.disk.append(effect.seq, effect.records);
        break;
      case 'request-sync':
        this.#sync(node, effect.seq);
        break;
      case 'replace-file':
        node.disk.replace(effect.seq, effect.header, effect.records);
        this.#sync(node, effect.seq);
        break;
      case 'send':
        this.checker.onSend(node, effect.peer, effect.message);
        this.#send(node, effect.peer ?? idOf(effect.address), effect.message);
        break;
      case 'connect':
        this.#dialling.get(node.id)?.set(effect.address, effect.peer);
        this.#later(node, 1, () => this.#dial(node, effect.address));
        break;
      case 'disconnect':
        this.#hangUp(node, effect.address);
        break;
      case 'deliver':
        node.deliver(effect.entry);
        this.checker.onDeliver(node, effect.entry);
        break;
      case 'deliver-snapshot':
        node.restore(effect.snapshot);
        this.checker.onSnapshot(node, effect.snapshot);
        break;
      case 'want-snapshot':
        this.snapshot(node);
        break;
      case 'complete':
        this.#onComplete(effect);
        break;
      case 'read-ready':
        this.#onRead(node, effect);
        break;
      case 'set-timer':
        this.#setTimer(node, effect.deadlineMs);
        break;
      case 'trace':
        this.#log(`${node.id} ${effect.event} ${JSON.stringify(effect.fields)}`);
        break;
      case 'status-changed':
        break;
    }
  }

  #onComplete(effect: Effect<Payload> & { readonly type: 'complete' }): void {
    const asked = this.#asked.get(effect.command);
    assert(asked !== undefined, 'an answer without a question');
    if (effect.status !== 'in-progress') this.#asked.delete(effect.command);
    if (asked.kind !== 'command') return;
    if (effect.status === 'success') this.checker.onSuccess(asked.eid, effect.index);
    const isDenied = ['not-leader', 'prerequisite-failed', 'busy'].includes(effect.status);
    // A datagram that came twice may be denied first and done later.
    if (isDenied && this.#options.isOrdered === true) this.checker.onDenied(asked.eid);
  }

  #onRead(node: Node, effect: Effect<Payload> & { readonly type: 'read-ready' }): void {
    const asked = this.#asked.get(effect.read);
    assert(asked?.kind === 'read', 'an answer without a question');
    this.#asked.delete(effect.read);
    if (!effect.success) return;
    assert(node.appliedIndex >= effect.index, 'a read of what is not applied');
    this.checker.onRead(node, asked.floor, effect.index);
  }

  #setTimer(node: Node, deadlineMs: number): void {
    const timer = this.#order;
    this.#timers.set(node.id, timer);
    this.#later(node, Math.max(0, deadlineMs - this.nowMs), () => {
      if (this.#timers.get(node.id) === timer) this.step(node, { type: 'tick' });
    });
  }

  #sync(node: Node, seq: number): void {
    this.#later(node, this.prng.between(0, this.syncMaxMs), () => {
      node.disk.synced(seq);
      this.step(node, { type: 'synced', seq });
    });
  }

  #send(node: Node, to: ServerId, message: Msg<Payload>): void {
    const session = [...this.#sessions].find(
      ({ dialler, acceptor }) =>
        (dialler === node.id && acceptor === to) || (dialler === to && acceptor === node.id),
    );
    if (session === undefined) return;
    if (message.type === 'vote-request' && message.isPreVote && this.#isOld(to)) return;
    if (this.#options.isOrdered === true) this.#sendInOrder(node, to, message, session);
    else this.#sendAnyhow(node, to, message);
  }

  /** A network of datagrams. */
  #sendAnyhow(node: Node, to: ServerId, message: Msg<Payload>): void {
    if (this.#isCut(node.id, to)) return;
    const copies = this.prng.chance(this.doubleRate, 1000) ? 2 : 1;
    for (let i = 0; i < copies; i++) {
      if (this.prng.chance(this.lossRate, 1000)) continue;
      this.schedule(this.prng.between(1, this.delayMaxMs), () => {
        if (!this.#isCut(node.id, to)) this.#arrive(node, to, message);
      });
    }
  }

  /** A stream: nothing is lost or overtaken while the session lasts, and a loss is its end. */
  #sendInOrder(node: Node, to: ServerId, message: Msg<Payload>, session: Session): void {
    const last = session.arrivals.get(to) ?? 0;
    const atMs = Math.max(last, this.nowMs + this.prng.between(1, this.delayMaxMs));
    session.arrivals.set(to, atMs);
    const isLost = this.prng.chance(this.lossRate, 10_000);
    this.schedule(atMs - this.nowMs, () => {
      if (!session.isOpen) return;
      if (isLost || this.#isCut(node.id, to)) this.#close(session);
      else this.#arrive(node, to, message);
    });
  }

  #arrive(node: Node, to: ServerId, message: Msg<Payload>): void {
    const target = this.nodes.get(to);
    if (target !== undefined) this.step(target, { type: 'message', peer: node.id, message });
  }

  #dial(node: Node, address: string): void {
    const dialling = this.#dialling.get(node.id);
    const peer = dialling?.get(address);
    if (dialling === undefined || peer === undefined) return;
    const target = this.nodes.get(idOf(address));
    const isCut = this.#isCut(node.id, idOf(address)) || this.#isCut(idOf(address), node.id);
    if (target === undefined || !target.isUp || isCut) {
      if (!isCut && peer !== null) this.step(node, { type: 'refused', peer });
      this.#later(node, this.prng.between(20, 40), () => this.#dial(node, address));
      return;
    }
    const ends = { dialler: node.id, acceptor: target.id };
    const session: Session = { ...ends, isOpen: true, isNamed: false, arrivals: new Map() };
    this.#sessions.add(session);
    const connected = { type: 'connected', address } as const;
    this.step(target, { ...connected, peer: node.id, isDialled: false });
    if (!session.isOpen) return;
    session.isNamed = peer !== null;
    this.step(node, { ...connected, peer, isDialled: true });
    if (peer !== null || !node.isUp || !session.isOpen) return;
    session.isNamed = true;
    this.step(node, { ...connected, peer: target.id, isDialled: false });
  }

  #hangUp(node: Node, address: string): void {
    this.#dialling.get(node.id)?.delete(address);
    for (const session of this.#sessions) {
      if (session.dialler !== node.id || addressOf(session.acceptor) !== address) continue;
      // What was sent before still arrives.
      this.schedule(this.delayMaxMs, () => this.#close(session));
    }
  }

  #close(session: Session): void {
    if (!this.#sessions.delete(session)) return;
    session.isOpen = false;
    for (const [id, peer] of [
      [session.dialler, session.acceptor],
      [session.acceptor, session.dialler],
    ]) {
      const node = this.nodes.get(id) as Node;
      if (id === session.dialler && !session.isNamed) continue;
      this.#later(node, 0, () => this.step(node, { type: 'disconnected', peer }));
    }
    const dialler = this.nodes.get(session.dialler) as Node;
    this.#later(dialler, this.prng.between(10, 20), () => {
      this.#dial(dialler, addressOf(session.acceptor));
    });
  }

  #isOld(id: ServerId): boolean {
    return this.#options.old?.includes(id) ?? false;
  }

  #isCut(from: ServerId, to: ServerId): boolean {
    return this.blocked.has(`${from}>${to}`);
  }

  /** Unless the server has died in between. */
  #later(node: Node, delayMs: number, run: () => void): void {
    const { life } = node;
    this.schedule(delayMs, () => {
      if (node.life === life && node.isUp) run();
    });
  }

  #ask(asked: Asked): number {
    this.#asked.set(++this.#token, asked);
    return this.#token;
  }

  #log(line: string): void {
    this.#options.trace?.(`${this.nowMs} ${line}`);
  }

  #pop(endMs: number): { readonly atMs: number; readonly run: () => void } | null {
    const queue = this.#queue;
    const first = queue[0];
    if (first === undefined || first.atMs > endMs) return null;
    const last = queue.pop() as typeof first;
    if (queue.length === 0) return first;
    queue[0] = last;
    for (let i = 0; ; ) {
      let least = i;
      for (const child of [2 * i + 1, 2 * i + 2]) {
        if (child < queue.length && isBefore(queue[child], queue[least])) least = child;
      }
      if (least === i) return first;
      [queue[i], queue[least]] = [queue[least], queue[i]];
      i = least;
    }
  }
}

function isBefore(
  a: { readonly atMs: number; readonly order: number },
  b: { readonly atMs: number; readonly order: number },
): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
