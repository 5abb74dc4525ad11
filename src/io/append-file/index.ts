/**
 * Files that grow by records: `append-file` (writes in groups, cuts off what failed),
 * `replacement` (a new content in one step), `database-lock` (one writer, ours or the original's),
 * `file-source` (reading), `real-path`, `error-text` (errors in the C library's words); with what a
 * user of them needs besides, so that it loads nothing else of this room.
 */
export { createDataFile } from '../create-file.ts';
export {
  DataFileExistsError,
  DataFileLockedError,
  DataFileMissingError,
  isNoSpace,
  RoundelayError,
  systemCode,
} from '../errors.ts';
export {
  AppendFile,
  type AppendFileHandler,
  type AppendFileOptions,
  type AppendFileSystem,
} from './append-file.ts';
export { acquireDatabaseLock, type DatabaseLock, lockPathOf } from './database-lock.ts';
export { glibcErrorText } from './error-text.ts';
export { FileSource } from './file-source.ts';
export { followLinks, isDangling } from './real-path.ts';
export { Replacement, syncFolder } from './replacement.ts';
