/** Waits at a passive address for the server to connect, as databases behind firewalls do. */
import { createServer, type Server, type Socket } from 'node:net';
import { runDirectory, within } from '../../shared/directories.ts';
import type { ClientContext } from '../context.ts';
import { failure, OVSDB_PORT } from './address.ts';

export async function acceptOne(
  context: ClientContext,
  name: string,
  kind: string,
  rest: string,
): Promise<Socket> {
  const server = createServer();
  await listening(server, kind, rest);
  context.inform('ovsdb_client', `${name}: waiting for connection...`);
  const socket = await new Promise<Socket>((resolve) => server.once('connection', resolve));
  server.close();
  if (kind !== 'pssl') return socket;
  return (await import('./connect-tls.ts')).serveTls(socket, context);
}

function listening(server: Server, kind: string, rest: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('listening', resolve);
    server.once('error', reject);
    if (kind === 'punix') server.listen(within(runDirectory(), rest));
    else server.listen(portAndHost(rest));
  });
}

/** "[port][:host]" */
function portAndHost(text: string): { port: number; host: string } {
  const match = /^(\d*)(?::(.*))?$/.exec(text);
  if (match === null) throw failure('EAFNOSUPPORT');
  const port = match[1] === '' ? OVSDB_PORT : Number(match[1]);
  return { port, host: (match[2] ?? '0.0.0.0').replace(/^\[(.*)\]$/, '$1') };
}
