/**
 * The real engine in the simulator: formats a data file, and opens it for each life the way a host
 * does, superblock first.
 */

import { toHex } from '../stdx/index.ts';
import {
  checkpointAfter,
  formatWrites,
  type Geometry,
  poolSizes,
  RELEASE,
  Replica,
  readSuperblock,
  SUPERBLOCK_AREA_SIZE,
} from '../vsr/index.ts';
import { type Checksum, createChecksum, MessagePool } from '../wire/index.ts';
import { auditLog } from './checks/log-audit.ts';
import type { EngineSetup } from './engine-setup.ts';
import { check } from './world/failure.ts';

/** A small log: wraps after 40 operations, a checkpoint every 8. */
export const GEOMETRY_SMALL: Geometry = { slots: 40, slotSize: 8192, requestSizeMax: 8192 };

export interface ReplicaSetupOptions {
  readonly geometry?: Geometry;
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
    format: () => format(geometry, cluster),
    open: (machine, { read, pool: poolBefore }) => {
      const front = read(0, SUPERBLOCK_AREA_SIZE);
      const superblock = readSuperblock(front, sharedChecksum);
      check(superblock.ok, 'engine-halt', () => `no superblock: ${JSON.stringify(superblock)}`);
      const sizes = poolSizes(superblock.superblock.geometry);
      const pool = poolBefore ?? new MessagePool({ ...sizes, poison: true });
      const engine = new Replica({ pool, machine, superblock });
      return {
        engine,
        pool,
        releaseMessages: () => engine.releaseMessages(),
        progress: () => {
          const { commitMin, commitMax, op, view, digest, role } = engine.status();
          const isPrimary = role === 'primary';
          const logView = view;
          const isNormal = isPrimary;
          return { commitMin, commitMax, op, view, logView, digest, isNormal, isPrimary };
        },
        audit: (history) => {
          const found = readSuperblock(read(0, SUPERBLOCK_AREA_SIZE), sharedChecksum);
          check(found.ok, 'lost-operation', () => 'the superblock is gone');
          const { checkpoint } = found.superblock;
          if (checkpoint.op > 0) history.checkCheckpoint(checkpoint.op, toHex(checkpoint.root));
          const { commitMin, digest } = engine.status();
          const checksum = sharedChecksum;
          auditLog({ geometry, checksum, read, history, checkpoint, commitMin, digest });
        },
      };
    },
  };
}

const sharedChecksum: Checksum = createChecksum();

function format(
  geometry: Geometry,
  cluster: Uint8Array,
): readonly { offset: number; bytes: Uint8Array }[] {
  const replicaId = new Uint8Array(16).fill(7);
  const fields = { cluster, replica: 0, replicaCount: 1, replicaId, geometry, release: RELEASE };
  const writes: { offset: number; bytes: Uint8Array }[] = [];
  for (const { offset, bytes } of formatWrites(fields, sharedChecksum)) {
    writes.push({ offset, bytes: bytes.slice() });
  }
  return writes;
}
