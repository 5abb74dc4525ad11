import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FieldError } from './errors.ts';
import {
  accountFields,
  accountFilterFields,
  checkId,
  checkStruct,
  type StructFields,
  transferFields,
} from './fields.ts';

const account = { id: 1n, ledger: 1, code: 1 };
const transfer = {
  id: 1n,
  debit_account_id: 1n,
  credit_account_id: 2n,
  amount: 5n,
  ledger: 1,
  code: 1,
};

test('what does not fit its field is refused by name', () => {
  const cases: readonly [StructFields, object, string, RegExp][] = [
    [accountFields, { ...account, ledger: 2 ** 32 }, 'ledger', /0 to 4294967295, not 4294967296/],
    [accountFields, { ...account, ledger: 1.5 }, 'ledger', /not 1.5/],
    [accountFields, { ...account, ledger: -1 }, 'ledger', /not -1/],
    [accountFields, { ...account, ledger: 1n }, 'ledger', /not 1n/],
    [accountFields, { ...account, ledger: '1' }, 'ledger', /not the text "1"/],
    [accountFields, { ...account, ledger: Number.NaN }, 'ledger', /not NaN/],
    [accountFields, { ...account, id: 1 }, 'id', /a bigint from 0n to 2n \*\* 128n - 1n, not 1/],
    [accountFields, { ...account, id: -1n }, 'id', /not -1n/],
    [
      accountFields,
      { ...account, id: 2n ** 128n },
      'id',
      /not 340282366920938463463374607431768211456n/,
    ],
    [accountFields, { ...account, user_data_64: 2n ** 64n }, 'user_data_64', /2n \*\* 64n - 1n/],
    [accountFields, { ...account, code: 70_000 }, 'code', /0 to 65535, not 70000/],
    [accountFields, { ...account, code: null }, 'code', /not null/],
    [accountFields, { id: 1n, code: 1 }, 'ledger', /is missing/],
    [accountFields, { ...account, user_data128: 1n }, 'user_data128', /not a field of account/],
    [transferFields, { ...transfer, amount: undefined }, 'amount', /is missing/],
    [transferFields, { ...transfer, timeout: 2 ** 32 }, 'timeout', /4294967296/],
    [accountFilterFields, { account_id: 1n, limit: 10 }, 'flags', /is missing/],
  ];
  for (const [struct, values, field, message] of cases) {
    const thrown = errorOf(() => checkStruct(struct, values, 3));
    assert.equal(thrown.field, field);
    assert.equal(thrown.index, 3);
    assert.equal(thrown.code, 'ERR_FIELD_INVALID');
    assert.match(thrown.message, /^event 3: /);
    assert.match(thrown.message, message);
  }
  assert.equal(errorOf(() => checkStruct(accountFields, null, 0)).field, 'account');
  assert.equal(errorOf(() => checkId(5, 2)).field, 'id');
});

test('messages about text from outside hold no control characters', () => {
  const thrown = errorOf(() =>
    checkStruct(accountFields, { ...account, code: '\u0000\u001b[31m' }, 0),
  );
  assert.doesNotMatch(thrown.message, /\p{Cc}/u);
  const named = errorOf(() => checkStruct(accountFields, { ...account, 'x\u0007': 1 }, 0));
  assert.doesNotMatch(named.message, /\p{Cc}/u);
});

test('absent optional fields are zero of the right type, limits themselves pass', () => {
  const checked = checkStruct(
    accountFields,
    { ...account, code: 65_535, user_data_64: undefined },
    0,
  );
  assert.deepEqual(Object.keys(checked).length, accountFields.fields.length);
  assert.equal(checked['user_data_64'], 0n);
  assert.equal(checked['flags'], 0);
  assert.equal(checked['code'], 65_535);
  assert.equal(checkId(2n ** 128n - 1n, 0), 2n ** 128n - 1n);
  assert.equal(
    checkStruct(transferFields, { ...transfer, amount: 2n ** 128n - 1n }, 0)['amount'],
    2n ** 128n - 1n,
  );
});

function errorOf(run: () => unknown): FieldError {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof FieldError);
    return error;
  }
  assert.fail('nothing was thrown');
}
