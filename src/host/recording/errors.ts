/** What can be wrong with a recording, or with the wish for one. */
import { RoundelayError } from '../../io/index.ts';

/**
 * - `ERR_RECORDING_EXISTS`: a recording is never written over another file.
 * - `ERR_RECORDING_NOT_WRITABLE`: the file cannot be made there.
 * - `ERR_RECORDING_UNREADABLE`: it cannot be read, or is no recording.
 * - `ERR_RECORDING_RELEASE`: it was made by another release, whose engine may differ.
 * - `ERR_RECORDING_MACHINE`: it is of another machine than the one it is to be replayed with.
 */
export type RecordingErrorCode =
  | 'ERR_RECORDING_EXISTS'
  | 'ERR_RECORDING_NOT_WRITABLE'
  | 'ERR_RECORDING_UNREADABLE'
  | 'ERR_RECORDING_RELEASE'
  | 'ERR_RECORDING_MACHINE';

export class RecordingError extends RoundelayError {
  override readonly name: string = 'RecordingError';
  readonly path: string;

  constructor(code: RecordingErrorCode, path: string, reason: string, cause?: unknown) {
    super(code, `recording ${path} ${reason}`, cause === undefined ? undefined : { cause });
    this.path = path;
  }
}
