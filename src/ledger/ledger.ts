/**
 * The ledger as a state machine: takes a request body apart into batches, has each executed, and
 * puts the reply together. What the operations do is in `apply/`; what they do it to, in `store/`;
 * queries are the reading half's.
 */
import {
  type ApplyContext,
  type Block,
  type Machine,
  OPERATION_PULSE,
  REPLY_BODY_SIZE_MAX,
  type ReadRequest,
  type Validity,
} from '../engine/index.ts';
import { assert, type U64 } from '../stdx/index.ts';
import type { Checksum } from '../wire/index.ts';
import { AccountBatch } from './apply/create-accounts.ts';
import { TransferBatch } from './apply/create-transfers.ts';
import type { BatchPlace } from './apply/event-batch.ts';
import { Lookup } from './apply/lookup.ts';
import { Pulse } from './apply/pulse.ts';
import {
  CHANGE_EVENT_SIZE,
  CHANGE_EVENTS_MAX,
  Operation,
  PULSE_EXPIRIES_MAX,
  QUERY_RESULTS_MAX,
} from './format/constants.ts';
import {
  BATCHES_MAX,
  batchCount,
  batchElements,
  payloadSize,
  trailerSize,
  writeTrailer,
} from './format/multi-batch.ts';
import { type OperationShape, operationShape, validate } from './format/validate.ts';
import { LedgerReads } from './reads.ts';
import { Checkpoint } from './store/checkpoint.ts';
import { LedgerState } from './store/state.ts';
import { add64, time64 } from './store/u64.ts';
import type { LedgerTables } from './tables.ts';

export interface LedgerOptions {
  readonly checksum: Checksum;
  /** Makes the reading half; for measurements without it. */
  readonly reads?: (tables: LedgerTables) => LedgerReads;
}

const NOTHING_TO_READ: readonly ReadRequest[] = [];

export class Ledger implements Machine {
  readonly #state: LedgerState;
  readonly #reads: LedgerReads;
  readonly #checkpoint: Checkpoint;
  readonly #accounts: AccountBatch;
  readonly #transfers: TransferBatch;
  readonly #accountLookup: Lookup;
  readonly #transferLookup: Lookup;
  readonly #pulse: Pulse;

  /** Results per batch of the request at hand. */
  readonly #counts: Uint16Array = new Uint16Array(BATCHES_MAX);
  readonly #batchTime: Uint32Array = time64();
  /** Word views of the buffers that bodies and replies were last seen in. */
  #bodyWords: Uint32Array = new Uint32Array(0);
  #replyWords: Uint32Array = new Uint32Array(0);

  constructor(options: LedgerOptions) {
    const { checksum } = options;
    const state = new LedgerState(checksum);
    this.#state = state;
    this.#reads = options.reads?.(state) ?? new LedgerReads(state);
    state.events = this.#reads;
    this.#checkpoint = new Checkpoint(state, this.#reads, checksum);
    this.#accounts = new AccountBatch(state);
    this.#transfers = new TransferBatch(state);
    this.#accountLookup = new Lookup(state.accounts, state.accountIndex);
    this.#transferLookup = new Lookup(state.transfers, state.transferIndex);
    this.#pulse = new Pulse(state);
  }

  /** The tables, for whoever wants to look: status displays and tests. */
  get tables(): LedgerTables {
    return this.#state;
  }

  validate(operation: number, body: Uint8Array, bodySizeMax: number): Validity {
    return validate(operation, body, bodySizeMax);
  }

  /** One nanosecond per event to be created; a pulse needs one per expiry. */
  reserve(operation: number, body: Uint8Array): number {
    switch (operation) {
      case OPERATION_PULSE:
        return PULSE_EXPIRIES_MAX;
      case Operation.createAccounts:
      case Operation.createTransfers: {
        const { eventSize } = shapeOf(operation);
        return payloadSize(body, eventSize) / eventSize;
      }
      default:
        return 0;
    }
  }

  prefetch(_operation: number, _body: Uint8Array): readonly ReadRequest[] {
    return NOTHING_TO_READ;
  }

  apply(context: ApplyContext, operation: number, body: Uint8Array, reply: Uint8Array): number {
    const { hi, lo } = context.timestamp;
    switch (operation) {
      case OPERATION_PULSE:
        this.#pulse.execute(hi, lo);
        this.#settle();
        return 0;
      case Operation.createAccounts:
      case Operation.createTransfers: {
        const size = this.#create(context.timestamp, operation, body, reply);
        this.#settle();
        return size;
      }
      default:
        return this.query(operation, body, reply);
    }
  }

  query(operation: number, body: Uint8Array, reply: Uint8Array): number {
    switch (operation) {
      case Operation.lookupAccounts:
        return this.#lookup(this.#accountLookup, operation, body, reply);
      case Operation.lookupTransfers:
        return this.#lookup(this.#transferLookup, operation, body, reply);
      case Operation.getChangeEvents:
        return this.#getChangeEvents(body, reply);
      default:
        return this.#query(operation, body, reply);
    }
  }

  due(timestamp: U64): boolean {
    return this.#state.expiryQueue.due(timestamp.hi, timestamp.lo);
  }

  cut(_op: number): number {
    return this.#checkpoint.cut();
  }

