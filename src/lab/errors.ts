/** What can go wrong in the laboratory besides the client's and the host's own errors. */
import { RoundelayError } from '../io/index.ts';

/** A load did not do what it was to do; `status` names the result that was not `created`. */
export class LoadError extends RoundelayError {
  override readonly name: string = 'LoadError';
  readonly status: string | null;

  constructor(message: string, status: string | null = null) {
    super('ERR_LOAD_FAILED', message);
    this.status = status;
  }
}

/** A server of a temporary cluster did not come up, or ended by itself. */
export class TemporaryClusterError extends RoundelayError {
  override readonly name: string = 'TemporaryClusterError';

  constructor(message: string) {
    super('ERR_TEMPORARY_CLUSTER', message);
  }
}
