/**
 * The asking end of a control socket. It loads nothing but the platform's sockets, since the
 * program that uses it is started for every single question.
 */
import fs from 'node:fs';
import net from 'node:net';
import { basename, dirname } from 'node:path';

export interface UnixctlReply {
  /** Exactly one of the two is not null. */
  readonly result: unknown;
  readonly error: unknown;
}

/** Bytes; nothing that is asked for is as long. */
const REPLY_SIZE_MAX = 256 * 1024 * 1024;
const SOCKET_PATH_MAX = 107;

export class UnixctlConnection {
  readonly #socket: net.Socket;
  #text: string = '';
  #id: number = 0;
  #waiting: { resolve(reply: UnixctlReply): void; reject(error: Error): void } | null = null;
  #ended: Error | null = null;

  /** Rejects with the system's error. */
  static connect(path: string): Promise<UnixctlConnection> {
    return new Promise((resolve, reject) => {
      const socket = net.connect({ path: reachable(path) });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.removeListener('error', reject);
        resolve(new UnixctlConnection(socket));
      });
    });
  }

  private constructor(socket: net.Socket) {
    this.#socket = socket;
    socket.setEncoding('utf8');
    socket.on('data', (chunk) => this.#receive(String(chunk)));
    socket.on('error', (error) => this.#end(error));
    socket.on('close', () => this.#end(new EndOfFile()));
  }

  /** One request at a time. Rejects when the connection ends or says what is no answer. */
  call(command: string, args: readonly string[]): Promise<UnixctlReply> {
    const id = this.#id++;
    return new Promise((resolve, reject) => {
      if (this.#ended !== null) {
        reject(this.#ended);
        return;
      }
      this.#waiting = { resolve, reject };
      this.#socket.write(JSON.stringify({ id, method: command, params: args }));
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  /** An answer is complete when it can be parsed. */
  #receive(chunk: string): void {
    this.#text += chunk;
    if (this.#text.length > REPLY_SIZE_MAX) {
      this.#socket.destroy();
      return;
    }
    if (!this.#text.trimEnd().endsWith('}')) return;
    let reply: unknown;
    try {
      reply = JSON.parse(this.#text);
    } catch {
      return;
    }
    this.#text = '';
    const waiting = this.#waiting;
    this.#waiting = null;
    if (typeof reply !== 'object' || reply === null) return;
    const { result = null, error = null } = reply as Partial<UnixctlReply>;
    waiting?.resolve({ result, error });
  }

  #end(error: Error): void {
    this.#ended ??= error;
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.reject(this.#ended);
  }
}

/** Connects, asks, and closes. */
export async function callUnixctl(
  path: string,
  command: string,
  args: readonly string[],
): Promise<UnixctlReply> {
  const connection = await UnixctlConnection.connect(path);
  try {
    return await connection.call(command, args);
  } finally {
    connection.close();
  }
}

/** The other side has hung up. */
class EndOfFile extends Error {
  readonly code: string = 'EOF';

  constructor() {
    super('End of file');
  }
}

/** The same socket by a path that fits into an address. */
function reachable(path: string): string {
  if (Buffer.byteLength(path) <= SOCKET_PATH_MAX) return path;
  try {
    return `/proc/self/fd/${fs.openSync(dirname(path), 'r')}/${basename(path)}`;
  } catch {
    return path;
  }
}