  slice(target: Uint8Array): Block | null {
    return this.#checkpoint.slice(target);
  }

  rootOfCut(): Uint8Array {
    return this.#checkpoint.rootOfCut();
  }

  sliceAhead(target: Uint8Array): Block | null {
    return this.#checkpoint.sliceAhead(target);
  }

  restore(block: Block): void {
    this.#checkpoint.restore(block);
  }

  restored(): void {
    this.#checkpoint.restored();
  }

  root(): Uint8Array {
    return this.#checkpoint.root();
  }

  /** The end of every operation that changes something. */
  #settle(): void {
    this.#state.expiryQueue.settle();
    this.#reads.settle();
  }

  #create(timestamp: U64, operation: number, body: Uint8Array, reply: Uint8Array): number {
    const shape = shapeOf(operation);
    const events = payloadSize(body, shape.eventSize) / shape.eventSize;
    const batches = batchCount(body);
    const runner = operation === Operation.createAccounts ? this.#accounts : this.#transfers;
    // The last event has the operation's timestamp, those before it the nanoseconds before.
    const before = this.#batchTime;
    before[0] = timestamp.lo - events;
    before[1] = timestamp.hi - (timestamp.lo < events ? 1 : 0);
    add64(before, before, 1);
    let done = 0;
    for (let batch = 0; batch < batches; batch++) {
      const count = batchElements(body, batch);
      this.#counts[batch] = count;
      runner.execute(this.#place(shape, body, reply, done, done, count), before);
      add64(before, before, count);
      done += count;
    }
    assert(done === events, 'Ledger: events miscounted');
    return this.#finish(shape, reply, done, batches);
  }

  #lookup(lookup: Lookup, operation: number, body: Uint8Array, reply: Uint8Array): number {
    const shape = shapeOf(operation);
    const batches = batchCount(body);
    let done = 0;
    let found = 0;
    for (let batch = 0; batch < batches; batch++) {
      const count = batchElements(body, batch);
      const results = lookup.execute(this.#place(shape, body, reply, done, found, count));
      this.#counts[batch] = results;
      done += count;
      found += results;
    }
    return this.#finish(shape, reply, found, batches);
  }

  /** One filter per batch. */
  #query(operation: number, body: Uint8Array, reply: Uint8Array): number {
    const shape = shapeOf(operation);
    assert(shape.multiBatch && !shape.batchable, 'Ledger: not a query');
    const batches = batchCount(body);
    const room = REPLY_BODY_SIZE_MAX - trailerSize(batches, shape.resultSize);
    const roomResults = Math.floor(room / shape.resultSize);
    let found = 0;
    for (let batch = 0; batch < batches; batch++) {
      const place = this.#place(shape, body, reply, batch, found, 1);
      const max = Math.min(QUERY_RESULTS_MAX, roomResults - found);
      const results = this.#execute(operation, place, max);
      this.#counts[batch] = results;
      found += results;
    }
    return this.#finish(shape, reply, found, batches);
  }

  /** A plain filter, a plain array of results. */
  #getChangeEvents(body: Uint8Array, reply: Uint8Array): number {
    const shape = shapeOf(Operation.getChangeEvents);
    assert(body.length === shape.eventSize, 'Ledger: body was not validated');
    const place = this.#place(shape, body, reply, 0, 0, 1);
    return this.#execute(Operation.getChangeEvents, place, CHANGE_EVENTS_MAX) * CHANGE_EVENT_SIZE;
  }

  #execute(operation: number, place: BatchPlace, max: number): number {
    const { words, offset, reply, replyOffset } = place;
    const results = this.#reads.execute(operation, words, offset, reply, replyOffset, max);
    assert(results >= 0 && results <= max, 'Ledger: more results than room');
    return results;
  }

  /** Where a batch stands that begins after `done` events and `results` results. */
  #place(
    shape: OperationShape,
    body: Uint8Array,
    reply: Uint8Array,
    done: number,
    results: number,
    count: number,
  ): BatchPlace {
    assert(body.byteOffset % 16 === 0, 'Ledger: body is not aligned');
    assert(reply.byteOffset % 16 === 0, 'Ledger: reply is not aligned');
    if (this.#bodyWords.buffer !== body.buffer) this.#bodyWords = wordsOf(body);
    if (this.#replyWords.buffer !== reply.buffer) this.#replyWords = wordsOf(reply);
    return {
      words: this.#bodyWords,
      offset: (body.byteOffset + done * shape.eventSize) / 4,
      count,
      reply: this.#replyWords,
      replyOffset: (reply.byteOffset + results * shape.resultSize) / 4,
    };
  }

  /** Adds the trailer behind the results and returns the size of the reply. */
  #finish(shape: OperationShape, reply: Uint8Array, results: number, batches: number): number {
    const size = results * shape.resultSize;
    return writeTrailer(reply, size, shape.resultSize, this.#counts, batches);
  }
}

function shapeOf(operation: number): OperationShape {
  const shape = operationShape(operation);
  assert(shape !== undefined, 'Ledger: operation was not validated');
  return shape;
}

/** The whole buffer behind `bytes` as words. */
function wordsOf(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.buffer, 0, bytes.buffer.byteLength >>> 2);
}
