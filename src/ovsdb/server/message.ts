/**
 * Messages of JSON-RPC 1.0 as the original has it: what a parsed value means, and the texts of
 * replies and notifications. A reply that is an error has no "result", as the original's have none.
 */
import { isError, OvsdbError } from '../data/error.ts';
import { serialize, serializeSorted } from '../json/serialize.ts';
import { isArray, isObject, type Json, type JsonArray, type JsonObject } from '../json/value.ts';

export interface Request {
  readonly kind: 'request';
  readonly id: Json;
  readonly method: string;
  readonly params: JsonArray;
}

export type Message =
  | Request
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonArray }
  | { readonly kind: 'reply' | 'error'; readonly id: Json; readonly content: Json }
  /** Whoever sends this is not to be listened to any more. */
  | { readonly kind: 'malformed'; readonly reason: string };

const members = ['method', 'params', 'result', 'error', 'id'] as const;

type Kind = 'request' | 'notification' | 'reply' | 'error';

/** The members that a message of each kind has; it has no other. */
const patterns: { readonly [kind in Kind]: readonly string[] } = {
  request: ['method', 'params', 'id'],
  notification: ['method', 'params'],
  reply: ['result', 'id'],
  error: ['error', 'id'],
};

/** A member that is null counts as absent. */
export function readMessage(json: Json): Message {
  if (!isObject(json)) return malformed('message is not a JSON object');
  if (Object.hasOwn(json, 'method') && typeof json['method'] !== 'string') {
    return malformed('method is not a JSON string');
  }
  const unexpected = Object.keys(json).find((name) => !members.includes(name as never));
  if (unexpected !== undefined) return malformed(`message has unexpected member "${unexpected}"`);
  const [method, params, result, error, id] = members.map((name) => presentMember(json, name));
  if (params !== null && !isArray(params)) return malformed('"params" must be JSON array');
  const kind = kindOf(result, error, id);
  const problem = patternProblem(json, kind);
  if (problem !== null) return malformed(problem);
  switch (kind) {
    case 'request':
      return { kind, id, method: method as string, params: params as JsonArray };
    case 'notification':
      return { kind, method: method as string, params: params as JsonArray };
    default:
      return { kind, id, content: kind === 'reply' ? result : error };
  }
}

function malformed(reason: string): Message {
  return { kind: 'malformed', reason };
}

function presentMember(json: JsonObject, name: string): Json {
  return Object.hasOwn(json, name) ? json[name] : null;
}

function kindOf(result: Json, error: Json, id: Json): Kind {
  if (result !== null) return 'reply';
  if (error !== null) return 'error';
  return id === null ? 'notification' : 'request';
}

function patternProblem(json: JsonObject, kind: Kind): string | null {
  for (const name of members) {
    const must = patterns[kind].includes(name);
    if (must === (presentMember(json, name) !== null)) continue;
    return `${kind} must${must ? '' : ' not'} have "${name}"`;
  }
  return null;
}

/** `resultText`: JSON. */
export function replyText(id: Json, resultText: string): string {
  return `{"id":${serialize(id)},"result":${resultText},"error":null}`;
}

export function errorText(id: Json, error: Json | OvsdbError): string {
  const json = isError(error) ? error.toJson() : error;
  return `{"id":${serialize(id)},"error":${serialize(json)}}`;
}

export function notificationText(method: string, params: JsonArray): string {
  return `{"id":null,"method":"${method}","params":${serialize(params)}}`;
}

/** What two ids have in common exactly when they are equal. */
export function idKey(id: Json): string {
  return serializeSorted(id);
}

/** The platform cannot make the text that this would take. */
export function tooLarge(): OvsdbError {
  return new OvsdbError('resources exhausted', 'the reply is too large');
}

/** Gives `null` instead of a text that is longer than the platform's strings can be. */
export function unlessTooLarge<T>(make: () => T): T | null {
  try {
    return make();
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
