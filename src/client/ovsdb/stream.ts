/**
 * One connection to a server: parsed messages come in, JSON goes out. Addresses are the original's:
 * `tcp:HOST[:PORT]`, `ssl:HOST[:PORT]`, `unix:PATH`.
 */
import { readFileSync } from 'node:fs';
import { connect as connectSocket, type Socket } from 'node:net';
import { encodeUtf8, type Json, JsonFramer, serialize } from '../../ovsdb/index.ts';
import { OvsdbClientError, OvsdbErrorCode } from './errors.ts';

export interface TlsOptions {
  /** Paths of PEM files. */
  readonly privateKey: string;
  readonly certificate: string;
  readonly caCert: string;
}

export const OVSDB_PORT = 6640;

export interface Address {
  /** As given. */
  readonly text: string;
  readonly kind: 'tcp' | 'ssl' | 'unix';
  readonly host: string;
  readonly port: number;
  readonly path: string;
}

export function parseAddress(text: string): Address {
  const unix = /^unix:(.+)$/.exec(text);
  if (unix !== null) return { text, kind: 'unix', host: '', port: 0, path: unix[1] as string };
  const inet = /^(tcp|ssl):(\[[^\]]+\]|[^:]+)(?::(\d{1,5}))?$/.exec(text);
  const port = inet?.[3] === undefined ? OVSDB_PORT : Number(inet[3]);
  if (inet === null || port < 1 || port > 65_535) {
    const message = `cannot connect to "${text}": wanted is tcp:HOST[:PORT], ssl:HOST[:PORT] or unix:PATH`;
    throw new OvsdbClientError(OvsdbErrorCode.address, message);
  }
  const host = (inet[2] as string).replace(/^\[(.*)\]$/, '$1');
  return { text, kind: inet[1] as 'tcp' | 'ssl', host, port, path: '' };
}

export interface StreamEvents {
  message(json: Json): void;
  /** Once; nothing follows. */
  closed(reason: string): void;
}

export class Stream {
  readonly #socket: Socket;
  readonly #framer: JsonFramer = new JsonFramer();
  readonly #events: StreamEvents;
  #open: boolean = true;

  private constructor(socket: Socket, events: StreamEvents) {
    this.#socket = socket;
    this.#events = events;
    socket.on('data', (chunk: Uint8Array) => this.#received(chunk));
    socket.on('error', (error) => this.#closed(error.message));
    socket.on('close', () => this.#closed('the server closed the connection'));
  }

  /** Rejects when nobody answers in `timeoutMs`, or `signal` aborts. */
  static async open(
    address: Address,
    tls: TlsOptions | null,
    timeoutMs: number,
    events: StreamEvents,
    signal: AbortSignal,
  ): Promise<Stream> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const socket = await socketTo(address, tls);
    const ready = address.kind === 'ssl' ? 'secureConnect' : 'connect';
    await new Promise<void>((resolve, reject) => {
      const abort = (): void => {
        socket.destroy();
        reject(new Error(signal.aborted ? 'aborted' : `no answer within ${timeoutMs} ms`));
      };
      if (limit.aborted) return abort();
      limit.addEventListener('abort', abort, { once: true });
      socket.once('error', reject);
      socket.once(ready, () => {
        limit.removeEventListener('abort', abort);
        socket.off('error', reject);
        resolve();
      });
    });
    return new Stream(socket, events);
  }

  /** Bytes that have not left yet. */
  get backlogBytes(): number {
    return this.#socket.writableLength;
  }

  send(json: Json): void {
    if (this.#open) this.#socket.write(encodeUtf8(serialize(json)));
  }

  close(reason: string): void {
    this.#closed(reason);
    this.#socket.destroy();
  }

  #received(chunk: Uint8Array): void {
    for (const result of this.#framer.push(chunk)) {
      if (!this.#open) return;
      if (result.ok) this.#events.message(result.value);
      else this.close(`cannot read what the server sends: ${result.error}`);
    }
  }

  #closed(reason: string): void {
    if (!this.#open) return;
    this.#open = false;
    this.#events.closed(reason);
  }
}

async function socketTo(address: Address, tls: TlsOptions | null): Promise<Socket> {
  const { kind, host, port, path } = address;
  if (kind === 'unix') return connectSocket(path);
  if (kind === 'tcp') return connectSocket({ host, port, noDelay: true });
  if (tls === null) {
    const message = `${address.text} needs the option tls`;
    throw new OvsdbClientError(OvsdbErrorCode.address, message);
  }
  const { connect } = await import('node:tls');
  return connect({
    host,
    port,
    key: readFileSync(tls.privateKey),
    cert: readFileSync(tls.certificate),
    ca: readFileSync(tls.caCert),
    // The authority vouches for the peer, as with the original; names do not matter.
    checkServerIdentity: () => undefined,
  });
}
