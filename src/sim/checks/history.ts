/**
 * The checker of a run: what was committed, who asked for it, who was told what.
 *
 * It believes nobody. Commits come from the machine itself (see `observed-machine`), replies from
 * the clients, and the two must tell one story: each operation applied once, in order, on behalf of
 * exactly one request; each reply the one that a reference machine gives, which is fed the same
 * operations; and after every restart the very same operations again, since with one replica an
 * operation is applied only when it is durable.
 */
import { CLIENTS_MAX, OPERATION_PULSE, REPLY_BODY_SIZE_MAX } from '../../engine/index.ts';
import { bytesEqual, toHex, type U64, u64Add, u64Compare } from '../../stdx/index.ts';
import type { ReferenceMachine } from '../subjects/subject.ts';
import { EventHash } from '../world/event-hash.ts';
import { check, type FailureCode } from '../world/failure.ts';
import type { World } from '../world/world.ts';
import type { Applied, MachineObserver } from './observed-machine.ts';
import { type ClientName, SessionModel } from './session-model.ts';

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

/** An operation or a registration, in the one order of all. */
interface Entry {
  readonly op: number;
  readonly timestamp: U64;
  readonly client: ClientName | null;
  readonly isRegister: boolean;
}

export class History implements MachineObserver {
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
  /** Roots at checkpoints. */
  readonly #cuts: Map<number, string> = new Map();
  readonly #digests: Map<number, string> = new Map();
  /** Index into `#commits` of this life's last applied one; −1: none yet in this life. */
  #position: number = -1;
  readonly #body: Uint8Array = new Uint8Array(REPLY_BODY_SIZE_MAX);
  readonly #reply: Uint8Array = new Uint8Array(REPLY_BODY_SIZE_MAX);

  constructor(world: World, reference: ReferenceMachine) {
    this.#world = world;
    this.#reference = reference;
  }

