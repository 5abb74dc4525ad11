/**
 * One client session as the protocol sees it: an identity, its number, and the chain of requests in
 * which each names the reply before. A client may have several and use one at a time; a session
 * outlives the connections it is used on, and knows what it was last told.
 */
import { assert, bytesEqual, readSafeU64, readU32 } from '../../stdx/index.ts';
import { type Checksum, OPERATION_REGISTER, ReplyOffset } from '../../wire/index.ts';
import type { ClientName } from '../checks/session-model.ts';
import { check } from '../world/failure.ts';
import { buildPing, buildRequest, type RequestFields, replyEssence } from './client-codec.ts';

export interface SessionContext {
  /** 16 bytes. */
  readonly cluster: Uint8Array;
  readonly release: number;
  readonly checksum: Checksum;
}

/** What is wrong with a forged request. */
export const FORGERIES = ['fork', 'gap', 'parent', 'session', 'view'] as const;
export type Forgery = (typeof FORGERIES)[number];

const REGISTER_BODY_SIZE = 256;

export class Session {
  readonly name: ClientName;
  /** 16 bytes, not zero. */
  readonly id: Uint8Array;
  readonly #context: SessionContext;
  #number: number = 0;
  #requestNext: number = 0;
  #parent: Uint8Array = new Uint8Array(16);
  /** The last request that was answered, and the answer. */
  #requestLast: Uint8Array | null = null;
  #essenceLast: Uint8Array | null = null;

  constructor(name: ClientName, id: Uint8Array, context: SessionContext) {
    assert(id.length === 16 && id.some((byte) => byte !== 0), 'Session: bad client id');
    this.name = name;
    this.id = id;
    this.#context = context;
  }

  /** 0: not registered. */
  get number(): number {
    return this.#number;
  }

  /**
   * The last request that was answered: sending it again must give the same answer. A registration
   * only as long as the session lives for certain, else it would begin a new one.
   */
  get requestLast(): Uint8Array | null {
    return this.#requestLast;
  }

  /** Requests that were answered, the registration not counted. */
  get requestsAnswered(): number {
    return Math.max(0, this.#requestNext - 1);
  }

  register(view: number): Uint8Array {
    assert(this.#number === 0, 'Session: is registered');
    return this.#build(view, OPERATION_REGISTER, new Uint8Array(REGISTER_BODY_SIZE));
  }

  request(view: number, operation: number, body: Uint8Array): Uint8Array {
    assert(this.#number > 0, 'Session: is not registered');
    return this.#build(view, operation, body);
  }

  /**
   * A request that looks like the next one and is not: it must be dropped without an answer. Its
   * checksums are right, so only the rules of sessions stand between it and the log.
   */
  forge(kind: Forgery, view: number, operation: number, body: Uint8Array): Uint8Array {
    assert(this.requestsAnswered > 0, 'Session: too young to be forged');
    const fields = this.#fields(view, operation, body);
    const { request, session } = fields;
    switch (kind) {
      case 'fork':
        return buildRequest({ ...fields, request: request - 1 }, this.#context.checksum);
      case 'gap':
        return buildRequest({ ...fields, request: request + 1 }, this.#context.checksum);
      case 'parent':
        return buildRequest({ ...fields, parent: this.id }, this.#context.checksum);
      case 'session':
        return buildRequest({ ...fields, session: session + 1000 }, this.#context.checksum);
      case 'view':
        return buildRequest({ ...fields, view: view + 1000 }, this.#context.checksum);
    }
  }

  ping(timestampNs: number): Uint8Array {
    const { cluster, release, checksum } = this.#context;
    const fields = { cluster, client: this.id, release, session: this.#number, timestampNs };
    return buildPing(fields, checksum);
  }

  /** Whether the reply answers a request that was answered before; then it must be the same. */
  isRepeated(reply: Uint8Array): boolean {
    if (this.#essenceLast === null) return false;
    const number = readU32(reply, ReplyOffset.request);
    if (number >= this.#requestNext) return false;
    // Older than the last one: a straggler whose original is no longer kept.
    if (number < this.#requestNext - 1) return true;
    // A registration that came late once more, when its session was forgotten already.
    const isAnew = number === 0 && (readSafeU64(reply, ReplyOffset.op) ?? 0) > this.#number;
    if (isAnew) return true;
    const essence = replyEssence(reply);
    const isSame =
      essence.length === this.#essenceLast.length &&
      bytesEqual(essence, 0, this.#essenceLast, 0, essence.length);
    check(isSame, 'reply-changed', () => {
      return `${this.name}: request ${number} was answered differently before`;
    });
    return true;
  }

  /** Takes the answer to `request` and is ready for the next one. */
  accept(request: Uint8Array, reply: Uint8Array): void {
    assert(readU32(reply, ReplyOffset.request) === this.#requestNext, 'Session: wrong number');
    const op = readSafeU64(reply, ReplyOffset.op);
    assert(op !== null && op > 0, 'Session: op out of range');
    if (this.#number === 0) this.#number = op;
    this.#parent = reply.slice(ReplyOffset.context, ReplyOffset.context + 16);
    this.#requestLast = request;
    this.#essenceLast = replyEssence(reply);
    this.#requestNext++;
  }

  #build(view: number, operation: number, body: Uint8Array): Uint8Array {
    return buildRequest(this.#fields(view, operation, body), this.#context.checksum);
  }

  #fields(view: number, operation: number, body: Uint8Array): RequestFields {
    const { cluster, release } = this.#context;
    return {
      cluster,
      client: this.id,
      parent: this.#parent,
      view,
      release,
      session: this.#number,
      request: this.#requestNext,
      operation,
      body,
    };
  }
}
