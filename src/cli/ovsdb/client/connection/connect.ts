/**
 * Opens one connection to an address as users write it. TCP and Unix sockets are made here, since
 * they are what a program in a shell loop uses; TLS and listening are loaded when asked for.
 */
import { closeSync, openSync } from 'node:fs';
import { connect as connectSocket, type Socket } from 'node:net';
import { basename, dirname } from 'node:path';
import { glibcErrorText } from '../../../../io/append-file/error-text.ts';
import { runDirectory, within } from '../../shared/directories.ts';
import { type ClientContext, fatalReason } from '../context.ts';
import { connected, failure, hostAndPort, kindOf, withDefaultPort } from './address.ts';
import { Rpc } from './rpc.ts';

/** Longer paths of Unix sockets are reached through their folder, bytes. */
const UNIX_PATH_MAX = 107;

export async function openRpc(context: ClientContext, remote: string): Promise<Rpc> {
  const name = withDefaultPort(remote);
  try {
    return new Rpc(name, await openSocket(context, name, kindOf(name)), context.warn);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (typeof code !== 'string') throw error;
    const what =
      code === 'EAFNOSUPPORT' ? 'failed to connect or listen to' : 'failed to connect to';
    return fatalReason(`${what} "${remote}"`, code === 'EAFNOSUPPORT' ? code : error);
  }
}

/** The same for whoever has other remotes to try, or will try again; `null`: not now. */
export async function tryRpc(context: ClientContext, remote: string): Promise<Rpc | null> {
  const name = withDefaultPort(remote);
  context.inform('reconnect', `${name}: connecting...`);
  try {
    const rpc = new Rpc(name, await openSocket(context, name, kindOf(name)), context.warn);
    context.inform('reconnect', `${name}: connected`);
    return rpc;
  } catch (error) {
    if (typeof (error as NodeJS.ErrnoException).code !== 'string') throw error;
    const reason = glibcErrorText(error);
    context.inform('reconnect', `${name}: connection attempt failed (${reason})`);
    return null;
  }
}

/** A socket that is connected; rejects with an error with a system's code. */
export async function openSocket(
  context: ClientContext,
  name: string,
  kind: string,
): Promise<Socket> {
  const rest = name.slice(kind.length + 1);
  switch (kind) {
    case 'unix':
      return connectUnix(within(runDirectory(), rest));
    case 'tcp':
      return connectTcp(context, name, rest);
    case 'ssl':
      return (await import('./connect-tls.ts')).connectTls(rest, context);
    case 'ptcp':
    case 'pssl':
    case 'punix':
      return (await import('./accept.ts')).acceptOne(context, name, kind, rest);
    default:
      throw failure('EAFNOSUPPORT');
  }
}

async function connectTcp(context: ClientContext, name: string, rest: string): Promise<Socket> {
  const where = hostAndPort(rest);
  try {
    if (typeof where !== 'string') {
      return await connected(connectSocket({ ...where, noDelay: true }));
    }
    context.alarm('socket_util', where);
  } catch (error) {
    // Anything but a name that nobody knows.
    if ((error as NodeJS.ErrnoException).syscall !== 'getaddrinfo') throw error;
  }
  context.alarm('stream_tcp', `${name}: connect: ${glibcErrorText('EAFNOSUPPORT')}`);
  throw failure('EAFNOSUPPORT');
}

function connectUnix(path: string): Promise<Socket> {
  if (Buffer.byteLength(path) <= UNIX_PATH_MAX) return connected(connectSocket(path));
  const folder = openSync(dirname(path), 'r');
  const short = `/proc/self/fd/${folder}/${basename(path)}`;
  return connected(connectSocket(short)).finally(() => closeSync(folder));
}
