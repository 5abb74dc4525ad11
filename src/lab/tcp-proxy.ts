/**
 * A man in the middle that is only slow: forwards connections to a port of this machine and holds
 * back what flows in one direction, or both, for a fixed time. Bytes keep their order; nothing is
 * lost, and nothing is shaped: many bytes at a time are as fast as one.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { assert } from '../stdx/index.ts';

export interface TcpProxyOptions {
  /** On 127.0.0.1. */
  readonly targetPort: number;
  /** From whoever connects to the target, ms. */
  readonly delayToTargetMs: number;
  /** And back, ms. */
  readonly delayFromTargetMs: number;
}

/** Bytes held back in one direction of one connection; its sender waits when there are more. */
const HELD_BYTES_MAX = 67_108_864;

export class TcpProxy {
  readonly #server: Server;
  readonly #sockets: Set<Socket> = new Set();

  private constructor(options: TcpProxyOptions) {
    this.#server = createServer({ noDelay: true, allowHalfOpen: false }, (incoming) => {
      const { targetPort: port, delayToTargetMs, delayFromTargetMs } = options;
      const outgoing = connect({ port, host: '127.0.0.1', noDelay: true });
      this.#join(incoming, outgoing);
      forward(incoming, outgoing, delayToTargetMs);
      forward(outgoing, incoming, delayFromTargetMs);
    });
  }

  static start(options: TcpProxyOptions): Promise<TcpProxy> {
    assert(options.delayToTargetMs >= 0 && options.delayFromTargetMs >= 0, 'TcpProxy: delays');
    const proxy = new TcpProxy(options);
    return new Promise((resolve, reject) => {
      proxy.#server.once('error', reject);
      proxy.#server.listen({ port: 0, host: '127.0.0.1' }, () => resolve(proxy));
    });
  }

  /** Where it listens on 127.0.0.1. */
  get port(): number {
    const address = this.#server.address();
    assert(address !== null && typeof address === 'object', 'TcpProxy: it does not listen');
    return address.port;
  }

  /** Cuts all connections and listens no more. */
  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** The end of one side is the end of the other. */
  #join(one: Socket, other: Socket): void {
    for (const [socket, peer] of [
      [one, other],
      [other, one],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        peer.destroy();
      });
    }
  }
}

function forward(from: Socket, to: Socket, delayMs: number): void {
  const held: { readonly dueMs: number; readonly bytes: Buffer }[] = [];
  let heldBytes = 0;
  let timer: NodeJS.Timeout | null = null;
  const release = (): void => {
    timer = null;
    const nowMs = performance.now();
    while (held.length > 0 && held[0].dueMs <= nowMs) {
      const bytes = held.shift()?.bytes;
      if (bytes === undefined) break;
      heldBytes -= bytes.length;
      if (!to.destroyed) to.write(bytes);
    }
    if (heldBytes < HELD_BYTES_MAX) from.resume();
    if (held.length > 0) timer = setTimeout(release, Math.max(0, held[0].dueMs - nowMs));
  };
  from.on('data', (bytes: Buffer) => {
    held.push({ dueMs: performance.now() + delayMs, bytes });
    heldBytes += bytes.length;
    if (heldBytes >= HELD_BYTES_MAX) from.pause();
    if (timer === null) release();
  });
  to.on('close', () => {
    if (timer !== null) clearTimeout(timer);
  });
}
