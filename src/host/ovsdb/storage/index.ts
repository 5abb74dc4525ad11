/**
 * Database files on a disk: `open-file` (lock, replay, a damaged end), `ovsdb-storage` (appends,
 * compaction, conversion), `create-file`, `file-error`.
 */
export { createOvsdbFile } from './create-file.ts';
export { OvsdbFileError } from './file-error.ts';
export {
  type OpenedFile,
  type OpenOptions,
  type OpenWarning,
  openOvsdbFile,
} from './open-file.ts';
export {
  type AppendRequest,
  OvsdbStorage,
  type StorageHandlers,
  type StorageLogLevel,
} from './ovsdb-storage.ts';
