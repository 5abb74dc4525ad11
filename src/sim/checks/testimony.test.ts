import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  COUNTER_ADD,
  COUNTER_READ,
  KEY_VALUE_DELETE,
  KEY_VALUE_GET,
  KEY_VALUE_PUT,
  KeyValueStatus,
  keyValueBody,
} from '../../engine/index.ts';
import { writeSafeU64 } from '../../stdx/index.ts';
import { counterTestimony, keyValueTestimony } from '../subjects/testimonies.ts';
import { SimulationFailure } from '../world/failure.ts';
import type { Testimony } from './testimony.ts';

const { ok, missing } = KeyValueStatus;
const bytes = (...values: readonly number[]): Uint8Array => Uint8Array.from(values);

function total(value: number): Uint8Array {
  const reply = new Uint8Array(24);
  writeSafeU64(reply, 0, value);
  return reply;
}

/** A request and its reply, one after another. */
function say(
  testimony: Testimony,
  operation: number,
  body: Uint8Array,
  reply: Uint8Array,
  client: string = 'a',
): void {
  testimony.onRequest(client, operation, body);
  testimony.onReply(client, operation, reply);
}

const isGood = (testimony: Testimony): boolean => testimony.problem() === null;

test('a counter: totals fit or do not', () => {
  const testimony = counterTestimony();
  say(testimony, COUNTER_ADD, bytes(5, 0, 0, 0), total(5));
  say(testimony, COUNTER_READ, bytes(), total(5), 'b');
  assert.ok(isGood(testimony));
  say(testimony, COUNTER_ADD, bytes(1, 0, 0, 0), total(5), 'b');
  const problem = testimony.problem();
  assert.ok(problem !== null && problem !== 'unknown');
  assert.match(problem.text, /nothing explains {2}process 1: \{"f":"add","amount":1\} → 5/);
});

test('what was given up, or never answered, may have happened and need not have', () => {
  for (const [seen, isRight] of [
    [0, true],
    [1, true],
    [2, true],
    [3, true],
    [4, false],
  ] as const) {
    const testimony = counterTestimony();
    testimony.onRequest('a', COUNTER_ADD, bytes(1, 0, 0, 0));
    testimony.onAbandon('a');
    testimony.onRequest('b', COUNTER_ADD, bytes(2, 0, 0, 0));
    say(testimony, COUNTER_READ, bytes(), total(seen), 'c');
    assert.equal(isGood(testimony), isRight, String(seen));
  }
});

test('a reply that nobody waits for is the engine’s mistake', () => {
  assert.throws(
    () => counterTestimony().onReply('a', COUNTER_READ, total(0)),
    (error) => error instanceof SimulationFailure && error.code === 'reply-invalid',
  );
});

const put = (key: string, value: number, lifetimeMs?: number): Uint8Array =>
  keyValueBody(key, bytes(value), lifetimeMs);

const CASES: readonly [string, boolean, (t: Testimony) => void][] = [
  ['a value is found', true, (t) => say(t, KEY_VALUE_GET, keyValueBody('k'), bytes(ok, 1))],
  ['another one is', false, (t) => say(t, KEY_VALUE_GET, keyValueBody('k'), bytes(ok, 2))],
  ['a longer one is', false, (t) => say(t, KEY_VALUE_GET, keyValueBody('k'), bytes(ok, 1, 0))],
  ['nothing is', false, (t) => say(t, KEY_VALUE_GET, keyValueBody('k'), bytes(missing))],
  [
    'of another key nothing is',
    true,
    (t) => say(t, KEY_VALUE_GET, keyValueBody('l'), bytes(missing)),
  ],
  ['of another key it is', false, (t) => say(t, KEY_VALUE_GET, keyValueBody('l'), bytes(ok, 1))],
  ['what lives is deleted', true, (t) => say(t, KEY_VALUE_DELETE, keyValueBody('k'), bytes(ok))],
  [
    'what lives is not there to be deleted',
    false,
    (t) => say(t, KEY_VALUE_DELETE, keyValueBody('k'), bytes(missing)),
  ],
  [
    'what was deleted is found',
    false,
    (t) => {
      say(t, KEY_VALUE_DELETE, keyValueBody('k'), bytes(ok));
      say(t, KEY_VALUE_GET, keyValueBody('k'), bytes(ok, 1));
    },
  ],
  [
    'what may die is gone',
    true,
    (t) => {
      say(t, KEY_VALUE_PUT, put('k', 3, 100), bytes(ok));
      say(t, KEY_VALUE_GET, keyValueBody('k'), bytes(missing));
    },
  ],
  [
    'what has died is back',
    false,
    (t) => {
      say(t, KEY_VALUE_PUT, put('k', 3, 100), bytes(ok));
      say(t, KEY_VALUE_GET, keyValueBody('k'), bytes(missing));
      say(t, KEY_VALUE_GET, keyValueBody('k'), bytes(ok, 3));
    },
  ],
  [
    'what was put in the place of a mortal is immortal',
    false,
    (t) => {
      say(t, KEY_VALUE_PUT, put('k', 3, 100), bytes(ok));
      say(t, KEY_VALUE_PUT, put('k', 4), bytes(ok));
      say(t, KEY_VALUE_GET, keyValueBody('k'), bytes(missing));
    },
  ],
];

for (const [name, isRight, act] of CASES) {
  test(`a key-value store: ${name} (${isRight ? 'right' : 'wrong'})`, () => {
    const testimony = keyValueTestimony();
    say(testimony, KEY_VALUE_PUT, put('k', 1), bytes(ok));
    act(testimony);
    assert.equal(isGood(testimony), isRight);
  });
}
