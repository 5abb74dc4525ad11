/** Replicas without engines: a listener, its links, and a diary of what they report. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net, { connect, type Socket } from 'node:net';
import { isZero, readU32, writeU32 } from '../../stdx/index.ts';
import {
  type Checksum,
  Command,
  createChecksum,
  HEADER_SIZE,
  initHeader,
  type Message,
  MessagePool,
  Offset,
  readCommand,
  sealBody,
  sealHeader,
} from '../../wire/index.ts';
import type { Address } from '../address.ts';
import { type ClientHandler, ClientServer, type ClientServerLimits } from '../client-server.ts';
import type { SlotReserve } from '../crowding.ts';
import type { LogRecord } from '../log.ts';
import { buildHello, type PeerIdentity } from './peer-hello.ts';
import type { PeerLimits } from './peer-limits.ts';
import { type PeerHandler, PeerLinks } from './peer-links.ts';

export const checksum: Checksum = createChecksum();
const REQUEST_SIZE_MAX = 65_536;

export interface NodeOptions {
  readonly replica: number;
  readonly addresses: readonly Address[];
  readonly cluster?: number;
  readonly replicaId?: Uint8Array;
  readonly isRecovered?: boolean;
  readonly limits?: Partial<PeerLimits>;
  readonly serverLimits?: Partial<ClientServerLimits>;
  readonly reserve?: SlotReserve;
  readonly requestSlots?: number;
}

const running = new Set<TestNode>();

/** For `afterEach`: stops what a test has left running, and sees that no message is lost. */
export async function stopAll(): Promise<void> {
  for (const node of running) await node.stop();
}

/** One replica's network, alive from `start` to `stop`. */
export class TestNode implements ClientHandler, PeerHandler {
  readonly own: PeerIdentity;
  readonly pool: MessagePool;
  readonly server: ClientServer;
  readonly links: PeerLinks;
  readonly logs: LogRecord[] = [];
  /** `up 1`, `down 1`, `message 1 7`, `client 7`. */
  readonly diary: string[] = [];
  readonly ids: Map<number, Uint8Array> = new Map();
  readonly recovered: Set<number> = new Set();
  /** Keeps what arrives instead of releasing it. */
  hold: boolean = false;
  readonly held: Message[] = [];
  readonly #address: Address;

  constructor(options: NodeOptions) {
    const { replica, addresses } = options;
    const cluster = new Uint8Array(16);
    cluster[0] = options.cluster ?? 0;
    this.pool = new MessagePool({
      requestSlotSize: 65_536,
      requestSlots: options.requestSlots ?? 32,
      replySlots: 1,
      smallSlots: 600,
      poison: true,
    });
    this.own = {
      cluster,
      replica,
      replicaCount: addresses.length,
      replicaId: options.replicaId ?? crypto.getRandomValues(new Uint8Array(16)),
      isRecovered: options.isRecovered ?? false,
      release: 1,
    };
    const log = (record: LogRecord): void => void this.logs.push(record);
    const common = { pool: this.pool, requestSizeMax: REQUEST_SIZE_MAX, handler: this, log };
    this.links = new PeerLinks({
      ...common,
      own: this.own,
      addresses,
      ...(options.limits === undefined ? {} : { limits: options.limits }),
    });
    this.server = new ClientServer({
      ...common,
      cluster,
      peers: this.links,
      ...(options.serverLimits === undefined ? {} : { limits: options.serverLimits }),
      ...(options.reserve === undefined ? {} : { reserve: options.reserve }),
    });
    const address = addresses[replica];
    assert.ok(address !== undefined);
    this.#address = address;
  }

  static async start(options: NodeOptions): Promise<TestNode> {
    const node = new TestNode(options);
    await node.begin();
    return node;
  }

