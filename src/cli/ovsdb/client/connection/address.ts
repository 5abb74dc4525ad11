/** Addresses as users write them, and a socket's first event as a promise. */
import type { Socket } from 'node:net';

export const OVSDB_PORT = 6640;

export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

/** "tcp" and the like; empty when there is none. */
export function kindOf(remote: string): string {
  return remote.slice(0, Math.max(0, remote.indexOf(':')));
}

export function withDefaultPort(remote: string): string {
  const active = remote.startsWith('tcp:') || remote.startsWith('ssl:');
  return active && colonsIn(remote) < 2 ? `${remote}:${OVSDB_PORT}` : remote;
}

/** Those in brackets belong to an address. */
function colonsIn(text: string): number {
  return text.replace(/\[[^\]]*\]/g, '').split(':').length - 1;
}

const PORT_MAX = 65_535;

/** Of "host:port"; text: what is wrong with it. */
export function hostAndPort(text: string): HostAndPort | string {
  const match = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(text);
  // Several colons without brackets: an IPv6 address.
  const [, host, port = ''] = match ?? ['', text, ''];
  if (host === '') return `${text}: host must be specified`;
  if (port !== '' && !(/^\d+$/.test(port) && Number(port) <= PORT_MAX)) {
    return `${text}: bad port number "${port}"`;
  }
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  return { host: bare, port: port === '' ? OVSDB_PORT : Number(port) };
}

/** Resolves at `event`, rejects at an error before it. */
export function connected(socket: Socket, event: string = 'connect'): Promise<Socket> {
  return new Promise((resolve, reject) => {
    socket.once(event, () => {
      socket.off('error', reject);
      resolve(socket);
    });
    socket.once('error', reject);
  });
}

/** As if the system had said so. */
export function failure(code: string): Error {
  return Object.assign(new Error(code), { code });
}
