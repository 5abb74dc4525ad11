/**
 * In which way writes are made durable on this system and this file. Constants say what the system
 * has; only a trial says what the file system under the file accepts.
 */
import fs from 'node:fs';
import { SECTOR_SIZE } from '../engine/index.ts';
import { assert } from '../stdx/index.ts';
import type { BouncePool } from './bounce-pool.ts';

/** How durable writes are made durable. */
export type DurableMode = 'direct' | 'dsync' | 'fdatasync';

/** The open flags that decide it, where they exist; tests mask them. */
export interface DurableConstants {
  readonly O_DIRECT?: number | undefined;
  readonly O_DSYNC?: number | undefined;
}

/** The calls a data file makes, so that a test can let one of them fail. */
export type FileSystem = Pick<
  typeof fs,
  'openSync' | 'closeSync' | 'fstatSync' | 'readSync' | 'write' | 'read' | 'fdatasync' | 'close'
>;

/**
 * What this platform offers for durable writes. On macOS O_DSYNC does not reach the platter, while
 * Node's fdatasync does.
 */
export function platformConstants(platform: string = process.platform): DurableConstants {
  if (platform === 'darwin' || platform === 'win32') return {};
  return { O_DIRECT: fs.constants.O_DIRECT, O_DSYNC: fs.constants.O_DSYNC };
}

/** Opens the descriptor for durable writes in the best mode that works on this file. */
export function openDurable(
  fileSystem: FileSystem,
  path: string,
  constants: DurableConstants,
  bounce: BouncePool,
): { mode: DurableMode; fd: number | null } {
  const { O_DIRECT, O_DSYNC } = constants;
  if (O_DSYNC === undefined || O_DSYNC === 0) return { mode: 'fdatasync', fd: null };
  const flags = fs.constants.O_RDWR | O_DSYNC;
  if (O_DIRECT !== undefined && O_DIRECT !== 0) {
    const fd = openDirect(fileSystem, path, flags | O_DIRECT, bounce);
    if (fd !== null) return { mode: 'direct', fd };
  }
  try {
    return { mode: 'dsync', fd: fileSystem.openSync(path, flags) };
  } catch {
    return { mode: 'fdatasync', fd: null };
  }
}

/** Opens past the page cache and tries one aligned read: some file systems accept only the open. */
function openDirect(
  fileSystem: FileSystem,
  path: string,
  flags: number,
  bounce: BouncePool,
): number | null {
  let fd: number;
  try {
    fd = fileSystem.openSync(path, flags);
  } catch {
    return null;
  }
  const sector = bounce.copy(new Uint8Array(SECTOR_SIZE));
  assert(sector !== null, 'DataFile: no bounce buffer at open');
  try {
    fileSystem.readSync(fd, sector, 0, SECTOR_SIZE, 0);
    return fd;
  } catch {
    fileSystem.closeSync(fd);
    return null;
  } finally {
    bounce.free(sector);
  }
}
