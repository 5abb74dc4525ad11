/**
 * The Raft replica in the simulator: formats a data file, and opens it for each life the way a host
 * does, head first. What checkers read in its files is read here, and held against what its members
 * said to each other.
 */
import type { EngineStatus, Machine } from '../../engine/index.ts';
import { RELEASE } from '../../engine/index.ts';
import {
  formatRaftFile,
  type Parts,
  POLICY_OWN,
  type Policy,
  RAFT_HEAD_SIZE,
  type RaftGeometry,
  RaftReplica,
  type RaftReplicaParts,
  raftPoolSizes,
  readRaftHead,
  readRaftState,
} from '../../raft/index.ts';
import { type Checksum, createChecksum } from '../../wire/index.ts';
import type { EngineSetup, FileState, FileWrite, OpenContext, ReadFile } from '../engine-setup.ts';
import { putPool, takePool } from '../pool-shelf.ts';
import type { Life, Progress } from '../process/life.ts';
import { check } from '../world/failure.ts';
import { RaftAudit } from './audit.ts';
import type { RaftFileContent } from './files.ts';

/** Extents that every snapshot takes several of. */
export const RAFT_GEOMETRY_SMALL: RaftGeometry = { extentSize: 16_384, requestSizeMax: 8192 };

/** Bytes of a log that are worth a snapshot: a few dozen entries. */
const SNAPSHOT_BYTES_MIN = 16_384;
/** Operations that a run counts as once around the log: about one snapshot of each member. */
const OPS_PER_ROUND = 40;

export interface RaftSetupOptions {
  readonly geometry?: RaftGeometry;
  /** Default 1. */
  readonly replicaCount?: number;
  /** Its index. Default 0. */
  readonly replica?: number;
  /** Messages that were put back are spoilt, so that whoever still uses one is found out. */
  readonly isPoisoned?: boolean;
  readonly policy?: Partial<Policy>;
  /** Bytes of entries after which a snapshot is made. */
  readonly snapshotBytesMin?: number;
  /** For tests that plant bugs: gets the parts of each life before anything runs. */
  readonly onParts?: (parts: Parts<Uint8Array>) => void;
  /** The same of the parts around Raft. */
  readonly onReplicaParts?: (parts: RaftReplicaParts) => void;
}

export function raftSetup(options: RaftSetupOptions = {}): EngineSetup {
  const geometry = options.geometry ?? RAFT_GEOMETRY_SMALL;
  return {
    cluster: clusterId(),
    release: RELEASE,
    requestSizeMax: geometry.requestSizeMax,
    slots: OPS_PER_ROUND,
    hasPulses: true,
    format: () => raftFile(options, geometry),
    open: (machine, context) => open(options, geometry, machine, context),
    retire: putPool,
    file: { state: fileState },
    audit: (parts) => new RaftAudit(parts, readContent),
  };
}

function clusterId(): Uint8Array {
  return new Uint8Array(16).fill(0x52);
}

function raftFile(options: RaftSetupOptions, geometry: RaftGeometry): readonly FileWrite[] {
  const replica = options.replica ?? 0;
  const fields = {
    cluster: clusterId(),
    replica,
    replicaCount: options.replicaCount ?? 1,
    replicaId: new Uint8Array(16).fill(7 + replica),
    geometry,
    release: RELEASE,
    electionTimerMs: options.policy?.electionTimerMs ?? POLICY_OWN.electionTimerMs,
  };
  return [...formatRaftFile(fields, sharedChecksum)];
}

function open(
  options: RaftSetupOptions,
  geometry: RaftGeometry,
  machine: Machine,
  { read, pool: poolBefore, seed }: OpenContext,
): Life {
  const found = readRaftHead(read(0, RAFT_HEAD_SIZE), sharedChecksum);
  check(found.ok, 'engine-halt', () => `no head: ${JSON.stringify(found)}`);
  const { replicaCount, replicaId } = found.head;
  const sizes = { ...raftPoolSizes(geometry, replicaCount), poison: options.isPoisoned ?? true };
  const pool = poolBefore ?? takePool(sizes);
  const { policy, onParts, onReplicaParts } = options;
  const engine = new RaftReplica({
    pool,
    machine,
    head: found.head,
    seed,
    snapshotBytesMin: options.snapshotBytesMin ?? SNAPSHOT_BYTES_MIN,
    ...(policy === undefined ? {} : { policy }),
    ...(onParts === undefined ? {} : { onParts }),
    ...(onReplicaParts === undefined ? {} : { onReplicaParts }),
  });
  return {
    engine,
    pool,
    member: { replicaId, isRecovered: false },
    releaseMessages: () => engine.releaseMessages(),
    progress: () => progressOf(engine.status()),
  };
}

function progressOf(status: EngineStatus): Progress {
  const { commitMin, commitMax, op, opDurable, view, logView, digest, role } = status;
  const isPrimary = role === 'primary';
  const isNormal = isPrimary || role === 'backup';
  const log = { commitMin, commitMax, op, opDurable, view, logView };
  return { ...log, digest, role, isNormal, isPrimary };
}

function readContent(read: ReadFile): RaftFileContent | string {
  const found = readRaftState(read, sharedChecksum);
  return found.ok ? found : JSON.stringify(found.error);
}

function fileState(read: ReadFile): FileState {
  const found = readRaftState(read, sharedChecksum);
  check(found.ok, 'lost-operation', () => `no log: ${JSON.stringify(found)}`);
  const { header, isTorn } = found;
  const checkpoint = header.type === 'snapshot' ? header.snapshot.index : 0;
  return { checkpoint, isRecovered: false, isTorn };
}

const sharedChecksum: Checksum = createChecksum();
