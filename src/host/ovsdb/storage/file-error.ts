/** What can go wrong with a database file, in the original's words and with a code for programs. */
import {
  DataFileLockedError,
  DataFileMissingError,
  glibcErrorText,
  isNoSpace,
  RoundelayError,
  systemCode,
} from '../../../io/append-file/index.ts';
import { type OvsdbError, OvsdbIoError } from '../../../ovsdb/index.ts';

export class OvsdbFileError extends RoundelayError {
  override readonly name: string = 'OvsdbFileError';
  readonly path: string;
  /** As clients are told. */
  readonly error: OvsdbError;

  constructor(code: string, path: string, error: OvsdbError, options?: ErrorOptions) {
    super(code, error.toString(), options);
    this.path = path;
    this.error = error;
  }
}

/** `action`: what failed, e.g. "open failed". `cause`: what the system said, or its code. */
export function ioError(name: string, action: string, cause: unknown): OvsdbFileError {
  const error = new OvsdbIoError(`${name}: ${action}`, glibcErrorText(cause));
  return new OvsdbFileError(codeOf(cause), name, error, { cause });
}

function codeOf(cause: unknown): string {
  if (isNoSpace(cause)) return 'ERR_NO_SPACE';
  switch (typeof cause === 'string' ? cause : systemCode(cause)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'ERR_DATA_FILE_MISSING';
    case 'EEXIST':
      return 'ERR_DATA_FILE_EXISTS';
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return 'ERR_READ_ONLY';
    default:
      return 'ERR_STORAGE_FAILED';
  }
}

/** Why the lock file could not be locked. */
export function lockError(name: string, cause: unknown): OvsdbFileError {
  const action = 'failed to lock lockfile';
  if (cause instanceof DataFileLockedError) {
    const reason = glibcErrorText(cause.pid === process.pid ? 'EDEADLK' : 'EAGAIN');
    const error = new OvsdbIoError(`${name}: ${action}`, reason);
    return new OvsdbFileError(cause.code, name, error, { cause });
  }
  if (cause instanceof DataFileMissingError) return ioError(name, action, cause.cause ?? 'ENOENT');
  return ioError(name, action, cause instanceof Error ? (cause.cause ?? cause) : cause);
}
