/** A server of which the test says what it answers, to see the client in every situation. */
import { createServer, type Server, type Socket } from 'node:net';
import {
  encodeUtf8,
  type Json,
  type JsonArray,
  JsonFramer,
  type JsonObject,
  serialize,
} from '../../ovsdb/index.ts';

export const SCHEMA_TEXT: string = JSON.stringify({
  name: 'D',
  version: '1.0.0',
  tables: {
    T: {
      columns: {
        name: { type: 'string' },
        n: { type: { key: 'integer', min: 0, max: 1 } },
        tags: { type: { key: 'string', min: 0, max: 'unlimited' } },
        kv: { type: { key: 'string', value: 'string', min: 0, max: 'unlimited' } },
      },
    },
  },
});

export interface Received {
  readonly method: string;
  readonly params: JsonArray;
  readonly id: Json;
}

/** Gives the result; throw a `Refuse` for an error; `undefined`: no answer. */
export type Answer = (request: Received, connection: Connection) => Json | undefined;

export class Refuse extends Error {
  readonly error: Json;

  constructor(error: Json) {
    super('refused');
    this.error = error;
  }
}

export class Connection {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  send(...messages: JsonObject[]): void {
    this.#socket.write(encodeUtf8(messages.map(serialize).join('')));
  }

  notify(method: string, ...params: Json[]): void {
    this.send({ id: null, method, params });
  }

  drop(): void {
    this.#socket.destroy();
  }
}

/** A row of `_Server`'s table Database. */
export function serverRow(changes: JsonObject = {}): JsonObject {
  return {
    name: 'D',
    model: 'standalone',
    connected: true,
    leader: true,
    schema: SCHEMA_TEXT,
    ...changes,
  };
}

export class ScriptedServer {
  readonly received: Received[] = [];
  readonly connections: Connection[] = [];
  readonly #server: Server;
  /** What `_Server` says; `null`: no such database. */
  row: JsonObject | null = serverRow();
  answer: Answer = () => undefined;

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => this.#serve(socket));
  }

  static async start(answer?: Answer): Promise<ScriptedServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const scripted = new ScriptedServer(server);
    if (answer !== undefined) scripted.answer = answer;
    return scripted;
  }

  get address(): string {
    const address = this.#server.address();
    return `tcp:127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  }

  get last(): Connection {
    return this.connections[this.connections.length - 1] as Connection;
  }

  of(method: string): Received[] {
    return this.received.filter((request) => request.method === method);
  }

  stop(): void {
    for (const connection of this.connections) connection.drop();
    this.#server.close();
  }

  #serve(socket: Socket): void {
    const connection = new Connection(socket);
    this.connections.push(connection);
    const framer = new JsonFramer();
    socket.on('error', () => {});
    socket.on('data', (chunk: Uint8Array) => {
      for (const result of framer.push(chunk)) {
        if (result.ok) this.#take(result.value as unknown as Received, connection);
      }
    });
  }

  #take(request: Received, connection: Connection): void {
    this.received.push(request);
    if (typeof request.method !== 'string') return;
    try {
      const result = this.#common(request) ?? this.answer(request, connection);
      if (result !== undefined) connection.send({ id: request.id, result, error: null });
    } catch (error) {
      if (!(error instanceof Refuse)) throw error;
      connection.send({ id: request.id, error: error.error, result: null });
    }
  }

  #common({ method, params }: Received): Json | undefined {
    if (method === 'set_db_change_aware' || method === 'monitor_cancel') return {};
    if (method === 'echo') return params;
    if (method !== 'monitor_cond' || params[0] !== '_Server') return undefined;
    return this.row === null ? {} : { Database: { 'a-row': { initial: this.row } } };
  }
}
