/**
 * Naive twins of the small machines: written from what the machines promise, with the plainest
 * means there are, so that a mistake in one is not in the other.
 */
import {
  type ApplyContext,
  COUNTER_ADD,
  KEY_VALUE_CAS,
  KEY_VALUE_DELETE,
  KEY_VALUE_GET,
  KEY_VALUE_PUT,
  OPERATION_PULSE,
} from '../../engine/index.ts';
import { assert, type U64, u64ToBigInt } from '../../stdx/index.ts';
import type { Checksum } from '../../wire/index.ts';
import type { ReferenceMachine } from './subject.ts';

/** All additions ever made; the total is worked out when somebody asks. */
export class CounterTwin implements ReferenceMachine {
  readonly #additions: bigint[] = [];

  reserve(): number {
    return 0;
  }

  apply(context: ApplyContext, operation: number, body: Uint8Array, reply: Uint8Array): number {
    if (operation === COUNTER_ADD) this.#additions.push(littleEndian(body));
    reply.set(bytesOf(this.#total(), 8), 0);
    reply.set(bytesOf(BigInt(context.op), 8), 8);
    reply.set(bytesOf(u64ToBigInt(context.timestamp), 8), 16);
    return 24;
  }

  due(): boolean {
    return false;
  }

  root(): Uint8Array {
    return concat([bytesOf(this.#total(), 8), bytesOf(BigInt(this.#additions.length), 8)]);
  }

  #total(): bigint {
    return this.#additions.reduce((sum, addition) => sum + addition, 0n);
  }
}

interface Pair {
  readonly key: string;
  readonly value: Uint8Array;
  /** 0: never. */
  readonly expiresAt: bigint;
}

const BUCKETS = 64;
const EXPIRE_MAX = 16;
const STATUS_MISSING = 0;
const STATUS_OK = 1;
const STATUS_UNEQUAL = 3;

/** A list of pairs, searched from end to end. */
export class KeyValueTwin implements ReferenceMachine {
  readonly #checksum: Checksum;
  #pairs: Pair[] = [];

  constructor(checksum: Checksum) {
    this.#checksum = checksum;
  }

  reserve(): number {
    return 0;
  }

  apply(context: ApplyContext, operation: number, body: Uint8Array, reply: Uint8Array): number {
    const timestamp = u64ToBigInt(context.timestamp);
    if (operation === OPERATION_PULSE) {
      const due = this.#pairs.filter((p) => p.expiresAt !== 0n && p.expiresAt <= timestamp);
      due.sort((a, b) => compare(a.expiresAt, b.expiresAt) || compare(a.key, b.key));
      const gone = new Set(due.slice(0, EXPIRE_MAX));
      this.#pairs = this.#pairs.filter((pair) => !gone.has(pair));
      return 0;
    }
    const keyLength = Number(littleEndian(body.subarray(0, 2)));
    const key = String.fromCharCode(...body.subarray(8, 8 + keyLength));
    const valueEnd = 8 + keyLength + Number(littleEndian(body.subarray(2, 4)));
    const found = this.#pairs.find((pair) => pair.key === key);
    reply[0] = found === undefined ? STATUS_MISSING : STATUS_OK;
    switch (operation) {
      case KEY_VALUE_CAS: {
        const expected = body[valueEnd] === 0 ? undefined : body.subarray(valueEnd + 1).join();
        if (expected !== found?.value.join()) {
          if (found === undefined) return 1;
          reply[0] = STATUS_UNEQUAL;
          reply.set(found.value, 1);
          return 1 + found.value.length;
        }
        return this.apply(context, KEY_VALUE_PUT, body.subarray(0, valueEnd), reply);
      }
      case KEY_VALUE_PUT: {
        const lifetime = littleEndian(body.subarray(4, 8)) * 1_000_000n;
        const expiresAt = lifetime === 0n ? 0n : timestamp + lifetime;
        this.#remove(key);
        this.#pairs.push({ key, value: body.slice(8 + keyLength), expiresAt });
        reply[0] = STATUS_OK;
        return 1;
      }
      case KEY_VALUE_DELETE:
        this.#remove(key);
        return 1;
      default:
        assert(operation === KEY_VALUE_GET, 'KeyValueTwin: unknown operation');
        if (found === undefined) return 1;
        reply.set(found.value, 1);
        return 1 + found.value.length;
    }
  }

  /** What a key holds; `null`: it is not there. For workloads that want to hit it. */
  valueOf(key: string): Uint8Array | null {
    return this.#pairs.find((pair) => pair.key === key)?.value ?? null;
  }

  due(timestamp: U64): boolean {
    const now = u64ToBigInt(timestamp);
    return this.#pairs.some(({ expiresAt }) => expiresAt !== 0n && expiresAt <= now);
  }

  root(): Uint8Array {
    const macs: Uint8Array[] = [];
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      const pairs = this.#pairs.filter(({ key }) => bucketOf(key) === bucket);
      pairs.sort((a, b) => compare(a.key, b.key));
      macs.push(this.#mac(concat(pairs.map(encode))));
    }
    return this.#mac(concat(macs));
  }

  #remove(key: string): void {
    this.#pairs = this.#pairs.filter((pair) => pair.key !== key);
  }

  #mac(bytes: Uint8Array): Uint8Array {
    const mac = new Uint8Array(16);
    this.#checksum.digest(bytes, 0, bytes.length, mac, 0);
    return mac;
  }
}

function encode({ key, value, expiresAt }: Pair): Uint8Array {
  const keyBytes = Uint8Array.from(key, (character) => character.charCodeAt(0));
  const lengths = [bytesOf(BigInt(key.length), 2), bytesOf(BigInt(value.length), 2)];
  return concat([...lengths, bytesOf(0n, 4), bytesOf(expiresAt, 8), keyBytes, value]);
}

function bucketOf(key: string): number {
  let hash = 0n;
  for (const character of key) hash = (hash * 31n + BigInt(character.charCodeAt(0))) % 2n ** 32n;
  return Number(hash % BigInt(BUCKETS));
}

function littleEndian(bytes: Uint8Array): bigint {
  return bytes.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n);
}

function bytesOf(value: bigint, length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => Number((value >> BigInt(8 * i)) & 0xffn));
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

function compare<T>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
