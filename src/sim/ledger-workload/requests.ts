/**
 * One request after the other: which operation, how many batches of how many events, and what is
 * in them. All operations occur; creating is most of it.
 */
import { assert, type Prng, writeU32 } from '../../stdx/index.ts';
import {
  concatenate,
  encodeAccount,
  encodeBatches,
  encodeTransfer,
  Operation,
  operationShapes,
  PULSE_EXPIRIES_MAX,
  trailerSize,
} from '../ledger-model/index.ts';
import { accountEvents } from './account-events.ts';
import type { Picker } from './picker.ts';
import {
  accountFilter,
  accountIds,
  changeEventsFilter,
  queryFilter,
  transferIds,
} from './read-events.ts';
import type { Scenario } from './scenario.ts';
import { expiringTogether, transferEvents } from './transfer-events.ts';

export interface Request {
  readonly operation: number;
  readonly body: Uint8Array;
}

/** Operations with how often each is asked for, out of the sum. */
const weights: readonly (readonly [number, number])[] = [
  [Operation.createTransfers, 44],
  [Operation.createAccounts, 14],
  [Operation.lookupAccounts, 8],
  [Operation.lookupTransfers, 8],
  [Operation.getAccountTransfers, 6],
  [Operation.getAccountBalances, 6],
  [Operation.queryAccounts, 5],
  [Operation.queryTransfers, 5],
  [Operation.getChangeEvents, 4],
];
const weightSum = weights.reduce((sum, [, weight]) => sum + weight, 0);

/** `base` is the timestamp that the request's own timestamps start after. */
export function makeRequest(picker: Picker, scenario: Scenario, base: bigint): Request {
  const operation = pickOperation(picker);
  const shape = operationShapes.get(operation);
  assert(shape !== undefined, 'makeRequest: unknown operation');
  if (!shape.multiBatch) return { operation, body: changeEventsFilter(picker) };
  const batchCount = pickBatchCount(picker.prng);
  const batches = shape.batchable
    ? eventBatches(picker, scenario, operation, batchCount, base)
    : filterBatches(picker, scenario, operation, batchCount);
  return { operation, body: encodeBatches(batches, shape.eventSize) };
}

/** Most events of a create request. */
const EVENTS_MAX = 8189;

function pickOperation(picker: Picker): number {
  if (picker.state.accounts.length < 10) return Operation.createAccounts;
  let choice = picker.prng.below(weightSum);
  for (const [operation, weight] of weights) {
    if (choice < weight) return operation;
    choice -= weight;
  }
  return Operation.createTransfers;
}

function pickBatchCount(prng: Prng): number {
  const choice = prng.below(1000);
  if (choice < 750) return 1;
  if (choice < 990) return prng.between(2, 8);
  return choice < 998 ? prng.between(9, 200) : prng.between(201, 4000);
}

function eventBatches(
  picker: Picker,
  scenario: Scenario,
  operation: number,
  batchCount: number,
  base: bigint,
): Uint8Array[] {
  const { eventSize } = operationShapes.get(operation) as { eventSize: number };
  // Sometimes more than the cluster allows, though each batch may be small enough.
  const isLarge = scenario.kind === 'small-bodies' && picker.percent(5);
  const bodySizeMax = scenario.bodySizeMax * (isLarge ? 2 : 1);
  const room = bodySizeMax - trailerSize(batchCount, eventSize);
  let countLeft = Math.min(EVENTS_MAX, Math.floor(room / eventSize));
  let timestamp = base;
  const accounts = picker.state.accounts.length;
  const batches: Uint8Array[] = [];
  for (let i = 0; i < batchCount; i++) {
    const wanted = pickEventCount(picker, scenario, batchCount);
    // Accounts stay few, so that transfers meet.
    const isFew =
      operation === Operation.createAccounts && picker.percent(accounts > 500 ? 99 : 70);
    const count = Math.max(0, Math.min(isFew ? wanted % 31 : wanted, countLeft));
    countLeft -= count;
    timestamp += BigInt(count);
    batches.push(concatenate(eventsOf(picker, operation, count, timestamp)));
  }
  return batches;
}

function pickEventCount(picker: Picker, scenario: Scenario, batchCount: number): number {
  const { prng } = picker;
  if (batchCount > 20) return prng.below(2);
  const choice = prng.below(100);
  if (scenario.kind === 'full-batches' && batchCount === 1) {
    // Two of them within a minute, and a pulse has more to do than it may.
    const expiring = picker.state.expiresAt.size;
    const hurry = expiring > 4000 && expiring <= PULSE_EXPIRIES_MAX + 30;
    if (choice < (hurry ? 80 : 5)) return EVENTS_MAX;
  }
  if (scenario.kind === 'small-bodies' && choice < 10) return prng.between(30, 31);
  if (choice < 4) return 0;
  if (choice < 70) return prng.between(1, 24);
  return choice < 97 ? prng.between(25, 80) : prng.between(81, 400);
}

function eventsOf(
  picker: Picker,
  operation: number,
  count: number,
  batchMax: bigint,
): Uint8Array[] {
  switch (operation) {
    case Operation.createAccounts:
      return accountEvents(picker, count, batchMax).map(encodeAccount);
    case Operation.createTransfers: {
      const isFull = count > 8000 && picker.percent(80);
      const events = isFull ? expiringTogether : transferEvents;
      return events(picker, count, batchMax).map(encodeTransfer);
    }
    case Operation.lookupAccounts:
      return accountIds(picker, count);
    default:
      return transferIds(picker, count);
  }
}

function filterBatches(
  picker: Picker,
  scenario: Scenario,
  operation: number,
  batchCount: number,
): Uint8Array[] {
  const { eventSize } = operationShapes.get(operation) as { eventSize: number };
  const count = Math.min(batchCount, Math.floor(scenario.bodySizeMax / eventSize) - 2, 60);
  const isExact = picker.percent(6);
  let limitLeft = EVENTS_MAX + picker.prng.below(3);
  const plan = { limitMax: Math.max(1, Math.floor(8100 / count)) };
  const batches: Uint8Array[] = [];
  for (let i = 0; i < count; i++) {
    batches.push(
      operation === Operation.getAccountTransfers || operation === Operation.getAccountBalances
        ? accountFilter(picker, plan)
        : queryFilter(picker, plan, operation === Operation.queryAccounts),
    );
    if (isExact) {
      // Together they ask for as much as a reply holds, or just more.
      const limit = i === count - 1 ? limitLeft : Math.floor(EVENTS_MAX / count);
      limitLeft -= limit;
      writeU32(batches[i] as Uint8Array, eventSize === 128 ? 120 : 56, limit);
    }
  }
  return batches;
}
