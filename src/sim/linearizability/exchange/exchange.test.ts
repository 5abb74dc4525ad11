/** Histories written down and read back, and what is said of those that make no sense. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { checkLinearizable } from '../check.ts';
import { HistoryError, type HistoryErrorCode } from '../history-error.ts';
import { counterFormat } from '../models/counter.ts';
import { fencedLockFormat } from '../models/fenced-lock.ts';
import { type KeyValueInput, keyValueFormat } from '../models/key-value.ts';
import { queueFormat } from '../models/queue.ts';
import {
  type RegisterInput,
  type RegisterOutput,
  registerFormat,
  registerModel,
} from '../models/register.ts';
import type { Operation } from '../operation.ts';
import { eventsFromEdn, eventsToEdn } from './edn.ts';
import { eventsToHistory, type HistoryEvent, historyToEvents } from './events.ts';
import type { HistoryFormat } from './format.ts';
import { eventsFromJson, eventsToJson } from './json.ts';
import type { Value } from './value.ts';

const RUNS = 300;

const scalar = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0),
  fc.string({ unit: 'binary' }),
  fc.constantFrom(':keyword', ':a/b', ':', '::', ':with space', 'nil', '"\\', '\b\f\n', '{', ';'),
);
const value: fc.Arbitrary<Value> = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom(':k', ':x/y', '__proto__')), tie('value')),
  ),
})).value;

/** What a value is once it was told: no negative zeros, no prototypes. */
const plain = <T>(made: T): T => JSON.parse(JSON.stringify(made)) as T;

test('any event is read as it was written, as JSON and as EDN', () => {
  const event = fc.record({
    process: fc.nat(),
    type: fc.constantFrom('invoke' as const, 'ok' as const, 'fail' as const, 'info' as const),
    f: fc.oneof(fc.constantFrom('read', 'compare-and-set', 'a/b', 'two words', '"', '1')),
    value,
  });
  const times = fc.option(fc.constant(true), { nil: false });
  fc.assert(
    fc.property(fc.array(event, { maxLength: 5 }), times, value, (list, hasTimes, error) => {
      const events = list.map((made, index): HistoryEvent => {
        const time = hasTimes === true ? { time: index * 7 - 3 } : {};
        return plain({ ...made, ...time, ...(error === null ? {} : { error }) });
      });
      assert.deepEqual(eventsFromJson(eventsToJson(events)), events);
      assert.deepEqual(eventsFromEdn(eventsToEdn(events)), events);
    }),
    { numRuns: RUNS },
  );
});

/** Clients that do one thing after another, and never say the same thing of it twice. */
function historyArbitrary<I, O>(
  step: fc.Arbitrary<readonly [I, O]>,
): fc.Arbitrary<Operation<I, O>[]> {
  const one = fc.record({
    step,
    process: fc.nat(3),
    pause: fc.nat(3),
    length: fc.nat(3),
    isUnknown: fc.boolean(),
  });
  return fc.array(one, { maxLength: 12 }).map((list) => {
    const free = [0, 0, 0, 0];
    return list.map(({ step: [input, output], process, pause, length, isUnknown }) => {
      const call = free[process]! + pause;
      free[process] = call + length;
      if (isUnknown) return { process, input, call, return: null };
      return { process, input, call, return: call + length, output };
    });
  });
}

const sorted = (lines: readonly string[]): string[] => lines.toSorted((a, b) => (a < b ? -1 : 1));

function roundTrip<I, O>(format: HistoryFormat<I, O>, step: fc.Arbitrary<readonly [I, O]>): void {
  fc.assert(
    fc.property(historyArbitrary(step), (history) => {
      const events = historyToEvents(history, format);
      for (const told of [
        events,
        eventsFromJson(eventsToJson(events)),
        eventsFromEdn(eventsToEdn(events)),
      ]) {
        const again = eventsToHistory(told, format);
        const key = (operation: Operation<I, O>): string => JSON.stringify(operation);
        assert.deepEqual(sorted(again.map(key)), sorted(history.map(key)));
      }
    }),
    { numRuns: RUNS },
  );
}

