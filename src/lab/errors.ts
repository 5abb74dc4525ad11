/** What can go wrong in the laboratory besides the client's and the host's own errors. */
import { fromSystemError, RoundelayError, systemCode } from '../io/index.ts';

/** A load did not do what it was to do; `status` names the result that was not `created`. */
export class LoadError extends RoundelayError {
  override readonly name: string = 'LoadError';
  readonly status: string | null;

  constructor(message: string, status: string | null = null) {
    super('ERR_LOAD_FAILED', message);
    this.status = status;
  }
}

/** More events per request were asked for than the cluster takes. */
export class BatchTooLargeError extends LoadError {
  override readonly name: string = 'BatchTooLargeError';
  readonly batchSizeMax: number;

  constructor(batchSize: number, batchSizeMax: number) {
    super(`a batch of ${batchSize} is too large here, at most ${batchSizeMax} fit`);
    this.batchSizeMax = batchSizeMax;
  }
}

/** The error for what the operating system said about a folder to write to. */
export function folderError(error: unknown, path: string): RoundelayError {
  if (systemCode(error) !== 'ENOENT') return fromSystemError(error, path);
  const options = { cause: error };
  return new RoundelayError('ERR_DATA_FILE_MISSING', `folder ${path} does not exist`, options);
}

/** A server of a temporary cluster did not come up, or ended by itself. */
export class TemporaryClusterError extends RoundelayError {
  override readonly name: string = 'TemporaryClusterError';

  constructor(message: string) {
    super('ERR_TEMPORARY_CLUSTER', message);
  }
}