  /** Highest operation number seen in an operation or a registration. */
  get opMax(): number {
    return Math.max(this.#commits.at(-1)?.op ?? 0, this.#opRegisterMax);
  }

  commitAt(op: number): Readonly<Commit> | null {
    const index = this.#commitOf.get(op);
    return index === undefined ? null : (this.#commits[index] as Commit);
  }

  /** A new life of the engine begins: it may start again from any checkpoint. */
  onLife(): void {
    this.#position = -1;
  }

  onApply(applied: Applied): void {
    const known = this.#commitOf.get(applied.op);
    if (known === undefined) this.#onFirst(applied);
    else this.#onReplay(applied, known);
  }

  onCut(op: number, root: Uint8Array): void {
    this.#world.coverage.add('checkpoints');
    this.checkRoot(root);
    this.#cuts.set(op, toHex(root));
    this.#opCutMax = Math.max(this.#opCutMax, op);
    this.#world.note('machine', 'cut', `op ${op}`);
  }

  /**
   * The engine says that it has recovered: everything ever applied must be in its machine again,
   * and nothing else.
   */
  onRecovered(root: Uint8Array): void {
    const last = this.#commits.length - 1;
    const isComplete = this.#position === -1 || this.#position === last;
    check(isComplete, 'lost-operation', () => {
      const stopped = this.#commits[this.#position] as Commit;
      return `recovery stopped at op ${stopped.op}, op ${this.#commits[last]?.op} was applied`;
    });
    // Nothing replayed and another root: it was the checkpoint that lost something.
    this.checkRoot(root, this.#position === last ? 'divergence' : 'lost-operation');
    this.#position = last;
  }

  /** The digest after an operation is the same whenever the engine has come that far. */
  checkDigest(op: number, digest: string): void {
    const known = this.#digests.get(op);
    this.#digests.set(op, digest);
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
    const expected = this.#reference.root();
    const isEqual =
      root.length === expected.length && bytesEqual(root, 0, expected, 0, root.length);
    check(isEqual, code, () => {
      const op = this.#commits.at(-1)?.op ?? 0;
      return `root ${toHex(root)} after op ${op}, the reference has ${toHex(expected)}`;
    });
  }

  /** A client sends a new request (not a resend). */
  onRequest(operation: number, body: Uint8Array): void {
    const request = requestFingerprint(operation, body);
    this.#outstanding.set(request, (this.#outstanding.get(request) ?? 0) + 1);
  }

  /** A client will never learn what became of its request. */
  onAbandon(client: ClientName, operation: number, body: Uint8Array): void {
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

  onRegistered(client: ClientName, op: number, timestamp: U64): void {
    check(!this.#commitOf.has(op), 'order', () => `session ${op} is also an applied operation`);
    const other = this.#registers.get(op);
    check(other === undefined, 'order', () => `session ${op} was given to ${other?.client} too`);
    this.#registers.set(op, { client, timestamp });
    this.#opRegisterMax = Math.max(this.#opRegisterMax, op);
    this.#world.coverage.add('registers');
  }

  /** The first reply to a request reached its client. */
  onReply(client: ClientName, operation: number, body: Uint8Array, reply: SeenReply): void {
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
    this.#world.coverage.add('replies');
  }

  /** A client was told that its session is gone. */
  onEvicted(client: ClientName): void {
    this.#sessions.expectEvicted(client);
  }

  /** The run is over and every client has its answers: the two stories must be one. */
  finish(): void {
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

  #onFirst(applied: Applied): void {
    const { op, operation, timestamp } = applied;
    const last = this.#commits.at(-1);
    check(this.#isNext(this.#commits.length), 'lost-operation', () => {
      return `op ${op} is new, but op ${last?.op} was not applied again after the restart`;
    });
    check(last === undefined || op > last.op, 'order', () => {
      return `op ${op} applied after op ${last?.op}`;
    });
    const request = requestFingerprint(operation, applied.body);
    if (operation !== OPERATION_PULSE) this.#consume(op, operation, request);
    else this.#world.coverage.add('pulses');
    this.#compareWithReference(applied, last);
    this.#commitOf.set(op, this.#commits.length);
    this.#position = this.#commits.length;
    const reply = applied.reply.slice();
    this.#commits.push({ op, timestamp, operation, request, reply, client: null });
    this.#world.coverage.add('commits');
  }

  #onReplay(applied: Applied, index: number): void {
    const { op } = applied;
    const commit = this.#commits[index] as Commit;
    const isNext = this.#isNext(index);
    check(isNext, index <= this.#position ? 'double-apply' : 'lost-operation', () => {
      return `op ${op} replayed after op ${this.#commits[this.#position]?.op}`;
    });
    const isSame =
      commit.operation === applied.operation &&
      u64Compare(commit.timestamp, applied.timestamp) === 0 &&
      commit.request === requestFingerprint(applied.operation, applied.body);
    check(isSame, 'lost-operation', () => {
      return `op ${op} was operation ${commit.operation}, after a restart it is another request`;
    });
    check(sameBytes(commit.reply, applied.reply), 'divergence', () => {
      return `op ${op} answers differently when replayed`;
    });
    this.#position = index;
    this.#world.coverage.add('replayedOps');
  }

  /**
   * Whether the operation at `index` may come now: right after the last one of this life, or first
   * in it, when everything before is in a checkpoint that was taken.
   */
  #isNext(index: number): boolean {
    if (this.#position !== -1) return index === this.#position + 1;
    const before = this.#commits[index - 1];
    return before === undefined || before.op <= this.#opCutMax;
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

  /** Operations and registrations together: no hole, rising timestamps, lawful evictions. */
  #checkOrder(): void {
    const all: Entry[] = [
      ...this.#commits.map(({ op, timestamp, client }) => {
        return { op, timestamp, client, isRegister: false };
      }),
      ...[...this.#registers].map(([op, register]) => ({ op, ...register, isRegister: true })),
    ];
    all.sort((a, b) => a.op - b.op);
    let previous: Entry | null = null;
    for (const entry of all) {
      const { op, timestamp, client, isRegister } = entry;
      if (previous !== null) {
        for (let hole = previous.op + 1; hole < op; hole++) this.#explainHole(hole);
        const isLater = u64Compare(timestamp, previous.timestamp) > 0;
        check(isLater, 'order', () => `timestamp of op ${op} is not above that of the one before`);
      }
      previous = entry;
      if (client === null) continue;
      if (isRegister) this.#sessions.onRegister(client, op);
      else this.#sessions.onCommit(client, op);
    }
    this.#sessions.finish();
  }

  /**
   * An operation that nobody knows of can only be one thing: a registration whose reply was lost,
   * whose session was forgotten for others, and whose client has registered once more since.
   */
  #explainHole(hole: number): void {
    const candidates: ClientName[] = [];
    for (const [op, { client }] of this.#registers) {
      if (op > hole && (this.#registerResends.get(client) ?? 0) > 0) candidates.push(client);
    }
    const [client] = candidates;
    const isPossible = this.#registers.size >= CLIENTS_MAX && client !== undefined;
    check(isPossible, 'order', () => `nothing is known of op ${hole}`);
    this.#registerResends.set(client, (this.#registerResends.get(client) ?? 0) - 1);
    // Whose it was decides which session is forgotten next.
    if (candidates.length > 1) this.#sessions.disable();
    this.#sessions.onRegister(client, hole);
  }
}

/** What was asked for, in one word: equal for equal requests. */
export function requestFingerprint(operation: number, body: Uint8Array): string {
  const hash = new EventHash();
  hash.word(operation);
  hash.bytes(body);
  return hash.digest();
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && bytesEqual(a, 0, b, 0, a.length);
}

function firstDifference(a: Uint8Array, b: Uint8Array): number {
  let i = 0;
  while (i < a.length && i < b.length && a[i] === b[i]) i++;
  return i;
}
