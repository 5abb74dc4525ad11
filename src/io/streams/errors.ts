/** What went wrong with a stream, in the words of the C library, which logs and scripts know. */
import { glibcErrorText } from '../append-file/error-text.ts';
import { RoundelayError } from '../errors.ts';

/** Listening or connecting failed; {@link message} is only the reason. */
export class StreamError extends RoundelayError {
  override readonly name: string = 'StreamError';
  readonly target: string;

  constructor(target: string, reason: unknown) {
    super('ERR_STREAM', glibcErrorText(reason), { cause: reason });
    this.target = target;
  }
}

/** Keys, certificates or lists of what is allowed cannot be used. */
export class TlsSettingsError extends RoundelayError {
  override readonly name: string = 'TlsSettingsError';

  constructor(message: string, options?: ErrorOptions) {
    super('ERR_TLS_SETTINGS', message, options);
  }
}
