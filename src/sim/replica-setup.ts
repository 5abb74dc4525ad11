/**
 * The real engine in the simulator: formats a data file, and opens it for each life the way a host
 * does, superblock first. What checkers read in its files is read here, with eyes of their own.
 */

import type { Machine } from '../engine/index.ts';
import { bytesEqual, readSafeU64, toHex, writeU32 } from '../stdx/index.ts';
import {
  checkpointAfter,
  formatWrites,
  type Geometry,
  headerOffset,
  type Parts,
  poolSizes,
  prepareOffset,
  RELEASE,
  Replica,
  type ReplicaStatus,
  readSuperblock,
  SUPERBLOCK_AREA_SIZE,
  type Superblock,
  type TopologyName,
} from '../vsr/index.ts';
import { type Checksum, createChecksum, PrepareOffset } from '../wire/index.ts';
import { auditLog } from './checks/log-audit.ts';
import { type Held, PeerAudit } from './checks/peer-audit.ts';
import type { EngineSetup, FileReader, FileWrite, OpenContext, ReadFile } from './engine-setup.ts';
import { putPool, takePool } from './pool-shelf.ts';
import type { Life, Progress } from './process/life.ts';
import { check } from './world/failure.ts';

/** A small log: wraps after 40 operations, a checkpoint every 8. */
export const GEOMETRY_SMALL: Geometry = { slots: 40, slotSize: 8192, requestSizeMax: 8192 };

export interface ReplicaSetupOptions {
  readonly geometry?: Geometry;
  /** Default 1. */
  readonly replicaCount?: number;
  /** Its index. Default 0. */
  readonly replica?: number;
  readonly topology?: TopologyName;
  /** Messages that were put back are spoilt, so that whoever still uses one is found out. */
  readonly isPoisoned?: boolean;
  /** Default: by the seed of the life, nothing, little, or what the engine chooses. */
  readonly historyBytes?: number;
  /** For tests that plant bugs: gets the parts of each life before anything runs. */
  readonly onParts?: (parts: Parts) => void;
}

interface RecoverOptions {
  /** Above every one that the lost file may have taken part in. */
  readonly view: number;
  /** How often this replica's file has been made anew; 1: for the first time. */
  readonly times: number;
}

export function replicaSetup(options: ReplicaSetupOptions = {}): EngineSetup {
  const geometry = options.geometry ?? GEOMETRY_SMALL;
  const cluster = new Uint8Array(16).fill(0x51);
  return {
    cluster,
    release: RELEASE,
    requestSizeMax: geometry.requestSizeMax,
    slots: geometry.slots,
    checkpointAfter: (op) => checkpointAfter(geometry, op),
    hasPulses: true,
    format: () => replicaFile(options, null),
    reformat: (view, times) => replicaFile(options, { view, times }),
    open: (machine, context) => open(options, geometry, machine, context),
    retire: putPool,
    file: fileReader(geometry),
    audit: (parts) => {
      const { world, history, replicaCount, quorum, file, isRotting } = parts;
      return new PeerAudit(world, history, {
        replicaCount,
        replicationQuorum: quorum,
        durable: (replica) => {
          const read = file(replica);
          check(read !== null, 'lost-operation', () => `r${replica} speaks without a file`);
          return superblockOf(read);
        },
        held: (replica, op, bytes, offset) => {
          const read = file(replica);
          return read === null ? 'other' : held(geometry, read, op, bytes, offset);
        },
        isRotting,
      });
    },
  };
}

/** The writes of a fresh file; `recover`: of one that takes the place of a lost one. */
function replicaFile(
  options: ReplicaSetupOptions,
  recover: RecoverOptions | null,
): readonly FileWrite[] {
  const replica = options.replica ?? 0;
  const replicaId = new Uint8Array(16).fill(7 + replica);
  if (recover !== null) writeU32(replicaId, 4, recover.times);
  const fields = {
    cluster: new Uint8Array(16).fill(0x51),
    replica,
    replicaCount: options.replicaCount ?? 1,
    replicaId,
    geometry: options.geometry ?? GEOMETRY_SMALL,
    release: RELEASE,
    ...(recover === null ? {} : { isRecovered: true, view: recover.view }),
  };
  // All but the superblock is the same for every replica of every cluster with this geometry.
  const { slots, slotSize } = fields.geometry;
  const key = `${slots} ${slotSize}`;
  const known = emptyLogs.get(key) ?? null;
  const writes: FileWrite[] = [];
  for (const { offset, bytes } of formatWrites(fields, sharedChecksum)) {
    if (offset < SUPERBLOCK_AREA_SIZE) writes.push({ offset, bytes: bytes.slice() });
    else if (known === null) writes.push({ offset, bytes: bytes.slice() });
  }
  const isLog = ({ offset }: FileWrite): boolean => offset >= SUPERBLOCK_AREA_SIZE;
  if (known === null) emptyLogs.set(key, writes.filter(isLog));
  return known === null ? writes : [...known, ...writes];
}

