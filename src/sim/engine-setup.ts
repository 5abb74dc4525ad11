/**
 * What a run knows of an engine: how its file begins, how a life of it is made, and where checkers
 * find what it wrote.
 */
import type { Machine } from '../engine/index.ts';
import type { MessagePool } from '../wire/index.ts';
import type { AuditParts, ClusterAudit } from './checks/cluster-audit.ts';
import type { Life } from './process/life.ts';

/** Which engine runs, and how its disk begins. */
export interface EngineSetup {
  /** 16 bytes. */
  readonly cluster: Uint8Array;
  /** Release of server and clients. */
  readonly release: number;
  /** Largest request, header included, bytes. */
  readonly requestSizeMax: number;
  /** Operations after which its log has gone round: slots, or what it keeps of a log; see wraps. */
  readonly slots: number;
  /** The checkpoint after the one at an op; absent: it takes none. */
  readonly checkpointAfter?: (op: number) => number;
  /** It proposes a pulse when something is due; then nothing may stay overdue. */
  readonly hasPulses: boolean;
  /** What a fresh file holds. */
  format(): readonly FileWrite[];
  /**
   * What a file holds that takes the place of a lost one; absent: there is no such thing. `times`:
   * how often that has happened to this replica, 1 for the first time.
   */
  reformat?(view: number, times: number): readonly FileWrite[];
  /** A new life; everything the engine knows is on the disk. */
  open(machine: Machine, context: OpenContext): Life;
  /** Takes back the pool of a life that is over, all put back, for another run. */
  retire?(pool: MessagePool): void;
  /** How checkers read its file; only of engines with peers. */
  readonly file?: FileReader;
  /** Who listens to what its replicas say to each other; absent: nobody does. */
  readonly audit?: (parts: AuditParts) => ClusterAudit;
}

export interface FileWrite {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** Reads [offset, offset + length) of a file as it is now. */
export type ReadFile = (offset: number, length: number) => Uint8Array;

/** What a checker sees in a file without the help of the engine that wrote it. */
export interface FileReader {
  state(read: ReadFile): FileState;
  /** Offsets of sectors that a slot of the log uses; absent: what rots, it cannot do without. */
  sectors?(slot: number): { readonly header: number; readonly prepare: readonly number[] };
}

export interface FileState {
  /** Op of its checkpoint: with the state after it a life begins. */
  readonly checkpoint: number;
  /** It was made again, and has not taken part yet. */
  readonly isRecovered: boolean;
  /** A crash has cut short what was being written at the end of its log. */
  readonly isTorn?: boolean;
}

export interface OpenContext {
  /** Looks at the disk before the engine runs, as a host does. */
  readonly read: ReadFile;
  /** The pool of the life before, all put back: as good as a new one, and memory is not free. */
  readonly pool: MessagePool | null;
  /** Drawn anew for each life. */
  readonly seed: number;
}
