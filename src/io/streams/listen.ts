/**
 * Listens on a target. Accepts whatever comes; TLS connections are told of when their handshake is
 * done. A unix socket's file takes the place of one that is there, may be used by owner and group
 * (as far as the process's mask lets them), and goes when the listener is closed.
 */
import fs from 'node:fs';
import net from 'node:net';
import { resolve } from 'node:path';
import tls from 'node:tls';
import { assert } from '../../stdx/index.ts';
import type { Connected } from './connected.ts';
import { StreamError, TlsSettingsError } from './errors.ts';
import { LISTEN_BACKLOG, TLS_HANDSHAKE_MS } from './limits.ts';
import { hostText, type PassiveTarget } from './target.ts';
import type { TlsContext } from './tls-context.ts';
import { withShortPath } from './unix-path.ts';

export interface ListenOptions {
  readonly accept: (connected: Connected) => void;
  /** Needed for `pssl:`. */
  readonly tls?: TlsContext;
  /** Where unix sockets are whose path is not absolute. */
  readonly runDirectory?: string;
  readonly nowMs?: () => number;
  /** Handshakes that failed, in words. */
  readonly onProblem?: (text: string) => void;
}

/** Takes others' permissions on a new socket's file. */
const UNIX_UMASK = 0o007;

let unixConnections = 0;

export class StreamListener {
  readonly target: PassiveTarget;
  /** `null`: a unix socket. */
  readonly boundPort: number | null;
  readonly #server: net.Server;
  readonly #path: string | null;
  /** Connections whose handshake is not done. */
  readonly #young: ReadonlySet<net.Socket>;

  constructor(
    target: PassiveTarget,
    server: net.Server,
    path: string | null,
    young: ReadonlySet<net.Socket>,
  ) {
    this.target = target;
    this.#server = server;
    this.#path = path;
    this.#young = young;
    const address = server.address();
    this.boundPort = address !== null && typeof address === 'object' ? address.port : null;
  }

  /** Accepts nobody any more. Those who were accepted stay. */
  close(): void {
    if (this.#path !== null) fs.rmSync(this.#path, { force: true });
    this.#server.close();
    for (const socket of this.#young) socket.destroy();
  }
}

/** @throws StreamError, TlsSettingsError */
export async function listenStream(
  target: PassiveTarget,
  options: ListenOptions,
): Promise<StreamListener> {
  const young = new Set<net.Socket>();
  const server =
    target.kind === 'pssl' ? tlsServer(options, young) : plainServer(target.kind, options);
  const path =
    target.kind === 'punix' ? resolve(options.runDirectory ?? '/var/run', target.path) : null;
  await new Promise<void>((done, refuse) => {
    server.once('error', (error) => refuse(new StreamError(target.text, error)));
    server.once('listening', done);
    try {
      if (target.kind === 'punix') listenUnix(server, path);
      else server.listen({ host: target.host, port: target.port, backlog: LISTEN_BACKLOG });
    } catch (error) {
      refuse(new StreamError(target.text, error));
    }
  });
  // What goes wrong with one connection (no descriptors left) is no reason to stop listening.
  server.on('error', (error) => options.onProblem?.(`${target.text}: accept: ${error.message}`));
  return new StreamListener(target, server, path, young);
}

function listenUnix(server: net.Server, path: string | null): void {
  assert(path !== null, 'listenStream: a unix socket without a path');
  fs.rmSync(path, { force: true });
  // The socket is bound before this returns, so nobody else's files get that mask.
  const mask = process.umask();
  process.umask(mask | UNIX_UMASK);
  try {
    withShortPath(path, (short) => server.listen({ path: short, backlog: LISTEN_BACKLOG }));
  } finally {
    process.umask(mask);
  }
}

function plainServer(kind: 'ptcp' | 'punix', { accept }: ListenOptions): net.Server {
  const server = net.createServer({ allowHalfOpen: true, noDelay: kind === 'ptcp' });
  server.on('connection', (socket) => {
    const name = kind === 'ptcp' ? peerName('tcp', socket) : `unix#${unixConnections++}`;
    accept({ socket, name, tlsIdentity: null, isTls: false });
  });
  return server;
}

function tlsServer(options: ListenOptions, young: Set<net.Socket>): net.Server {
  const { accept, tls: context, nowMs = () => performance.now(), onProblem } = options;
  if (context === undefined)
    throw new TlsSettingsError('Private key must be configured to use SSL');
  let secure = context.secure(nowMs());
  const server = tls.createServer({
    ...secure.options,
    requestCert: secure.verifies,
    rejectUnauthorized: secure.verifies,
    allowHalfOpen: true,
    noDelay: true,
    handshakeTimeout: TLS_HANDSHAKE_MS,
  });
  // Before the handshake starts: it may be the first with other certificates.
  server.prependListener('connection', (socket) => {
    young.add(socket);
    socket.once('close', () => young.delete(socket));
    const latest = context.secure(nowMs());
    if (latest !== secure) server.setSecureContext(latest.options);
    secure = latest;
  });
  server.on('secureConnection', (socket) => {
    const name = peerName('ssl', socket);
    accept({ socket, name, tlsIdentity: identityOf(socket), isTls: true });
  });
  server.on('tlsClientError', (error, socket) => {
    onProblem?.(`${peerName('ssl', socket)}: SSL_accept: ${error.message}`);
    socket.destroy();
  });
  return server;
}

function peerName(kind: 'tcp' | 'ssl', socket: net.Socket): string {
  return `${kind}:${hostText(socket.remoteAddress ?? '')}:${socket.remotePort ?? 0}`;
}

/** The common name of the certificate that the other side has shown. */
export function identityOf(socket: tls.TLSSocket): string | null {
  const { subject } = socket.getPeerCertificate();
  const name: unknown = subject?.CN;
  return typeof name === 'string' ? name : null;
}
