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
  /** A ledger answers, but it is of another cluster. */
  connectCluster: 'ERR_CONNECT_CLUSTER',
  /** Something listens, but no primary has answered in time. */
  connectTimeout: 'ERR_CONNECT_TIMEOUT',
  /** A request got no answer in the time that the caller allowed. It may still be executed. */
  requestTimeout: 'ERR_REQUEST_TIMEOUT',
  /** A server broke the protocol. */
  protocol: 'ERR_PROTOCOL',
} as const;
export type ClientErrorCode = (typeof ClientErrorCode)[keyof typeof ClientErrorCode];

/** Every operating error of this room. */
export class LedgerClientError extends RoundelayError {
  override readonly name: string = 'LedgerClientError';

  constructor(code: ClientErrorCode, message: string) {
    super(code, message);
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
