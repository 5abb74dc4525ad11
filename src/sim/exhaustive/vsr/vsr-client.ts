/** What clients send: a request to register, and one request each, made from the answer to it. */
import { COUNTER_ADD } from '../../../engine/index.ts';
import { readSafeU64, writeSafeU64, writeU32 } from '../../../stdx/index.ts';
import { RELEASE } from '../../../vsr/index.ts';
import { type Checksum, OPERATION_REGISTER, ReplyOffset } from '../../../wire/index.ts';
import { buildRequest } from '../../clients/client-codec.ts';
import { CLUSTER } from './vsr-disk.ts';

export function clientId(client: number): Uint8Array {
  const id = new Uint8Array(16);
  writeSafeU64(id, 0, client + 1);
  return id;
}

export function registerBytes(client: number, checksum: Checksum): Uint8Array {
  const fields = { cluster: CLUSTER, client: clientId(client), parent: new Uint8Array(16) };
  const first = { view: 0, release: RELEASE, session: 0, request: 0 };
  const body = new Uint8Array(256);
  return buildRequest({ ...fields, ...first, operation: OPERATION_REGISTER, body }, checksum);
}

/** `reply`: to the request to register. */
export function requestBytes(client: number, reply: Uint8Array, checksum: Checksum): Uint8Array {
  const parent = reply.slice(ReplyOffset.context, ReplyOffset.context + 16);
  const session = readSafeU64(reply, ReplyOffset.commit) ?? 0;
  const fields = { cluster: CLUSTER, client: clientId(client), parent };
  const body = new Uint8Array(4);
  writeU32(body, 0, client + 1);
  const next = { view: 0, release: RELEASE, session, request: 1 };
  return buildRequest({ ...fields, ...next, operation: COUNTER_ADD, body }, checksum);
}
