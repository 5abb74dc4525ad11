/**
 * Events of create_accounts: new accounts with all flags, accounts that exist already with one
 * field changed or none, and any number of faults on top.
 */
import { assert } from '../../stdx/index.ts';
import { type Account, AccountFlag, U128_MAX } from '../ledger-model/index.ts';
import { planLinks } from './chains.ts';
import { ImportTimes } from './imports.ts';
import type { Picker } from './picker.ts';

/** Above this number most events are about accounts that exist: few accounts meet more often. */
const ACCOUNTS_MANY = 500;

/** Events of one batch whose last event will have the timestamp `batchMax`. */
export function accountEvents(picker: Picker, count: number, batchMax: bigint): Account[] {
  const { prng, state } = picker;
  const importing = picker.percent(15);
  const after = state.accountTimestampMax();
  const times = new ImportTimes({ prng, state, batchMax, after, count });
  const events: Account[] = [];
  for (const plan of planLinks(prng, count)) {
    const event = baseEvent(picker, events, plan.careful);
    event.flags = withFlag(event.flags, AccountFlag.linked, plan.linked);
    event.flags = withFlag(event.flags, AccountFlag.imported, importing);
    if (importing) event.timestamp = times.next();
    if (!plan.careful) {
      if (importing && picker.percent(25)) {
        const transfer = picker.transferWith(() => true);
        event.timestamp = times.edge(transfer?.timestamp ?? 0n, event.timestamp);
      }
      for (let faults = faultCount(picker); faults > 0; faults--) addFault(picker, event);
    }
    events.push(event);
  }
  return events;
}

/** Mostly none, sometimes one; several show which of two rules comes first. */
export function faultCount(picker: Picker): number {
  const choice = picker.prng.below(100);
  if (choice < 62) return 0;
  if (choice < 90) return 1;
  return choice < 97 ? 2 : 4;
}

export function withFlag(flags: number, flag: number, on: boolean): number {
  return on ? flags | flag : flags & ~flag;
}

function baseEvent(picker: Picker, earlier: readonly Account[], careful: boolean): Account {
  const againPercent = picker.state.accounts.length > ACCOUNTS_MANY ? 75 : 35;
  if (!careful && picker.percent(againPercent)) {
    const again = picker.percent(25) && earlier.length > 0 ? picker.prng.pick(earlier) : null;
    const stored = again ?? picker.account();
    if (stored !== null) {
      const event = eventOf(stored);
      if (picker.percent(30)) differ(picker, event);
      return event;
    }
  }
  return freshAccount(picker);
}

/** The event that would create an account like this one. */
function eventOf(account: Account): Account {
  return {
    ...account,
    debitsPending: 0n,
    debitsPosted: 0n,
    creditsPending: 0n,
    creditsPosted: 0n,
    timestamp: 0n,
  };
}

/**
 * Changes some of the fields that are compared, from a random one on, in the order of comparison.
 */
function differ(picker: Picker, event: Account): void {
  const { prng } = picker;
  const changes: readonly (() => void)[] = [
    () => (event.flags ^= 1 << prng.between(1, 5)),
    () => (event.userData128 = picker.userData(128)),
    () => (event.userData64 = picker.userData(64)),
    () => (event.userData32 = Number(picker.userData(32))),
    () => (event.ledger = (event.ledger + 1) % 2 ** 32),
    () => (event.code = (event.code % 0xffff) + 1),
  ];
  for (const change of changes.slice(prng.below(changes.length))) {
    if (picker.percent(60)) change();
  }
}

function freshAccount(picker: Picker): Account {
  let flags = 0;
  if (picker.percent(35)) flags |= AccountFlag.history;
  if (picker.percent(30)) {
    flags |= picker.percent(50)
      ? AccountFlag.debitsMustNotExceedCredits
      : AccountFlag.creditsMustNotExceedDebits;
  }
  if (picker.percent(4)) flags |= AccountFlag.closed;
  return {
    id: picker.freshId(),
    debitsPending: 0n,
    debitsPosted: 0n,
    creditsPending: 0n,
    creditsPosted: 0n,
    userData128: picker.userData(128),
    userData64: picker.userData(64),
    userData32: Number(picker.userData(32)),
    reserved: 0,
    ledger: picker.ledger(),
    code: picker.code(),
    flags,
    timestamp: 0n,
  };
}

function addFault(picker: Picker, event: Account): void {
  const { prng } = picker;
  const limits = AccountFlag.debitsMustNotExceedCredits | AccountFlag.creditsMustNotExceedDebits;
  const faults: readonly (() => void)[] = [
    () => (event.reserved = prng.pick([1, 0x8000_0000])),
    () => (event.flags |= 1 << prng.between(6, 15)),
    () => (event.id = 0n),
    () => (event.id = U128_MAX),
    () => (event.id = picker.account()?.id ?? event.id),
    () => (event.flags |= limits),
    () => (event.flags ^= 1 << prng.between(1, 5)),
    () => (event.flags ^= AccountFlag.imported),
    () => (event.debitsPending = picker.amount() + 1n),
    () => (event.debitsPosted = 1n << 127n),
    () => (event.creditsPending = 1n << 64n),
    () => (event.creditsPosted = 1n << 32n),
    () => (event.ledger = 0),
    () => (event.ledger = picker.ledger()),
    () => (event.code = 0),
    () => (event.code = picker.code()),
    () => (event.userData128 ^= 1n << BigInt(prng.below(128))),
    () => (event.userData64 ^= 1n << BigInt(prng.below(64))),
    () => (event.userData32 = (event.userData32 ^ (1 << prng.below(32))) >>> 0),
    () => (event.timestamp = prng.pick([0n, 1n, 1n << 32n, 1n << 63n, (1n << 64n) - 1n])),
  ];
  prng.pick(faults)();
  if (event.debitsPending > U128_MAX) event.debitsPending = U128_MAX;
  assert(event.flags <= 0xffff, 'addFault: flags beyond 16 bits');
}
