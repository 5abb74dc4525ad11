/**
 * A replica of Raft over its data file: made, opened, checked. Loaded only where somebody asks for
 * Raft.
 */

import { RELEASE } from '../../engine/index.ts';
import {
  acquireFileLock,
  createDataFile,
  type DataFile,
  DataFileCorruptError,
  DataFileMismatchError,
  type FileLock,
  FormatVersionError,
  MemoryFile,
  openDataFile,
  type Storage,
  StorageFailedError,
} from '../../io/index.ts';
import {
  formatRaftFile,
  RAFT_FORMAT_VERSION,
  RAFT_GEOMETRY_DEFAULT,
  RAFT_GEOMETRY_DEVELOPMENT,
  RAFT_HEAD_SIZE,
  type RaftHead,
  type RaftHeadError,
  RaftReplica,
  raftPoolSizes,
  readRaftHead,
} from '../../raft/index.ts';
import { bytesEqual } from '../../stdx/index.ts';
import { readSuperblock, SUPERBLOCK_AREA_SIZE } from '../../vsr/index.ts';
import { createChecksum, type WasmMemory } from '../../wire/index.ts';
import { clusterBytes } from '../options.ts';
import { refuseOther } from '../replica-file.ts';
import type { ReplicaHome } from './home.ts';
import type { HomeOptions } from './open-home.ts';

type Piece = { readonly offset: number; readonly bytes: Uint8Array };

/**
 * Makes the file, all of it or nothing.
 * @throws as `createDataFile`
 */
export async function formatRaft(path: string, options: HomeOptions): Promise<void> {
  const pieces = [...freshPieces(options)];
  const sizeBytes = Math.max(...pieces.map(({ offset, bytes }) => offset + bytes.length));
  await createDataFile({ path, sizeBytes, pieces });
}

/** Locks, opens and checks the file. `onLost`: another process took it over. */
export async function openRaftHome(
  path: string,
  options: HomeOptions,
  onLost: () => void,
): Promise<ReplicaHome> {
  refuseOther(path);
  const lock = await acquireFileLock({ path, onLost });
  let file: DataFile | null = null;
  try {
    file = await openDataFile({ path });
    const head = await readHead(path, file);
    check(path, head, options);
    return homeOf({ path, storage: file, head, holder: new Held(file, lock), options });
  } catch (error) {
    await file?.close();
    await lock.release();
    throw error;
  }
}

/** A fresh file in memory. */
export async function openRaftMemory(options: HomeOptions): Promise<ReplicaHome> {
  const path = 'in memory';
  const storage = new MemoryFile();
  for (const { offset, bytes } of freshPieces(options)) storage.put(offset, bytes);
  const holder: Holder = {
    durability: 'memory',
    setAlignedMemory: () => {},
    close: () => storage.close(),
  };
  return homeOf({ path, storage, head: await readHead(path, storage), holder, options });
}

interface Holder {
  readonly durability: string;
  setAlignedMemory(memory: WasmMemory): void;
  close(): Promise<void>;
}

class Held implements Holder {
  readonly #file: DataFile;
  readonly #lock: FileLock;

  constructor(file: DataFile, lock: FileLock) {
    this.#file = file;
    this.#lock = lock;
  }

  get durability(): string {
    return this.#file.mode;
  }

  setAlignedMemory(memory: WasmMemory): void {
    this.#file.setAlignedMemory(memory);
  }

  async close(): Promise<void> {
    await this.#file.close();
    await this.#lock.release();
  }
}

function homeOf(parts: {
  readonly path: string;
  readonly storage: Storage;
  readonly head: RaftHead;
  readonly holder: Holder;
  readonly options: HomeOptions;
}): ReplicaHome {
  const { path, storage, holder } = parts;
  let { head } = parts;
  const { cluster, replica, replicaCount, replicaId, geometry } = head;
  const { snapshotBytesMin } = parts.options;
  const engineOptions = snapshotBytesMin === undefined ? {} : { snapshotBytesMin };
  return {
    engine: 'raft',
    path,
    storage,
    get durability() {
      return holder.durability;
    },
    identity: {
      cluster,
      replica,
      replicaCount,
      replicaId,
      isRecovered: false,
      release: RELEASE,
      engine: 'raft',
    },
    requestSizeMax: geometry.requestSizeMax,
    poolOptions: raftPoolSizes(geometry, replicaCount),
    formatVersion: RAFT_FORMAT_VERSION,
    checkpointOp: null,
    get head() {
      return head;
    },
    engineOptions,
    makeEngine: (engineParts) => new RaftReplica({ ...engineParts, ...engineOptions, head }),
    reload: async () => {
      head = await readHead(path, storage);
    },
    setAlignedMemory: (memory) => holder.setAlignedMemory(memory),
    close: () => holder.close(),
  };
}

function freshPieces(options: HomeOptions): Iterable<Piece> {
  const { cluster, replica, replicaCount, isDevelopment, electionTimerMs } = options;
  return formatRaftFile(
    {
      cluster: clusterBytes(cluster),
      replica,
      replicaCount,
      replicaId: crypto.getRandomValues(new Uint8Array(16)),
      geometry: isDevelopment === true ? RAFT_GEOMETRY_DEVELOPMENT : RAFT_GEOMETRY_DEFAULT,
      release: RELEASE,
      electionTimerMs,
    },
    createChecksum(),
  );
}

async function readHead(path: string, storage: Storage): Promise<RaftHead> {
  const size = Math.max(RAFT_HEAD_SIZE, SUPERBLOCK_AREA_SIZE);
  const bytes = await new Promise<Uint8Array>((resolve, reject) => {
    storage.read(0, size, (read, error) => {
      if (error === null) resolve(new Uint8Array(read));
      else reject(new StorageFailedError(path, 'the head of the file cannot be read'));
    });
  });
  const read = readRaftHead(bytes.subarray(0, RAFT_HEAD_SIZE), createChecksum());
  if (read.ok) return read.head;
  throw headError(path, read.error, bytes);
}

function headError(path: string, error: RaftHeadError, bytes: Uint8Array): Error {
  switch (error.kind) {
    case 'not-a-data-file':
      if (readSuperblock(bytes, createChecksum()).ok) return mismatch(path, 'is one of engine vsr');
      return new DataFileCorruptError(path, 0, 'there is no head, so it is no data file of Raft');
    case 'format-version':
      return new FormatVersionError(path, error.found, error.supported);
    case 'corrupt':
      return new DataFileCorruptError(path, 0, error.reason);
    default:
      return error satisfies never;
  }
}

function check(path: string, head: RaftHead, options: HomeOptions): void {
  const { replica, replicaCount, cluster, isDevelopment } = options;
  if (replicaCount !== head.replicaCount) {
    throw mismatch(path, `was formatted for ${head.replicaCount} replicas, not ${replicaCount}`);
  }
  if (replica !== head.replica) {
    throw mismatch(path, `belongs to replica ${head.replica}, not ${replica}`);
  }
  if (!bytesEqual(clusterBytes(cluster), 0, head.cluster, 0, 16)) {
    throw mismatch(path, `belongs to another cluster than ${cluster}`);
  }
  const isSmall = head.geometry.extentSize <= RAFT_GEOMETRY_DEVELOPMENT.extentSize;
  if (isDevelopment === true && !isSmall) {
    throw mismatch(path, 'was formatted without development, which cannot be changed afterwards');
  }
}

function mismatch(path: string, text: string): DataFileMismatchError {
  return new DataFileMismatchError('ERR_DATA_FILE_MISMATCH', path, `data file ${path} ${text}`);
}
