/**
 * Errors of the client, at the public face. Each carries a stable `code`; the message names the
 * action, the value and what is wanted. Codes that the official client has keep its names, because
 * users' code already compares with them.
 */
import { RoundelayError } from '../io/index.ts';

export const ClientErrorCode = {
  /** The client was closed (by `close`, or after an eviction). */
  closed: 'ERR_CLIENT_CLOSED',
  /** The cluster has forgotten this session; make a new client. */
  evicted: 'ERR_CLIENT_EVICTED',
  releaseTooLow: 'ERR_CLIENT_RELEASE_TOO_LOW',
  releaseTooHigh: 'ERR_CLIENT_RELEASE_TOO_HIGH',
  /** A batch holds more events than one request may carry. */
  tooMuchData: 'ERR_TOO_MUCH_DATA',
  /** A field is missing, unknown, of the wrong type or out of range. Nothing was sent. */
  field: 'ERR_FIELD_INVALID',
  /** An address, or the list of them, is not usable. */
  address: 'ERR_ADDRESS_INVALID',
  /** Nobody listens at any of the addresses. */
  connectRefused: 'ERR_CONNECT_REFUSED',
  /** Somebody answers, but is of another cluster. */
  connectCluster: 'ERR_CONNECT_CLUSTER',
  /** Something listens, but no primary has answered in time. */
  connectTimeout: 'ERR_CONNECT_TIMEOUT',
  /** A request got no answer in the time that the caller allowed. It may still be executed. */
  requestTimeout: 'ERR_REQUEST_TIMEOUT',
  /** The wait ended while the request was under way: it may have been executed, or be later. */
  outcomeUnknown: 'ERR_OUTCOME_UNKNOWN',
  /** The session ended while the request was under way: it may have been executed. */
  sessionLost: 'ERR_SESSION_LOST',
  /** The wait ended before the request was sent: it is not executed. */
  notSent: 'ERR_NOT_SENT',
  /** One command, or one request, is larger than the cluster takes. Nothing was sent. */
  tooLarge: 'ERR_COMMAND_TOO_LARGE',
  /** So many wait already that one more does not. Nothing was sent. */
  tooMany: 'ERR_TOO_MANY_CALLS',
  /** The cluster refuses the operation or its body; it was not executed. */
  refused: 'ERR_REQUEST_REFUSED',
  /** A server broke the protocol. */
  protocol: 'ERR_PROTOCOL',
} as const;
export type ClientErrorCode = (typeof ClientErrorCode)[keyof typeof ClientErrorCode];

/** Every operating error of this room. */
export class ClientError extends RoundelayError {
  override readonly name: string = 'ClientError';

  constructor(code: ClientErrorCode, message: string) {
    super(code, message);
  }
}

/** Those of a ledger's client. */
export class LedgerClientError extends ClientError {
  override readonly name: string = 'LedgerClientError';
}

/** Those of a client of anybody's state machine. */
export class ReplicaClientError extends ClientError {
  override readonly name: string = 'ReplicaClientError';
  /**
   * Whether what was asked for has happened. `unknown`: it may have, or may yet; who sends it again
   * may have it done twice.
   */
  readonly outcome: 'not-done' | 'unknown';

  constructor(
    code: ClientErrorCode,
    message: string,
    outcome: ReplicaClientError['outcome'] = 'not-done',
  ) {
    super(code, message);
    this.outcome = outcome;
  }
}

/** A field that cannot be sent; `field` names it, `index` is the event's place in its batch. */
export class FieldError extends LedgerClientError {
  override readonly name: string = 'FieldError';
  readonly field: string;
  readonly index: number;

  constructor(field: string, index: number, problem: string) {
    super(ClientErrorCode.field, `event ${index}: ${field} ${problem}`);
    this.field = field;
    this.index = index;
  }
}
