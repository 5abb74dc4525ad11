/**
 * What a replica says of itself when it is asked: the engine's status and what only the host knows,
 * as JSON in a reply of our own. It is made without the engine's help, so it comes in any state.
 */
import { type EngineStatus, RELEASE } from '../engine/index.ts';
import type {
  ClientServerCounters,
  PeerCounters,
  PeerStatus,
  StorageCounters,
} from '../io/index.ts';
import { assert } from '../stdx/index.ts';
import type { ReplicaStatus } from '../vsr/index.ts';
import {
  type Checksum,
  Command,
  HEADER_SIZE,
  initHeader,
  MESSAGE_SIZE_MAX,
  sealBody,
  sealHeader,
} from '../wire/index.ts';

export interface HostStatus {
  /** Where it listens. */
  readonly address: string;
  readonly pid: number;
  /** Since the server began to start. */
  readonly uptimeMs: number;
  /** Resident. */
  readonly memoryBytes: number;
  /** Slots of the message pool in use: stored replies, and what is under way. */
  readonly messagesHeld: number;
  /** Path of the data file. */
  readonly file: string;
  /** How durable writes are made: `direct`, `dsync`, `fdatasync` or `memory`. */
  readonly durability: string;
  readonly storage: StorageCounters;
  readonly clients: ClientServerCounters;
  /** The links with the other replicas, in order; without one for a single replica. */
  readonly links: readonly PeerStatus[];
  /** What went over them; `null` for a single replica. */
  readonly linkCounters: PeerCounters | null;
}

/** Of a replica of VSR. */
export interface StatusReport extends ReplicaStatus, HostStatus {}

/** The whole message, sealed. */
export function statusReply(
  report: EngineStatus & HostStatus,
  cluster: Uint8Array,
  checksum: Checksum,
): Uint8Array {
  const body = new TextEncoder().encode(JSON.stringify(report));
  const size = HEADER_SIZE + body.length;
  assert(size <= MESSAGE_SIZE_MAX, 'statusReply: too large');
  const bytes = new Uint8Array(size);
  const { view, replica } = report;
  initHeader(bytes, {
    command: Command.statusReply,
    size,
    cluster,
    view,
    release: RELEASE,
    replica,
  });
  bytes.set(body, HEADER_SIZE);
  sealBody(bytes, checksum);
  sealHeader(bytes, checksum);
  return bytes;
}
