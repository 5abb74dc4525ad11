/**
 * Whether a request body is well formed for its operation: the last check before a request enters
 * the log. It reads bytes from outside, so it believes nothing, and it is pure, so every replica
 * agrees. What it lets through, the machine must be able to execute and to answer in one message.
 */
import { REPLY_BODY_SIZE_MAX, type Validity } from '../../engine/index.ts';
import { assert, readU32 } from '../../stdx/index.ts';
import {
  ACCOUNT_BALANCE_SIZE,
  ACCOUNT_FILTER_SIZE,
  ACCOUNT_SIZE,
  CHANGE_EVENT_SIZE,
  CHANGE_EVENTS_FILTER_SIZE,
  CREATE_RESULT_SIZE,
  ID_SIZE,
  Operation,
  QUERY_FILTER_SIZE,
  QUERY_RESULTS_MAX,
  TRANSFER_SIZE,
} from './constants.ts';
import { batchElements, checkMultiBatch, trailerSize } from './multi-batch.ts';

/** How the bodies of one operation look. */
export interface OperationShape {
  /** Bytes of one event of the request and of one result of the reply. */
  readonly eventSize: number;
  readonly resultSize: number;
  /** Whether a batch may hold any number of events; otherwise it holds exactly one filter. */
  readonly batchable: boolean;
  /** Whether bodies carry a multi-batch trailer. */
  readonly multiBatch: boolean;
  /** Offset of a filter's `limit`, bytes; unused for batchable operations. */
  readonly limitOffset: number;
}

function batchable(eventSize: number, resultSize: number): OperationShape {
  return { eventSize, resultSize, batchable: true, multiBatch: true, limitOffset: 0 };
}

function query(eventSize: number, resultSize: number, limitOffset: number): OperationShape {
  return { eventSize, resultSize, batchable: false, multiBatch: true, limitOffset };
}

const shapes = new Map<number, OperationShape>([
  [
    Operation.getChangeEvents,
    {
      eventSize: CHANGE_EVENTS_FILTER_SIZE,
      resultSize: CHANGE_EVENT_SIZE,
      batchable: false,
      multiBatch: false,
      limitOffset: 16,
    },
  ],
  [Operation.lookupAccounts, batchable(ID_SIZE, ACCOUNT_SIZE)],
  [Operation.lookupTransfers, batchable(ID_SIZE, TRANSFER_SIZE)],
  [Operation.getAccountTransfers, query(ACCOUNT_FILTER_SIZE, TRANSFER_SIZE, 120)],
  [Operation.getAccountBalances, query(ACCOUNT_FILTER_SIZE, ACCOUNT_BALANCE_SIZE, 120)],
  [Operation.queryAccounts, query(QUERY_FILTER_SIZE, ACCOUNT_SIZE, 56)],
  [Operation.queryTransfers, query(QUERY_FILTER_SIZE, TRANSFER_SIZE, 56)],
  [Operation.createAccounts, batchable(ACCOUNT_SIZE, CREATE_RESULT_SIZE)],
  [Operation.createTransfers, batchable(TRANSFER_SIZE, CREATE_RESULT_SIZE)],
]);

/** The shape of an operation, or `undefined` when the ledger does not know it. */
export function operationShape(operation: number): OperationShape | undefined {
  return shapes.get(operation);
}

/**
 * Most events in one batch of a batchable operation, when bodies are limited to `bodySizeMax`
 * bytes: the request and the worst-case reply must both fit beside their trailers. 8189 at the
 * full limit.
 */
export function eventsMax(shape: OperationShape, bodySizeMax: number): number {
  assert(shape.batchable, 'eventsMax: not batchable');
  const request = bodySizeMax - trailerSize(1, shape.eventSize);
  const reply = REPLY_BODY_SIZE_MAX - trailerSize(1, shape.resultSize);
  const events = Math.floor(request / shape.eventSize);
  return Math.max(0, Math.min(events, Math.floor(reply / shape.resultSize)));
}

/** See {@link Machine.validate}. */
export function validate(operation: number, body: Uint8Array, bodySizeMax: number): Validity {
  const shape = shapes.get(operation);
  if (shape === undefined) return 'invalid-operation';
  if (body.length > bodySizeMax) return 'invalid-body';
  if (!shape.multiBatch) return body.length === shape.eventSize ? 'valid' : 'invalid-body';
  const batches = checkMultiBatch(body, shape.eventSize);
  if (batches === 0) return 'invalid-body';
  const results = shape.batchable
    ? batchableResults(shape, body, batches, eventsMax(shape, bodySizeMax))
    : queryResults(shape, body, batches);
  if (results < 0) return 'invalid-body';
  const reply = results * shape.resultSize + trailerSize(batches, shape.resultSize);
  return reply <= REPLY_BODY_SIZE_MAX ? 'valid' : 'invalid-body';
}

/** Results to be expected at most, or −1 when a batch is too large. */
function batchableResults(
  shape: OperationShape,
  body: Uint8Array,
  batches: number,
  max: number,
): number {
  assert(shape.batchable);
  let results = 0;
  for (let i = 0; i < batches; i++) {
    const events = batchElements(body, i);
    if (events > max) return -1;
    results += events;
  }
  return results;
}

/** Results to be expected at most, or −1 when a batch is not exactly one filter. */
function queryResults(shape: OperationShape, body: Uint8Array, batches: number): number {
  assert(!shape.batchable);
  let results = 0;
  for (let i = 0; i < batches; i++) {
    if (batchElements(body, i) !== 1) return -1;
    const limit = readU32(body, i * shape.eventSize + shape.limitOffset);
    results += Math.min(limit, QUERY_RESULTS_MAX);
  }
  return results;
}
