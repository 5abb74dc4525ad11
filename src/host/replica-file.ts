/**
 * The data file of a replica that is about to start: locked, opened, and checked against what was
 * asked for, before anything else is done with it. Every way in which it can be the wrong file has
 * an error of its own.
 */
import { closeSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import {
  acquireFileLock,
  clusterText,
  type DataFile,
  DataFileCorruptError,
  DataFileMismatchError,
  type FileLock,
  FormatVersionError,
  fromSystemError,
  MemoryFile,
  openDataFile,
  type Storage,
  StorageFailedError,
} from '../io/index.ts';
import { bytesEqual } from '../stdx/index.ts';
import {
  readSuperblock,
  SUPERBLOCK_AREA_SIZE,
  type SuperblockError,
  type SuperblockRead,
} from '../vsr/index.ts';
import { createChecksum, type WasmMemory } from '../wire/index.ts';
import { formatMemory } from './format.ts';
import { type ClusterId, clusterBytes, isDevelopment } from './options.ts';

export type ReadableSuperblock = SuperblockRead & { readonly ok: true };

/** What the file has to be; left out: anything. */
export interface FileExpectation {
  readonly cluster?: ClusterId | undefined;
  readonly replica?: number | undefined;
  readonly replicaCount?: number | undefined;
  readonly development?: boolean | undefined;
}

export interface ReplicaFile {
  /** For messages. */
  readonly path: string;
  readonly storage: Storage;
  /** As it was when the file was opened, or last {@link reload}ed. */
  readonly superblock: ReadableSuperblock;
  /** How durable writes are made, for status displays. */
  readonly durability: string;
  /** Reads the superblock again: another life begins. */
  reload(): Promise<void>;
  /** The pool's memory, which can be written to disk without a copy. */
  setAlignedMemory(memory: WasmMemory): void;
  close(): Promise<void>;
}

/**
 * Locks, opens and checks a data file. `onLost`: another process took it over.
 * @throws DataFileMissingError, DataFileLockedError, ReadOnlyError, FormatVersionError,
 *   DataFileCorruptError, DataFileMismatchError, StorageFailedError
 */
export async function openReplicaFile(
  path: string,
  expected: FileExpectation,
  onLost: () => void,
): Promise<ReplicaFile> {
  refuseOther(path);
  const lock = await acquireFileLock({ path, onLost });
  let file: DataFile | null = null;
  try {
    file = await openDataFile({ path });
    const superblock = await readableSuperblock(path, file);
    check(path, superblock, expected);
    checkSize(path, superblock, file.sizeAtOpen);
    return heldFile(path, file, lock, superblock);
  } catch (error) {
    await file?.close();
    await lock.release();
    throw error;
  }
}

/**
 * Folders, devices and pipes are refused before anything is locked or opened: opening a pipe waits
 * for its other end. Whatever cannot be looked at is left to those who open it.
 */
export function refuseOther(path: string): void {
  let stats: Stats;
  try {
    stats = statSync(path);
  } catch {
    return;
  }
  if (stats.isFile()) return;
  const reason = stats.isDirectory() ? 'it is a folder' : 'it is not a regular file';
  throw new DataFileCorruptError(path, null, reason);
}

/** What a data file says it is. */
export interface DataFileInfo {
  readonly cluster: bigint;
  readonly replica: number;
  readonly replicaCount: number;
  readonly isDevelopment: boolean;
}

/**
 * Looks at a data file, which may be in use, and checks it against what is wanted.
 * @throws DataFileMissingError, ReadOnlyError, FormatVersionError, DataFileCorruptError,
 *   DataFileMismatchError, StorageFailedError
 */
export async function inspectDataFile(
  path: string,
  expected: FileExpectation,
): Promise<DataFileInfo> {
  refuseOther(path);
  const area = new Uint8Array(SUPERBLOCK_AREA_SIZE);
  let length = 0;
  try {
    const descriptor = openSync(path, 'r');
    length = readSync(descriptor, area, 0, area.length, 0);
    closeSync(descriptor);
  } catch (error) {
    throw fromSystemError(error, path);
  }
  const read = readSuperblock(area.subarray(0, length), createChecksum());
  if (!read.ok) throw superblockError(path, read.error);
  check(path, read, expected);
  const { cluster, replica, replicaCount, geometry } = read.superblock;
  return {
    cluster: BigInt(clusterText(cluster)),
    replica,
    replicaCount,
    isDevelopment: isDevelopment(geometry),
  };
}

/** A fresh file in memory, always of the small geometry. */
export async function openMemoryFile(
  cluster: ClusterId,
  place: { readonly replica: number; readonly replicaCount: number } = {
    replica: 0,
    replicaCount: 1,
  },
): Promise<ReplicaFile> {
  const path = 'in memory';
  const storage = new MemoryFile();
  formatMemory(storage, { cluster, ...place, development: true });
  let superblock = await readableSuperblock(path, storage);
  return {
    path,
    storage,
    get superblock() {
      return superblock;
    },
    reload: async () => {
      superblock = await readableSuperblock(path, storage);
    },
    durability: 'memory',
    setAlignedMemory: () => {},
    close: () => storage.close(),
  };
}

function heldFile(
  path: string,
  file: DataFile,
  lock: FileLock,
  superblockAtOpen: ReadableSuperblock,
): ReplicaFile {
  let superblock = superblockAtOpen;
  return {
    path,
    storage: file,
    get superblock() {
      return superblock;
    },
    reload: async () => {
      superblock = await readableSuperblock(path, file);
    },
    get durability() {
      return file.mode;
    },
    setAlignedMemory: (memory) => file.setAlignedMemory(memory),
    close: async () => {
      await file.close();
      await lock.release();
    },
  };
}

async function readableSuperblock(path: string, storage: Storage): Promise<ReadableSuperblock> {
  const area = await new Promise<Uint8Array>((resolve, reject) => {
    storage.read(0, SUPERBLOCK_AREA_SIZE, (bytes, error) => {
      if (error === null) resolve(new Uint8Array(bytes));
      else reject(new StorageFailedError(path, 'the superblock cannot be read'));
    });
  });
  const read = readSuperblock(area, createChecksum());
  if (read.ok) return read;
  throw superblockError(path, read.error);
}

function superblockError(path: string, error: SuperblockError): Error {
  switch (error.kind) {
    case 'not-a-data-file':
      return new DataFileCorruptError(path, 0, 'there is no superblock, so it is no data file');
    case 'format-version':
      return new FormatVersionError(path, error.found, error.supported);
    case 'corrupt':
      return new DataFileCorruptError(path, 0, error.reason);
    default:
      return error satisfies never;
  }
}

function check(path: string, read: ReadableSuperblock, expected: FileExpectation): void {
  const { superblock } = read;
  const { replica, replicaCount, cluster, development } = expected;
  const mismatch = (text: string): DataFileMismatchError =>
    new DataFileMismatchError('ERR_DATA_FILE_MISMATCH', path, `data file ${path} ${text}`);
  if (replicaCount !== undefined && replicaCount !== superblock.replicaCount) {
    const replicas =
      superblock.replicaCount === 1 ? '1 replica' : `${superblock.replicaCount} replicas`;
    const addresses = replicaCount === 1 ? '1 address was' : `${replicaCount} addresses were`;
    throw mismatch(`was formatted for ${replicas}, ${addresses} given`);
  }
  if (replica !== undefined && replica !== superblock.replica) {
    throw mismatch(`belongs to replica ${superblock.replica}, not ${replica}`);
  }
  if (cluster !== undefined) {
    const wanted = clusterBytes(cluster);
    if (!bytesEqual(wanted, 0, superblock.cluster, 0, 16)) {
      throw mismatch(`belongs to another cluster than ${cluster}`);
    }
  }
  if (development === true && !isDevelopment(superblock.geometry)) {
    throw mismatch('was formatted without --development, which cannot be changed afterwards');
  }
}

/** A file that is shorter than its superblock says has lost something. */
function checkSize(path: string, read: ReadableSuperblock, size: number): void {
  const { fileSize } = read.superblock;
  if (size >= fileSize) return;
  throw new DataFileCorruptError(path, size, `the file ends here, it must have ${fileSize} bytes`);
}
