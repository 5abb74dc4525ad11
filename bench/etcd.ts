/**
 * Three real etcd processes, for comparison, and as much of a client as writing needs: gRPC by
 * hand over HTTP/2, so that nothing has to be installed beside etcd itself.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type ClientHttp2Session, connect } from 'node:http2';
import { join } from 'node:path';
import { freePorts } from '../src/lab/index.ts';
import { assert } from '../src/stdx/index.ts';

const START_LIMIT_MS = 20_000;
const FRAME_HEAD_SIZE = 5;

/** The version of the etcd on the PATH; `null`: there is none. */
export function etcdVersion(): string | null {
  try {
    const text = execFileSync('etcd', ['--version'], { encoding: 'utf8', stdio: 'pipe' });
    return /etcd Version: (\S+)/.exec(text)?.[1] ?? 'unknown';
  } catch {
    return null;
  }
}

export class Etcd {
  readonly #folder: string;
  readonly #children: ChildProcess[] = [];
  readonly #ports: number[];
  readonly #onExit = (): void => this.#destroy();

  private constructor(folder: string, ports: number[]) {
    this.#folder = folder;
    this.#ports = ports;
    process.on('exit', this.#onExit);
  }

  /** On fresh data; resolves when there is a leader. */
  static async start(directory: string): Promise<Etcd> {
    const ports = await freePorts(6);
    const etcd = new Etcd(mkdtempSync(join(directory, 'etcd-')), ports);
    const peers = [3, 4, 5].map((at, n) => `n${n}=http://127.0.0.1:${ports[at]}`);
    for (let n = 0; n < 3; n++) {
      const client = `http://127.0.0.1:${ports[n]}`;
      const peer = `http://127.0.0.1:${ports[3 + n]}`;
      const flags = {
        name: `n${n}`,
        'data-dir': join(etcd.#folder, String(n)),
        'listen-client-urls': client,
        'advertise-client-urls': client,
        'listen-peer-urls': peer,
        'initial-advertise-peer-urls': peer,
        'initial-cluster': peers.join(','),
        'log-level': 'error',
      };
      const list = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
      etcd.#children.push(spawn('etcd', list, { stdio: 'ignore' }));
    }
    try {
      await etcd.leader();
      return etcd;
    } catch (error) {
      await etcd.stop();
      throw error;
    }
  }

  /** Port of the leader for clients. */
  async leader(): Promise<number> {
    const deadlineMs = performance.now() + START_LIMIT_MS;
    while (performance.now() < deadlineMs) {
      for (const port of this.#ports.slice(0, 3)) {
        if (await isLeader(port).catch(() => false)) return port;
      }
      await new Promise((done) => setTimeout(done, 50));
    }
    throw new Error(`etcd has no leader after ${START_LIMIT_MS} ms`);
  }

  async stop(): Promise<void> {
    const ends = this.#children.map((child) => once(child, 'exit'));
    for (const child of this.#children) child.kill('SIGTERM');
    await Promise.all(ends);
    this.#destroy();
    process.off('exit', this.#onExit);
  }

  #destroy(): void {
    for (const child of this.#children) child.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** One connection, on which many calls may be under way. */
export class EtcdClient {
  readonly #session: ClientHttp2Session;

  constructor(port: number) {
    this.#session = connect(`http://127.0.0.1:${port}`);
    this.#session.on('error', () => {});
  }

  put(key: string, value: string): Promise<void> {
    const fields = [bytesField(1, key), bytesField(2, value)];
    return this.call('/etcdserverpb.KV/Put', Buffer.concat(fields)).then(() => {});
  }

  /** The message that comes back. */
  call(path: string, message: Buffer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const stream = this.#session.request({
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
      });
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('trailers', (trailers) => {
        const status = trailers['grpc-status'];
        if (status === '0') resolve(Buffer.concat(chunks).subarray(FRAME_HEAD_SIZE));
        else reject(new Error(`etcd: ${status} ${trailers['grpc-message']}`));
      });
      stream.on('error', reject);
      stream.on('close', () => reject(new Error('etcd: the call ended without a status')));
      const frame = Buffer.alloc(FRAME_HEAD_SIZE + message.length);
      frame.writeUInt32BE(message.length, 1);
      message.copy(frame, FRAME_HEAD_SIZE);
      stream.end(frame);
    });
  }

  close(): void {
    this.#session.destroy();
  }
}

/** Asks a member; field 2 of field 1 of the answer is its own id, field 4 the leader's. */
async function isLeader(port: number): Promise<boolean> {
  const client = new EtcdClient(port);
  try {
    const answer = await client.call('/etcdserverpb.Maintenance/Status', Buffer.alloc(0));
    const fields = fieldsOf(answer);
    const header = fields.get(1);
    const leader = fields.get(4);
    const own = Buffer.isBuffer(header) ? fieldsOf(header).get(2) : undefined;
    return own !== undefined && own === leader;
  } finally {
    client.close();
  }
}

function bytesField(number: number, text: string): Buffer {
  const bytes = Buffer.from(text);
  assert(bytes.length < 16_384, 'bytesField: too long for this encoder');
  const { length } = bytes;
  const size = length < 128 ? [length] : [(length & 0x7f) | 0x80, length >> 7];
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...size]), bytes]);
}

/** Of a message: numbers (varints) and bytes by field; the last of each. */
function fieldsOf(message: Buffer): Map<number, bigint | Buffer> {
  const fields = new Map<number, bigint | Buffer>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++];
      assert(byte !== undefined, 'fieldsOf: cut off');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const tag = Number(varint());
    assert((tag & 7) === 0 || (tag & 7) === 2, 'fieldsOf: a type that is not expected');
    if ((tag & 7) === 0) fields.set(tag >> 3, varint());
    else {
      const size = Number(varint());
      fields.set(tag >> 3, message.subarray(at, at + size));
      at += size;
    }
  }
  return fields;
}
