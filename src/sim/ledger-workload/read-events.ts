/**
 * Events of the operations that only read: ids to look up, and filters of all three kinds, whose
 * conditions come from objects that exist, so that they select something, but not everything.
 */
import type { Prng } from '../../stdx/index.ts';
import {
  type Account,
  encodeAccountFilter,
  encodeChangeEventsFilter,
  encodeId,
  encodeQueryFilter,
  TIMESTAMP_MAX,
  type Transfer,
  U128_MAX,
} from '../ledger-model/index.ts';
import type { Picker } from './picker.ts';

export function accountIds(picker: Picker, count: number): Uint8Array[] {
  return idsOf(count, () => {
    const choice = picker.prng.below(10);
    if (choice === 0) return picker.unknownAccountId();
    return choice === 1 ? picker.prng.pick([0n, U128_MAX, 1n]) : (picker.account()?.id ?? 7n);
  });
}

export function transferIds(picker: Picker, count: number): Uint8Array[] {
  return idsOf(count, () => {
    const choice = picker.prng.below(10);
    if (choice < 4) return picker.recentTransferId();
    if (choice === 4) return picker.prng.pick([0n, U128_MAX, 1n]);
    return picker.transferWith(() => true)?.id ?? 7n;
  });
}

function idsOf(count: number, id: () => bigint): Uint8Array[] {
  const ids: Uint8Array[] = [];
  for (let i = 0; i < count; i++) ids.push(encodeId(id()));
  return ids;
}

/** Most results that the filters of one request may ask for together, and how many share it. */
export interface LimitPlan {
  readonly limitMax: number;
}

export function accountFilter(picker: Picker, plan: LimitPlan): Uint8Array {
  const { prng } = picker;
  const object = picker.transferWith(() => true);
  const sides = object === null ? [] : [object.debitAccountId, object.creditAccountId];
  const accountId = picker.percent(70)
    ? prng.pick([...sides, picker.account()?.id ?? 1n])
    : prng.pick([picker.unknownAccountId(), picker.account()?.id ?? 0n, 0n, U128_MAX]);
  const flags = picker.percent(92)
    ? prng.pick([1, 2, 3, 3, 5, 6, 7, 7])
    : prng.pick([0, 4, 8, 15, 0x8000_0003]);
  const bytes = encodeAccountFilter({
    accountId,
    ...conditions(picker, object),
    ...range(picker, object),
    limit: limit(prng, plan),
    flags,
  });
  if (picker.percent(3)) bytes[prng.between(46, 103)] = 1;
  return bytes;
}

export function queryFilter(picker: Picker, plan: LimitPlan, ofAccounts: boolean): Uint8Array {
  const { prng } = picker;
  const object = ofAccounts ? picker.account() : picker.transferWith(() => true);
  const flags = picker.percent(95) ? prng.below(2) : prng.pick([2, 3, 0x8000_0000]);
  const bytes = encodeQueryFilter({
    ...conditions(picker, object),
    ledger: picker.percent(50) ? 0 : (object?.ledger ?? picker.ledger()),
    ...range(picker, object),
    limit: limit(prng, plan),
    flags,
  });
  if (picker.percent(3)) bytes[prng.between(34, 39)] = 1;
  return bytes;
}

export function changeEventsFilter(picker: Picker): Uint8Array {
  const { prng } = picker;
  const expiry = picker.percent(30) ? picker.state.events.at(-1 - prng.below(50)) : undefined;
  const object = expiry ?? picker.transferWith(() => true);
  const bytes = encodeChangeEventsFilter({
    ...range(picker, object),
    limit: prng.pick([0, 1, 2, 10, 10, 100, 100, 2729, 2730, 2731, 0xffff_ffff]),
  });
  if (picker.percent(4)) bytes[prng.between(20, 63)] = 1;
  return bytes;
}

function conditions(picker: Picker, object: Account | Transfer | null) {
  const some = (): boolean => object !== null && picker.percent(18);
  return {
    userData128: some() ? (object?.userData128 ?? 0n) : rarely(picker, picker.userData(128), 0n),
    userData64: some() ? (object?.userData64 ?? 0n) : rarely(picker, picker.userData(64), 0n),
    userData32: some() ? (object?.userData32 ?? 0) : rarely(picker, picker.prng.below(9), 0),
    code: some() ? (object?.code ?? 0) : rarely(picker, picker.code(), 0),
    reservedIsZero: true,
  };
}

function rarely<T>(picker: Picker, value: T, otherwise: T): T {
  return picker.percent(4) ? value : otherwise;
}

/** Often open, otherwise from and to the very time of an object or just beside. */
function range(picker: Picker, object: { readonly timestamp: bigint } | null) {
  const { prng } = picker;
  const other = picker.percent(50) ? picker.transferWith(() => true) : picker.account();
  const from = object?.timestamp ?? 1n;
  const to = other?.timestamp ?? from;
  const ordered = from <= to || picker.percent(10);
  const beside = (time: bigint): bigint => time + BigInt(prng.between(0, 2)) - 1n;
  const bound = (time: bigint): bigint => {
    const choice = prng.below(20);
    if (choice < 8) return 0n;
    if (choice < 17) return beside(time);
    return prng.pick([1n, TIMESTAMP_MAX, TIMESTAMP_MAX + 1n, (1n << 64n) - 1n]);
  };
  // Nothing but the one object.
  if (picker.percent(8)) return { timestampMin: from, timestampMax: from, reservedIsZero: true };
  return {
    timestampMin: bound(ordered ? from : to),
    timestampMax: bound(ordered ? to : from),
    reservedIsZero: true,
  };
}

function limit(prng: Prng, { limitMax }: LimitPlan): number {
  const value = prng.pick([1, 2, 3, 10, 10, 50, 50, 200, 8188, 8189, 8190, 0xffff_ffff]);
  if (prng.chance(1, 40)) return 0;
  // Asking for more than fits makes the whole request invalid: sometimes, not always.
  return value > limitMax && prng.chance(9, 10) ? prng.between(1, limitMax) : value;
}
