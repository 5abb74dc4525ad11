/**
 * The real ovsdb-server beside ours: started on a fresh database in a temporary folder, spoken to
 * over its unix socket, ended with its test. Needs ovsdb-server and ovsdb-tool on the PATH.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  encodeUtf8,
  type Json,
  JsonFramer,
  type JsonObject,
  serialize,
} from '../../src/ovsdb/index.ts';

/** Debian's folder of servers is on no ordinary user's PATH. */
const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin'];

export function executable(name: string): string | null {
  for (const folder of folders) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // The next folder may have it.
    }
  }
  return null;
}

/** Why there can be no comparison; `false`: there can. For the `skip` option of a test. */
export function peerMissing(): string | false {
  const missing = ['ovsdb-server', 'ovsdb-tool'].filter((name) => executable(name) === null);
  if (missing.length === 0) return false;
  const problem = `NOTHING WAS COMPARED: ${missing.join(' and ')} not found (Debian: openvswitch-common, openvswitch-switch)`;
  if (process.env['ROUNDELAY_PEERS'] === 'required') throw new Error(problem);
  process.stderr.write(`\n*** ${problem}\n\n`);
  return problem;
}

export class Peer {
  readonly #folder: string;
  readonly #process: ChildProcess;
  readonly #socket: Socket;
  readonly #waiting: ((reply: JsonObject) => void)[] = [];

  private constructor(folder: string, child: ChildProcess, socket: Socket) {
    this.#folder = folder;
    this.#process = child;
    this.#socket = socket;
    const framer = new JsonFramer();
    socket.on('data', (chunk) => {
      for (const result of framer.push(chunk)) {
        if (!result.ok) throw new Error(result.error);
        this.#waiting.shift()?.(result.value as JsonObject);
      }
    });
    socket.on('close', () => {
      for (const reply of this.#waiting.splice(0)) reply({ closed: true });
    });
  }

  /** Of a schema as JSON text. */
  static async start(schema: string): Promise<Peer> {
    const folder = mkdtempSync(join(tmpdir(), 'ovsdb-peer-'));
    const path = join(folder, 'db');
    writeFileSync(join(folder, 'schema'), schema);
    const tool = executable('ovsdb-tool') as string;
    execFileSync(tool, ['create', path, join(folder, 'schema')]);
    const socketPath = join(folder, 's');
    const child = spawn(
      executable('ovsdb-server') as string,
      [path, `--remote=punix:${socketPath}`, '--unixctl', join(folder, 'ctl'), '-vconsole:off'],
      { stdio: 'ignore', env: { ...process.env, OVS_RUNDIR: folder } },
    );
    for (let attempt = 0; attempt < 200; attempt++) {
      const socket = await tryConnect(socketPath);
      if (socket !== null) return new Peer(folder, child, socket);
      await sleep(25);
    }
    child.kill('SIGKILL');
    throw new Error('ovsdb-server did not start');
  }

  request(method: string, params: Json): Promise<JsonObject> {
    const reply = new Promise<JsonObject>((resolve) => {
      this.#waiting.push(resolve);
    });
    this.#socket.write(encodeUtf8(serialize({ id: 1, method, params })));
    return reply;
  }

  /** Bytes on a connection of their own: what comes back, or `null` when it is closed instead. */
  async raw(bytes: Uint8Array): Promise<Uint8Array | null> {
    const socket = await tryConnect(join(this.#folder, 's'));
    if (socket === null) throw new Error('ovsdb-server is gone');
    socket.write(bytes);
    const reply = await new Promise<Uint8Array | null>((resolve, reject) => {
      socket.once('data', resolve);
      socket.once('close', () => resolve(null));
      socket.setTimeout(3000, () => reject(new Error('ovsdb-server waits for more')));
    });
    socket.destroy();
    return reply;
  }

  stop(): void {
    this.#socket.destroy();
    this.#process.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function tryConnect(path: string): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => resolve(socket));
    socket.once('error', () => resolve(null));
  });
}
