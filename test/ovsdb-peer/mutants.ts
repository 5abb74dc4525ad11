/**
 * Messages made wrong by a seed. Two kinds: whole requests whose content is wrong, which must be
 * answered, and bytes that may be anything, over which the server may close the connection.
 */
import {
  encodeUtf8,
  isArray,
  isObject,
  type Json,
  type JsonObject,
  parseJson,
  serialize,
} from '../../src/ovsdb/index.ts';
import { Prng } from '../../src/stdx/index.ts';
import { WireWorkload } from './wire-workload.ts';

export interface Mutant {
  readonly bytes: Uint8Array;
  /** Of a request that must be answered; `null`: the connection may be closed instead. */
  readonly id: string | null;
}

/** Values put in the place of others. */
const STRANGERS: readonly Json[] = [
  null,
  true,
  0,
  -1,
  1.5,
  9223372036854775807n,
  1e300,
  '',
  'x',
  '__proto__',
  'constructor',
  '\u{1f600}',
  'x'.repeat(5000),
  [],
  {},
  [[]],
  ['set', []],
  ['set', 5],
  ['map', [['a']]],
  ['uuid', 'a0000000-0000-4000-8000-000000000001'],
  ['named-uuid', 'n0'],
  ['uuid'],
  { op: 'insert' },
  { __proto__: 5 } as unknown as JsonObject,
];

export class Mutants {
  readonly #prng: Prng;
  readonly #workload: WireWorkload;
  readonly #opened: Set<string> = new Set();
  #id: number = 0;

  constructor(seed: number) {
    this.#prng = new Prng(seed, 9);
    this.#workload = new WireWorkload(seed);
  }

  next(): Mutant {
    const original = this.#original();
    return this.#prng.chance(3, 5) ? this.#wrongContent(original) : this.#wrongBytes(original);
  }

  /** A request that the server could get from a client in its right mind. */
  #original(): JsonObject {
    for (;;) {
      const step = this.#workload.next((session) => this.#opened.has(session));
      if (step.kind === 'open') this.#opened.add(step.session);
      if (step.kind !== 'send') continue;
      const parsed = parseJson(new TextDecoder().decode(step.bytes));
      if (!parsed.ok || !isObject(parsed.value)) continue;
      const { method, params } = parsed.value;
      if (typeof method === 'string' && params !== undefined && isArray(params)) {
        return parsed.value;
      }
    }
  }

  /** Changed inside of its parameters, one to three times. */
  #wrongContent(original: JsonObject): Mutant {
    let params = original['params'] as Json;
    for (let i = this.#prng.between(1, 3); i > 0; i--) params = this.#changed(params, 0);
    const id = `m${++this.#id}`;
    const method = original['method'] as Json;
    // A session that is converted or waits for ever is another matter.
    if (method === 'convert' || waitsForEver(params)) return this.#wrongBytes(original);
    const message = { id, method, params: isArray(params) ? params : [params] };
    return { bytes: encodeUtf8(serialize(message)), id };
  }

  #changed(json: Json, depth: number): Json {
    const prng = this.#prng;
    if (depth > 12 || prng.chance(1, 6)) return prng.pick(STRANGERS);
    if (isArray(json) && json.length > 0) {
      const at = prng.below(json.length);
      if (prng.chance(1, 12)) return [...json, json[at] as Json];
      if (prng.chance(1, 12)) return json.filter((_, i) => i !== at);
      return json.map((element, i) => (i === at ? this.#changed(element, depth + 1) : element));
    }
    if (isObject(json)) {
      const names = Object.keys(json);
      if (names.length === 0) return { [prng.pick(['op', 'where', 'x'])]: prng.pick(STRANGERS) };
      const name = prng.pick(names);
      const { [name]: value, ...rest } = json;
      if (prng.chance(1, 8)) return rest;
      if (prng.chance(1, 8)) return { ...rest, [`${name}x`]: value as Json };
      return { ...json, [name]: this.#changed(value as Json, depth + 1) };
    }
    return prng.pick(STRANGERS);
  }

  #wrongBytes(original: JsonObject): Mutant {
    const prng = this.#prng;
    let bytes = encodeUtf8(serialize(original));
    for (let i = prng.between(1, 4); i > 0; i--) {
      const at = prng.below(bytes.length);
      const kind = prng.below(6);
      if (kind === 0) bytes = bytes.slice(0, at + 1);
      else if (kind === 1) bytes = joined(bytes.slice(0, at), bytes.slice(at + 1));
      else if (kind === 2) bytes = joined(bytes.slice(at), bytes.slice(0, at));
      else if (kind === 3) {
        const noise = encodeUtf8(prng.pick(['"', '{', '}', '[', ']', ',', ':', '\\', '1e', '-']));
        bytes = joined(bytes.slice(0, at), noise, bytes.slice(at));
      } else {
        bytes = bytes.slice();
        bytes[at] = prng.below(256);
      }
      if (bytes.length === 0) return { bytes: encodeUtf8('{'), id: null };
    }
    return { bytes, id: null };
  }
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

/** A wait whose time never comes, or not soon. */
function waitsForEver(json: Json): boolean {
  if (isArray(json)) return json.some(waitsForEver);
  if (!isObject(json)) return false;
  return json['op'] === 'wait' && json['timeout'] !== 0;
}
