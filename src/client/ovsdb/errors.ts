/**
 * Errors of the OVSDB client. Each carries a stable `code`; whoever gets one of a transaction knows
 * from it whether the transaction may have been executed.
 */
import { RoundelayError } from '../../io/streams/index.ts';
import type { Json } from '../../ovsdb/index.ts';

export const OvsdbErrorCode = {
  /** The client was closed, or its signal aborted. */
  closed: 'ERR_OVSDB_CLOSED',
  /** No server could be used in time. */
  connect: 'ERR_OVSDB_CONNECT',
  /** The wait ended before the request was sent: it is not executed. */
  notSent: 'ERR_OVSDB_NOT_SENT',
  /** The connection, or the wait, ended after the request was sent: it may have been executed. */
  outcomeUnknown: 'ERR_OVSDB_OUTCOME_UNKNOWN',
  /** The server refused the request as a whole. */
  request: 'ERR_OVSDB_REQUEST',
  /** An operation of a transaction failed, or its commit: nothing of it was executed. */
  transaction: 'ERR_OVSDB_TRANSACTION',
  /** An address cannot be understood. */
  address: 'ERR_OVSDB_ADDRESS',
  /** The server has no such table or column, or a value is not one of the column's type. */
  schema: 'ERR_OVSDB_SCHEMA',
  /** The server broke the protocol. */
  protocol: 'ERR_OVSDB_PROTOCOL',
  /** A limit of the client is reached; nothing was sent. */
  limit: 'ERR_OVSDB_LIMIT',
} as const;
export type OvsdbErrorCode = (typeof OvsdbErrorCode)[keyof typeof OvsdbErrorCode];

export class OvsdbClientError extends RoundelayError {
  override readonly name: string = 'OvsdbClientError';

  constructor(code: OvsdbErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options);
  }
}

/** The server's own words about a request. */
export class OvsdbRequestError extends OvsdbClientError {
  override readonly name: string = 'OvsdbRequestError';
  readonly method: string;
  /** The "error" member of the reply. */
  readonly error: Json;

  constructor(method: string, error: Json, text: string) {
    super(OvsdbErrorCode.request, `${method} refused: ${text}`);
    this.method = method;
    this.error = error;
  }
}

/** Nothing of the transaction was executed. */
export class OvsdbTransactionError extends OvsdbClientError {
  override readonly name: string = 'OvsdbTransactionError';
  /** RFC 7047's, stable: "constraint violation", "timed out", "not owner" and so on. */
  readonly tag: string;
  readonly details: string;
  /** Index of the operation that failed; `null`: all succeeded, the commit did not. */
  readonly operation: number | null;
  /** As received. */
  readonly results: readonly Json[];

  constructor(tag: string, details: string, operation: number | null, results: readonly Json[]) {
    const where = operation === null ? 'commit' : `operation ${operation}`;
    super(
      OvsdbErrorCode.transaction,
      `${where} failed: ${tag}${details === '' ? '' : ': '}${details}`,
    );
    this.tag = tag;
    this.details = details;
    this.operation = operation;
    this.results = results;
  }
}

/** The reason of an aborted signal, as an error of ours. */
export function abortError(
  signal: AbortSignal,
  code: OvsdbErrorCode,
  what: string,
): OvsdbClientError {
  return new OvsdbClientError(code, what, { cause: signal.reason });
}
