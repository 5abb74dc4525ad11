/** A schema and a client of plain sockets for tests of the server; reads only when told to. */
import assert from 'node:assert/strict';
import net from 'node:net';
import { type Json, JsonFramer, type JsonObject, serialize } from '../../ovsdb/index.ts';

export const schema: JsonObject = {
  name: 'shop',
  version: '1.0.0',
  tables: {
    item: {
      columns: {
        name: { type: 'string' },
        price: { type: 'integer' },
        tags: { type: { key: 'string', min: 0, max: 'unlimited' } },
      },
      isRoot: true,
      indexes: [['name']],
    },
  },
};

export function insertItem(name: string, price: number = 0): JsonObject {
  return { op: 'insert', table: 'item', row: { name, price } };
}

export class RawClient {
  readonly socket: net.Socket;
  readonly messages: JsonObject[] = [];
  readonly #framer: JsonFramer = new JsonFramer();
  readonly #wakeups: Set<() => void> = new Set();
  isClosed: boolean = false;

  private constructor(socket: net.Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      for (const result of this.#framer.push(chunk)) {
        assert(result.ok, 'the server sends JSON');
        this.messages.push(result.value as JsonObject);
      }
      this.#wake();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      this.isClosed = true;
      this.#wake();
    });
  }

  static async connect(address: string): Promise<RawClient> {
    const [kind, host = '', port] = address.split(':');
    const where = kind === 'unix' ? { path: host } : { host, port: Number(port) };
    const socket = net.connect(where);
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return new RawClient(socket);
  }

  #wake(): void {
    for (const wake of this.#wakeups) wake();
  }

  /** Resolves when the condition holds; fails after a while, ms. */
  async until(condition: () => boolean, timeoutMs: number = 10_000): Promise<void> {
    if (condition()) return;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#wakeups.delete(wake);
        reject(new Error(`nothing came: ${JSON.stringify(this.messages).slice(0, 500)}`));
      }, timeoutMs);
      const wake = (): void => {
        if (!condition()) return;
        clearTimeout(timer);
        this.#wakeups.delete(wake);
        resolve();
      };
      this.#wakeups.add(wake);
    });
  }

  write(json: Json): void {
    this.socket.write(serialize(json));
  }

  /** The reply with that id. */
  async reply(id: Json): Promise<JsonObject> {
    const find = () => this.messages.find((message) => message['id'] === id);
    await this.until(() => find() !== undefined || this.isClosed);
    const found = find();
    assert(found !== undefined, 'closed before the reply');
    return found;
  }

  async request(method: string, params: readonly Json[], id: Json): Promise<Json> {
    this.write({ method, params, id });
    return (await this.reply(id))['result'] ?? null;
  }

  close(): void {
    this.socket.destroy();
  }
}
