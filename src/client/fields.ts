/**
 * The check between a user's objects and the wire. Each struct is a list of fields; a value that
 * does not fit its field throws an error that names it, and is never cut to size. Absent optional
 * fields become zero; unknown names are an error, because a misspelled `user_data_128` would
 * otherwise be lost in silence. The encoders of the ledger room only assert what this has checked.
 */
import { assert } from '../stdx/index.ts';
import { FieldError } from './errors.ts';

export type FieldType = 'u16' | 'u32' | 'u64' | 'u128';

export interface Field {
  readonly name: string;
  readonly type: FieldType;
  readonly required: boolean;
}

export interface StructFields {
  /** For messages: `account`, `account filter`. */
  readonly name: string;
  readonly fields: readonly Field[];
}

const BITS = { u16: 16, u32: 32, u64: 64, u128: 128 } as const;

/** Declares a struct from texts such as `'id u128 required'`. */
function struct(name: string, ...texts: readonly string[]): StructFields {
  const fields = texts.map((text): Field => {
    const [fieldName = '', type = '', required] = text.split(' ');
    assert(isFieldType(type), 'struct: unknown type');
    return { name: fieldName, type, required: required === 'required' };
  });
  return { name, fields };
}

const USER_DATA = ['user_data_128 u128', 'user_data_64 u64', 'user_data_32 u32'] as const;
const TIMES = ['timestamp_min u64', 'timestamp_max u64'] as const;

export const accountFields: StructFields = struct(
  'account',
  'id u128 required',
  'debits_pending u128',
  'debits_posted u128',
  'credits_pending u128',
  'credits_posted u128',
  ...USER_DATA,
  'reserved u32',
  'ledger u32 required',
  'code u16 required',
  'flags u16',
  'timestamp u64',
);

export const transferFields: StructFields = struct(
  'transfer',
  'id u128 required',
  'debit_account_id u128 required',
  'credit_account_id u128 required',
  'amount u128 required',
  'pending_id u128',
  ...USER_DATA,
  'timeout u32',
  'ledger u32 required',
  'code u16 required',
  'flags u16',
  'timestamp u64',
);

export const accountFilterFields: StructFields = struct(
  'account filter',
  'account_id u128 required',
  ...USER_DATA,
  'code u16',
  ...TIMES,
  'limit u32 required',
  'flags u32 required',
);

export const queryFilterFields: StructFields = struct(
  'query filter',
  ...USER_DATA,
  'ledger u32',
  'code u16',
  ...TIMES,
  'limit u32 required',
  'flags u32',
);

export const changeEventsFilterFields: StructFields = struct(
  'change events filter',
  ...TIMES,
  'limit u32 required',
);

const idField: Field = { name: 'id', type: 'u128', required: true };

/** A checked struct: every field is there and in range. */
export type Checked = { readonly [name: string]: bigint | number };

/** Checks one element; `index` is its place in the batch. Throws `FieldError`. */
export function checkStruct(struct: StructFields, values: unknown, index: number): Checked {
  if (!isRecord(values)) throw new FieldError(struct.name, index, 'must be an object');
  const checked: { [name: string]: bigint | number } = {};
  let known = 0;
  for (const field of struct.fields) {
    const value = values[field.name];
    if (field.name in values) known += 1;
    if (value !== undefined) checked[field.name] = checkValue(field, value, index);
    else if (field.required) throw new FieldError(field.name, index, 'is missing');
    else checked[field.name] = BITS[field.type] > 32 ? 0n : 0;
  }
  if (Object.keys(values).length > known) refuseUnknown(struct, values, index);
  return checked;
}

/** Checks one id of a lookup. */
export function checkId(value: unknown, index: number): bigint {
  return checkBigInt(idField, value, index);
}

function checkValue(field: Field, value: unknown, index: number): bigint | number {
  const small = BITS[field.type] <= 32;
  return small ? checkNumber(field, value, index) : checkBigInt(field, value, index);
}

function checkNumber(field: Field, value: unknown, index: number): number {
  const max = 2 ** BITS[field.type] - 1;
  const valid = typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max;
  if (!valid) {
    const wanted = `must be an integer from 0 to ${max}`;
    throw new FieldError(field.name, index, `${wanted}, not ${describe(value)}`);
  }
  return value;
}

function checkBigInt(field: Field, value: unknown, index: number): bigint {
  const bits = BITS[field.type];
  if (typeof value !== 'bigint' || value < 0n || value >> BigInt(bits) !== 0n) {
    const wanted = `must be a bigint from 0n to 2n ** ${bits}n - 1n`;
    throw new FieldError(field.name, index, `${wanted}, not ${describe(value)}`);
  }
  return value;
}

function refuseUnknown(
  struct: StructFields,
  values: { readonly [name: string]: unknown },
  index: number,
): void {
  for (const name of Object.keys(values)) {
    if (struct.fields.some((field) => field.name === name)) continue;
    throw new FieldError(name, index, `is not a field of ${struct.name}`);
  }
}

function isFieldType(text: string): text is FieldType {
  return text in BITS;
}

function isRecord(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === 'object' && value !== null;
}

/** The value with its type, short enough for one line. */
function describe(value: unknown): string {
  if (typeof value === 'bigint') return `${clip(String(value))}n`;
  if (typeof value === 'string') return `the text ${clip(JSON.stringify(value))}`;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return value === null ? 'null' : `a value of type ${typeof value}`;
}

function clip(text: string): string {
  return text.length > 48 ? `${text.slice(0, 45)}...` : text;
}
