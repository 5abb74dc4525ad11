/**
 * The load of the kill -9 test: clients that send batches of valid and invalid transfers and write
 * down what they sent and what came back. Every batch begins with a transfer that is surely
 * created, so a lookup of its id tells whether the batch was executed, and with which timestamp.
 */
import { type AccountInput, LedgerConnection, type Reply } from '../src/client/index.ts';
import { parseAddresses } from '../src/io/index.ts';
import {
  AccountFlags,
  accountCodec,
  decodeRecords,
  encodeMultiBatch,
  encodeRecords,
  Operation,
  payloadSize,
  type Transfer,
  TransferFlags,
  transferCodec,
} from '../src/ledger/index.ts';
import { assert, Prng } from '../src/stdx/index.ts';

export const ACCOUNT_COUNT = 200;
/** The last accounts may not owe more than they own: transfers from them fail for a reason. */
const LIMITED_COUNT = 20;
/** Largest request body of a `--development` file. */
export const BODY_SIZE_MAX: number = 32_768 - 256;

/** One request as it was sent, and what is known of its fate. */
export interface Sent {
  readonly operation: number;
  readonly body: Uint8Array;
  readonly eventCount: number;
  /** The id of the first event, which is created if the request is executed at all. */
  readonly firstId: bigint;
  fate: 'unknown' | 'acknowledged' | 'found' | 'lost';
  /** Highest timestamp of the request; 0 while unknown. */
  timestamp: bigint;
  op: number;
  /** The reply's body, when there was one. */
  reply: Uint8Array | null;
}

export class TortureClient {
  readonly #prng: Prng;
  readonly #history: Sent[];
  readonly connection: LedgerConnection;
  /** The request without an answer, if there is one. */
  inFlight: Sent | null = null;
  #idNext: bigint;
  readonly #pending: Transfer[] = [];
  readonly #earlier: Transfer[] = [];
  #stopped: boolean = false;

  constructor(port: number, index: number, seed: number, history: Sent[]) {
    this.#prng = new Prng(seed, index);
    this.#history = history;
    this.#idNext = (BigInt(index) << 64n) + 1n;
    const clientId = new Uint8Array(16);
    this.#prng.fill(clientId);
    this.connection = new LedgerConnection({
      addresses: parseAddresses(String(port)),
      cluster: 0n,
      connectTimeoutMs: 60_000,
      requestTimeoutMs: null,
      clientId,
      nowMs: () => performance.now(),
    });
  }

