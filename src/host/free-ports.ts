/**
 * Ports for several servers that must know each other's before any of them listens. They are taken
 * from below the range that systems give to outgoing connections: a port from there may be used up
 * at any moment, by a connection, and a replica that dials a peer which is not there yet could even
 * be connected to itself.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { AddressUnavailableError } from '../io/index.ts';
import { assert } from '../stdx/index.ts';

const PORT_MIN = 10_000;
const PORT_MAX = 32_000;
const ATTEMPTS = 200;

/**
 * Consecutive ports on 127.0.0.1 on which nobody listens now. They are not reserved.
 * @throws AddressUnavailableError
 */
export async function freePorts(count: number): Promise<number[]> {
  assert(count > 0, 'freePorts: none');
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const first = PORT_MIN + Math.floor(Math.random() * (PORT_MAX - PORT_MIN - count));
    const ports = Array.from({ length: count }, (_, index) => first + index);
    const free = await Promise.all(ports.map(isFree));
    if (free.every(Boolean)) return ports;
  }
  throw new AddressUnavailableError('127.0.0.1', 'no free ports were found');
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  server.listen({ port, host: '127.0.0.1' });
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
