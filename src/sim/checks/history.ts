/**
 * The checker of a run: what was committed, who asked for it, who was told what.
 *
 * It believes nobody. Commits come from the machine itself (see `observed-machine`), replies from
 * the clients, and the two must tell one story: each operation applied once, in order, on behalf of
 * exactly one request; each reply the one that a reference machine gives, which is fed the same
 * operations; on every replica and after every restart the very same operations again, since one is
 * applied only when it is committed. What each replica did is told by its `witness`.
 */
import { OPERATION_PULSE, REPLY_BODY_SIZE_MAX } from '../../engine/index.ts';
import { bytesEqual, toHex, type U64, u64Add, u64Compare } from '../../stdx/index.ts';
import type { ReferenceMachine } from '../subjects/subject.ts';
import { EventHash } from '../world/event-hash.ts';
import { check, type FailureCode } from '../world/failure.ts';
import type { World } from '../world/world.ts';
import type { Applied } from './observed-machine.ts';
import { type Entry, type Explanation, OrderAudit } from './order-audit.ts';
import { type ClientName, SessionModel } from './session-model.ts';
import type { Testimony } from './testimony.ts';

/** An operation of the machine, as it was first applied. */
export interface Commit {
  readonly op: number;
  readonly timestamp: U64;
  readonly operation: number;
  /** Fingerprint of operation and body: what was asked for. */
  readonly request: string;
  readonly reply: Uint8Array;
  /** Who got the reply; `null`: nobody yet. */
  client: ClientName | null;
}

/** A reply as its client saw it. */
export interface SeenReply {
  readonly op: number;
  readonly timestamp: U64;
  readonly operation: number;
  readonly body: Uint8Array;
}

export interface HistoryOptions {
  /** The checkpoint after the one at an op; absent: the engine takes none. */
  readonly checkpointAfter?: (op: number) => number;
  /** What clients see, to be judged at the end. */
  readonly testimony?: Testimony | undefined;
  /** Whether an operation that no machine and no client knows of is explained by the log itself. */
  readonly explains?: ((op: number) => Explanation | null) | undefined;
  /** Nothing that clients are told is compared with what was applied: the testimony must do. */
  readonly isBlind?: boolean | undefined;
}

export class History {
  readonly #world: World;
  readonly #reference: ReferenceMachine;
  readonly #sessions: SessionModel = new SessionModel();
  /** Ascending op; what the machine applied first in any life. */
  readonly #commits: Commit[] = [];
  readonly #commitOf: Map<number, number> = new Map();
  #opRegisterMax: number = 0;
  readonly #registerResends: Map<ClientName, number> = new Map();
  readonly #registers: Map<number, { client: ClientName; timestamp: U64 }> = new Map();
  /** Requests sent and not yet seen applied, by fingerprint. */
  readonly #outstanding: Map<string, number> = new Map();
  /** Requests whose client gave up, and who that was: applied once or never. */
  readonly #abandoned: Map<string, ClientName[]> = new Map();
  #opCutMax: number = 0;
  /** Roots at checkpoints, as machines had them. */
  readonly #cuts: Map<number, string> = new Map();
  readonly #digests: Map<number, string> = new Map();
  /** What replicas have come to; may be more than clients and machines tell of. */
  #opExecutedMax: number = 0;
  /** The reference's roots at operations with a checkpoint. */
  readonly #roots: Map<number, string> = new Map();
  readonly #checkpointAfter: ((op: number) => number) | null;
  #checkpointNext: number;
  readonly #noops: Map<number, { client: ClientName; timestamp: U64 }> = new Map();
  #opAckedMax: number = 0;
  readonly #testimony: Testimony | null;
  readonly #isBlind: boolean;
  readonly #explains: (op: number) => Explanation | null;
  /** The reference's root after so many commits. */
  #root: string = '';
  #rootLength: number = -1;
  readonly #body: Uint8Array = new Uint8Array(REPLY_BODY_SIZE_MAX);
  readonly #reply: Uint8Array = new Uint8Array(REPLY_BODY_SIZE_MAX);

