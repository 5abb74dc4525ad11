/**
 * The server end of a control socket: commands by name, each with the number of arguments it takes.
 * A connection's requests are answered one after another; connections do not wait for one another.
 * Who cannot keep to the protocol loses its connection and nothing else.
 */
import fs from 'node:fs';
import net from 'node:net';
import { basename, dirname } from 'node:path';
import {
  isArray,
  isObject,
  type Json,
  JsonFramer,
  memberOf,
  serialize,
} from '../../../ovsdb/index.ts';
import { assert } from '../../../stdx/index.ts';
import { UnixctlError } from './unixctl-error.ts';

/** Bytes of one request. */
const REQUEST_SIZE_MAX = 1024 * 1024;
/** Requests of one connection that wait for their turn. */
const QUEUE_MAX = 1_000;
const CONNECTIONS_MAX = 1_000;
const BACKLOG = 64;
/** An answer may take this long to leave when the server ends. */
const CLOSE_MS = 500;
/** The longest path that a socket address holds, bytes. */
const SOCKET_PATH_MAX = 107;

/** Gets the arguments; a text is the answer, a {@link UnixctlError} the refusal. */
export type UnixctlHandler = (
  args: readonly string[],
  format: 'text' | 'json',
) => string | Json | Promise<string | Json>;

interface Command {
  /** Shown in the list of commands; `null`: the command is not. */
  readonly usage: string | null;
  readonly argsMin: number;
  readonly argsMax: number;
  readonly handler: UnixctlHandler;
}

export interface UnixctlServerOptions {
  /** Answer of the command `version`. */
  readonly version: string;
  /** What people who look for trouble want to know; `level` as the original has it. */
  readonly log?: (level: 'WARN' | 'DBG', text: () => string) => void;
}

export class UnixctlServer {
  readonly #options: UnixctlServerOptions;
  readonly #commands: Map<string, Command> = new Map();
  readonly #connections: Set<Connection> = new Set();
  #server: net.Server | null = null;
  #path: string | null = null;

