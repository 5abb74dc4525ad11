/**
 * Asks one replica how it is: a command of our own on a client connection, answered by the replica
 * itself whatever its role, without a session and without the log. The answer is JSON.
 */
import type { Address } from '../io/index.ts';
import { assert } from '../stdx/index.ts';
import {
  Command,
  HEADER_SIZE,
  initHeader,
  MessagePool,
  readCommand,
  readSize,
  sealBody,
  sealHeader,
} from '../wire/index.ts';
import { CLIENT_RELEASE } from './connection.ts';
import { ClientErrorCode, LedgerClientError } from './errors.ts';
import { clusterBytes, connectError } from './problem.ts';
import { Transport } from './transport.ts';

export interface StatusOptions {
  readonly address: Address;
  readonly cluster: bigint;
  /** Milliseconds. */
  readonly timeoutMs: number;
}

/** What a replica says of itself: numbers, texts and objects of these, by name. */
export interface ReplicaReport {
  readonly [name: string]: unknown;
}

/** Resolves with the replica's answer; rejects with a `LedgerClientError` like a connect. */
export function requestStatus(options: StatusOptions): Promise<ReplicaReport> {
  const { address, timeoutMs } = options;
  const cluster = clusterBytes(options.cluster);
  const pool = new MessagePool({
    requestSlotSize: 4096,
    requestSlots: 1,
    replySlots: 1,
    smallSlots: 4,
  });
  return new Promise((resolve, reject) => {
    const transport = new Transport({
      addresses: [address],
      cluster,
      pool,
      onConnected: () => transport.send(0, statusRequest(cluster, pool)),
      onDisconnected: () => {},
      onMessage: (_, bytes) => {
        if (readCommand(bytes) !== Command.statusReply) return;
        clearTimeout(timer);
        transport.close();
        const report = parseReport(bytes.subarray(HEADER_SIZE, readSize(bytes)));
        if (report !== null) resolve(report);
        else reject(new LedgerClientError(ClientErrorCode.protocol, 'the status is not readable'));
      },
    });
    const timer = setTimeout(() => {
      const problems = transport.problems();
      transport.close();
      reject(connectError([address], problems, options.cluster, timeoutMs));
    }, timeoutMs);
    transport.start();
  });
}

function statusRequest(cluster: Uint8Array, pool: MessagePool): Uint8Array {
  const bytes = new Uint8Array(HEADER_SIZE);
  const fields = { command: Command.status, size: HEADER_SIZE, cluster, release: CLIENT_RELEASE };
  initHeader(bytes, { ...fields, view: 0, replica: 0 });
  sealBody(bytes, pool.checksum);
  sealHeader(bytes, pool.checksum);
  return bytes;
}

function parseReport(body: Uint8Array): ReplicaReport | null {
  assert(body.byteLength >= 0);
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body));
    return isReport(value) ? value : null;
  } catch {
    return null;
  }
}

function isReport(value: unknown): value is ReplicaReport {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