const cell = fc.constantFrom(null, true, 0, -5, 'text', ':key');
const registerStep: fc.Arbitrary<readonly [RegisterInput, RegisterOutput]> = fc.oneof(
  cell.map((seen): [RegisterInput, RegisterOutput] => [{ f: 'read' }, seen]),
  cell.map((written): [RegisterInput, RegisterOutput] => [{ f: 'write', value: written }, null]),
  fc.tuple(cell, cell, fc.boolean()).map(([from, to, isSet]): [RegisterInput, RegisterOutput] => {
    return [{ f: 'cas', from, to }, isSet];
  }),
);

test('histories of every model come back as they were', () => {
  roundTrip(registerFormat, registerStep);
  roundTrip(
    keyValueFormat,
    fc.tuple(registerStep, cell).map(([[input, output], key]): [KeyValueInput, RegisterOutput] => {
      return [{ ...input, key }, output];
    }),
  );
  roundTrip(
    counterFormat,
    fc.oneof(
      fc.maxSafeInteger().map((total) => [{ f: 'read' } as const, total] as const),
      fc.tuple(fc.maxSafeInteger(), fc.option(fc.maxSafeInteger())).map(([amount, total]) => {
        return [{ f: 'add', amount } as const, total] as const;
      }),
    ),
  );
  roundTrip(
    queueFormat,
    fc.oneof(
      cell.map((given) => [{ f: 'enqueue', value: given } as const, null] as const),
      cell.map((taken) => [{ f: 'dequeue' } as const, taken] as const),
    ),
  );
  const token = fc.nat(9);
  roundTrip(
    fencedLockFormat,
    fc.oneof(
      fc.option(token).map((given) => [{ f: 'acquire' } as const, given] as const),
      fc.boolean().map((was) => [{ f: 'expire' } as const, was] as const),
      fc
        .tuple(token, fc.constantFrom('release' as const, 'use' as const), fc.boolean())
        .map(([held, f, was]) => [{ f, token: held }, was] as const),
    ),
  );
});

const JEPSEN = `
; a history as Jepsen writes it
{:process 0, :type :invoke, :f :write, :value 1, :index 0, :time 10}
{:process :nemesis, :type :info, :f :start-partition, :value nil, :index 1, :time 11}
#jepsen.history.Op{:index 2, :time 12, :type :invoke, :process 1, :f :read, :value nil}
{:process 0 :type :ok :f :write :value 1 :index 3 :time 13} #_ {:process 9}
{:process 1, :type :ok, :f :read, :value 1, :index 4, :time 14, :error [:odd "but \\u0041ll right"]}
{:process 2, :type :invoke, :f :cas, :value [1 2], :index 5, :time 15}
{:process 2, :type :fail, :f :cas, :value [1 2], :index 6, :time 16, :error :connection-refused}
{:process 3, :type :invoke, :f :cas, :value (1 3), :index 7, :time 17}
{:process 3, :type :info, :f :cas, :value [1 3], :index 8, :time 18, :error :timeout}
{:process 0, :type :invoke, :f :read, :value nil, :index 9, :time 19}`;

test('a Jepsen history: other processes and failures left out, unknown outcomes kept', () => {
  const operations = eventsToHistory(eventsFromEdn(JEPSEN), registerFormat);
  assert.equal(checkLinearizable(operations, registerModel()).kind, 'linearizable');
  assert.deepEqual(operations, [
    { process: 0, input: { f: 'write', value: 1 }, call: 10, return: 13, output: null },
    { process: 1, input: { f: 'read' }, call: 12, return: 14, output: 1 },
    { process: 3, input: { f: 'cas', from: 1, to: 3 }, call: 17, return: null },
    { process: 0, input: { f: 'read' }, call: 19, return: null },
  ]);
  // The same, all in one vector.
  assert.deepEqual(eventsFromEdn(`[${JEPSEN}\n]`), eventsFromEdn(JEPSEN));
});

