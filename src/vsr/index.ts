/**
 * vsr: Viewstamped Replication, one file per sub-protocol. Today one replica (R = 1): the log, the
 * data file, sessions and recovery are those of the cluster; views, repair and topology come with
 * it.
 *
 * Reading order: `file/geometry` (where things lie in a data file) and its neighbours (superblock,
 * blocks, the decision table for a damaged log: all pure), `message` (what a replica writes),
 * `state` (what is replicated), `admission` and `normal` (a request's way), `journal` (the log),
 * `checkpoint`, `recovery/` (from a file to a replica that serves), `replica` (how it hangs
 * together).
 *
 * How a driver uses it:
 * 1. format: make every write of `formatWrites(options, checksum)`, sync;
 * 2. open: read the first SUPERBLOCK_AREA_SIZE bytes, `readSuperblock(bytes, checksum)`;
 * 3. `new MessagePool(poolSizes(superblock.geometry))`, and
 *    `new Replica({ pool, machine, superblock })`;
 * 4. `step({ type: 'open' }, now)`, execute the effects, and so on with every event.
 */
export type { DropReason, RefuseReason } from '../engine/index.ts';
export { type FormatOptions, type FormatWrite, formatWrites } from './file/format.ts';
export {
  checkpointAfter,
  checkpointInterval,
  fixedSize,
  GEOMETRY_DEFAULT,
  GEOMETRY_DEVELOPMENT,
  type Geometry,
  geometryProblem,
  headerOffset,
  prepareOffset,
  SUPERBLOCK_AREA_SIZE,
  SUPERBLOCK_COPIES,
  SUPERBLOCK_COPY_SIZE,
} from './file/geometry.ts';
export {
  FORMAT_VERSION,
  readSuperblock,
  type Superblock,
  type SuperblockError,
  type SuperblockRead,
} from './file/superblock-codec.ts';
export type { Parts } from './parts.ts';
export { type PoolSizes, poolSizes } from './pool-sizes.ts';
export type { Harness } from './recovery/recovery.ts';
export {
  RELEASE,
  RELEASE_CLIENT_MIN,
  Replica,
  type ReplicaOptions,
} from './replica.ts';
export type { ReplicaStatus } from './status.ts';
export {
  createTopology,
  TOPOLOGY_NAMES,
  type Topology,
  type TopologyName,
} from './topology/index.ts';
