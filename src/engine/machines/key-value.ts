/**
 * A key-value store whose entries may expire: the second example of a machine, and the smallest one
 * that needs everything of the contract: many blocks, deletions, a root over content, and pulses.
 *
 * Keys are spread over buckets; a bucket is a block. Within a block entries are in key order, so
 * equal contents are equal bytes whatever the history was.
 */
import {
  assert,
  bytesEqual,
  readU16,
  readU32,
  readU64,
  type U64,
  U64_ZERO,
  u64Add,
  u64Compare,
  writeU16,
  writeU64,
} from '../../stdx/index.ts';
import { CHECKSUM_SIZE, type Checksum } from '../../wire/index.ts';
import { BLOCK_SIZE_MAX } from '../limits.ts';
import {
  type ApplyContext,
  type Block,
  type Machine,
  OPERATION_PULSE,
  type ReadRequest,
  type Validity,
} from '../machine.ts';

/** Body: u16 key length, u16 value length, u32 lifetime in ms (0: for ever), key, value. */
export const KEY_VALUE_PUT = 128;
/** Body as for put, with an empty value. Reply: one status byte, then the value if found. */
export const KEY_VALUE_GET = 129;
/** Body as for put, with an empty value. Reply: one status byte. */
export const KEY_VALUE_DELETE = 130;
/**
 * Puts the value if the key has the expected one. Body as for put, then a byte (0: the key must not
 * be there, 1: it must have this value), then the expected value. Reply: one status byte; behind
 * `unequal` the value that the key has.
 */
export const KEY_VALUE_CAS = 131;

/** First byte of every reply. */
export const KeyValueStatus = { missing: 0, ok: 1, full: 2, unequal: 3 } as const;

const HEAD_SIZE = 8;
const EXPECTS_ABSENCE = 0;
const EXPECTS_VALUE = 1;
const BUCKETS = 64;
const BLOCK_KIND = 1;
/** Entry in a block: u16 key length, u16 value length, u32 zero, u64 expiry, key, value. */
const ENTRY_HEAD_SIZE = 16;
/** Changed buckets that wait for the next cut; those that changed first are written ahead of it. */
const CHANGED_MAX = 4;
/** Entries that one pulse removes at most. */
const EXPIRE_MAX = 16;
const NS_PER_MS = 1_000_000;

interface Entry {
  readonly value: Uint8Array;
  /** 0: never. */
  readonly expiresAt: U64;
}

interface Bucket {
  readonly entries: Map<string, Entry>;
  /** Bytes of its block. */
  size: number;
}

/** The body of a request. `key` holds characters below 256, at least one. */
export function keyValueBody(
  key: string,
  value: Uint8Array = new Uint8Array(0),
  lifetimeMs: number = 0,
): Uint8Array {
  const body = new Uint8Array(HEAD_SIZE + key.length + value.length);
  writeU16(body, 0, key.length);
  writeU16(body, 2, value.length);
  body[4] = lifetimeMs;
  body[5] = lifetimeMs >>> 8;
  body[6] = lifetimeMs >>> 16;
  body[7] = lifetimeMs >>> 24;
  for (let i = 0; i < key.length; i++) body[HEAD_SIZE + i] = key.charCodeAt(i);
  body.set(value, HEAD_SIZE + key.length);
  return body;
}

/** The body of a compare-and-set; `expected` is `null` when the key must not be there. */
export function keyValueCasBody(
  key: string,
  expected: Uint8Array | null,
  value: Uint8Array,
  lifetimeMs: number = 0,
): Uint8Array {
  const put = keyValueBody(key, value, lifetimeMs);
  const body = new Uint8Array(put.length + 1 + (expected?.length ?? 0));
  body.set(put);
  body[put.length] = expected === null ? EXPECTS_ABSENCE : EXPECTS_VALUE;
  if (expected !== null) body.set(expected, put.length + 1);
  return body;
}

export class KeyValueMachine implements Machine {
  readonly #checksum: Checksum;
  readonly #buckets: Bucket[] = [];
  #expiryMin: U64 | null = null;
  /** Buckets to be handed out, in the order in which they changed first. */
  readonly #changed: Set<number> = new Set();
  readonly #cut: Block[] = [];
  #cutRoot: Uint8Array = new Uint8Array(CHECKSUM_SIZE);

  constructor(checksum: Checksum) {
    this.#checksum = checksum;
    for (let i = 0; i < BUCKETS; i++) {
      this.#buckets.push({ entries: new Map(), size: 0 });
    }
  }

  /** Entries, expired ones that no pulse has removed yet included. */
  get size(): number {
    return this.#buckets.reduce((sum, bucket) => sum + bucket.entries.size, 0);
  }

