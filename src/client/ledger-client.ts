/**
 * The typed client of a ledger, for Node users: objects in, objects out, with the official client's
 * field names. Every event is checked before anything is sent; a promise that rejects with
 * `ERR_FIELD_INVALID` or `ERR_TOO_MUCH_DATA` has sent nothing.
 */
import { randomFillSync } from 'node:crypto';
import {
  type Account,
  type AccountBalance,
  type AccountFilter,
  accountBalanceCodec,
  accountCodec,
  accountFilterCodec,
  type ChangeEvent,
  type ChangeEventsFilter,
  type CreateAccountResult,
  type CreateTransferResult,
  changeEventCodec,
  changeEventsFilterCodec,
  checkMultiBatch,
  createAccountResultCodec,
  createTransferResultCodec,
  decodeRecords,
  encodeMultiBatch,
  encodeRecords,
  eventsMax,
  idCodec,
  Operation,
  operationShape,
  payloadSize,
  type QueryFilter,
  queryFilterCodec,
  type RecordCodec,
  type Transfer,
  transferCodec,
} from '../ledger/index.ts';
import { assert } from '../stdx/index.ts';
import { LedgerConnection } from './connection.ts';
import { ClientErrorCode, LedgerClientError } from './errors.ts';
import {
  accountFields,
  accountFilterFields,
  changeEventsFilterFields,
  checkId,
  checkStruct,
  queryFilterFields,
  type StructFields,
  transferFields,
} from './fields.ts';
import { parseTargets, type Targets } from './targets.ts';

/** What `createAccounts` takes: absent fields are zero. */
export type AccountInput = Pick<Account, 'id' | 'ledger' | 'code'> & Partial<Account>;

/** What `createTransfers` takes: absent fields are zero. */
export type TransferInput = Partial<Transfer> &
  Pick<Transfer, 'id' | 'debit_account_id' | 'credit_account_id' | 'amount' | 'ledger' | 'code'>;

export type AccountFilterInput = Partial<AccountFilter> &
  Pick<AccountFilter, 'account_id' | 'limit' | 'flags'>;
export type QueryFilterInput = Partial<QueryFilter> & Pick<QueryFilter, 'limit'>;
export type ChangeEventsFilterInput = Partial<ChangeEventsFilter> &
  Pick<ChangeEventsFilter, 'limit'>;

export interface ConnectLedgerOptions {
  /** All replicas, in order: `3000`, `'127.0.0.1:3000'`, `'3001,3002,3003'`, or a list. */
  readonly addresses: Targets;
  /** Default 0n. */
  readonly cluster?: bigint;
  /** How long to look for a primary, milliseconds. Default 5000. */
  readonly connectTimeoutMs?: number;
  /** How long to wait for each answer, milliseconds. Default: for ever, as resending is safe. */
  readonly requestTimeoutMs?: number;
}

/**
 * Connects and registers a session. Rejects with a `LedgerClientError` whose code says whether
 * nobody listens (`ERR_CONNECT_REFUSED`), the cluster is another one (`ERR_CONNECT_CLUSTER`) or
 * nobody answers (`ERR_CONNECT_TIMEOUT`); with an `AddressError` for addresses that make no sense.
 */
export async function connectLedger(options: ConnectLedgerOptions): Promise<LedgerClient> {
  const connection = new LedgerConnection({
    addresses: parseTargets(options.addresses),
    cluster: options.cluster ?? 0n,
    connectTimeoutMs: options.connectTimeoutMs ?? 5000,
    requestTimeoutMs: options.requestTimeoutMs ?? null,
    clientId: randomFillSync(new Uint8Array(16)),
    nowMs: () => performance.now(),
  });
  await connection.open();
  return new LedgerClient(connection);
}

export class LedgerClient {
  /** The bytes below: for load generators, which build bodies themselves. */
  readonly connection: LedgerConnection;

  constructor(connection: LedgerConnection) {
    this.connection = connection;
  }

  /** One result per account, in order. */
  createAccounts(accounts: readonly AccountInput[]): Promise<CreateAccountResult[]> {
    const codec = checking(accountFields, accountCodec);
    return this.#call(Operation.createAccounts, accounts, codec, createAccountResultCodec);
  }

