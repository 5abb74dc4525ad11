/**
 * The model's codec: fixed-size little-endian structures to plain objects and back. It reads and
 * writes fields one after the other in the order of the documented layout, without a table of
 * offsets, so that it cannot share a mistake with a codec that has one.
 */
import { assert } from '../../stdx/index.ts';

export interface Account {
  id: bigint;
  debitsPending: bigint;
  debitsPosted: bigint;
  creditsPending: bigint;
  creditsPosted: bigint;
  userData128: bigint;
  userData64: bigint;
  userData32: number;
  reserved: number;
  ledger: number;
  code: number;
  flags: number;
  timestamp: bigint;
}

export interface Transfer {
  id: bigint;
  debitAccountId: bigint;
  creditAccountId: bigint;
  amount: bigint;
  pendingId: bigint;
  userData128: bigint;
  userData64: bigint;
  userData32: number;
  /** Seconds. */
  timeout: number;
  ledger: number;
  code: number;
  flags: number;
  timestamp: bigint;
}

/** What happened to one event of a create operation. */
export interface CreateResult {
  timestamp: bigint;
  status: number;
}

/** Reads fields in sequence. */
export class Reader {
  readonly #view: DataView;
  #offset: number = 0;

  constructor(bytes: Uint8Array, offset: number = 0) {
    assert(offset <= bytes.length, 'Reader: offset beyond the bytes');
    this.#view = new DataView(bytes.buffer, bytes.byteOffset + offset, bytes.length - offset);
  }

  u8(): number {
    return this.#view.getUint8(this.#advance(1));
  }

  u16(): number {
    return this.#view.getUint16(this.#advance(2), true);
  }

  u32(): number {
    return this.#view.getUint32(this.#advance(4), true);
  }

  u64(): bigint {
    return this.#view.getBigUint64(this.#advance(8), true);
  }

  u128(): bigint {
    const low = this.u64();
    const high = this.u64();
    return high === 0n ? low : (high << 64n) | low;
  }

  /** Skips bytes and says whether all of them were zero. */
  zeros(count: number): boolean {
    let zero = true;
    for (let i = 0; i < count; i++) zero = this.u8() === 0 && zero;
    return zero;
  }

  #advance(size: number): number {
    this.#offset += size;
    return this.#offset - size;
  }
}

/** Writes fields in sequence into fresh bytes. */
export class Writer {
  readonly bytes: Uint8Array;
  readonly #view: DataView;
  #offset: number = 0;

  constructor(size: number) {
    this.bytes = new Uint8Array(size);
    this.#view = new DataView(this.bytes.buffer);
  }

  u8(value: number): this {
    this.#view.setUint8(this.#advance(1), value);
    return this;
  }

  u16(value: number): this {
    this.#view.setUint16(this.#advance(2), value, true);
    return this;
  }

  u32(value: number): this {
    this.#view.setUint32(this.#advance(4), value, true);
    return this;
  }

  u64(value: bigint): this {
    assert(value >= 0n && value < 1n << 64n, 'Writer: not a u64');
    this.#view.setBigUint64(this.#advance(8), value, true);
    return this;
  }

  u128(value: bigint): this {
    assert(value >= 0n && value < 1n << 128n, 'Writer: not a u128');
    return this.u64(value & 0xffff_ffff_ffff_ffffn).u64(value >> 64n);
  }

  skip(count: number): this {
    this.#advance(count);
    return this;
  }

  #advance(size: number): number {
    this.#offset += size;
    assert(this.#offset <= this.bytes.length, 'Writer: full');
    return this.#offset - size;
  }
}

export function decodeAccount(bytes: Uint8Array, offset: number = 0): Account {
  const reader = new Reader(bytes, offset);
  return {
    id: reader.u128(),
    debitsPending: reader.u128(),
    debitsPosted: reader.u128(),
    creditsPending: reader.u128(),
    creditsPosted: reader.u128(),
    userData128: reader.u128(),
    userData64: reader.u64(),
    userData32: reader.u32(),
    reserved: reader.u32(),
    ledger: reader.u32(),
    code: reader.u16(),
    flags: reader.u16(),
    timestamp: reader.u64(),
  };
}

export function encodeAccount(account: Account): Uint8Array {
  return new Writer(128)
    .u128(account.id)
    .u128(account.debitsPending)
    .u128(account.debitsPosted)
    .u128(account.creditsPending)
    .u128(account.creditsPosted)
    .u128(account.userData128)
    .u64(account.userData64)
    .u32(account.userData32)
    .u32(account.reserved)
    .u32(account.ledger)
    .u16(account.code)
    .u16(account.flags)
    .u64(account.timestamp).bytes;
}

export function decodeTransfer(bytes: Uint8Array, offset: number = 0): Transfer {
  const reader = new Reader(bytes, offset);
  return {
    id: reader.u128(),
    debitAccountId: reader.u128(),
    creditAccountId: reader.u128(),
    amount: reader.u128(),
    pendingId: reader.u128(),
    userData128: reader.u128(),
    userData64: reader.u64(),
    userData32: reader.u32(),
    timeout: reader.u32(),
    ledger: reader.u32(),
    code: reader.u16(),
    flags: reader.u16(),
    timestamp: reader.u64(),
  };
}

export function encodeTransfer(transfer: Transfer): Uint8Array {
  return new Writer(128)
    .u128(transfer.id)
    .u128(transfer.debitAccountId)
    .u128(transfer.creditAccountId)
    .u128(transfer.amount)
    .u128(transfer.pendingId)
    .u128(transfer.userData128)
    .u64(transfer.userData64)
    .u32(transfer.userData32)
    .u32(transfer.timeout)
    .u32(transfer.ledger)
    .u16(transfer.code)
    .u16(transfer.flags)
    .u64(transfer.timestamp).bytes;
}

export function encodeId(id: bigint): Uint8Array {
  return new Writer(16).u128(id).bytes;
}

export function decodeResult(bytes: Uint8Array, offset: number = 0): CreateResult {
  const reader = new Reader(bytes, offset);
  return { timestamp: reader.u64(), status: reader.u32() };
}

export function encodeResult(result: CreateResult): Uint8Array {
  return new Writer(16).u64(result.timestamp).u32(result.status).bytes;
}