  validate(operation: number, body: Uint8Array, _bodySizeMax: number): Validity {
    if (operation < KEY_VALUE_PUT || operation > KEY_VALUE_CAS) return 'invalid-operation';
    if (body.length < HEAD_SIZE) return 'invalid-body';
    const keyLength = readU16(body, 0);
    const valueLength = readU16(body, 2);
    if (keyLength === 0) return 'invalid-body';
    const end = HEAD_SIZE + keyLength + valueLength;
    if (operation === KEY_VALUE_CAS) return isExpectation(body, end) ? 'valid' : 'invalid-body';
    if (operation !== KEY_VALUE_PUT && valueLength !== 0) return 'invalid-body';
    return body.length === end ? 'valid' : 'invalid-body';
  }

  reserve(_operation: number, _body: Uint8Array): number {
    return 0;
  }

  prefetch(_operation: number, _body: Uint8Array): readonly ReadRequest[] {
    return [];
  }

  apply(context: ApplyContext, operation: number, body: Uint8Array, reply: Uint8Array): number {
    switch (operation) {
      case OPERATION_PULSE:
        this.#expire(context.timestamp);
        return 0;
      case KEY_VALUE_PUT:
        reply[0] = this.#put(context.timestamp, body);
        return 1;
      case KEY_VALUE_DELETE:
        reply[0] = this.#delete(keyOf(body)) ? KeyValueStatus.ok : KeyValueStatus.missing;
        return 1;
      case KEY_VALUE_CAS:
        return this.#compareAndSet(context.timestamp, body, reply);
      default:
        return this.query(operation, body, reply);
    }
  }

  query(operation: number, body: Uint8Array, reply: Uint8Array): number {
    assert(operation === KEY_VALUE_GET, 'KeyValueMachine: not a query');
    const key = keyOf(body);
    const entry = this.#buckets[bucketOf(key)].entries.get(key);
    reply[0] = entry === undefined ? KeyValueStatus.missing : KeyValueStatus.ok;
    if (entry === undefined) return 1;
    reply.set(entry.value, 1);
    return 1 + entry.value.length;
  }

  due(timestamp: U64): boolean {
    return this.#expiryMin !== null && u64Compare(this.#expiryMin, timestamp) <= 0;
  }

  /** Copies what has changed: a machine that may become large must not (see the ledger's). */
  cut(_op: number): number {
    assert(this.#cut.length === 0, 'KeyValueMachine: the last cut is not taken yet');
    this.#cutRoot = this.root();
    for (const index of this.#changed) this.#cut.push(this.#blockOf(index));
    this.#changed.clear();
    return this.#cut.length;
  }

  slice(): Block | null {
    return this.#cut.shift() ?? null;
  }

  rootOfCut(): Uint8Array {
    return this.#cutRoot;
  }

  sliceAhead(): Block | null {
    const [oldest] = this.#changed;
    if (oldest === undefined || this.#changed.size <= CHANGED_MAX) return null;
    this.#changed.delete(oldest);
    return this.#blockOf(oldest);
  }

  restore(block: Block): void {
    assert(block.kind === BLOCK_KIND && block.index < BUCKETS, 'KeyValueMachine: not my block');
    const { bytes } = block;
    const bucket = this.#buckets[block.index];
    let offset = 0;
    while (offset < bytes.length) {
      const keyLength = readU16(bytes, offset);
      const valueLength = readU16(bytes, offset + 2);
      const start = offset + ENTRY_HEAD_SIZE;
      const key = latin1(bytes, start, keyLength);
      const value = bytes.slice(start + keyLength, start + keyLength + valueLength);
      bucket.entries.set(key, { value, expiresAt: readU64(bytes, offset + 8) });
      offset = start + keyLength + valueLength;
    }
    assert(offset === bytes.length, 'KeyValueMachine: torn block');
    bucket.size = offset;
  }

  restored(): void {
    this.#findExpiryMin();
  }

  root(): Uint8Array {
    const macs = new Uint8Array(BUCKETS * CHECKSUM_SIZE);
    this.#buckets.forEach((bucket, i) => {
      const bytes = encode(bucket);
      this.#checksum.digest(bytes, 0, bytes.length, macs, i * CHECKSUM_SIZE);
    });
    const root = new Uint8Array(CHECKSUM_SIZE);
    this.#checksum.digest(macs, 0, macs.length, root, 0);
    return root;
  }

  #put(timestamp: U64, body: Uint8Array): number {
    const key = keyOf(body);
    const index = bucketOf(key);
    const bucket = this.#buckets[index];
    const valueStart = HEAD_SIZE + key.length;
    const value = body.slice(valueStart, valueStart + readU16(body, 2));
    const size = ENTRY_HEAD_SIZE + key.length + value.length;
    const before = bucket.entries.get(key);
    const freed = before === undefined ? 0 : sizeOf(key, before);
    if (bucket.size - freed + size > BLOCK_SIZE_MAX) return KeyValueStatus.full;
    this.#delete(key);
    const lifetimeMs = readU32(body, 4);
    const expiresAt = lifetimeMs === 0 ? U64_ZERO : u64Add(timestamp, lifetimeMs * NS_PER_MS);
    bucket.entries.set(key, { value, expiresAt });
    bucket.size += size;
    this.#changed.add(index);
    this.#noteExpiry(expiresAt);
    return KeyValueStatus.ok;
  }

