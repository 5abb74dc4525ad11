/**
 * Who makes a lost data file again, as `recover` does: before the new file may take the place of
 * the lost one, the others have to commit a pipeline of operations that do nothing. After that,
 * whatever the lost file had acknowledged is known by its own right to enough of the others.
 */
import { PIPELINE_MAX } from '../../engine/index.ts';
import { assert, bytesEqual, type Prng, readSafeU64, readU64 } from '../../stdx/index.ts';
import {
  Command,
  EvictionOffset,
  HEADER_SIZE,
  OPERATION_NOOP,
  ReplyOffset,
  readCommand,
  readSize,
  readView,
} from '../../wire/index.ts';
import type { History } from '../checks/history.ts';
import { evictionProblem, frameProblem, replyProblem } from '../clients/client-codec.ts';
import type { ClientLine, LineUser } from '../clients/line.ts';
import { Session, type SessionContext } from '../clients/session.ts';
import { check } from '../world/failure.ts';
import type { World } from '../world/world.ts';

const RESEND_NS = 300_000_000;

export class RecoverClient implements LineUser {
  readonly #world: World;
  readonly #line: ClientLine;
  readonly #history: History;
  readonly #context: SessionContext;
  readonly #prng: Prng;
  readonly #name: string;
  readonly #onDone: (view: number) => void;
  #session: Session;
  #sessions: number = 0;
  #request: Uint8Array | null = null;
  #transmissions: number = 0;
  #view: number = 0;
  #left: number = PIPELINE_MAX;
  #isDone: boolean = false;

  /** Calls `onDone` with the highest view that it has heard of. */
  constructor(
    world: World,
    parts: { line: ClientLine; history: History; context: SessionContext; prng: Prng },
    name: string,
    onDone: (view: number) => void,
  ) {
    this.#world = world;
    this.#line = parts.line;
    this.#history = parts.history;
    this.#context = parts.context;
    this.#prng = parts.prng;
    this.#name = name;
    this.#onDone = onDone;
    this.#session = this.#newSession();
  }

  start(): void {
    this.#line.start(this);
    this.#next();
    this.#resendLater();
  }

  onOpen(): void {
    this.#transmit();
  }

  onBytes(bytes: Uint8Array): void {
    if (this.#isDone) return;
    const { cluster, checksum } = this.#context;
    const problem = frameProblem(bytes, cluster, checksum);
    check(problem === null, 'reply-invalid', () => `${this.#session.name}: ${problem}`);
    if (readCommand(bytes) === Command.reply) this.#onReply(bytes);
    else if (readCommand(bytes) === Command.eviction) this.#onEviction(bytes);
  }

  #onReply(bytes: Uint8Array): void {
    if (!bytesEqual(bytes, ReplyOffset.client, this.#session.id, 0, 16)) return;
    this.#view = Math.max(this.#view, readView(bytes));
    if (this.#session.isRepeated(bytes) || this.#request === null) return;
    const problem = replyProblem(bytes, this.#request);
    check(problem === null, 'reply-invalid', () => `${this.#session.name}: reply: ${problem}`);
    const op = readSafeU64(bytes, ReplyOffset.op) ?? 0;
    const timestamp = readU64(bytes, ReplyOffset.timestamp);
    const isRegister = this.#session.number === 0;
    this.#session.accept(this.#request, bytes);
    if (isRegister) {
      this.#history.onRegistered(this.#session.name, op, timestamp);
    } else {
      const isEmpty = readSize(bytes) === HEADER_SIZE;
      check(isEmpty, 'reply-invalid', () => `${this.#session.name}: a noop has an answer`);
      this.#history.onNoop(this.#session.name, op, timestamp);
      this.#left--;
    }
    this.#next();
  }

  #onEviction(bytes: Uint8Array): void {
    const problem = evictionProblem(bytes);
    check(problem === null, 'eviction', () => `${this.#session.name}: ${problem}`);
    if (!bytesEqual(bytes, EvictionOffset.client, this.#session.id, 0, 16)) return;
    if (readView(bytes) < this.#view) return;
    this.#history.onEvicted(this.#session.name);
    this.#session = this.#newSession();
    this.#left = PIPELINE_MAX;
    this.#next();
  }

  #next(): void {
    this.#request = null;
    this.#transmissions = 0;
    if (this.#left === 0) {
      this.#isDone = true;
      this.#onDone(this.#view);
      return;
    }
    const isNew = this.#session.number === 0;
    this.#request = isNew
      ? this.#session.register(this.#view)
      : this.#session.request(this.#view, OPERATION_NOOP, new Uint8Array(0));
    this.#transmit();
  }

  #transmit(): void {
    if (this.#request === null || !this.#line.isOpen) return;
    const isRegister = this.#session.number === 0;
    if (isRegister && this.#transmissions > 0) this.#history.onRegisterResent(this.#session.name);
    this.#transmissions++;
    this.#line.request(this.#view, this.#request);
  }

  #resendLater(): void {
    this.#world.after(RESEND_NS + this.#prng.below(RESEND_NS), () => {
      if (this.#isDone) return;
      this.#transmit();
      this.#resendLater();
    });
  }

  #newSession(): Session {
    const id = new Uint8Array(16);
    this.#prng.fill(id);
    id[0] |= 1;
    assert(this.#sessions < 1000, 'RecoverClient: is evicted again and again');
    return new Session(`${this.#name}.${this.#sessions++}`, id, this.#context);
  }
}