test('EDN is written the way others read it', () => {
  const history: Operation<{ f: 'cas'; from: number; to: number } | { f: 'read' }, never>[] = [
    { process: 0, input: { f: 'cas', from: 1, to: 2 }, call: 0, return: 3, output: false as never },
    { process: 1, input: { f: 'read' }, call: 1, return: null },
  ];
  assert.equal(
    eventsToEdn(historyToEvents(history, registerFormat)),
    '{:process 0, :type :invoke, :f :cas, :value [1 2], :time 0}\n' +
      '{:process 1, :type :invoke, :f :read, :value nil, :time 1}\n' +
      '{:process 1, :type :info, :f :read, :value nil, :time 1}\n' +
      '{:process 0, :type :fail, :f :cas, :value [1 2], :time 3, :error :unequal}\n',
  );
});

test('without times, the order of events is that of time', () => {
  const text = `[{"process":1,"type":"invoke","f":"read"},
    {"process":2,"type":"invoke","f":":write","value":4},
    {"process":1,"type":"ok","f":"read","value":null},
    {"process":2,"type":"ok","f":"write","value":4}]`;
  assert.deepEqual(eventsToHistory(eventsFromJson(text), registerFormat), [
    { process: 1, input: { f: 'read' }, call: 0, return: 2, output: null },
    { process: 2, input: { f: 'write', value: 4 }, call: 1, return: 3, output: null },
  ]);
});