  #compareAndSet(timestamp: U64, body: Uint8Array, reply: Uint8Array): number {
    const key = keyOf(body);
    const entry = this.#buckets[bucketOf(key)].entries.get(key);
    const at = HEAD_SIZE + key.length + readU16(body, 2);
    const wantsValue = body[at] === EXPECTS_VALUE;
    if (entry === undefined && wantsValue) {
      reply[0] = KeyValueStatus.missing;
      return 1;
    }
    if (entry !== undefined && !(wantsValue && hasValue(entry, body.subarray(at + 1)))) {
      reply[0] = KeyValueStatus.unequal;
      reply.set(entry.value, 1);
      return 1 + entry.value.length;
    }
    reply[0] = this.#put(timestamp, body);
    return 1;
  }

  #delete(key: string): boolean {
    const index = bucketOf(key);
    const bucket = this.#buckets[index];
    const entry = bucket.entries.get(key);
    if (entry === undefined) return false;
    bucket.entries.delete(key);
    bucket.size -= sizeOf(key, entry);
    this.#changed.add(index);
    const isMin = this.#expiryMin !== null && u64Compare(entry.expiresAt, this.#expiryMin) === 0;
    if (isMin) this.#findExpiryMin();
    return true;
  }

  /** Removes what has expired, in order of expiry, then key; the rest waits for the next pulse. */
  #expire(timestamp: U64): void {
    const expired: { readonly key: string; readonly at: U64 }[] = [];
    for (const { entries } of this.#buckets) {
      for (const [key, { expiresAt }] of entries) {
        const isMortal = u64Compare(expiresAt, U64_ZERO) !== 0;
        if (isMortal && u64Compare(expiresAt, timestamp) <= 0) expired.push({ key, at: expiresAt });
      }
    }
    expired.sort((a, b) => u64Compare(a.at, b.at) || byCodeUnits(a.key, b.key));
    for (const { key } of expired.slice(0, EXPIRE_MAX)) this.#delete(key);
  }

  #noteExpiry(expiresAt: U64): void {
    if (u64Compare(expiresAt, U64_ZERO) === 0) return;
    const isEarlier = this.#expiryMin === null || u64Compare(expiresAt, this.#expiryMin) < 0;
    if (isEarlier) this.#expiryMin = expiresAt;
  }

  #findExpiryMin(): void {
    this.#expiryMin = null;
    for (const { entries } of this.#buckets) {
      for (const { expiresAt } of entries.values()) this.#noteExpiry(expiresAt);
    }
  }

  #blockOf(index: number): Block {
    return { kind: BLOCK_KIND, index, bytes: encode(this.#buckets[index]) };
  }
}

/** Whether what follows `at` says what a compare-and-set expects, and nothing else. */
function isExpectation(body: Uint8Array, at: number): boolean {
  if (body.length <= at) return false;
  if (body[at] === EXPECTS_ABSENCE) return body.length === at + 1;
  return body[at] === EXPECTS_VALUE;
}

function hasValue({ value }: Entry, expected: Uint8Array): boolean {
  return value.length === expected.length && bytesEqual(value, 0, expected, 0, value.length);
}

function bucketOf(key: string): number {
  let hash = 0;
  for (let i = 0; i < key.length; i++) hash = (Math.imul(hash, 31) + key.charCodeAt(i)) >>> 0;
  return hash % BUCKETS;
}

function encode(bucket: Bucket): Uint8Array {
  const bytes = new Uint8Array(bucket.size);
  let offset = 0;
  for (const key of [...bucket.entries.keys()].sort(byCodeUnits)) {
    const entry = bucket.entries.get(key);
    assert(entry !== undefined, 'KeyValueMachine: a key without an entry');
    writeU16(bytes, offset, key.length);
    writeU16(bytes, offset + 2, entry.value.length);
    writeU64(bytes, offset + 8, entry.expiresAt);
    offset += ENTRY_HEAD_SIZE;
    for (let i = 0; i < key.length; i++) bytes[offset + i] = key.charCodeAt(i);
    bytes.set(entry.value, offset + key.length);
    offset += key.length + entry.value.length;
  }
  assert(offset === bucket.size, 'KeyValueMachine: wrong bucket size');
  return bytes;
}

function byCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function sizeOf(key: string, entry: Entry): number {
  return ENTRY_HEAD_SIZE + key.length + entry.value.length;
}

function keyOf(body: Uint8Array): string {
  return latin1(body, HEAD_SIZE, readU16(body, 0));
}

function latin1(bytes: Uint8Array, offset: number, length: number): string {
  let text = '';
  for (let i = offset; i < offset + length; i++) text += String.fromCharCode(bytes[i]);
  return text;
}