  /** One result per transfer, in order. */
  createTransfers(transfers: readonly TransferInput[]): Promise<CreateTransferResult[]> {
    const codec = checking(transferFields, transferCodec);
    return this.#call(Operation.createTransfers, transfers, codec, createTransferResultCodec);
  }

  /** The accounts that exist, in the order of the ids. */
  lookupAccounts(ids: readonly bigint[]): Promise<Account[]> {
    return this.#call(Operation.lookupAccounts, ids, checkingIds, accountCodec);
  }

  /** The transfers that exist, in the order of the ids. */
  lookupTransfers(ids: readonly bigint[]): Promise<Transfer[]> {
    return this.#call(Operation.lookupTransfers, ids, checkingIds, transferCodec);
  }

  getAccountTransfers(filter: AccountFilterInput): Promise<Transfer[]> {
    const codec = checking(accountFilterFields, accountFilterCodec);
    return this.#call(Operation.getAccountTransfers, [filter], codec, transferCodec);
  }

  /** Only accounts with the history flag have any. */
  getAccountBalances(filter: AccountFilterInput): Promise<AccountBalance[]> {
    const codec = checking(accountFilterFields, accountFilterCodec);
    return this.#call(Operation.getAccountBalances, [filter], codec, accountBalanceCodec);
  }

  queryAccounts(filter: QueryFilterInput): Promise<Account[]> {
    const codec = checking(queryFilterFields, queryFilterCodec);
    return this.#call(Operation.queryAccounts, [filter], codec, accountCodec);
  }

  queryTransfers(filter: QueryFilterInput): Promise<Transfer[]> {
    const codec = checking(queryFilterFields, queryFilterCodec);
    return this.#call(Operation.queryTransfers, [filter], codec, transferCodec);
  }

  /** What happened, transfer by transfer and expiry by expiry, in order. */
  getChangeEvents(filter: ChangeEventsFilterInput): Promise<ChangeEvent[]> {
    const codec = checking(changeEventsFilterFields, changeEventsFilterCodec);
    return this.#call(Operation.getChangeEvents, [filter], codec, changeEventCodec);
  }

  /** Most events that one call may carry: 8189, fewer when the cluster's request limit is low. */
  eventsMax(operation: Operation): number {
    const shape = operationShape(operation);
    assert(shape !== undefined, 'eventsMax: unknown operation');
    return shape.batchable ? eventsMax(shape, this.connection.bodySizeMax) : 1;
  }

  /** Closes the sockets; calls under way reject with `ERR_CLIENT_CLOSED`. */
  close(): void {
    this.connection.close();
  }

  async #call<E, R>(
    operation: Operation,
    events: readonly E[],
    encode: (events: readonly E[]) => Uint8Array,
    results: RecordCodec<R>,
  ): Promise<R[]> {
    const shape = operationShape(operation);
    assert(shape !== undefined, 'LedgerClient: unknown operation');
    const max = this.eventsMax(operation);
    if (events.length > max) {
      const text = `a batch of ${events.length} events, at most ${max} fit into one request`;
      throw new LedgerClientError(ClientErrorCode.tooMuchData, text);
    }
    const payload = encode(events);
    const body = shape.multiBatch ? encodeMultiBatch([payload], shape.eventSize) : payload;
    const reply = await this.connection.submit(operation, body);
    return decodeReply(reply.body, shape.multiBatch, results);
  }
}

function decodeReply<R>(body: Uint8Array, multiBatch: boolean, codec: RecordCodec<R>): R[] {
  if (multiBatch ? checkMultiBatch(body, codec.size) !== 1 : body.length % codec.size !== 0) {
    throw new LedgerClientError(ClientErrorCode.protocol, 'the reply is malformed');
  }
  const size = multiBatch ? payloadSize(body, codec.size) : body.length;
  return decodeRecords(codec, body.subarray(0, size));
}

/** An encoder of events that checks each field first; `T` is what the codec wants. */
function checking<T>(
  struct: StructFields,
  codec: RecordCodec<T>,
): (events: readonly unknown[]) => Uint8Array {
  return (events) => {
    // A checked struct has exactly the fields of `T`, by the tables of `fields.ts`.
    const checked = events.map((event, index) => checkStruct(struct, event, index) as T);
    return encodeRecords(codec, checked);
  };
}

function checkingIds(ids: readonly unknown[]): Uint8Array {
  return encodeRecords(idCodec, ids.map(checkId));
}
