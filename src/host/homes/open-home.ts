/**
 * Opens the home of a replica, and makes it when there is none: in memory, or in a folder under a
 * name that says whose it is: `counter_0_2.raft` is machine `counter`, cluster 0, replica 2. A
 * folder that holds the same replica for another machine or another engine is refused: one of the
 * two would begin anew without anybody noticing.
 */
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { EngineName } from '../../engine/index.ts';
import { DataFileExistsError, DataFileMismatchError, fromSystemError } from '../../io/index.ts';
import type { TopologyName } from '../../vsr/index.ts';
import { formatLedger } from '../format.ts';
import type { ClusterId } from '../options.ts';
import { openMemoryFile, openReplicaFile } from '../replica-file.ts';
import type { ReplicaHome } from './home.ts';
import { vsrHome } from './vsr-home.ts';

export interface HomeOptions {
  readonly engine: EngineName;
  /** Name of the machine. */
  readonly name: string;
  readonly cluster: ClusterId;
  readonly replica: number;
  readonly replicaCount: number;
  /** A small file and small requests; left out: as the file is, and a new one large. */
  readonly isDevelopment: boolean | undefined;
  /** VSR: how prepares travel. */
  readonly topology: TopologyName | undefined;
  /** Raft: of a new file. */
  readonly electionTimerMs: number;
  /** Raft: left out, the engine's default. */
  readonly snapshotBytesMin: number | undefined;
}

/** Lives as long as its storage; nothing is left afterwards. */
export async function openMemoryHome(options: HomeOptions): Promise<ReplicaHome> {
  if (options.engine === 'raft') {
    const { openRaftMemory } = await import('./raft-home.ts');
    return await openRaftMemory({ ...options, isDevelopment: true });
  }
  const { cluster, replica, replicaCount, topology } = options;
  return vsrHome(await openMemoryFile(cluster, { replica, replicaCount }), topology);
}

/**
 * The home in this folder. `onLost`: another process took the file over.
 * @throws RoundelayError
 */
export async function openFolderHome(
  folder: string,
  options: HomeOptions,
  onLost: () => void,
): Promise<ReplicaHome> {
  const path = await ensureFile(folder, options);
  if (options.engine === 'raft') {
    const { openRaftHome } = await import('./raft-home.ts');
    return await openRaftHome(path, options, onLost);
  }
  const { cluster, replicaCount, replica, isDevelopment, topology } = options;
  const expected = { cluster, replicaCount, replica, development: isDevelopment };
  return vsrHome(await openReplicaFile(path, expected, onLost), topology);
}

async function ensureFile(folder: string, options: HomeOptions): Promise<string> {
  const { engine, name, cluster, replica, replicaCount, isDevelopment = false } = options;
  const path = join(folder, `${name}_${BigInt(cluster)}_${replica}.${engine}`);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    refuseNamesakes(folder, options);
    if (existsSync(path)) return path;
    if (engine === 'raft') await (await import('./raft-home.ts')).formatRaft(path, options);
    else await formatLedger({ path, cluster, replica, replicaCount, development: isDevelopment });
  } catch (error) {
    // Somebody else was faster: then the lock decides.
    if (!(error instanceof DataFileExistsError)) throw fromSystemError(error, folder);
  }
  return path;
}

/** The same replica of the same cluster, but not the same thing. */
function refuseNamesakes(folder: string, { engine, name, cluster, replica }: HomeOptions): void {
  for (const file of readdirSync(folder)) {
    const parts = /^([a-z][a-z0-9-]*)_(\d+)_(\d+)\.(vsr|raft)$/.exec(file);
    if (parts === null || parts[2] !== String(BigInt(cluster))) continue;
    if (parts[3] !== String(replica)) continue;
    if (parts[1] === name && parts[4] === engine) continue;
    const path = join(folder, file);
    throw new DataFileMismatchError(
      'ERR_DATA_FILE_MISMATCH',
      path,
      `data file ${path} belongs to machine ${parts[1]} on engine ${parts[4]}, ` +
        `not to ${name} on ${engine}: give another directory`,
    );
  }
}
