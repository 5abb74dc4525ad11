/**
 * The frame of one record in the original's log files (ovsdb(5)): a header line
 * `OVSDB <magic> <length> <sha1>` and one line of JSON. Length, in bytes, and hash cover the JSON
 * line with its line feed. The hash function comes from outside: this room has none.
 */
import { assert } from '../../stdx/index.ts';
import { encodeUtf8 } from '../json/utf8.ts';

/** `JSON`: one server's database. `CLUSTER`: one member's part of a cluster. */
export type Magic = 'JSON' | 'CLUSTER';

/** Of some bytes, as 40 lower-case hexadecimal digits. */
export type Sha1 = (bytes: Uint8Array) => string;

/** Bytes in which a header line must end, its line feed included. */
export const HEADER_SIZE_MAX = 127;

/** Digits of a length, for whoever has to leave room for one. */
export const LENGTH_DIGITS_MAX = 15;

export interface Header {
  readonly magic: string;
  /** Of the JSON line, bytes; not checked against anything, so it may be absurd. */
  readonly length: number;
  readonly sha1: string;
  /** Of the header line itself, bytes. */
  readonly size: number;
}

const form = /^OVSDB ([^ \n]*) \+?(\d+) ([0-9a-fA-F]{40})\n/;

/** Reads the header that `bytes` begin with; `null`: there is none. */
export function parseHeader(bytes: Uint8Array): Header | null {
  const line = String.fromCharCode(...bytes.subarray(0, HEADER_SIZE_MAX));
  const match = form.exec(line);
  if (match === null) return null;
  const length = Number(match[2]);
  if (length === 0) return null;
  return { magic: match[1], length, sha1: match[3].toLowerCase(), size: match[0].length };
}

/** `length`: bytes, as text it may have leading zeros. */
export function formatHeader(magic: Magic, length: number | string, sha1: string): string {
  assert(Number(length) > 0 && sha1.length === 40, 'formatHeader: not of a record');
  return `OVSDB ${magic} ${length} ${sha1}\n`;
}

/** One record of JSON text without a line feed in it. */
export function encodeRecord(magic: Magic, json: string, sha1: Sha1): Uint8Array {
  const body = encodeUtf8(`${json}\n`);
  const header = encodeUtf8(formatHeader(magic, body.length, sha1(body)));
  const record = new Uint8Array(header.length + body.length);
  record.set(header);
  record.set(body, header.length);
  return record;
}