function refused(code: HistoryErrorCode, message: RegExp, read: () => unknown): void {
  assert.throws(read, (error) => {
    assert.ok(error instanceof HistoryError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    return true;
  });
}

const op = (rest: string, process: string = ':process 0, ') => `{${process}${rest}}`;
const EDN: readonly (readonly [HistoryErrorCode, RegExp, string])[] = [
  ['syntax', /ends where a value is wanted|no "}" at character 0/, '{:process'],
  ['syntax', /no "\]" at character 2/, '  [1 2'],
  ['syntax', /nothing is open that "\)" closes at character 3/, '{} )'],
  ['syntax', /nothing is open that "]" closes/, '{:a ]'],
  ['syntax', /a key too many/, '{:a}'],
  ['syntax', /a map has :a twice/, '{:a 1 :a 2}'],
  ['syntax', /a string has no end at character 1/, '["abc'],
  ['syntax', /a string has no end/, '"abc\\'],
  ['syntax', /unknown escape "\\q"/, '["\\q"]'],
  ['syntax', /unknown escape "\\u"/, '["\\u12"]'],
  ['syntax', /: is no keyword/, '[:]'],
  ['syntax', /ends where a value is wanted/, '#_'],
  ['syntax', /"#" without a tag/, '# {}'],
  ['unsupported', /a set/, '#{1}'],
  ['unsupported', /tag #inst before/, '#inst "2020"'],
  ['unsupported', /\\a is no value/, '[\\a]'],
  ['unsupported', /1\/2 is no value/, '[1/2]'],
  ['unsupported', /foo is no value/, 'foo'],
  ['unsupported', /9007199254740993 is no safe integer/, '[9007199254740993]'],
  ['unsupported', /1e999 is no value/, '[1e999]'],
  ['unsupported', /a key that is no keyword/, '{1 2}'],
  ['limit', /deeper than 34 collections at character 35/, '['.repeat(1_000_000)],
  ['limit', /deeper than 34 collections/, '#_'.repeat(1_000_000)],
  [
    'limit',
    /event 0: a value is deeper than 32/,
    op(`:type :ok, :f :a, :value ${'['.repeat(33)}${']'.repeat(33)}`),
  ],
  ['event', /event 0: a map wanted/, '1'],
  ['event', /event 1: a map wanted/, `[${op(':type :ok :f :a')} []]`],
  ['event', /a process of 0 or more wanted/, op(':type :ok, :f :read', '')],
  ['event', /a process of 0 or more wanted/, op(':type :ok, :f :read', ':process -1 ')],
  ['event', /a process of 0 or more wanted/, op(':type :ok, :f :read', ':process 0.5 ')],
  ['event', /a type wanted, one of invoke, ok, fail, info/, op(':f :read')],
  ['event', /a type wanted/, op(':f :read, :type :maybe')],
  ['event', /the name of a function/, op(':type :ok')],
  ['event', /the name of a function/, op(':type :ok :f 7')],
  ['time', /a safe integer wanted as time/, op(':type :ok, :f :read, :time "now"')],
  [
    'time',
    /event 1: time goes back from 5 to 4/,
    op(':type :invoke, :f :read, :time 5') + op(':type :ok, :f :read, :time 4'),
  ],
  [
    'time',
    /event 1: times wanted for all events or for none/,
    op(':type :invoke, :f :read, :time 5') + op(':type :ok, :f :read'),
  ],
];

test('malformed EDN is refused by code and place', () => {
  for (const [code, message, text] of EDN) refused(code, message, () => eventsFromEdn(text));
});

const JSONS: readonly (readonly [HistoryErrorCode, RegExp, string])[] = [
  ['syntax', /not JSON: /, '[{'],
  ['event', /an array of events wanted/, '{}'],
  ['event', /event 0: a map wanted/, '[null]'],
  ['event', /event 0: a process of 0 or more wanted/, '[{"__proto__":{"process":1}}]'],
  ['event', /a process of 0 or more wanted/, '[{"process":1e300,"type":"ok","f":"a"}]'],
  [
    'limit',
    /event 0: a value is deeper/,
    `[{"process":1,"type":"ok","f":"a","value":${'['.repeat(5000)}${']'.repeat(5000)}}]`,
  ],
];

test('malformed JSON is refused by code and place', () => {
  for (const [code, message, text] of JSONS) refused(code, message, () => eventsFromJson(text));
});

const ORDERS: readonly (readonly [HistoryErrorCode, RegExp, string])[] = [
  [
    'process-busy',
    /event 1: process 0 is busy/,
    op(':type :invoke, :f :read') + op(':type :invoke, :f :read'),
  ],
  ['process-idle', /event 0: process 0 is idle/, op(':type :ok, :f :read')],
  [
    'mismatch',
    /event 1: process 0 ends "write": "read" is open/,
    op(':type :invoke, :f :read') + op(':type :ok, :f :write'),
  ],
  [
    'function',
    /event 0: unknown function "drop": one of read, write, cas/,
    op(':type :invoke, :f :drop'),
  ],
  ['value', /event 0: value \[1\] of "cas": a vector of/, op(':type :invoke, :f :cas, :value [1]')],
  [
    'value',
    /event 0: value \{\} of "write": null, a boolean/,
    op(':type :invoke, :f :write, :value {}'),
  ],
  [
    'value',
    /event 1: value 3 of "write": the value of the invocation wanted/,
    op(':type :invoke, :f :write, :value 2') + op(':type :ok, :f :write, :value 3'),
  ],
];

test('events that cannot have happened are refused by code and place', () => {
  for (const [code, message, text] of ORDERS) {
    refused(code, message, () => eventsToHistory(eventsFromEdn(text), registerFormat));
  }
});

test('what cannot be told is refused before it is written', () => {
  const at = (call: number, end: number) => {
    return { process: 0, input: { f: 'read' } as const, call, return: end, output: 1 };
  };
  refused('process-busy', /process 0 begins an operation at 3 while another is open/, () => {
    return historyToEvents([at(0, 5), at(3, 9)], registerFormat);
  });
  const event = { process: 0, type: 'ok', f: 'a', value: Number.NaN } as const;
  refused('value', /event 0: NaN cannot be told/, () => eventsToJson([event]));
  refused('value', /event 0: NaN cannot be told/, () => eventsToEdn([event]));
  // What touches does not overlap, also where it takes no time at all.
  const touching = [at(5, 5), at(0, 5), at(5, 7)];
  const events = historyToEvents(touching, registerFormat);
  assert.equal(eventsToHistory(events, registerFormat).length, 3);
});
