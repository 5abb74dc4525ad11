/**
 * The two messages that open a connection between replicas, and what they prove.
 *
 * Each pair of replicas has two connections, one dialled by each side. Whoever dials says in a
 * `hello` who it claims to be and makes up a nonce for this one connection; whoever is dialled
 * cannot believe that, since anybody can dial. But it can ask: on the connection that it has
 * dialled itself, to the configured address of that replica, it sends a `hello` with the nonce in
 * `verify`, and gets a `helloOk` with the nonce in `echo` if that is right, zeros if not. A nonce
 * is only ever told to a configured address, and only confirmed, never told, to those who ask.
 *
 * Each `hello` is answered by one `helloOk`, in order. A helloOk also says who answers: that is how
 * a list of addresses in the wrong order is noticed.
 */
import type { EngineName } from '../../engine/index.ts';
import { assert, bytesEqual, isZero } from '../../stdx/index.ts';
import {
  type Checksum,
  Command,
  HEADER_SIZE,
  initHeader,
  readCommand,
  readReplica,
  sealBody,
  sealHeader,
} from '../../wire/index.ts';

/** Fields of both; what one of them does not name is zero. */
const HelloOffset = {
  /** hello: of this connection. helloOk: the echo of `verify`, or zero. 16 bytes. */
  nonce: 128,
  /** hello: to be confirmed, or zero. 16 bytes. */
  verify: 144,
  /** hello: made when the data file of the sender was formatted. 16 bytes. */
  replicaId: 160,
  /** hello: index of the replica that is being dialled. */
  target: 176,
  replicaCount: 177,
  /** hello: 1: the data file of the sender was made by `recover`; 2: it runs Raft, not VSR. */
  flags: 178,
  reserved: 179,
} as const;

const FLAG_RECOVERED = 1;
const FLAG_RAFT = 2;

export const NONCE_SIZE = 16;
const NONCE_NONE = new Uint8Array(NONCE_SIZE);

/** Who this replica is, for all its links. */
export interface PeerIdentity {
  /** 16 bytes. */
  readonly cluster: Uint8Array;
  readonly replica: number;
  readonly replicaCount: number;
  /** 16 bytes. */
  readonly replicaId: Uint8Array;
  readonly isRecovered: boolean;
  readonly release: number;
  /** Default `vsr`. Replicas of different engines have nothing to say to each other. */
  readonly engine?: EngineName;
}

export interface Hello {
  readonly replica: number;
  readonly replicaCount: number;
  readonly replicaId: Uint8Array;
  readonly isRecovered: boolean;
  readonly engine: EngineName;
  readonly target: number;
  readonly nonce: Uint8Array;
  /** `null`: nothing is asked. */
  readonly verify: Uint8Array | null;
}

/** A sealed hello. */
export function buildHello(
  own: PeerIdentity,
  target: number,
  nonce: Uint8Array,
  verify: Uint8Array | null,
  checksum: Checksum,
): Uint8Array {
  assert(nonce.length === NONCE_SIZE && !isZero(nonce, 0, NONCE_SIZE), 'buildHello: bad nonce');
  assert(target !== own.replica && target < own.replicaCount, 'buildHello: bad target');
  const bytes = new Uint8Array(HEADER_SIZE);
  initFrame(bytes, Command.hello, own);
  bytes.set(nonce, HelloOffset.nonce);
  bytes.set(verify ?? NONCE_NONE, HelloOffset.verify);
  bytes.set(own.replicaId, HelloOffset.replicaId);
  bytes[HelloOffset.target] = target;
  const engine = own.engine === 'raft' ? FLAG_RAFT : 0;
  bytes[HelloOffset.flags] = engine | (own.isRecovered ? FLAG_RECOVERED : 0);
  return seal(bytes, checksum);
}

/** A sealed answer; `echo`: the nonce that is confirmed, or `null`. */
export function buildHelloOk(
  own: PeerIdentity,
  echo: Uint8Array | null,
  checksum: Checksum,
): Uint8Array {
  const bytes = new Uint8Array(HEADER_SIZE);
  initFrame(bytes, Command.helloOk, own);
  bytes.set(echo ?? NONCE_NONE, HelloOffset.nonce);
  return seal(bytes, checksum);
}

/** The fields of a hello, copied; `null` when it is none that we would send. */
export function readHello(bytes: Uint8Array): Hello | null {
  assert(readCommand(bytes) === Command.hello, 'readHello: not a hello');
  const flags = bytes[HelloOffset.flags];
  const nonce = bytes.slice(HelloOffset.nonce, HelloOffset.nonce + NONCE_SIZE);
  if (flags > (FLAG_RECOVERED | FLAG_RAFT) || isZero(nonce, 0, NONCE_SIZE) || !endsWithZeros(bytes))
    return null;
  if (isZero(bytes, HelloOffset.replicaId, 16)) return null;
  const asks = !isZero(bytes, HelloOffset.verify, NONCE_SIZE);
  return {
    replica: readReplica(bytes),
    replicaCount: bytes[HelloOffset.replicaCount],
    replicaId: bytes.slice(HelloOffset.replicaId, HelloOffset.replicaId + 16),
    isRecovered: (flags & FLAG_RECOVERED) !== 0,
    engine: (flags & FLAG_RAFT) === 0 ? 'vsr' : 'raft',
    target: bytes[HelloOffset.target],
    nonce,
    verify: asks ? bytes.slice(HelloOffset.verify, HelloOffset.verify + NONCE_SIZE) : null,
  };
}

/** Who answers, from a helloOk. */
export function readAnswerer(bytes: Uint8Array): { replica: number; replicaCount: number } {
  assert(readCommand(bytes) === Command.helloOk, 'readAnswerer: not a helloOk');
  return { replica: readReplica(bytes), replicaCount: bytes[HelloOffset.replicaCount] };
}

/** Whether a helloOk confirms this nonce. */
export function confirms(bytes: Uint8Array, nonce: Uint8Array): boolean {
  assert(readCommand(bytes) === Command.helloOk, 'confirms: not a helloOk');
  assert(!isZero(nonce, 0, NONCE_SIZE), 'confirms: nothing was asked');
  return bytesEqual(bytes, HelloOffset.nonce, nonce, 0, NONCE_SIZE);
}

function initFrame(bytes: Uint8Array, command: Command, own: PeerIdentity): void {
  const { cluster, release, replica } = own;
  initHeader(bytes, { command, size: HEADER_SIZE, cluster, view: 0, release, replica });
  bytes[HelloOffset.replicaCount] = own.replicaCount;
}

function endsWithZeros(bytes: Uint8Array): boolean {
  return isZero(bytes, HelloOffset.reserved, HEADER_SIZE - HelloOffset.reserved);
}

function seal(bytes: Uint8Array, checksum: Checksum): Uint8Array {
  sealBody(bytes, checksum);
  sealHeader(bytes, checksum);
  return bytes;
}
