/**
 * TLS over a socket. The peer must have a certificate of the authority that the options name; what
 * it is called does not matter. With --bootstrap-ca-cert the authority is whoever signed the first
 * peer, whose certificate is kept.
 */
import fs from 'node:fs';
import { connect as connectSocket, type Socket } from 'node:net';
import {
  type ConnectionOptions,
  connect as connectTlsSocket,
  type DetailedPeerCertificate,
  type SecureVersion,
  TLSSocket,
} from 'node:tls';
import type { TlsSettings } from '../../shared/tls-options.ts';
import type { ClientContext } from '../context.ts';
import { connected, failure, hostAndPort } from './address.ts';

export async function connectTls(rest: string, context: ClientContext): Promise<Socket> {
  const { tls } = context;
  checkConfigured(context);
  const where = hostAndPort(rest);
  if (typeof where === 'string') {
    context.alarm('socket_util', where);
    throw failure('EAFNOSUPPORT');
  }
  const bootstrapping = tls.bootstrapCaCert && !fs.existsSync(tls.caCert as string);
  const socket = await connected(connectSocket({ ...where, noDelay: true }));
  const options = {
    ...optionsOf(tls, !bootstrapping),
    socket,
    checkServerIdentity: () => undefined,
  };
  const secure = connectTlsSocket(options);
  await connected(secure, 'secureConnect').catch((error: unknown) => {
    const text = error instanceof Error ? error.message : String(error);
    context.warn('stream_ssl', `SSL_connect: ${text}`);
    throw failure('EPROTO');
  });
  if (!bootstrapping) return secure;
  keepAuthority(secure.getPeerCertificate(true), tls.caCert as string);
  secure.destroy();
  context.inform('stream_ssl', 'successfully bootstrapped CA cert');
  return connectTls(rest, { ...context, tls: { ...tls, bootstrapCaCert: false } });
}

export async function serveTls(socket: Socket, context: ClientContext): Promise<Socket> {
  const { tls } = context;
  checkConfigured(context);
  const options = { ...optionsOf(tls, true), isServer: true, requestCert: true };
  const secure = new TLSSocket(socket, options);
  return connected(secure, 'secure');
}

function checkConfigured({ tls, alarm }: ClientContext): void {
  const needed = [
    ['Private key', tls.privateKey],
    ['Certificate', tls.certificate],
    ['CA certificate', tls.caCert],
  ] as const;
  const missing = needed.filter(([, path]) => path === null);
  for (const [what] of missing) alarm('stream_ssl', `${what} must be configured to use SSL`);
  if (missing.length > 0) throw failure('ENOPROTOOPT');
}

function optionsOf(tls: TlsSettings, verify: boolean): ConnectionOptions {
  return {
    key: fs.readFileSync(tls.privateKey as string),
    cert: fs.readFileSync(tls.certificate as string),
    ...(verify ? { ca: fs.readFileSync(tls.caCert as string) } : {}),
    rejectUnauthorized: verify,
    ...protocolsOf(tls.protocols),
    ...(tls.ciphers === null ? {} : { ciphers: tls.ciphers }),
    ...(tls.serverName === null ? {} : { servername: tls.serverName }),
  };
}

const versions: readonly SecureVersion[] = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'];

function protocolsOf(list: string | null): {
  minVersion?: SecureVersion;
  maxVersion?: SecureVersion;
} {
  const named = versions.filter((version) => list?.split(/[,\s]+/).includes(version));
  const first = named[0];
  const last = named[named.length - 1];
  return first === undefined || last === undefined ? {} : { minVersion: first, maxVersion: last };
}

/** Mode of a new file of certificates. */
const CERTIFICATE_MODE = 0o444;

function keepAuthority(peer: DetailedPeerCertificate, path: string): void {
  let certificate = peer;
  while (certificate.issuerCertificate && certificate.issuerCertificate !== certificate) {
    certificate = certificate.issuerCertificate;
  }
  const lines = certificate.raw.toString('base64').match(/.{1,64}/g) ?? [];
  const pem = ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
  fs.writeFileSync(path, pem, { flag: 'wx', mode: CERTIFICATE_MODE });
}
