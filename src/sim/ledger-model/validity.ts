/**
 * What a request must be before it may enter the log, and how many timestamps it will use up. Both
 * depend on the operation and the body alone, never on the state.
 */
import { assert, readU32 } from '../../stdx/index.ts';
import {
  Operation,
  type OperationShape,
  operationShapes,
  PULSE_EXPIRIES_MAX,
  QUERY_RESULTS_MAX,
  REPLY_SIZE_MAX,
} from './codes.ts';
import { decodeBatches, trailerSize } from './multi-batch.ts';

/** The engine's own operation for what time has made due. Its body is empty. */
export const PULSE = 4;

export function validate(
  operation: number,
  body: Uint8Array,
  bodySizeMax: number,
): 'valid' | 'invalid-operation' | 'invalid-body' {
  const shape = operationShapes.get(operation);
  if (shape === undefined) return 'invalid-operation';
  return bodyIsValid(operation, shape, body, bodySizeMax) ? 'valid' : 'invalid-body';
}

function bodyIsValid(
  operation: number,
  shape: OperationShape,
  body: Uint8Array,
  bodySizeMax: number,
): boolean {
  if (body.length > bodySizeMax) return false;
  if (!shape.multiBatch) return body.length === shape.eventSize;
  const batches = decodeBatches(body, shape.eventSize);
  if (batches === null) return false;

  let results = 0;
  for (const batch of batches) {
    const events = batch.length / shape.eventSize;
    if (shape.batchable) {
      if (events > eventsMax(shape, bodySizeMax)) return false;
      results += events;
    } else {
      if (events !== 1) return false;
      results += Math.min(limitOf(operation, batch), QUERY_RESULTS_MAX);
    }
  }
  // The largest reply that could come of this must fit.
  return (
    results * shape.resultSize + trailerSize(batches.length, shape.resultSize) <= REPLY_SIZE_MAX
  );
}

/** Most events in one batch: as many as request and reply have room for, each with a trailer. */
function eventsMax(shape: OperationShape, bodySizeMax: number): number {
  const requestRoom = bodySizeMax - trailerSize(1, shape.eventSize);
  const replyRoom = REPLY_SIZE_MAX - trailerSize(1, shape.resultSize);
  return Math.min(
    Math.floor(requestRoom / shape.eventSize),
    Math.floor(replyRoom / shape.resultSize),
  );
}

/** The limit field of a filter; it counts even when the filter is invalid otherwise. */
function limitOf(operation: number, filter: Uint8Array): number {
  const isAccountFilter =
    operation === Operation.getAccountTransfers || operation === Operation.getAccountBalances;
  return readU32(filter, isAccountFilter ? 120 : 56);
}

/** Nanoseconds of timestamps that a valid operation uses up: one per event that it may create. */
export function reserve(operation: number, body: Uint8Array): number {
  if (operation === PULSE) return PULSE_EXPIRIES_MAX;
  const shape = operationShapes.get(operation);
  assert(shape !== undefined, 'reserve: unknown operation');
  if (operation !== Operation.createAccounts && operation !== Operation.createTransfers) return 0;
  const batches = decodeBatches(body, shape.eventSize);
  assert(batches !== null, 'reserve: malformed body');
  return batches.reduce((sum, batch) => sum + batch.length / shape.eventSize, 0);
}
