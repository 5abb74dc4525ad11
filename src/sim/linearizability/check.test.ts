/** Verdicts, their reasons and their limits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkLinearizable } from './check.ts';
import { HistoryError } from './history-error.ts';
import { add, cas, type Line, type Loose, loose, read, write } from './lines-test-helper.ts';
import { deterministic, type Model, type NondeterministicModel } from './model.ts';
import { counterModel } from './models/counter.ts';
import { keyValueModel } from './models/key-value.ts';
import { registerModel } from './models/register.ts';
import type { OperationHistory } from './operation.ts';
import { describeVerdict } from './verdict.ts';

test('keys have nothing to do with each other', () => {
  const at = <T extends object>(key: string, input: T) => ({ ...input, key });
  const good = loose([
    [0, 0, 1, at('a', write(1)), null],
    [1, 2, 3, at('b', read), null],
    [1, 4, 5, at('a', read), 1],
  ]);
  const verdict = checkLinearizable(good, keyValueModel());
  assert.ok(verdict.kind === 'linearizable');
  assert.deepEqual(
    verdict.orders.map((order) => order.length),
    [2, 1],
  );
  const bad = [...good, ...loose([[1, 6, 7, at('b', read), 1]])];
  const found = checkLinearizable(bad, keyValueModel());
  assert.ok(found.kind === 'not-linearizable');
  assert.equal(found.offence.part.length, 2);
});

test('an offence is the shortest beginning, the longest order before it, and what is in the way', () => {
  const history = loose([
    [0, 0, 1, write(1), null],
    [0, 2, 3, write(2), null],
    [1, 5, 6, read, 1],
    [2, 4, 8, write(3), null],
    [1, 20, 21, read, 9],
  ]);
  const verdict = checkLinearizable(history, registerModel());
  assert.ok(verdict.kind === 'not-linearizable');
  const { offence } = verdict;
  assert.equal(offence.blocked, history[2]);
  assert.deepEqual(offence.prefix, [history[0], history[1], history[3], history[2]]);
  assert.equal(offence.isShortest, true);
  assert.deepEqual(offence.order, [history[0], history[1], history[3]]);
  assert.deepEqual(offence.state, { value: 3 });
  assert.deepEqual(describeVerdict(verdict).split('\n'), [
    'not linearizable: 4 of 5 operations',
    'nothing explains  process 1: {"f":"read"} → 1  [5 … 6]',
    'in state          {"value":3}',
    'after',
    '  process 0: {"f":"write","value":1} → null  [0 … 1]',
    '  process 0: {"f":"write","value":2} → null  [2 … 3]',
    '  process 2: {"f":"write","value":3} → null  [4 … 8]',
  ]);
});

test('what was open may turn out to have been impossible later', () => {
  // The first read is explained by a write that is open; that it did not write is known at its end.
  const history = loose([
    [0, 0, 9, cas(null, 1), false],
    [1, 2, 3, read, 1],
    [2, 4, 5, read, 1],
  ]);
  const verdict = checkLinearizable(history, registerModel());
  assert.ok(verdict.kind === 'not-linearizable');
  assert.equal(verdict.offence.blocked, history[0]);
  assert.equal(verdict.offence.prefix.length, 3);
});

/** Nobody can tell which subset of the additions makes up a sum. */
const riddle = loose([
  ...Array.from({ length: 24 }, (_, i): Line<Loose, Loose> => [i, 0, null, add(2 ** i)]),
  [30, 1, 2, read, 0],
  [30, 3, 4, read, 2 ** 23 + 0.5],
]);

test('a budget of steps and one of memory end what would take too long', () => {
  const steps = checkLinearizable(riddle, counterModel(), { stepsMax: 10_000 });
  assert.ok(steps.kind === 'unknown' && steps.reason === 'steps');
  // What is tried in one situation is tried to its end.
  assert.ok(steps.steps >= 10_000 && steps.steps < 10_100, String(steps.steps));
  assert.equal(describeVerdict(steps), `unknown: no steps left after ${steps.steps} steps`);
  const memory = checkLinearizable(riddle, counterModel(), { memoryBytesMax: 100_000 });
  assert.ok(memory.kind === 'unknown' && memory.reason === 'memory');
  assert.deepEqual(
    checkLinearizable(riddle, counterModel(), { memoryBytesMax: 100_000 }),
    memory,
    'not the same twice',
  );
});

test('one part that takes too long leaves the others their steps', () => {
  const model = {
    ...counterModel(),
    partition: (history: OperationHistory<Loose, Loose>) => [riddle, history],
  };
  const bad = loose([[0, 0, 1, read, 1]]);
  const stepsMax = 1000;
  assert.equal(checkLinearizable(bad, model, { stepsMax }).kind, 'not-linearizable');
  const good = loose([[0, 0, 1, read, 0]]);
  assert.equal(checkLinearizable(good, model, { stepsMax }).kind, 'unknown');
});

test('states are told apart by the model, or by === without its help', () => {
  // Objects that are never equal: slow, and right all the same.
  const plain: Model<{ readonly total: number }, Loose, Loose> = {
    name: 'plain',
    init: () => ({ total: 0 }),
    step: ({ total }, input, output) => {
      const after = total + (input.amount ?? 0);
      return output === undefined || output === null || output === after ? { total: after } : null;
    },
  };
  const lines: Line<Loose, Loose>[] = [1, 2, 3, 4].map((n) => [n, 0, 9, add(n), null]);
  const good = loose([...lines, [5, 10, 11, read, 10]]);
  const bad = loose([...lines, [5, 10, 11, read, 9]]);
  assert.equal(checkLinearizable(good, plain).kind, 'linearizable');
  assert.equal(checkLinearizable(bad, plain).kind, 'not-linearizable');
});

test('a nondeterministic model is in all states at once', () => {
  /** A counter that may count each addition once or twice. */
  const careless: NondeterministicModel<number, Loose, Loose> = {
    name: 'careless',
    init: () => 0,
    steps: (state, input, output) => {
      if (input.f === 'read') return output === undefined || output === state ? [state] : [];
      return [state + input.amount, state + 2 * input.amount];
    },
  };
  const model = deterministic(careless);
  const after = (total: number) =>
    loose([
      [0, 0, 1, add(1), null],
      [0, 2, 3, add(10), null],
      [1, 4, 5, read, total],
      [1, 6, 7, read, total],
    ]);
  for (const total of [11, 12, 21, 22]) {
    assert.equal(checkLinearizable(after(total), model).kind, 'linearizable', String(total));
  }
  assert.equal(checkLinearizable(after(10), model).kind, 'not-linearizable');
  // What was read once is known from then on.
  const fickle = [...after(11), ...loose([[1, 8, 9, read, 12]])];
  assert.equal(checkLinearizable(fickle, model).kind, 'not-linearizable');
});

test('times that make no sense are refused', () => {
  const model = registerModel();
  const bad: readonly (readonly [Line<Loose, Loose>, RegExp])[] = [
    [[0, 5, 4, read, null], /event 1: returns at 4, before its call at 5/],
    [[0, 0.5, 4, read, null], /safe integers/],
    [[0, Number.NaN, null, read], /safe integers/],
    [[0, 0, Number.POSITIVE_INFINITY, read, null], /safe integers/],
  ];
  for (const [line, message] of bad) {
    const history = loose([[1, 0, 1, read, null], line]);
    assert.throws(
      () => checkLinearizable(history, model),
      (error) => {
        assert.ok(error instanceof HistoryError);
        assert.equal(error.code, 'time');
        assert.equal(error.index, 1);
        assert.match(error.message, message);
        return true;
      },
    );
  }
});