  async begin(): Promise<void> {
    running.add(this);
    await this.server.listen(this.#address);
    this.server.admit();
    this.links.start();
  }

  async stop(): Promise<void> {
    running.delete(this);
    this.links.shutdown();
    await this.server.shutdown();
    for (const message of this.held.splice(0)) this.pool.release(message);
    await until(() => this.pool.leaked() === 0, 'all messages are back in the pool');
  }

  onPeerUp(replica: number, replicaId: Uint8Array, isRecovered: boolean): void {
    this.diary.push(`up ${replica}`);
    this.ids.set(replica, replicaId);
    if (isRecovered) this.recovered.add(replica);
  }

  onPeerDown(replica: number): void {
    this.diary.push(`down ${replica}`);
  }

  onPeerMessage(replica: number, message: Message): void {
    this.diary.push(`message ${replica} ${readU32(message.bytes, Offset.fields)}`);
    this.#keep(message);
  }

  onMessage(_connection: number, message: Message): void {
    this.diary.push(`client ${readU32(message.bytes, Offset.fields)}`);
    this.#keep(message);
  }

  onOversize(_connection: number, message: Message): void {
    this.pool.release(message);
  }

  onDisconnected(): void {}

  /** Sends a message with a number in it. */
  send(replica: number, number: number, bodySize: number = 0): void {
    const command = bodySize > 0 ? Command.prepare : Command.commit;
    const message = this.pool.acquire(bodySize > 0 ? 'request' : 'small');
    assert.ok(message !== null);
    fill(message.bytes, command, this.own.cluster, number, HEADER_SIZE + bodySize);
    this.links.send(replica, message);
  }

  isUp(replica: number): boolean {
    return this.links.status().some((peer) => peer.replica === replica && peer.isUp);
  }

  count(entry: string): number {
    return this.diary.filter((line) => line === entry).length;
  }

  logged(pattern: RegExp): boolean {
    return this.logs.some(({ message }) => pattern.test(message));
  }

  /** Releases what was held and lets readers go on. */
  letGo(): void {
    this.hold = false;
    for (const message of this.held.splice(0)) this.pool.release(message);
    this.server.resume();
  }

  #keep(message: Message): void {
    if (this.hold) this.held.push(message);
    else this.pool.release(message);
  }
}

/** Every replica sees every other. */
export async function allUp(nodes: readonly TestNode[]): Promise<void> {
  await until(
    () =>
      nodes.every((node) => nodes.every((other) => node === other || node.isUp(other.own.replica))),
    'all links are up',
  );
}

/** A message of any command with a number in its first field, sealed. */
export function fill(
  bytes: Uint8Array,
  command: Command,
  cluster: Uint8Array,
  number: number,
  size: number = HEADER_SIZE,
): Uint8Array {
  initHeader(bytes, { command, size, cluster, view: 0, release: 1, replica: 0 });
  writeU32(bytes, Offset.fields, number);
  sealBody(bytes, checksum);
  sealHeader(bytes, checksum);
  return bytes;
}

/** Somebody who has dialled a replica without being one. */
export class Stranger {
  readonly socket: Socket;
  received: Buffer = Buffer.alloc(0);
  isClosed: boolean = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.received = Buffer.concat([this.received, chunk]);
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      this.isClosed = true;
    });
  }

  static async dial(address: Address): Promise<Stranger> {
    const socket = connect({ ...address, noDelay: true });
    const stranger = new Stranger(socket);
    await once(socket, 'connect');
    return stranger;
  }

  hello(as: PeerIdentity, target: number, verify: Uint8Array | null = null): Uint8Array {
    const nonce = crypto.getRandomValues(new Uint8Array(16));
    this.socket.write(buildHello(as, target, nonce, verify, checksum));
    return nonce;
  }

  /** Commands of what has arrived, and whether any of it says yes to a question. */
  messages(): { readonly commands: number[]; readonly isConfirmed: boolean } {
    const commands: number[] = [];
    let isConfirmed = false;
    for (let at = 0; at + HEADER_SIZE <= this.received.length; ) {
      const command = readCommand(this.received.subarray(at));
      commands.push(command);
      if (command === Command.helloOk) {
        isConfirmed ||= !isZero(this.received, at + Offset.fields, 16);
      }
      at += readU32(this.received, at + Offset.size);
    }
    return { commands, isConfirmed };
  }
}

/** Ports that are free now. */
export async function freeAddresses(count: number): Promise<Address[]> {
  const servers = Array.from({ length: count }, () => net.createServer());
  const addresses: Address[] = [];
  for (const server of servers) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const bound = server.address();
    assert.ok(bound !== null && typeof bound === 'object');
    addresses.push({ host: '127.0.0.1', port: bound.port });
  }
  for (const server of servers) {
    server.close();
    await once(server, 'close');
  }
  return addresses;
}

export async function until(condition: () => boolean, what: string): Promise<void> {
  const startMs = performance.now();
  while (!condition()) {
    assert.ok(performance.now() - startMs < 8_000, `waited for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