  constructor(world: World, reference: ReferenceMachine, options: HistoryOptions = {}) {
    this.#world = world;
    this.#reference = reference;
    this.#checkpointAfter = options.checkpointAfter ?? null;
    this.#checkpointNext = this.#checkpointAfter?.(0) ?? Number.POSITIVE_INFINITY;
    this.#testimony = options.testimony ?? null;
    this.#isBlind = options.isBlind ?? false;
    this.#explains = options.explains ?? (() => null);
  }

  /** Highest operation number seen in an operation or a registration. */
  get opMax(): number {
    return Math.max(this.#commits.at(-1)?.op ?? 0, this.#opRegisterMax);
  }

  /** Highest operation that a client was told is done. */
  get opAckedMax(): number {
    return this.#opAckedMax;
  }

  /** Operations applied, by anybody. */
  get length(): number {
    return this.#commits.length;
  }

  get opCutMax(): number {
    return this.#opCutMax;
  }

  /** Position of an operation among all; `null`: nobody has applied it. */
  indexOf(op: number): number | null {
    return this.#commitOf.get(op) ?? null;
  }

  /** Position of the last operation at or below `op`; −1: there is none. */
  indexAt(op: number): number {
    let index = this.#commits.length - 1;
    while (index >= 0 && (this.#commits[index] as Commit).op > op) index--;
    return index;
  }

  commitOf(index: number): Readonly<Commit> | null {
    return this.#commits[index] ?? null;
  }

  commitAt(op: number): Readonly<Commit> | null {
    const index = this.#commitOf.get(op);
    return index === undefined ? null : (this.#commits[index] as Commit);
  }

  /** An operation is applied for the first time, by whoever is ahead. */
  record(applied: Applied): void {
    const { op, operation, timestamp } = applied;
    const last = this.#commits.at(-1);
    check(last === undefined || op > last.op, 'order', () => {
      return `op ${op} applied after op ${last?.op}`;
    });
    const request = requestFingerprint(operation, applied.body);
    if (operation !== OPERATION_PULSE) this.#consume(op, operation, request);
    else this.#world.coverage.add('pulses');
    this.#rememberRoots(op);
    this.#compareWithReference(applied, last);
    this.#commitOf.set(op, this.#commits.length);
    const reply = applied.reply.slice();
    this.#commits.push({ op, timestamp, operation, request, reply, client: null });
    this.#world.coverage.add('commits');
  }

  /** A machine is at a checkpoint, with this root: the reference's, and everybody's. */
  recordCut(op: number, root: string): void {
    const isNow = op >= (this.#commits.at(-1)?.op ?? 0);
    const expected = isNow ? this.#rootNow() : this.#roots.get(op);
    const known = this.#cuts.get(op);
    check(expected === undefined || root === expected, 'divergence', () => {
      return `root ${root} at checkpoint ${op}, the reference has ${expected}`;
    });
    check(known === undefined || root === known, 'divergence', () => {
      return `root ${root} at checkpoint ${op}, another replica had ${known}`;
    });
    this.#world.coverage.add('rootsCompared');
    this.#cuts.set(op, root);
    this.#opCutMax = Math.max(this.#opCutMax, op);
  }

  /** The digest after an operation is the same whenever the engine has come that far. */
  checkDigest(op: number, digest: string): void {
    const known = this.#digests.get(op);
    this.#digests.set(op, digest);
    this.#opExecutedMax = Math.max(this.#opExecutedMax, op);
    check(known === undefined || known === digest, 'divergence', () => {
      return `digest ${digest} after op ${op} was ${known} before`;
    });
  }

  /** The superblock names a checkpoint: it must be one that was taken, with its root. */
  checkCheckpoint(op: number, root: string): void {
    const cut = this.#cuts.get(op);
    check(cut !== undefined, 'lost-operation', () => `no checkpoint was taken at op ${op}`);
    check(cut === root, 'divergence', () => `checkpoint ${op} has root ${root}, taken was ${cut}`);
  }

  /** The machine's root must be the reference's. */
  checkRoot(root: Uint8Array, code: FailureCode = 'divergence'): void {
    this.#world.coverage.add('rootsCompared');
    const found = toHex(root);
    const expected = this.#rootNow();
    check(found === expected, code, () => {
      const op = this.#commits.at(-1)?.op ?? 0;
      return `root ${found} after op ${op}, the reference has ${expected}`;
    });
  }

  /** A client sends a new request (not a resend). */
  onRequest(client: ClientName, operation: number, body: Uint8Array): void {
    this.#testimony?.onRequest(client, operation, body);
    const request = requestFingerprint(operation, body);
    this.#outstanding.set(request, (this.#outstanding.get(request) ?? 0) + 1);
  }

  /** A client will never learn what became of its request. */
  onAbandon(client: ClientName, operation: number, body: Uint8Array): void {
    this.#testimony?.onAbandon(client);
    const request = requestFingerprint(operation, body);
    const clients = this.#abandoned.get(request) ?? [];
    clients.push(client);
    this.#abandoned.set(request, clients);
    // Two who gave up on the same question: nobody can tell whose an answer was.
    if (clients.some((other) => other !== client)) this.#sessions.disable();
  }

  /** A registration is sent again: what became of the first is not known. */
  onRegisterResent(client: ClientName): void {
    this.#registerResends.set(client, (this.#registerResends.get(client) ?? 0) + 1);
  }

  /** An operation that does nothing was answered. */
  onNoop(client: ClientName, op: number, timestamp: U64): void {
    check(!this.#commitOf.has(op), 'order', () => `noop ${op} is also an applied operation`);
    this.#noops.set(op, { client, timestamp });
    this.#world.coverage.add('noops');
    this.#opAckedMax = Math.max(this.#opAckedMax, op);
  }

  onRegistered(client: ClientName, op: number, timestamp: U64): void {
    this.#opAckedMax = Math.max(this.#opAckedMax, op);
    check(!this.#commitOf.has(op), 'order', () => `session ${op} is also an applied operation`);
    const other = this.#registers.get(op);
    check(other === undefined, 'order', () => `session ${op} was given to ${other?.client} too`);
    this.#registers.set(op, { client, timestamp });
    this.#opRegisterMax = Math.max(this.#opRegisterMax, op);
    this.#world.coverage.add('registers');
  }

  /** The first reply to a request reached its client. */
  onReply(client: ClientName, operation: number, body: Uint8Array, reply: SeenReply): void {
    if (this.#isBlind) this.#world.coverage.add('replies');
    else this.#checkReply(client, operation, body, reply);
    this.#testimony?.onReply(client, operation, reply.body);
  }

  #checkReply(client: ClientName, operation: number, body: Uint8Array, reply: SeenReply): void {
    const index = this.#commitOf.get(reply.op);
    const describe = (): string => `reply to ${client} for operation ${operation}, op ${reply.op}`;
    check(index !== undefined, 'lost-operation', () => `${describe()}: nothing applied there`);
    const commit = this.#commits[index] as Commit;
    check(commit.client === null, 'double-apply', () => {
      return `${describe()}: that op already answered ${commit.client}`;
    });
    check(commit.request === requestFingerprint(operation, body), 'divergence', () => {
      return `${describe()}: another request was applied there`;
    });
    check(u64Compare(commit.timestamp, reply.timestamp) === 0, 'divergence', () => {
      return `${describe()}: timestamp is not the operation's`;
    });
    check(sameBytes(commit.reply, reply.body), 'divergence', () => {
      return `${describe()}: body is not what the machine answered`;
    });
    commit.client = client;
    this.#opAckedMax = Math.max(this.#opAckedMax, reply.op);
    this.#world.coverage.add('replies');
  }

  /** A client was told that its session is gone. */
  onEvicted(client: ClientName): void {
    this.#sessions.expectEvicted(client);
  }

  /** The run is over and every client has its answers: the two stories must be one. */
  finish(): void {
    this.#checkTestimony();
    if (this.#isBlind) return;
    for (const commit of this.#commits) {
      if (commit.client !== null || commit.operation === OPERATION_PULSE) continue;
      const client = this.#abandoned.get(commit.request)?.pop();
      check(client !== undefined, 'double-apply', () => {
        return `op ${commit.op} (operation ${commit.operation}) answers no request`;
      });
      commit.client = client;
    }
    this.#checkOrder();
  }

  #checkTestimony(): void {
    const problem = this.#testimony?.problem();
    if (problem === undefined) return;
    this.#world.coverage.add(problem === 'unknown' ? 'testimoniesUnclear' : 'testimonies');
    if (problem === null || problem === 'unknown') return;
    check(false, 'linearizability', () => problem.text);
  }

  /** The reference's root, worked out once however many replicas come to it. */
  #rootNow(): string {
    if (this.#rootLength !== this.#commits.length) {
      this.#root = toHex(this.#reference.root());
      this.#rootLength = this.#commits.length;
    }
    return this.#root;
  }

  /** The state before operation `op` is that of the checkpoints between it and the last one. */
  #rememberRoots(op: number): void {
    while (this.#checkpointAfter !== null && this.#checkpointNext < op) {
      this.#roots.set(this.#checkpointNext, this.#rootNow());
      this.#checkpointNext = this.#checkpointAfter(this.#checkpointNext);
    }
  }

  /** Some client must be waiting for exactly this, once. */
  #consume(op: number, operation: number, request: string): void {
    const left = this.#outstanding.get(request) ?? 0;
    check(left > 0, 'double-apply', () => {
      return `op ${op} (operation ${operation}) was not asked for, or is applied a second time`;
    });
    this.#outstanding.set(request, left - 1);
  }

  #compareWithReference(applied: Applied, last: Commit | undefined): void {
    const { op, operation, timestamp } = applied;
    // The machine demands aligned views; the pool's are, these copies must be as well.
    this.#body.set(applied.body);
    const body = this.#body.subarray(0, applied.body.length);
    const reserved = Math.max(1, this.#reference.reserve(operation, body));
    const first = u64Add(timestamp, 1 - reserved);
    check(last === undefined || u64Compare(first, last.timestamp) > 0, 'order', () => {
      return `op ${op}: its timestamps begin at or below those of op ${last?.op}`;
    });
    const size = this.#reference.apply({ op, timestamp }, operation, body, this.#reply);
    const expected = this.#reply.subarray(0, size);
    check(operation === OPERATION_PULSE || sameBytes(applied.reply, expected), 'divergence', () => {
      const at = firstDifference(applied.reply, expected);
      return (
        `op ${op} (operation ${operation}): reply of ${applied.reply.length} bytes differs from ` +
        `the reference's ${expected.length} at byte ${at}`
      );
    });
  }

  #checkOrder(): void {
    const entries: Entry[] = this.#commits.map(({ op, timestamp, client }) => {
      return { op, timestamp, client, kind: 'operation' };
    });
    for (const [op, register] of this.#registers)
      entries.push({ op, ...register, kind: 'register' });
    for (const [op, noop] of this.#noops) entries.push({ op, ...noop, kind: 'noop' });
    const resends = this.#registerResends;
    const holes = { opExecuted: this.#opExecutedMax, explains: this.#explains };
    new OrderAudit(this.#sessions, entries, resends, holes).check();
  }
}

/** What was asked for, in one word: equal for equal requests. */
export function requestFingerprint(operation: number, body: Uint8Array): string {
  const hash = new EventHash();
  hash.word(operation);
  hash.bytes(body);
  return hash.digest();
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && bytesEqual(a, 0, b, 0, a.length);
}

function firstDifference(a: Uint8Array, b: Uint8Array): number {
  let i = 0;
  while (i < a.length && i < b.length && a[i] === b[i]) i++;
  return i;
}
