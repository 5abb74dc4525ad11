/** A client in a few lines, for tests that only want to know whether a ledger answers. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { readU32, toHex } from '../stdx/index.ts';
import {
  Command,
  createChecksum,
  HEADER_SIZE,
  initHeader,
  Offset,
  ReplyOffset,
  RequestOffset,
  readCommand,
  readRelease,
  readSize,
  sealBody,
  sealHeader,
} from '../wire/index.ts';

const checksum = createChecksum();

export interface Registered {
  readonly session: number;
  readonly release: number;
  /** Largest request body. */
  readonly bodySizeMax: number;
}

/** Registers a client of cluster 0 and returns what the reply says. */
export async function registerClient(port: number): Promise<Registered> {
  const bytes = new Uint8Array(2 * HEADER_SIZE);
  const fields = { command: Command.request, size: bytes.length, cluster: new Uint8Array(16) };
  initHeader(bytes, { ...fields, view: 0, release: 0x1109, replica: 0 });
  crypto.getRandomValues(bytes.subarray(RequestOffset.client, RequestOffset.client + 16));
  bytes[RequestOffset.operation] = 2;
  const reply = await exchange(port, bytes);
  if (readCommand(reply) !== Command.reply) throw new Error(`not a reply: ${toHex(reply)}`);
  return {
    session: readU32(reply, ReplyOffset.op),
    release: readRelease(reply),
    bodySizeMax: readU32(reply, HEADER_SIZE),
  };
}

/** Sends a status request on a connection of its own; returns the JSON of the answer. */
export async function statusOf(port: number): Promise<{ readonly [name: string]: unknown }> {
  const bytes = new Uint8Array(HEADER_SIZE);
  const fields = { command: Command.status, size: HEADER_SIZE, cluster: new Uint8Array(16) };
  initHeader(bytes, { ...fields, view: 0, release: 0x1109, replica: 0 });
  const reply = await exchange(port, bytes);
  return JSON.parse(new TextDecoder().decode(reply.subarray(HEADER_SIZE)));
}

/**
 * Seals and sends one message on a connection of its own; returns the first one that comes back.
 */
async function exchange(port: number, bytes: Uint8Array): Promise<Uint8Array> {
  sealBody(bytes, checksum);
  sealHeader(bytes, checksum);
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.write(bytes);
  let received = Buffer.alloc(0);
  while (received.length < HEADER_SIZE || received.length < readSize(received)) {
    const [chunk] = await Promise.race([once(socket, 'data'), once(socket, 'close')]);
    if (!Buffer.isBuffer(chunk)) throw new Error('closed without an answer');
    received = Buffer.concat([received, chunk]);
  }
  socket.destroy();
  return new Uint8Array(received.subarray(0, readU32(received, Offset.size)));
}
