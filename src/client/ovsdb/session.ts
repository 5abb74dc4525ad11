/**
 * JSON-RPC over one connection, until it ends: requests with replies by id, notifications, and the
 * probes of both sides.
 */
import {
  isArray,
  isObject,
  type Json,
  type JsonArray,
  memberOf,
  serialize,
} from '../../ovsdb/index.ts';
import type { Channel } from './channel.ts';
import { OvsdbClientError, OvsdbErrorCode, OvsdbRequestError } from './errors.ts';

export interface SessionEvents {
  notification(method: string, params: JsonArray): void;
}

/** Requests under way on one connection. */
export const REQUESTS_MAX = 10_000;

export interface Reply {
  resolve(result: Json): void;
  reject(error: Error): void;
}

interface Waiting {
  readonly method: string;
  readonly reply: Reply;
}

const ignored: Reply = { resolve: () => {}, reject: () => {} };

export class Session {
  readonly #channel: Channel;
  readonly #events: SessionEvents;
  readonly #waiting: Map<number, Waiting> = new Map();
  #nextId: number = 1;
  #closedReason: string | null = null;
  #heard: boolean = true;
  #probing: boolean = false;
  #probeTimer: NodeJS.Timeout | null = null;

  constructor(channel: Channel, events: SessionEvents) {
    this.#channel = channel;
    this.#events = events;
  }

  /** Asks for a sign of life when there was none for `intervalMs`, and closes when none comes. */
  probe(intervalMs: number): void {
    if (intervalMs <= 0) return;
    this.#probeTimer = setInterval(() => {
      if (this.#heard) this.#probing = false;
      else if (this.#probing) this.close(`no sign of life for ${2 * intervalMs} ms`);
      else {
        this.#probing = true;
        this.call('echo', [], ignored);
      }
      this.#heard = false;
    }, intervalMs);
    this.#probeTimer.unref();
  }

  /**
   * The result of a request; rejects with an OvsdbRequestError, with "outcome unknown" when the
   * connection ends first, and with "not sent" when it has ended. Aborting asks the server to
   * give up, and does not wait for what it says.
   */
  request(method: string, params: JsonArray, signal?: AbortSignal): Promise<Json> {
    const { promise, resolve, reject } = Promise.withResolvers<Json>();
    const id = this.call(method, params, { resolve, reject });
    if (signal === undefined || id === null) return promise;
    const abort = (): void => this.#abort(id, signal);
    signal.addEventListener('abort', abort, { once: true });
    return promise.finally(() => signal.removeEventListener('abort', abort));
  }

  /**
   * The same for whoever must see the reply before the notifications that follow it: promises are
   * too late for that. Gives the request's id; `null`: not sent.
   */
  call(method: string, params: JsonArray, reply: Reply): number | null {
    if (this.#closedReason !== null) {
      const message = `${method} was not sent: ${this.#closedReason}`;
      reply.reject(new OvsdbClientError(OvsdbErrorCode.notSent, message));
      return null;
    }
    if (this.#waiting.size >= REQUESTS_MAX) {
      const message = `${method} was not sent: ${REQUESTS_MAX} requests are under way`;
      reply.reject(new OvsdbClientError(OvsdbErrorCode.limit, message));
      return null;
    }
    const id = this.#nextId++;
    this.#waiting.set(id, { method, reply });
    this.#channel.send({ id, method, params });
    return id;
  }

  #abort(id: number, { reason }: AbortSignal): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    const { method, reply } = waiting;
    // The reply will still come.
    this.#waiting.set(id, { method, reply: ignored });
    if (method === 'transact') this.notify('cancel', [id]);
    const message = `${method} was given up before its reply came`;
    reply.reject(new OvsdbClientError(OvsdbErrorCode.outcomeUnknown, message, { cause: reason }));
  }

  notify(method: string, params: JsonArray): void {
    if (this.#closedReason === null) this.#channel.send({ id: null, method, params });
  }

  received(json: Json): void {
    this.#heard = true;
    const problem = this.#take(json);
    if (problem !== null) this.close(problem);
  }

  closed(reason: string): void {
    if (this.#closedReason !== null) return;
    this.#closedReason = reason;
    if (this.#probeTimer !== null) clearInterval(this.#probeTimer);
    for (const { method, reply } of this.#waiting.values()) {
      const message = `no reply to ${method}: ${reason}`;
      reply.reject(new OvsdbClientError(OvsdbErrorCode.outcomeUnknown, message));
    }
    this.#waiting.clear();
  }

  close(reason: string): void {
    this.closed(reason);
    this.#channel.close(reason);
  }

  /** Why the server is not to be listened to any more; `null`: it is. */
  #take(json: Json): string | null {
    if (!isObject(json)) return 'the server sent something that is not an object';
    const method = memberOf(json, 'method') ?? null;
    const id = memberOf(json, 'id') ?? null;
    if (typeof method === 'string') {
      const params = memberOf(json, 'params') ?? null;
      if (!isArray(params)) return `the parameters of ${method} are not an array`;
      if (id === null) this.#events.notification(method, params);
      else if (method === 'echo') this.#channel.send({ id, result: params, error: null });
      else this.#channel.send({ id, result: null, error: 'unknown method' });
      return null;
    }
    const waiting = typeof id === 'number' ? this.#waiting.get(id) : undefined;
    if (waiting === undefined) return 'the server replied to what nobody asked';
    this.#waiting.delete(id as number);
    const error = memberOf(json, 'error') ?? null;
    if (error === null) waiting.reply.resolve(memberOf(json, 'result') ?? null);
    else waiting.reply.reject(new OvsdbRequestError(waiting.method, error, errorText(error)));
    return null;
  }
}

function errorText(error: Json): string {
  if (typeof error === 'string') return error;
  if (!isObject(error)) return serialize(error);
  const tag = memberOf(error, 'error');
  const details = memberOf(error, 'details');
  return [tag, details].filter((part) => typeof part === 'string').join(': ');
}
