/**
 * Machines with one bug each, made from the naive model: the comparison must find every one of
 * them. Each is a mistake that a real ledger could make and that replies of simple tests would not
 * show.
 */
import type { ApplyContext, Block, Machine, ReadRequest, Validity } from '../../engine/index.ts';
import type { U64 } from '../../stdx/index.ts';
import { type Checksum, createChecksum } from '../../wire/index.ts';
import {
  type Account,
  decodeBatches,
  decodeResult,
  decodeTransfer,
  LedgerState,
  ModelMachine,
  Operation,
  type Transfer,
  TransferFlag,
  TransferStatus,
} from '../ledger-model/index.ts';

/** Passes everything on to the model; a bug overrides one method. */
class Honest implements Machine {
  readonly inner: ModelMachine;
  constructor(checksum: Checksum, createState?: () => LedgerState) {
    this.inner = new ModelMachine(checksum, createState);
  }
  validate(operation: number, body: Uint8Array, bodySizeMax: number): Validity {
    return this.inner.validate(operation, body, bodySizeMax);
  }
  reserve(operation: number, body: Uint8Array): number {
    return this.inner.reserve(operation, body);
  }
  prefetch(operation: number, body: Uint8Array): readonly ReadRequest[] {
    return this.inner.prefetch(operation, body);
  }
  apply(context: ApplyContext, operation: number, body: Uint8Array, reply: Uint8Array): number {
    return this.inner.apply(context, operation, body, reply);
  }
  query(operation: number, body: Uint8Array, reply: Uint8Array): number {
    return this.inner.query(operation, body, reply);
  }
  due(timestamp: U64): boolean {
    return this.inner.due(timestamp);
  }
  cut(op: number): number {
    return this.inner.cut(op);
  }
  slice(): Block | null {
    return this.inner.slice();
  }
  rootOfCut(): Uint8Array {
    return this.inner.rootOfCut();
  }
  sliceAhead(): Block | null {
    return this.inner.sliceAhead();
  }
  restore(block: Block): void {
    this.inner.restore(block);
  }
  restored(): void {
    this.inner.restored();
  }
  root(): Uint8Array {
    return this.inner.root();
  }
}

/** A machine whose state does one thing wrong. */
function withState(createState: () => LedgerState): () => Machine {
  const checksum = createChecksum();
  return () => new Honest(checksum, createState);
}

/** A machine of which some methods are replaced; `build` gets the honest one. */
function withMethods(build: (honest: Honest) => Partial<Machine>): () => Machine {
  const checksum = createChecksum();
  return () => {
    const honest = new Honest(checksum);
    return Object.assign(Object.create(honest) as Honest, build(honest));
  };
}

/** Lets `change` look at each transfer event and its status after it was applied. */
function withTransferStatus(
  change: (event: Transfer, status: number, model: ModelMachine['model']) => number,
): () => Machine {
  return withMethods((honest) => ({
    apply(context, operation, body, reply) {
      const size = honest.apply(context, operation, body, reply);
      if (operation !== Operation.createTransfers) return size;
      const events = (decodeBatches(body, 128) ?? []).flatMap((batch) =>
        Array.from({ length: batch.length / 128 }, (_, i) => decodeTransfer(batch, 128 * i)),
      );
      const view = new DataView(reply.buffer, reply.byteOffset);
      events.forEach((event, index) => {
        const { status } = decodeResult(reply, 16 * index);
        view.setUint32(16 * index + 8, change(event, status, honest.inner.model), true);
      });
      return size;
    },
  }));
}

/** Changes the body before a read sees it. */
function withQueryBody(change: (operation: number, body: Uint8Array) => void): () => Machine {
  return withMethods((honest) => {
    const changed = (operation: number, body: Uint8Array): Uint8Array => {
      const copy = body.slice();
      change(operation, copy);
      return copy;
    };
    return {
      apply: (context, operation, body, reply) =>
        honest.apply(context, operation, changed(operation, body), reply),
      query: (operation, body, reply) => honest.query(operation, changed(operation, body), reply),
    };
  });
}

class ForgetsBurnedIds extends LedgerState {
  override burn(): void {}
}

class ExpiresOneLate extends LedgerState {
  override expiryMin(): bigint | null {
    const at = super.expiryMin();
    return at === null ? null : at + 1n;
  }
}

class LeavesAccountsClosed extends LedgerState {
  override setClosed(account: Account, closed: boolean): void {
    if (closed) super.setClosed(account, closed);
  }
}

/** Rolls back everything but what a chain did to accounts' flags. */
class KeepsFlagsOnRollback extends LedgerState {
  override rollbackChain(): void {
    const flags = this.accounts.map((account) => ({ account, flags: account.flags }));
    super.rollbackChain();
    for (const { account, flags: kept } of flags) account.flags = kept;
  }
}

