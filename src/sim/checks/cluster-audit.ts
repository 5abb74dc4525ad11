/**
 * Who listens to everything that the replicas of one cluster say and write, and holds it against
 * their files at that very moment. Each engine has its own, since each promises other things; what
 * an audit has to work with is here.
 */
import type { ReadFile } from '../engine-setup.ts';
import type { World } from '../world/world.ts';
import type { History } from './history.ts';
import type { Explanation } from './order-audit.ts';

export interface ClusterAudit {
  /** `bytes` is a sealed message that `from` hands to the network, in its so-manieth life. */
  onSend(from: number, life: number, to: number, bytes: Uint8Array): void;
  /** `bytes` is what `replica` asks its disk to write. */
  onWrite?(replica: number, life: number, bytes: Uint8Array): void;
  /** The engine of `replica` has handled an event; nothing of what it asked for is done yet. */
  onStepped?(replica: number, life: number): void;
  /** The file of a replica was lost and made anew: what it promised is others' now. */
  onReformat?(replica: number): void;
  /** What the log itself says of an operation that no machine and no client knows of. */
  explains?(op: number): Explanation | null;
  /** The run is over, and every file as it will stay. */
  finish?(): void;
}

export interface AuditParts {
  readonly world: World;
  readonly history: History;
  readonly replicaCount: number;
  /** How many files must hold what is committed. */
  readonly quorum: number;
  /** The file of a replica as it is now; `null`: it is lost. */
  readonly file: (replica: number) => ReadFile | null;
  /** What a power cut at this moment would leave of it at the least. */
  readonly durable: (replica: number) => ReadFile;
  /** Counts what is durable in a file: as long as it stands still, so does {@link durable}. */
  readonly durableVersion: (replica: number) => number;
  /** Files may lose what was written to them. */
  readonly isRotting: boolean;
}
