/**
 * What the end of a session means: the reasons that a cluster gives, in codes and sentences.
 */
import { EvictionReason, releaseText } from '../wire/index.ts';
import { ClientErrorCode } from './errors.ts';

/** What an eviction is to whoever waited for an answer. */
export interface EvictionProblem {
  readonly code: ClientErrorCode;
  readonly message: string;
  /**
   * `session`: it is over, a new one may begin; `request`: the cluster will not take this request,
   * now or ever, and has not executed it; `client`: no request of this client is taken.
   */
  readonly about: 'session' | 'request' | 'client';
}

/** `own` and `theirs`: releases of the client and of who evicts. */
export function evictionProblem(reason: number, own: number, theirs: number): EvictionProblem {
  switch (reason) {
    case EvictionReason.clientReleaseTooLow:
      return releaseProblem(ClientErrorCode.releaseTooLow, 'low', own, theirs);
    case EvictionReason.clientReleaseTooHigh:
      return releaseProblem(ClientErrorCode.releaseTooHigh, 'high', own, theirs);
    case EvictionReason.invalidRequestOperation:
    case EvictionReason.invalidRequestBody:
    case EvictionReason.invalidRequestBodySize:
      return {
        code: ClientErrorCode.refused,
        message: `the cluster does not take this request: ${reasonText(reason)}`,
        about: 'request',
      };
    default:
      return {
        code: ClientErrorCode.sessionLost,
        message: `the cluster has ended this session: ${reasonText(reason)}`,
        about: 'session',
      };
  }
}

/** Why a session ended, without the cluster's name for it. */
export function reasonText(reason: number): string {
  switch (reason) {
    case EvictionReason.noSession:
      return 'it is not known any more';
    case EvictionReason.invalidRequestOperation:
      return 'the operation is unknown there';
    case EvictionReason.invalidRequestBody:
      return 'the request was malformed';
    case EvictionReason.invalidRequestBodySize:
      return 'the request was too large';
    case EvictionReason.sessionTooLow:
      return 'a newer session has taken its place';
    default:
      return `reason ${reason}`;
  }
}

function releaseProblem(
  code: ClientErrorCode,
  how: 'low' | 'high',
  own: number,
  theirs: number,
): EvictionProblem {
  const text = `this client's release ${releaseText(own)} is too ${how}`;
  return { code, message: `${text} for the cluster's ${releaseText(theirs)}`, about: 'client' };
}
