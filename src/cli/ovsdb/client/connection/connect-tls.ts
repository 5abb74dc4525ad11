/**
 * TLS over a socket. The peer must have a certificate of the authority that the options name; what
 * it is called does not matter. With --bootstrap-ca-cert the authority is whoever signed the first
 * peer: its certificate is kept, and, as with the original, that connection is given up.
 */
import { connect as connectSocket, type Socket } from 'node:net';
import { connect as connectTlsSocket, TLSSocket } from 'node:tls';
import { TlsSettingsError } from '../../../../io/streams/errors.ts';
import { type SecureSettings, TlsContext } from '../../../../io/streams/tls-context.ts';
import type { ClientContext } from '../context.ts';
import { connected, failure, hostAndPort } from './address.ts';

export async function connectTls(rest: string, context: ClientContext): Promise<Socket> {
  const own = new TlsContext(context.tls);
  const secure = settingsOf(own, context);
  const where = hostAndPort(rest);
  if (typeof where === 'string') {
    context.alarm('socket_util', where);
    throw failure('EAFNOSUPPORT');
  }
  const socket = connectTlsSocket({
    socket: await connected(connectSocket({ ...where, noDelay: true })),
    secureContext: secure.context,
    rejectUnauthorized: secure.verifies && !secure.bootstraps,
    checkServerIdentity: () => undefined,
    ...(own.serverName === null ? {} : { servername: own.serverName }),
  });
  await shakenHands(socket, 'secureConnect', 'SSL_connect', context);
  if (!secure.bootstraps) return socket;
  try {
    own.bootstrap(socket);
    const text = `successfully bootstrapped CA cert to ${context.tls.caCert}`;
    context.inform('stream_ssl', text);
    context.inform('stream_ssl', 'killing successful connection to retry using CA cert');
  } catch (error) {
    if (!(error instanceof TlsSettingsError)) throw error;
    context.alarm('stream_ssl', error.message);
  }
  socket.destroy();
  throw failure('EPROTO');
}

export async function serveTls(socket: Socket, context: ClientContext): Promise<Socket> {
  const { context: secureContext, verifies } = settingsOf(new TlsContext(context.tls), context);
  const secure = new TLSSocket(socket, {
    isServer: true,
    secureContext,
    requestCert: true,
    rejectUnauthorized: verifies,
  });
  await shakenHands(secure, 'secure', 'SSL_accept', context);
  return secure;
}

async function shakenHands(
  socket: TLSSocket,
  event: string,
  action: string,
  context: ClientContext,
): Promise<void> {
  try {
    await connected(socket, event);
  } catch (error) {
    context.warn('stream_ssl', `${action}: ${error instanceof Error ? error.message : error}`);
    throw failure('EPROTO');
  }
}

function settingsOf(own: TlsContext, { tls, alarm }: ClientContext): SecureSettings {
  const needed = [
    ['Private key', tls.privateKey],
    ['Certificate', tls.certificate],
    ['CA certificate', tls.caCert],
  ] as const;
  const missing = needed.filter(([, path]) => path === null);
  for (const [what] of missing) alarm('stream_ssl', `${what} must be configured to use SSL`);
  if (missing.length > 0) throw failure('ENOPROTOOPT');
  try {
    return own.secure(performance.now());
  } catch (error) {
    if (!(error instanceof TlsSettingsError)) throw error;
    alarm('stream_ssl', error.message);
    throw failure('ENOPROTOOPT');
  }
}