  /** Sends batches until {@link stop} or until the connection is closed. */
  async run(): Promise<void> {
    this.#stopped = false;
    while (!this.#stopped) {
      if (!(await this.#sendOne())) return;
    }
  }

  /** No new batch after the one in flight. */
  stop(): void {
    this.#stopped = true;
  }

  async #sendOne(): Promise<boolean> {
    const events = this.#makeBatch();
    const body = encodeMultiBatch([encodeRecords(transferCodec, events)], transferCodec.size);
    const operation = Operation.createTransfers;
    const sent = newSent(operation, body, events.length, events[0]?.id ?? 0n);
    this.#history.push(sent);
    this.inFlight = sent;
    try {
      acknowledge(sent, await this.connection.submit(operation, body));
      this.inFlight = null;
      return true;
    } catch {
      // Closed with the request under way: its fate is settled by a lookup.
      return false;
    }
  }

  #makeBatch(): Transfer[] {
    const prng = this.#prng;
    const count = prng.chance(1, 10) ? prng.between(1, 240) : prng.between(1, 40);
    const events = [this.#plain()];
    while (events.length < count) events.push(this.#event());
    const last = events.at(-1);
    assert(last !== undefined, 'makeBatch: empty');
    // An open chain at the end would fail as a whole, which is wanted only now and then.
    if (events.length > 1 && !prng.chance(1, 50)) {
      events[events.length - 1] = { ...last, flags: last.flags & ~TransferFlags.linked };
    }
    for (const event of events) this.#remember(event);
    return events;
  }

  #event(): Transfer {
    const prng = this.#prng;
    const kind = prng.below(100);
    if (kind < 70) return this.#plain();
    if (kind < 78) return { ...this.#plain(), flags: TransferFlags.pending };
    if (kind < 86) return this.#settle();
    if (kind < 90 && this.#earlier.length > 0) return this.#again();
    if (kind < 95) return { ...this.#plain(), flags: TransferFlags.linked };
    const debit = BigInt(ACCOUNT_COUNT - prng.below(LIMITED_COUNT));
    return { ...this.#plain(), debit_account_id: debit, amount: BigInt(prng.between(1, 2000)) };
  }

  /** Created for sure: a fresh id, two accounts without limits. */
  #plain(): Transfer {
    const prng = this.#prng;
    const unlimited = ACCOUNT_COUNT - LIMITED_COUNT;
    const debit = prng.below(unlimited);
    const credit = (debit + 1 + prng.below(unlimited - 1)) % unlimited;
    this.#idNext += BigInt(prng.between(1, 3));
    return {
      id: this.#idNext,
      debit_account_id: BigInt(debit + 1),
      credit_account_id: BigInt(prng.chance(1, 20) ? ACCOUNT_COUNT - prng.below(20) : credit + 1),
      amount: BigInt(prng.between(1, 1000)),
      pending_id: 0n,
      user_data_128: BigInt(prng.u32()),
      user_data_64: BigInt(prng.u32()),
      user_data_32: prng.below(10),
      timeout: 0,
      ledger: 1,
      code: prng.between(1, 9),
      flags: 0,
      timestamp: 0n,
    };
  }

  /** Posts or voids something that may be pending, or may be settled already. */
  #settle(): Transfer {
    const prng = this.#prng;
    if (this.#pending.length === 0) return { ...this.#plain(), flags: TransferFlags.pending };
    const pending = prng.pick(this.#pending);
    const post = prng.chance(1, 2);
    const { post_pending_transfer, void_pending_transfer } = TransferFlags;
    return {
      ...this.#plain(),
      debit_account_id: 0n,
      credit_account_id: 0n,
      ledger: 0,
      code: 0,
      pending_id: pending.id,
      amount: post ? pending.amount : 0n,
      flags: post ? post_pending_transfer : void_pending_transfer,
    };
  }

  /** An id that was used before: the same event, or one that differs. */
  #again(): Transfer {
    const event = this.#prng.pick(this.#earlier);
    return this.#prng.chance(1, 2) ? event : { ...event, amount: event.amount + 1n };
  }

  #remember(event: Transfer): void {
    const keep = (list: Transfer[]): void => {
      list[list.length < 50 ? list.length : this.#prng.below(50)] = event;
    };
    if ((event.flags & TransferFlags.pending) !== 0) keep(this.#pending);
    else keep(this.#earlier);
  }
}

/** Creates the accounts that all clients use. */
export async function createAccounts(connection: LedgerConnection, history: Sent[]): Promise<void> {
  const accounts = Array.from({ length: ACCOUNT_COUNT }, (_, n) => accountOf(n));
  const body = encodeMultiBatch([encodeRecords(accountCodec, accounts)], accountCodec.size);
  const sent = newSent(Operation.createAccounts, body, accounts.length, 1n);
  history.push(sent);
  acknowledge(sent, await connection.submit(sent.operation, body));
}

function accountOf(n: number): Required<AccountInput> {
  const limited = n >= ACCOUNT_COUNT - LIMITED_COUNT;
  const zero = { debits_pending: 0n, debits_posted: 0n, credits_pending: 0n, credits_posted: 0n };
  const userData = { user_data_128: 0n, user_data_64: 0n, user_data_32: 0 };
  const flags = limited ? AccountFlags.debits_must_not_exceed_credits : AccountFlags.history;
  const rest = { reserved: 0, ledger: 1, code: 1, timestamp: 0n };
  return { id: BigInt(n + 1), ...zero, ...userData, ...rest, flags };
}

/** Which of these transfers exist, as id → timestamp. */
export async function lookup(
  connection: LedgerConnection,
  ids: readonly bigint[],
): Promise<Map<bigint, bigint>> {
  const found = new Map<bigint, bigint>();
  // What fits into a small request and a large reply alike.
  const chunk = Math.floor(BODY_SIZE_MAX / 16) - 1;
  for (let first = 0; first < ids.length; first += chunk) {
    const bytes = new Uint8Array(16 * Math.min(chunk, ids.length - first));
    const view = new DataView(bytes.buffer);
    for (let i = 0; 16 * i < bytes.length; i++) {
      const id = ids[first + i] ?? 0n;
      view.setBigUint64(16 * i, id & 0xffff_ffff_ffff_ffffn, true);
      view.setBigUint64(16 * i + 8, id >> 64n, true);
    }
    const body = encodeMultiBatch([bytes], 16);
    const reply = await connection.submit(Operation.lookupTransfers, body);
    const size = payloadSize(reply.body, transferCodec.size);
    for (const transfer of decodeRecords(transferCodec, reply.body.subarray(0, size))) {
      found.set(transfer.id, transfer.timestamp);
    }
  }
  return found;
}

function newSent(operation: number, body: Uint8Array, eventCount: number, firstId: bigint): Sent {
  const fate = { fate: 'unknown', timestamp: 0n, op: 0, reply: null } as const;
  return { operation, body, eventCount, firstId, ...fate };
}

function acknowledge(sent: Sent, reply: Reply): void {
  sent.fate = 'acknowledged';
  sent.op = reply.op;
  sent.timestamp = reply.timestamp;
  sent.reply = reply.body;
}
