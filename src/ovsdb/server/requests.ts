/**
 * Whose request is looked at next: one of each session in turn. A session's next one has to wait
 * while answers to it have not left; while its transactions are not confirmed, unless it is one
 * more of the same database, so that answers come in order; and while the database cannot take it.
 */
import { assert } from '../../stdx/index.ts';
import { isError, OvsdbError } from '../data/error.ts';
import type { Uuid } from '../data/uuid.ts';
import { serialize } from '../json/serialize.ts';
import type { Hub } from './hub.ts';
import { errorText, type Message, type Request, replyText, unlessTooLarge } from './message.ts';
import { answer } from './methods.ts';
import type { Reply } from './monitoring.ts';
import type { ServedDatabase } from './served-database.ts';
import type { Session } from './session.ts';
import type { Transactions } from './transactions.ts';

export class Requests {
  readonly #hub: Hub;
  readonly #transactions: Transactions;
  readonly #serverId: Uuid;
  /** Sessions with a message that may be looked at, in turn. */
  readonly #ready: Set<Session> = new Set();

  constructor(hub: Hub, transactions: Transactions, serverId: Uuid) {
    this.#hub = hub;
    this.#transactions = transactions;
    this.#serverId = serverId;
  }

  get any(): boolean {
    return this.#ready.size > 0;
  }

  /** The session may have a message that may be looked at. */
  wake(session: Session): void {
    if (!session.closed && session.queue.length > 0 && !session.backlogged) {
      this.#ready.add(session);
    }
  }

  forget(session: Session): void {
    this.#ready.delete(session);
    for (const { blocked } of this.#hub.databases.values()) blocked.delete(session);
  }

  /** Looks at a bounded number of messages. */
  run(nowMs: number): void {
    let left = this.#hub.limits.requestsPerTick;
    // What is added while iterating is iterated, too: a session that goes on is behind the others.
    for (const session of this.#ready) {
      if (left === 0) return;
      left -= 1;
      this.#ready.delete(session);
      this.#runOne(session, nowMs);
      this.#wakeUnlessBlocked(session);
    }
  }

  #runOne(session: Session, nowMs: number): void {
    if (session.backlogged || session.queue.length === 0) return;
    if (this.#isBlocked(session, session.queue[0]) || !this.#hub.tell(session)) return;
    const message = session.queue.shift();
    assert(message !== undefined, 'Requests: nothing to look at');
    switch (message.kind) {
      case 'request':
        this.#answer(session, message, nowMs);
        break;
      case 'notification':
        if (message.method === 'cancel' && message.params.length === 1) {
          this.#transactions.cancel(session, message.params[0]);
        }
        break;
      case 'reply':
      case 'error':
        // The host's own question whether the client is alive; all that counts is that it came.
        if (message.kind === 'reply' && message.id === 'echo') break;
        this.#hub.drop(session, `received unexpected ${message.kind} message`);
        break;
      case 'malformed':
        this.#hub.drop(session, message.reason);
    }
  }

  #wakeUnlessBlocked(session: Session): void {
    if (session.queue.length === 0 || session.closed) return;
    if (!this.#isBlocked(session, session.queue[0])) this.wake(session);
  }

  /** Whether the message has to wait. Then the session is woken when it need not any more. */
  #isBlocked(session: Session, message: Message): boolean {
    const target = this.#targetOf(message);
    const transact = message.kind === 'request' && message.method === 'transact';
    if (session.unconfirmed > 0 && !(transact && target === session.unconfirmedIn)) return true;
    if (target === undefined) return false;
    const full = transact && target.pipeline.size >= this.#hub.limits.unconfirmedMax;
    if (!full && !target.frozen) return false;
    target.blocked.add(session);
    return true;
  }

  #targetOf(message: Message): ServedDatabase | undefined {
    if (message.kind !== 'request') return undefined;
    const [name] = message.params;
    return typeof name === 'string' ? this.#hub.databases.get(name) : undefined;
  }

  #answer(session: Session, request: Request, nowMs: number): void {
    const hub = this.#hub;
    const transactions = this.#transactions;
    const text = unlessTooLarge(() => {
      const context = { hub, transactions, serverId: this.#serverId, nowMs };
      const reply = answer(session, request, context);
      return reply === null ? '' : textOf(request, reply);
    });
    if (text === null) this.#tooLarge(session, request);
    else if (text !== '') hub.send(session, text);
  }

  #tooLarge(session: Session, { id }: Request): void {
    const error = new OvsdbError('resources exhausted', 'the reply is too large');
    const text = unlessTooLarge(() => errorText(id, error));
    if (text === null) this.#hub.drop(session, 'a reply is too large');
    else this.#hub.send(session, text);
  }
}

function textOf({ id }: Request, reply: Reply): string {
  if ('result' in reply) return replyText(id, serialize(reply.result));
  return errorText(id, isError(reply.error) ? reply.error.toJson() : reply.error);
}
