/**
 * Everything that can go wrong outside the engine, as classes with a stable `code`. A program
 * matches on the code; the message is one line for a person: what was tried, on which value, and
 * what is wanted instead. Messages hold no control characters, whatever a path or a peer contains.
 */
import { printable } from './log.ts';

/** Base of all errors that this package throws on purpose. */
export class RoundelayError extends Error {
  override readonly name: string = 'RoundelayError';
  /** Stable, `ERR_…`; part of the public face. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(printable(message), options);
    this.code = code;
  }
}

/** An address or a list of addresses that cannot be understood. */
export class AddressError extends RoundelayError {
  override readonly name: string = 'AddressError';

  constructor(message: string) {
    super('ERR_ADDRESS_INVALID', message);
  }
}

/** Somebody else listens there already. */
export class AddressInUseError extends RoundelayError {
  override readonly name: string = 'AddressInUseError';
  readonly address: string;

  constructor(address: string, options?: ErrorOptions) {
    super('ERR_ADDRESS_IN_USE', `cannot listen on ${address}: the address is in use`, options);
    this.address = address;
  }
}

/** The address cannot be listened on: not this machine's, or a port that needs privileges. */
export class AddressUnavailableError extends RoundelayError {
  override readonly name: string = 'AddressUnavailableError';
  readonly address: string;

  constructor(address: string, reason: string, options?: ErrorOptions) {
    super('ERR_ADDRESS_UNAVAILABLE', `cannot listen on ${address}: ${reason}`, options);
    this.address = address;
  }
}

/** Base of the errors about one data file. */
export class DataFileError extends RoundelayError {
  override readonly name: string = 'DataFileError';
  readonly path: string;

  constructor(code: string, path: string, message: string, options?: ErrorOptions) {
    super(code, message, options);
    this.path = path;
  }
}

export class DataFileMissingError extends DataFileError {
  override readonly name: string = 'DataFileMissingError';

  constructor(path: string, options?: ErrorOptions) {
    super('ERR_DATA_FILE_MISSING', path, `data file ${path} does not exist`, options);
  }
}

export class DataFileExistsError extends DataFileError {
  override readonly name: string = 'DataFileExistsError';

  constructor(path: string, options?: ErrorOptions) {
    super(
      'ERR_DATA_FILE_EXISTS',
      path,
      `data file ${path} exists already and is never overwritten`,
      options,
    );
  }
}

/** Another process has the data file open. */
export class DataFileLockedError extends DataFileError {
  override readonly name: string = 'DataFileLockedError';
  /** The process that holds the file, when it could be asked. */
  readonly pid: number | null;

  constructor(path: string, pid: number | null) {
    const holder = pid === null ? 'another process' : `process ${pid}`;
    super('ERR_DATA_FILE_LOCKED', path, `data file ${path} is in use by ${holder}`);
    this.pid = pid;
  }
}

/** The file is damaged, or is no data file at all. */
export class DataFileCorruptError extends DataFileError {
  override readonly name: string = 'DataFileCorruptError';
  /** Where, bytes from the start of the file; `null` when no single place can be named. */
  readonly offset: number | null;

  constructor(path: string, offset: number | null, reason: string) {
    const place = offset === null ? '' : ` at offset ${offset}`;
    super('ERR_DATA_FILE_CORRUPT', path, `data file ${path} is corrupt${place}: ${reason}`);
    this.offset = offset;
  }
}

/** The file was written by a release with another format. */
export class FormatVersionError extends DataFileError {
  override readonly name: string = 'FormatVersionError';
  readonly found: number;
  readonly supported: number;

  constructor(path: string, found: number, supported: number) {
    super(
      'ERR_FORMAT_VERSION',
      path,
      `data file ${path} has format version ${found}, this release reads version ${supported}`,
    );
    this.found = found;
    this.supported = supported;
  }
}

/** The data file belongs to another cluster, geometry or replica count than was asked for. */
export class DataFileMismatchError extends DataFileError {
  override readonly name: string = 'DataFileMismatchError';
}

/** The folder or the file cannot be written. */
export class ReadOnlyError extends DataFileError {
  override readonly name: string = 'ReadOnlyError';

  constructor(path: string, options?: ErrorOptions) {
    super('ERR_READ_ONLY', path, `no permission to write ${path}`, options);
  }
}

/** The disk is full. */
export class NoSpaceError extends DataFileError {
  override readonly name: string = 'NoSpaceError';

  constructor(path: string, sizeBytes: number | null, options?: ErrorOptions) {
    const wanted =
      sizeBytes === null ? '' : `, which needs ${Math.ceil(sizeBytes / 1_048_576)} MiB`;
    super('ERR_NO_SPACE', path, `no space left on the disk for ${path}${wanted}`, options);
  }
}

/** The machine or the container has less memory than the replica was going to take. */
export class NotEnoughMemoryError extends RoundelayError {
  override readonly name: string = 'NotEnoughMemoryError';
  readonly neededBytes: number;
  readonly availableBytes: number;

  constructor(neededBytes: number, availableBytes: number) {
    const needed = Math.ceil(neededBytes / 1_048_576);
    const available = Math.floor(availableBytes / 1_048_576);
    super('ERR_NO_MEMORY', `the replica needs ${needed} MiB of memory, there are ${available} MiB`);
    this.neededBytes = neededBytes;
    this.availableBytes = availableBytes;
  }
}

/** A replica that has proof of differing from its cluster, or found a bug in itself, stopped. */
export class ReplicaHaltedError extends RoundelayError {
  override readonly name: string = 'ReplicaHaltedError';
}

/** The operating system failed an operation for a reason that has no class of its own. */
export class StorageFailedError extends DataFileError {
  override readonly name: string = 'StorageFailedError';

  constructor(path: string, reason: string, options?: ErrorOptions) {
    super('ERR_STORAGE_FAILED', path, `storage of ${path} failed: ${reason}`, options);
  }
}

/** The `code` of a system error (`ENOENT` …), or an empty string. */
export function systemCode(error: unknown): string {
  if (!(error instanceof Error) || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}

/** Whether this is what a full disk or an exhausted quota looks like. */
export function isNoSpace(error: unknown): boolean {
  const code = systemCode(error);
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** The class for what the operating system said about a path; errors of ours pass unchanged. */
export function fromSystemError(
  error: unknown,
  path: string,
  sizeBytes: number | null = null,
): RoundelayError {
  if (error instanceof RoundelayError) return error;
  const options = { cause: error };
  if (isNoSpace(error)) return new NoSpaceError(path, sizeBytes, options);
  switch (systemCode(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return new DataFileMissingError(path, options);
    case 'EEXIST':
      return new DataFileExistsError(path, options);
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new ReadOnlyError(path, options);
    case 'EISDIR':
      return new StorageFailedError(path, 'it is a folder, not a data file', options);
    default: {
      const reason = error instanceof Error ? error.message : String(error);
      return new StorageFailedError(path, reason, options);
    }
  }
}
