/** Log files in memory, and a hash that is quick to make. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { Prng } from '../../stdx/index.ts';
import { isError, type OvsdbError } from '../data/error.ts';
import { uuidsFromPrng } from '../data/uuid.ts';
import { serialize } from '../json/serialize.ts';
import type { Json } from '../json/value.ts';
import { jsonOf } from '../transact/transact-test-helper.ts';
import { encodeRecord, type Sha1 } from './frame.ts';
import type { LogSource } from './log-reader.ts';
import { type Replayed, type ReplayOptions, replayStandalone } from './replay.ts';

export const sha1: Sha1 = (bytes) => hash('sha1', bytes, 'hex');

export function sourceOf(bytes: Uint8Array): LogSource {
  return {
    size: bytes.length,
    read: (offset, length) => {
      assert.ok(offset >= 0 && length >= 0 && offset + length <= bytes.length, 'read beyond');
      // A copy: nobody may rely on the source's own memory.
      return bytes.slice(offset, offset + length);
    },
  };
}

/** JSON texts as a log. */
export function logOf(...records: readonly string[]): Uint8Array {
  return concat(records.map((record) => encodeRecord('JSON', record, sha1)));
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

export function latin1(text: string): Uint8Array {
  return Uint8Array.from(text, (c) => c.charCodeAt(0));
}

/** Replays to the end at once. */
export function replayAll(
  bytes: Uint8Array,
  options: Partial<ReplayOptions> = {},
): Replayed | OvsdbError {
  const steps = replayStandalone({
    source: sourceOf(bytes),
    name: 'db',
    sha1,
    uuids: uuidsFromPrng(new Prng(5)),
    ...options,
  });
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

export function replayed(bytes: Uint8Array, options: Partial<ReplayOptions> = {}): Replayed {
  const result = replayAll(bytes, options);
  assert.ok(!isError(result), String(result));
  return result;
}

/** As a client would have it: written and read. */
export function again(json: Json): Json {
  return jsonOf(serialize(json));
}
