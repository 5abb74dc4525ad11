/**
 * What a difference looks like to a person: the request in words, the first place where the two
 * replies part, and the command that shows it again.
 */
import { toHex } from '../../stdx/index.ts';
import {
  decodeAccount,
  decodeAccountFilter,
  decodeBatches,
  decodeChangeEventsFilter,
  decodeQueryFilter,
  decodeResult,
  decodeTransfer,
  Operation,
  operationShapes,
  Reader,
} from '../ledger-model/index.ts';
import { statusName } from './histogram.ts';
import type { Request } from './requests.ts';

/** One way in which the machine was not like the model. */
export interface Difference {
  readonly seed: number;
  /** Create events before the operation; the comparison stops soon enough with this plus some. */
  readonly eventIndex: number;
  /** Position of the operation in the log. */
  readonly op: number;
  /** What was compared: validity, reserve, due, reply, query, root, checkpoint, exception. */
  readonly what: string;
  readonly request: Request | null;
  readonly timestamp: bigint;
  /** The model's side. */
  readonly expected: string;
  /** The machine's side. */
  readonly actual: string;
}

export function formatDifference(difference: Difference, command: string): string {
  const { seed, eventIndex, op, what, request, timestamp, expected, actual } = difference;
  const lines = [`difference in ${what}`, `  seed ${seed}, event ${eventIndex}, op ${op}`];
  lines.push(`  timestamp ${timestamp}`);
  if (request !== null) lines.push(`  request ${describeRequest(request)}`);
  lines.push(`  expected ${expected}`, `  actual   ${actual}`, `  again: ${command}`);
  return lines.join('\n');
}

/** Name of the operation and, when it is short, what is in it. */
export function describeRequest({ operation, body }: Request): string {
  const shape = operationShapes.get(operation);
  const name = shape === undefined ? `operation ${operation}` : shape.name;
  const batches = shape?.multiBatch === true ? decodeBatches(body, shape.eventSize) : null;
  if (shape === undefined || batches === null) {
    const events = operation === Operation.getChangeEvents && body.length === 64;
    const detail = events ? show(decodeChangeEventsFilter(body)) : toHex(body.subarray(0, 256));
    return `${name}, ${body.length} bytes: ${detail}`;
  }
  const counts = batches.map((batch) => batch.length / shape.eventSize);
  const first = batches.find((batch) => batch.length > 0);
  const isSingle = counts.reduce((sum, count) => sum + count, 0) === 1;
  const detail = isSingle && first !== undefined ? `: ${describeEvent(operation, first, 0)}` : '';
  return `${name}, events per batch ${counts.slice(0, 20).join(' ')}${detail}`;
}

/** One event of a batch in words. */
export function describeEvent(operation: number, batch: Uint8Array, index: number): string {
  switch (operation) {
    case Operation.createAccounts:
      return show(decodeAccount(batch, 128 * index));
    case Operation.createTransfers:
      return show(decodeTransfer(batch, 128 * index));
    case Operation.lookupAccounts:
    case Operation.lookupTransfers:
      return `${new Reader(batch, 16 * index).u128()}`;
    case Operation.getAccountTransfers:
    case Operation.getAccountBalances:
      return show(decodeAccountFilter(batch));
    default:
      return show(decodeQueryFilter(batch));
  }
}

/** Fields that are not zero, in their order. */
function show(object: object): string {
  const fields = Object.entries(object).filter(([, value]) => value !== 0n && value !== 0);
  return `{ ${fields.map(([name, value]) => `${name}: ${value}`).join(', ')} }`;
}

/** The first place where two replies part, told from both sides. */
export function describeReplies(
  request: Request,
  expected: Uint8Array,
  actual: Uint8Array,
): { expected: string; actual: string } {
  const { operation } = request;
  const isCreate =
    operation === Operation.createAccounts || operation === Operation.createTransfers;
  if (isCreate && expected.length === actual.length) {
    return describeResults(request, expected, actual);
  }
  let at = 0;
  while (at < expected.length && expected[at] === actual[at]) at += 1;
  const size = operationShapes.get(operation)?.resultSize ?? 128;
  const start = at - (at % size);
  const tell = (reply: Uint8Array): string =>
    `${reply.length} bytes, record ${start / size} at byte ${at}: ` +
    toHex(reply.subarray(start, start + size));
  return { expected: tell(expected), actual: tell(actual) };
}

function describeResults(
  { operation, body }: Request,
  expected: Uint8Array,
  actual: Uint8Array,
): { expected: string; actual: string } {
  const events = decodeBatches(body, 128) ?? [];
  let at = 0;
  for (let batch = 0; batch < events.length; batch++) {
    const bytes = events[batch] as Uint8Array;
    for (let index = 0; index < bytes.length / 128; index++, at += 16) {
      const left = toHex(expected.subarray(at, at + 16));
      const right = toHex(actual.subarray(at, at + 16));
      if (left === right) continue;
      const event = describeEvent(operation, bytes, index);
      return {
        expected: `${describeResult(operation, expected, at)} for event ${index} of batch ${batch}: ${event}`,
        actual: `${describeResult(operation, actual, at)}`,
      };
    }
  }
  return {
    expected: `trailer ${toHex(expected.subarray(at))}`,
    actual: toHex(actual.subarray(at)),
  };
}

function describeResult(operation: number, reply: Uint8Array, at: number): string {
  const { status, timestamp } = decodeResult(reply, at);
  const reserved = toHex(reply.subarray(at + 12, at + 16));
  const dirt = reserved === '00000000' ? '' : `, reserved ${reserved}`;
  return `${statusName(operation, status)} at ${timestamp}${dirt}`;
}