class BurnsInTheRolledBackChain extends LedgerState {
  #burned: bigint[] | null = null;
  override beginChain(): void {
    super.beginChain();
    this.#burned = [];
  }
  override keepChain(): void {
    super.keepChain();
    this.#burned = null;
  }
  override rollbackChain(): void {
    super.rollbackChain();
  }
  override burn(id: bigint): void {
    if (this.#burned === null) super.burn(id);
    this.#burned = null;
  }
}

class LetsImportsRegress extends LedgerState {
  override transferRegresses(timestamp: bigint): boolean {
    return timestamp <= this.transferTimestampMax();
  }
}

class DropsCarries extends LedgerState {
  override addToBalances(account: Account, change: Parameters<LedgerState['addToBalances']>[1]) {
    super.addToBalances(account, change);
    account.debitsPosted &= (1n << 96n) - 1n;
  }
}

class RecordsBalancesBefore extends LedgerState {
  override snapshot(accountId: bigint) {
    const snapshot = super.snapshot(accountId);
    return { ...snapshot, flags: snapshot.flags & ~32 };
  }
}

function swap(a: number, b: number): (status: number) => number {
  return (status) => (status === a ? b : status === b ? a : status);
}

/** Name and factory of every planted bug. */
export const plantedBugs: readonly (readonly [string, () => Machine])[] = [
  ['forgets burned ids', withState(() => new ForgetsBurnedIds())],
  ['is due a nanosecond late', withState(() => new ExpiresOneLate())],
  ['leaves accounts closed', withState(() => new LeavesAccountsClosed())],
  ['keeps flags on rollback', withState(() => new KeepsFlagsOnRollback())],
  ['rolls burned ids back', withState(() => new BurnsInTheRolledBackChain())],
  ['imports at the time of an account', withState(() => new LetsImportsRegress())],
  ['drops carries into the fourth limb', withState(() => new DropsCarries())],
  ['tells the past without closed flags', withState(() => new RecordsBalancesBefore())],
  [
    'confuses the two limits',
    withTransferStatus((_, status) =>
      swap(TransferStatus.exceedsCredits, TransferStatus.exceedsDebits)(status),
    ),
  ],
  [
    'compares the timeout before the pending id',
    withTransferStatus((event, status, model) => {
      const stored = model.state.transferById.get(event.id);
      return status === TransferStatus.existsWithDifferentPendingId &&
        stored?.timeout !== event.timeout
        ? TransferStatus.existsWithDifferentTimeout
        : status;
    }),
  ],
  [
    'wants the exact amount of a balancing transfer again',
    withTransferStatus((event, status, model) => {
      const balancing = TransferFlag.balancingDebit | TransferFlag.balancingCredit;
      const stored = model.state.transferById.get(event.id);
      return status === TransferStatus.exists &&
        (event.flags & balancing) !== 0 &&
        stored?.amount !== event.amount
        ? TransferStatus.existsWithDifferentAmount
        : status;
    }),
  ],
  [
    'ignores the direction of a query',
    withQueryBody((operation, body) => {
      if (operation === Operation.queryTransfers && body.length === 128) body[60] = 0;
    }),
  ],
  [
    'takes the end of a range as excluded',
    withQueryBody((operation, body) => {
      if (operation !== Operation.getChangeEvents || body.length !== 64) return;
      const view = new DataView(body.buffer);
      const end = view.getBigUint64(8, true);
      if (end > 0n) view.setBigUint64(8, end - 1n, true);
    }),
  ],
  [
    'leaves reserved bytes as they were',
    withMethods((honest) => ({
      apply(context, operation, body, reply) {
        const before = reply[12] as number;
        const size = honest.apply(context, operation, body, reply);
        if (operation === Operation.createAccounts && size > 16) reply[12] = before;
        return size;
      },
    })),
  ],
  [
    'counts the first batch alone',
    withMethods(() => ({
      reserve(operation, body) {
        if (operation === 4) return 8190;
        if (operation < Operation.createAccounts) return 0;
        return (decodeBatches(body, 128)?.[0]?.length ?? 0) / 128;
      },
    })),
  ],
  [
    'takes trailers without padding',
    withMethods((honest) => ({
      validate(operation, body, bodySizeMax) {
        const copy = body.slice();
        if (copy.length >= 128) copy.fill(0xff, copy.length - 128, copy.length - 20);
        const verdict = honest.validate(operation, body, bodySizeMax);
        return verdict === 'invalid-body' && operation >= Operation.createAccounts
          ? honest.validate(operation, copy, bodySizeMax)
          : verdict;
      },
    })),
  ],
  [
    'does not write burned ids to checkpoints',
    withMethods((honest) => ({
      slice() {
        let block = honest.slice();
        while (block?.kind === 4) block = honest.slice();
        return block;
      },
    })),
  ],
  [
    'forgets when things expire over a restart',
    withMethods((honest) => ({
      restored() {
        honest.restored();
        honest.inner.model.state.expiresAt.clear();
      },
    })),
  ],
  [
    'answers reads outside the log from before',
    withMethods((honest) => {
      const last = new Map<string, Uint8Array>();
      return {
        query(operation, body, reply) {
          const size = honest.query(operation, body, reply);
          const stale = last.get(`${operation} ${size}`);
          if (stale !== undefined) reply.set(stale);
          else last.set(`${operation} ${size}`, reply.slice(0, size));
          return size;
        },
      };
    }),
  ],
  [
    'writes into the request',
    withMethods((honest) => ({
      apply(context, operation, body, reply) {
        const size = honest.apply(context, operation, body, reply);
        if (operation === Operation.createTransfers && body.length > 5000) body[120] = 1;
        return size;
      },
    })),
  ],
];
