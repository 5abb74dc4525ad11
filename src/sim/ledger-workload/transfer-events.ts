/**
 * Events of create_transfers: a meaningful base, linked and imported as planned, and any number of
 * faults on top.
 */
import { assert, unreachable } from '../../stdx/index.ts';
import {
  NANOSECONDS_PER_SECOND,
  type Transfer,
  TransferFlag,
  U128_MAX,
} from '../ledger-model/index.ts';
import { faultCount, withFlag } from './account-events.ts';
import { planLinks } from './chains.ts';
import { ImportTimes } from './imports.ts';
import type { Picker } from './picker.ts';
import { type Base, bases, between, carefulBases, type Surroundings } from './transfer-bases.ts';
import { overflowing } from './transfer-overflows.ts';

const { linked, imported } = TransferFlag;

/** Events of one batch whose last event will have the timestamp `batchMax`. */
export function transferEvents(picker: Picker, count: number, batchMax: bigint): Transfer[] {
  const { prng, state } = picker;
  const after = state.transferTimestampMax();
  // Right after accounts is the time for transfers that are older than their accounts.
  const importing = picker.percent(state.accountTimestampMax() > after ? 35 : 12);
  const times = new ImportTimes({ prng, state, batchMax, after, count });
  const events: Transfer[] = [];
  for (const plan of planLinks(prng, count)) {
    const flagsPlanned = (plan.linked ? linked : 0) | (importing ? imported : 0);
    const { careful } = plan;
    const event = baseEvent({ picker, earlier: events, now: batchMax, careful, flagsPlanned });
    event.flags = withFlag(event.flags, linked, plan.linked);
    event.flags = withFlag(event.flags, imported, importing);
    if (importing) {
      event.timestamp = times.next();
      if (picker.percent(90) || plan.careful) event.timeout = 0;
    }
    if (!plan.careful) {
      if (importing && picker.percent(30)) event.timestamp = edgeTime(picker, times, event);
      for (let faults = faultCount(picker); faults > 0; faults--) addFault(picker, event);
    }
    // Bases and faults add and subtract one without looking.
    if (event.amount > U128_MAX) event.amount = U128_MAX;
    if (event.amount < 0n) event.amount = 0n;
    picker.noteTransferId(event.id);
    events.push(event);
  }
  return events;
}

/** So many pending transfers that end within one second that a single pulse is not enough. */
export function expiringTogether(picker: Picker, count: number, batchMax: bigint): Transfer[] {
  const minute = 60n * NANOSECONDS_PER_SECOND;
  const timeout = Number((minute - (batchMax % minute)) / NANOSECONDS_PER_SECOND) + 1;
  const events: Transfer[] = [];
  for (let i = 0; i < count; i++) {
    const pair = picker.patientPair();
    if (pair === null) events.push(anything(picker));
    else events.push({ ...between(picker, pair, TransferFlag.pending), amount: 1n, timeout });
  }
  return events;
}

function edgeTime(picker: Picker, times: ImportTimes, event: Transfer): bigint {
  const debit = picker.state.accountById.get(event.debitAccountId);
  const credit = picker.state.accountById.get(event.creditAccountId);
  return times.edge(debit?.timestamp ?? 0n, credit?.timestamp ?? 0n);
}

function baseEvent(surroundings: Surroundings): Transfer {
  const { picker, careful } = surroundings;
  if (!careful && picker.percent(6)) {
    const event = overflowing(surroundings);
    if (event !== null) return event;
  }
  return weighted(picker, careful ? carefulBases : bases)(surroundings) ?? anything(picker);
}

function weighted(picker: Picker, choices: readonly (readonly [number, Base])[]): Base {
  let choice = picker.prng.below(choices.reduce((sum, [weight]) => sum + weight, 0));
  for (const [weight, base] of choices) {
    if (choice < weight) return base;
    choice -= weight;
  }
  return unreachable();
}

/** For a state that has nothing to build from: ids that may or may not be there. */
function anything(picker: Picker): Transfer {
  const debit = picker.account();
  const transfer = between(
    picker,
    { debit: debit ?? someAccount, credit: debit ?? someAccount },
    0,
  );
  transfer.creditAccountId = picker.account()?.id ?? 2n;
  return transfer;
}

const someAccount = {
  id: 1n,
  debitsPending: 0n,
  debitsPosted: 0n,
  creditsPending: 0n,
  creditsPosted: 0n,
  userData128: 0n,
  userData64: 0n,
  userData32: 0,
  reserved: 0,
  ledger: 1,
  code: 1,
  flags: 0,
  timestamp: 0n,
} as const;

function addFault(picker: Picker, event: Transfer): void {
  const { prng } = picker;
  const faults = prng.chance(1, 2) ? fieldFaults(picker, event) : referenceFaults(picker, event);
  prng.pick(faults)();
  assert(event.flags <= 0xffff, 'addFault: flags beyond 16 bits');
}

/** Values that are wrong, or just different, by themselves. */
function fieldFaults(picker: Picker, event: Transfer): readonly (() => void)[] {
  const { prng } = picker;
  return [
    () => (event.flags |= 1 << prng.between(9, 15)),
    () => (event.flags ^= 1 << prng.between(1, 8)),
    () => (event.flags ^= 1 << prng.between(2, 3)),
    () => (event.flags ^= TransferFlag.imported),
    () => (event.id = 0n),
    () => (event.id = U128_MAX),
    () => (event.timestamp = prng.pick([0n, 1n, 1n << 32n, 1n << 63n, (1n << 64n) - 1n])),
    () => (event.timeout = event.timeout === 0 ? 1 : 0),
    () => (event.ledger = 0),
    () => (event.ledger = picker.ledger()),
    () => (event.ledger = prng.pick([4, 0x1_0001])),
    () => (event.code = 0),
    () => (event.code = prng.pick([picker.code(), 5])),
    () => (event.amount = picker.amount()),
    () => (event.amount += 1n),
    () => (event.amount -= 1n),
    () => (event.amount = prng.pick([0n, U128_MAX])),
    () => (event.userData128 ^= 1n << BigInt(prng.below(128))),
    () => (event.userData64 ^= 1n << BigInt(prng.below(64))),
    () => (event.userData32 = (event.userData32 ^ (1 << prng.below(32))) >>> 0),
  ];
}

/** References to things that are missing, the wrong ones, or impossible. */
function referenceFaults(picker: Picker, event: Transfer): readonly (() => void)[] {
  const { prng } = picker;
  return [
    () => (event.debitAccountId = 0n),
    () => (event.debitAccountId = U128_MAX),
    () => (event.creditAccountId = 0n),
    () => (event.creditAccountId = U128_MAX),
    () => (event.debitAccountId = event.creditAccountId),
    () => (event.creditAccountId = event.debitAccountId),
    () => (event.debitAccountId = picker.unknownAccountId()),
    () => (event.creditAccountId = picker.unknownAccountId()),
    () => (event.debitAccountId = picker.account()?.id ?? 0n),
    () => (event.creditAccountId = picker.account()?.id ?? 0n),
    () => (event.debitAccountId ^= 1n << BigInt(prng.below(128))),
    () => (event.pendingId = 0n),
    () => (event.pendingId = U128_MAX),
    () => (event.pendingId = event.id),
    () => (event.pendingId = picker.freshId()),
    () => (event.pendingId = picker.recentTransferId()),
    () => (event.pendingId = picker.transferWith(() => true)?.id ?? 0n),
    () => (event.id = picker.recentTransferId()),
    () => (event.id = picker.burnedId() ?? event.id),
    () => (event.id = picker.transferWith(() => true)?.id ?? event.id),
  ];
}
