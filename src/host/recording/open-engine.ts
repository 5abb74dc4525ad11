/** Makes an engine from what a recording says of it. */
import { type Machine, RELEASE, type ReplicaEngine } from '../../engine/index.ts';
import type { RaftHead } from '../../raft/index.ts';
import { Replica, type SuperblockRead, type TopologyName } from '../../vsr/index.ts';
import type { MessagePool } from '../../wire/index.ts';
import { RecordingError } from './errors.ts';
import type { LifeRecord } from './format.ts';

/** What a recording says of an engine beside what it was read from the file. */
interface EngineOptions {
  readonly seed: number;
  /** VSR's. */
  readonly topology?: TopologyName;
}

/** @throws RecordingError */
export async function openEngine(
  path: string,
  life: LifeRecord,
  machine: Machine,
  pool: MessagePool,
): Promise<ReplicaEngine> {
  if (life.release !== RELEASE) {
    const reason = `was made by release ${life.release}, this is ${RELEASE}`;
    throw new RecordingError('ERR_RECORDING_RELEASE', path, reason);
  }
  const options = life.options as unknown as EngineOptions;
  switch (life.engine) {
    case 'vsr': {
      const superblock = life.head as SuperblockRead & { readonly ok: true };
      return new Replica({ ...options, pool, machine, superblock });
    }
    case 'raft': {
      // Only where somebody asks for it.
      const { RaftReplica } = await import('../../raft/index.ts');
      return new RaftReplica({ ...options, pool, machine, head: life.head as RaftHead });
    }
  }
}