/** What formatting writes behind the superblock, by geometry. */
const emptyLogs: Map<string, readonly FileWrite[]> = new Map();

/** With little history, those that lag copy checkpoints; with much, they never do. */
const historySizes: readonly number[] = [0, 0, 4_096, 327_680];

function open(
  options: ReplicaSetupOptions,
  geometry: Geometry,
  machine: Machine,
  { read, pool: poolBefore, seed }: OpenContext,
): Life {
  const superblock = readSuperblock(read(0, SUPERBLOCK_AREA_SIZE), sharedChecksum);
  check(superblock.ok, 'engine-halt', () => `no superblock: ${JSON.stringify(superblock)}`);
  const { replicaCount, replicaId, isRecovered } = superblock.superblock;
  const sizes = { ...poolSizes(geometry, replicaCount), poison: options.isPoisoned ?? true };
  const pool = poolBefore ?? takePool(sizes);
  const { topology, onParts } = options;
  const engine = new Replica({
    pool,
    machine,
    superblock,
    seed,
    historyBytes: options.historyBytes ?? historySizes[seed % historySizes.length],
    ...(topology === undefined ? {} : { topology }),
    ...(onParts === undefined ? {} : { onParts }),
  });
  return {
    engine,
    pool,
    member: { replicaId, isRecovered },
    releaseMessages: () => engine.releaseMessages(),
    progress: () => progressOf(engine.status()),
    audit: (history) => {
      const { checkpoint } = superblockOf(read);
      if (checkpoint.op > 0) history.checkCheckpoint(checkpoint.op, toHex(checkpoint.root));
      const { commitMin, digest } = engine.status();
      const checksum = sharedChecksum;
      auditLog({ geometry, checksum, read, history, checkpoint, commitMin, digest });
    },
  };
}

function progressOf(status: ReplicaStatus): Progress {
  const { commitMin, commitMax, op, opDurable, view, logView, digest, role } = status;
  const isPrimary = role === 'primary';
  const isNormal = isPrimary || role === 'backup';
  const log = { commitMin, commitMax, op, opDurable, view, logView };
  return { ...log, digest, role, isNormal, isPrimary };
}

function fileReader(geometry: Geometry): FileReader {
  return {
    state: (read) => {
      const { checkpoint, isRecovered } = superblockOf(read);
      return { checkpoint: checkpoint.op, isRecovered };
    },
    sectors: (slot) => {
      const prepare = prepareOffset(geometry, slot);
      const last = prepare + geometry.slotSize - 4096;
      return { header: headerOffset(geometry, slot), prepare: [prepare, last] };
    },
  };
}

/** What the log holds where the prepare at `op` goes, whose checksum is `bytes[offset, +16)`. */
function held(
  geometry: Geometry,
  read: ReadFile,
  op: number,
  bytes: Uint8Array,
  offset: number,
): Held {
  const slot = op % geometry.slots;
  // Its body first, its header after that: only with both it counts.
  for (const at of [prepareOffset(geometry, slot), headerOffset(geometry, slot)]) {
    const sector = read(at, 4096);
    if (bytesEqual(sector, 0, bytes, offset, 16)) continue;
    return (readSafeU64(sector, PrepareOffset.op) ?? 0) > op ? 'later' : 'other';
  }
  return 'it';
}

function superblockOf(read: ReadFile): Superblock {
  const found = readSuperblock(read(0, SUPERBLOCK_AREA_SIZE), sharedChecksum);
  check(found.ok, 'lost-operation', () => 'the superblock is gone');
  return found.superblock;
}

const sharedChecksum: Checksum = createChecksum();
