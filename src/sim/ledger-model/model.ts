/**
 * The ledger as it reads: a naive model to compare the real one with. Plain objects, big integers,
 * Maps and loops over everything; no index, no cleverness, rules in the order of their
 * description (docs/ledger-semantics.md). It shares no code with the ledger.
 */
import { assert } from '../../stdx/index.ts';
import type { Checksum } from '../../wire/index.ts';
import { changeEvents } from './change-events.ts';
import { Operation, operationShapes } from './codes.ts';
import { createAccounts, createTransfers } from './create-batch.ts';
import { isDue, pulse } from './expiry.ts';
import { concatenate, decodeBatches, encodeBatches } from './multi-batch.ts';
import { lookupAccounts, lookupTransfers, query } from './reads.ts';
import { encodeSections, rootOf } from './sections.ts';
import { LedgerState } from './state.ts';
import { decodeAccount, decodeTransfer, encodeResult, Reader } from './structs.ts';
import { PULSE, reserve, validate } from './validity.ts';

export class LedgerModel {
  /** For generators and checkers to look at; only the model changes it. */
  readonly state: LedgerState;
  #op: number = 0;
  #timestamp: bigint = 0n;

  constructor(state: LedgerState = new LedgerState()) {
    this.state = state;
  }

  /** See {@link validate}. */
  validate(
    operation: number,
    body: Uint8Array,
    bodySizeMax: number,
  ): 'valid' | 'invalid-operation' | 'invalid-body' {
    return validate(operation, body, bodySizeMax);
  }

  /** Nanoseconds that a valid operation uses up. */
  reserve(operation: number, body: Uint8Array): number {
    return reserve(operation, body);
  }

  /** Executes a valid operation whose highest timestamp is `timestamp`; returns the reply body. */
  apply(op: number, timestamp: bigint, operation: number, body: Uint8Array): Uint8Array {
    assert(op > this.#op, 'apply: op does not grow');
    assert(timestamp >= this.#timestamp, 'apply: time runs backwards');
    this.#op = op;
    this.#timestamp = timestamp;
    if (operation === PULSE) {
      assert(body.length === 0, 'apply: a pulse has no body');
      pulse(this.state, timestamp);
      return new Uint8Array(0);
    }
    if (operation !== Operation.createAccounts && operation !== Operation.createTransfers) {
      return this.query(operation, body);
    }
    return this.#create(operation, body, timestamp);
  }

  /** Executes a valid operation that only reads; returns the reply body. */
  query(operation: number, body: Uint8Array): Uint8Array {
    if (operation === Operation.getChangeEvents) {
      return concatenate(changeEvents(this.state, body));
    }
    const shape = operationShapes.get(operation);
    assert(shape !== undefined, 'query: unknown operation');
    const batches = decodeBatches(body, shape.eventSize);
    assert(batches !== null, 'query: malformed body');
    const replies = batches.map((batch) => concatenate(this.#read(operation, batch)));
    return encodeBatches(replies, shape.resultSize);
  }

  /** Whether a pulse with this timestamp would do something. */
  due(timestamp: bigint): boolean {
    return isDue(this.state, timestamp);
  }

  /** 16 bytes over the logical content. */
  root(checksum: Checksum): Uint8Array {
    return rootOf(encodeSections(this.state), checksum);
  }

  /** An independent copy. */
  clone(): LedgerModel {
    const copy = new LedgerModel(this.state.clone());
    copy.#op = this.#op;
    copy.#timestamp = this.#timestamp;
    return copy;
  }

  /** Batches one after another; each has its share of the timestamps, in order. */
  #create(operation: number, body: Uint8Array, timestamp: bigint): Uint8Array {
    const batches = decodeBatches(body, 128);
    assert(batches !== null, 'apply: malformed body');
    let timestampMax = timestamp - BigInt(reserve(operation, body));
    const replies = batches.map((batch) => {
      timestampMax += BigInt(batch.length / 128);
      const results =
        operation === Operation.createAccounts
          ? createAccounts(this.state, recordsOf(batch, 128).map(toAccount), timestampMax)
          : createTransfers(this.state, recordsOf(batch, 128).map(toTransfer), timestampMax);
      return concatenate(results.map(encodeResult));
    });
    assert(timestampMax === timestamp, 'apply: the last event has the highest timestamp');
    return encodeBatches(replies, 16);
  }

  #read(operation: number, batch: Uint8Array): Uint8Array[] {
    switch (operation) {
      case Operation.lookupAccounts:
        return lookupAccounts(this.state, recordsOf(batch, 16).map(toId));
      case Operation.lookupTransfers:
        return lookupTransfers(this.state, recordsOf(batch, 16).map(toId));
      default:
        return query(this.state, operation, batch);
    }
  }
}

function recordsOf(bytes: Uint8Array, size: number): Uint8Array[] {
  const records: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) records.push(bytes.subarray(at, at + size));
  return records;
}

const toAccount = (bytes: Uint8Array) => decodeAccount(bytes);
const toTransfer = (bytes: Uint8Array) => decodeTransfer(bytes);
const toId = (bytes: Uint8Array): bigint => new Reader(bytes).u128();