  constructor(options: UnixctlServerOptions) {
    this.#options = options;
    this.register('list-commands', '', 0, 0, (_, format) => this.#listCommands(format));
    this.register('version', '', 0, 0, () => options.version);
  }

  /** A second command of the same name is ignored. */
  register(
    name: string,
    usage: string | null,
    argsMin: number,
    argsMax: number,
    handler: UnixctlHandler,
  ): void {
    assert(argsMin <= argsMax, 'UnixctlServer: more arguments needed than allowed');
    if (this.#commands.has(name)) return;
    this.#commands.set(name, { usage, argsMin, argsMax, handler });
  }

  /** Where it listens, or `null`. */
  get path(): string | null {
    return this.#path;
  }

  /** Listens at an absolute path. Rejects with the system's error. */
  async listen(path: string): Promise<void> {
    assert(this.#server === null, 'UnixctlServer: listens already');
    // Left by a process that is gone, or the caller means to take it over.
    fs.rmSync(path, { force: true });
    const server = net.createServer((socket) => this.#accept(socket));
    await listenAt(server, path);
    server.on('error', (error) => this.#options.log?.('WARN', () => `accept: ${error.message}`));
    this.#server = server;
    this.#path = path;
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const connection of this.#connections) connection.close();
    const patience = setTimeout(() => {
      for (const connection of this.#connections) connection.destroy();
    }, CLOSE_MS);
    await closed;
    clearTimeout(patience);
    if (this.#path !== null) fs.rmSync(this.#path, { force: true });
    this.#path = null;
  }

  #accept(socket: net.Socket): void {
    if (this.#connections.size >= CONNECTIONS_MAX) {
      socket.destroy();
      return;
    }
    const connection = new Connection(socket, this.#commands, this.#options);
    this.#connections.add(connection);
    socket.on('close', () => this.#connections.delete(connection));
  }

  #listCommands(format: 'text' | 'json'): string | Json {
    const shown: [string, string][] = [];
    for (const [name, { usage }] of this.#commands) if (usage !== null) shown.push([name, usage]);
    shown.sort(([a], [b]) => (a < b ? -1 : 1));
    if (format === 'json') return Object.fromEntries(shown);
    const lines = shown.map(([name, usage]) => `  ${name.padEnd(23)} ${usage}\n`);
    return `The available commands are:\n${lines.join('')}`;
  }
}

/** One client. */
class Connection {
  readonly #socket: net.Socket;
  readonly #commands: ReadonlyMap<string, Command>;
  readonly #options: UnixctlServerOptions;
  readonly #framer: JsonFramer = new JsonFramer({ sizeMax: REQUEST_SIZE_MAX });
  readonly #queue: Json[] = [];
  #busy: boolean = false;
  #format: 'text' | 'json' = 'text';

  constructor(
    socket: net.Socket,
    commands: ReadonlyMap<string, Command>,
    options: UnixctlServerOptions,
  ) {
    this.#socket = socket;
    this.#commands = commands;
    this.#options = options;
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => this.#receive(chunk as Uint8Array));
  }

  /** After what was sent has left. */
  close(): void {
    this.#socket.destroySoon();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Uint8Array): void {
    for (const result of this.#framer.push(chunk)) {
      if (!result.ok || this.#queue.length >= QUEUE_MAX) {
        this.#socket.destroy();
        return;
      }
      this.#queue.push(result.value);
    }
    void this.#work();
  }

  async #work(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    while (this.#queue.length > 0 && !this.#socket.destroyed) {
      await this.#answer(this.#queue.shift() as Json);
    }
    this.#busy = false;
  }

  async #answer(message: Json): Promise<void> {
    const request = asRequest(message);
    if (request === null) {
      this.#options.log?.('WARN', () => 'unix: received unexpected message');
      this.#socket.destroy();
      return;
    }
    const { method, params, id } = request;
    const described = (): string => `${method}${serialize(params)}, id=${serialize(id)}`;
    this.#options.log?.('DBG', () => `received request ${described()}`);
    try {
      this.#send({ error: null, id, result: this.#wrap(await this.#run(method, params)) });
    } catch (error) {
      if (!(error instanceof UnixctlError)) throw error;
      this.#options.log?.('DBG', () => `replying with error, id=${serialize(id)}`);
      const text = this.#format === 'text' ? withLineEnd(error.message) : error.message;
      this.#send({ error: text, id, result: null });
    }
  }

  /** A text, where JSON was asked for, goes into an object that says so. */
  #wrap(result: string | Json): Json {
    if (typeof result !== 'string') return result;
    if (this.#format === 'text') return withLineEnd(result);
    return { 'reply-format': 'plain', reply: result };
  }

  #run(method: string, params: readonly Json[]): string | Json | Promise<string | Json> {
    if (method === 'set-options') return this.#setOptions(params);
    const command = this.#commands.get(method);
    if (command === undefined) {
      const hint = '(use "list-commands" to see a list of valid commands)';
      throw new UnixctlError(`"${method}" is not a valid command ${hint}`);
    }
    const { argsMin, argsMax } = command;
    if (params.length < argsMin) {
      throw new UnixctlError(`"${method}" command requires at least ${argsMin} arguments`);
    }
    if (params.length > argsMax) {
      throw new UnixctlError(`"${method}" command takes at most ${argsMax} arguments`);
    }
    const args = params.filter((param) => typeof param === 'string');
    if (args.length < params.length) {
      throw new UnixctlError(`"${method}" command has non-string argument`);
    }
    return command.handler(args, this.#format);
  }

  #setOptions(params: readonly Json[]): string {
    const words = params.map((param) => String(param));
    const [first = '', second] = words;
    const value = first.startsWith('--format=') ? first.slice('--format='.length) : second;
    if (!first.startsWith('--format') || value === undefined) {
      throw new UnixctlError(`unrecognized option '${first}'`);
    }
    const format = value.toLowerCase();
    if (format !== 'text' && format !== 'json') {
      throw new UnixctlError(`option format has invalid value ${value}`);
    }
    this.#format = format;
    return '';
  }

  #send(message: Json): void {
    if (!this.#socket.destroyed) this.#socket.write(serialize(message));
  }
}

/** Older clients print an answer as it comes. */
function withLineEnd(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

interface Request {
  readonly method: string;
  readonly params: readonly Json[];
  readonly id: Json;
}

function asRequest(message: Json): Request | null {
  if (!isObject(message)) return null;
  const method = memberOf(message, 'method');
  const params = memberOf(message, 'params');
  const id = memberOf(message, 'id');
  if (typeof method !== 'string' || params === undefined || !isArray(params)) return null;
  if (id === undefined || id === null) return null;
  return { method, params, id };
}

/**
 * A path that is too long for a socket's address is reached from its own folder: the name alone
 * is short enough.
 */
function listenAt(server: net.Server, path: string): Promise<void> {
  const isLong = Buffer.byteLength(path) > SOCKET_PATH_MAX;
  const folder = isLong ? fs.openSync(dirname(path), 'r') : null;
  const short = folder === null ? path : `/proc/self/fd/${folder}/${basename(path)}`;
  return new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    // The socket is made within this call, for its owner alone.
    const mask = process.umask(0o077);
    server.listen({ path: short, backlog: BACKLOG }, () => {
      server.removeListener('error', reject);
      resolve();
    });
    process.umask(mask);
  }).finally(() => {
    if (folder !== null) fs.closeSync(folder);
  });
}
