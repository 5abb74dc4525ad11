/** A replica of Viewstamped Replication over its data file. */
import {
  FORMAT_VERSION,
  poolSizes,
  RELEASE,
  Replica,
  type ReplicaStatus,
  type TopologyName,
} from '../../vsr/index.ts';
import type { ReplicaFile } from '../replica-file.ts';
import type { ReplicaHome } from './home.ts';

/** `topology`: how prepares travel; left out, the engine's default. Owns the file from here on. */
export function vsrHome(
  file: ReplicaFile,
  topology: TopologyName | undefined,
): ReplicaHome<ReplicaStatus> {
  const { cluster, replica, replicaCount, replicaId, geometry } = file.superblock.superblock;
  return {
    engine: 'vsr',
    path: file.path,
    storage: file.storage,
    get durability() {
      return file.durability;
    },
    get identity() {
      // Joining makes a recovered file one like any other.
      const { isRecovered } = file.superblock.superblock;
      return { cluster, replica, replicaCount, replicaId, isRecovered, release: RELEASE };
    },
    requestSizeMax: geometry.requestSizeMax,
    poolOptions: poolSizes(geometry, replicaCount),
    formatVersion: FORMAT_VERSION,
    get checkpointOp() {
      return file.superblock.superblock.checkpoint.op;
    },
    get head() {
      return file.superblock;
    },
    engineOptions: topology === undefined ? {} : { topology },
    makeEngine: (parts) =>
      new Replica({
        ...parts,
        superblock: file.superblock,
        ...(topology === undefined ? {} : { topology }),
      }),
    reload: () => file.reload(),
    setAlignedMemory: (memory) => file.setAlignedMemory(memory),
    close: () => file.close(),
  };
}
