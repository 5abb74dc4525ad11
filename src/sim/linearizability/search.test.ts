/** The search against its dumb twin on small histories, and against time on large ones. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Prng } from '../../stdx/index.ts';
import { beginning, bruteForce, isLawful } from './brute-force-test-helper.ts';
import { checkLinearizable } from './check.ts';
import { type GenerateOptions, generate } from './generate-test-helper.ts';
import type { Model } from './model.ts';
import { counterModel } from './models/counter.ts';
import { fencedLockModel } from './models/fenced-lock.ts';
import { type KeyValueInput, keyValueModel } from './models/key-value.ts';
import { queueModel } from './models/queue.ts';
import { type RegisterInput, registerModel } from './models/register.ts';
import type { Operation, OperationHistory } from './operation.ts';

const RUNS = 400;

/** Random intervals, often overlapping, sometimes touching, with any outputs at all. */
function historyArbitrary<I, O>(
  input: fc.Arbitrary<I>,
  output: fc.Arbitrary<O>,
): fc.Arbitrary<Operation<I, O>[]> {
  const operation = fc.record({
    process: fc.nat(3),
    input,
    output,
    call: fc.nat(12),
    length: fc.nat(6),
    isUnknown: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
  });
  return fc.array(operation, { maxLength: 6 }).map((list) =>
    list.map(({ process, input, output, call, length, isUnknown }): Operation<I, O> => {
      if (isUnknown) return { process, input, call, return: null };
      return { process, input, call, return: call + length, output };
    }),
  );
}

const value = fc.constantFrom(null, 1, 2);
const registerInput: fc.Arbitrary<RegisterInput> = fc.oneof(
  fc.constant({ f: 'read' } as const),
  fc.record({ f: fc.constant('write' as const), value }),
  fc.record({ f: fc.constant('cas' as const), from: value, to: value }),
);
const registerOutput = fc.constantFrom(null, 1, 2, true, false);

/** The verdict is the twin's, and its proof holds either way. */
function compare<S, I, O>(
  model: Model<S, I, O>,
  whole: Model<unknown, I, O>,
  input: fc.Arbitrary<I>,
  output: fc.Arbitrary<O>,
  isExact: boolean = true,
): { good: number; bad: number } {
  const counts = { good: 0, bad: 0 };
  fc.assert(
    fc.property(historyArbitrary(input, output), (history) => {
      const verdict = checkLinearizable(history, model);
      const isGood = bruteForce(history, whole);
      assert.equal(verdict.kind, isGood ? 'linearizable' : 'not-linearizable');
      counts[isGood ? 'good' : 'bad']++;
      if (verdict.kind === 'linearizable') {
        const placed = verdict.orders.flat();
        for (const order of verdict.orders) assert.ok(isLawful(order, model));
        assert.equal(new Set(placed).size, placed.length);
        for (const operation of history) {
          assert.ok(operation.return === null || placed.includes(operation));
        }
      } else if (verdict.kind === 'not-linearizable') {
        const { part, prefix, isShortest, order, blocked } = verdict.offence;
        assert.ok(isShortest && prefix.includes(blocked));
        if (!isExact) return;
        let count = 1;
        while (bruteForce(beginning(part, count), model)) count++;
        const shortest = beginning(part, count);
        assert.deepEqual(prefix.length, shortest.length);
        const before = beginning(part, count - 1);
        const wanted = before.filter((operation) => operation.return !== null);
        for (const { call, input } of wanted) {
          assert.ok(order.some((placed) => placed.call === call && placed.input === input));
        }
      }
    }),
    { numRuns: RUNS },
  );
  return counts;
}

test('registers: the verdict is that of trying every order', () => {
  const model = registerModel();
  const { good, bad } = compare(
    model,
    model as Model<unknown, RegisterInput, null>,
    registerInput,
    registerOutput,
  );
  assert.ok(good > RUNS / 10 && bad > RUNS / 10, `${good} ${bad}`);
});

test('key-value: parts together give the verdict of the whole', () => {
  const key = fc.constantFrom('a', 'b');
  const input = fc
    .tuple(registerInput, key)
    .map(([inner, k]): KeyValueInput => ({ ...inner, key: k }));
  const register = registerModel();
  /** All keys in one state. */
  const whole: Model<
    ReadonlyMap<unknown, ReturnType<typeof register.init>>,
    KeyValueInput,
    unknown
  > = {
    name: 'map',
    init: () => new Map(),
    step: (state, operation, output) => {
      const before = state.get(operation.key) ?? register.init();
      const after = register.step(before, operation, output as null);
      return after === null ? null : new Map([...state, [operation.key, after]]);
    },
  };
  const { good, bad } = compare(
    keyValueModel(),
    whole as Model<unknown, KeyValueInput, null>,
    input,
    registerOutput,
  );
  assert.ok(good > RUNS / 10 && bad > RUNS / 10, `${good} ${bad}`);
});

test('counters, queues and locks: the verdict is that of trying every order', () => {
  const amount = fc.constantFrom(1, 2, -1);
  const counter = counterModel();
  compare(
    counter,
    counter as Model<unknown, never, never>,
    fc.oneof(
      fc.constant({ f: 'read' } as const),
      fc.record({ f: fc.constant('add' as const), amount }),
    ) as fc.Arbitrary<never>,
    fc.constantFrom(null, 0, 1, 2, 3) as fc.Arbitrary<never>,
  );
  const queue = queueModel();
  compare(
    queue,
    queue as Model<unknown, never, never>,
    fc.oneof(
      fc.constant({ f: 'dequeue' } as const),
      fc.record({ f: fc.constant('enqueue' as const), value: fc.constantFrom(1, 2) }),
    ) as fc.Arbitrary<never>,
    fc.constantFrom(null, null, 1, 2) as fc.Arbitrary<never>,
  );
  const lock = fencedLockModel();
  const token = fc.constantFrom(1, 2);
  compare(
    lock,
    lock as Model<unknown, never, never>,
    fc.oneof(
      fc.constantFrom({ f: 'acquire' } as const, { f: 'expire' } as const),
      fc.record({ f: fc.constantFrom('release' as const, 'use' as const), token }),
    ) as fc.Arbitrary<never>,
    fc.constantFrom(null, 1, 2, true, false) as fc.Arbitrary<never>,
    // A token that is used before anybody was told of it is never explained by an open `acquire`.
    false,
  );
});

/** What the generated histories use, under its model. */
function store(
  keys: number,
): Pick<GenerateOptions<KeyValueInput, null | boolean | number | string>, 'input' | 'apply'> {
  const values = new Map<unknown, null | boolean | number | string>();
  let written = 0;
  return {
    input: (prng) => {
      const key = prng.below(keys);
      const choice = prng.below(10);
      if (choice < 5) return { f: 'read', key };
      if (choice < 8) return { f: 'write', key, value: ++written };
      const from = prng.chance(3, 4) ? (values.get(key) ?? null) : prng.below(written + 1);
      return { f: 'cas', key, from, to: ++written };
    },
    apply: (input) => {
      const now = values.get(input.key) ?? null;
      if (input.f === 'read') return now;
      if (input.f === 'cas') {
        if (now === input.from) values.set(input.key, input.to);
        return now === input.from;
      }
      values.set(input.key, input.value);
      return null;
    },
  };
}

function makeStoreHistory(
  seed: number,
  options: { operations: number; clients: number; keys: number; unknowns: number },
) {
  return generate({ prng: new Prng(seed), ...options, ...store(options.keys) });
}

test('10,000 operations of 32 clients on 100 keys take a moment', (t) => {
  const options = { operations: 10_000, clients: 32, keys: 100, unknowns: 10 };
  const history = makeStoreHistory(1, options);
  const begin = performance.now();
  const verdict = checkLinearizable(history, keyValueModel());
  const ms = performance.now() - begin;
  t.diagnostic(`${verdict.steps} steps in ${ms.toFixed(0)} ms`);
  assert.equal(verdict.kind, 'linearizable');
  assert.ok(ms < 2000, `${ms} ms`);
});

test('one register in the hands of 16 clients', (t) => {
  const options = { operations: 10_000, clients: 16, keys: 1, unknowns: 1 };
  const history = makeStoreHistory(2, options);
  const begin = performance.now();
  const verdict = checkLinearizable(history, keyValueModel());
  const ms = performance.now() - begin;
  t.diagnostic(`${verdict.kind}: ${verdict.steps} steps in ${ms.toFixed(0)} ms`);
  assert.equal(verdict.kind, 'linearizable');
});

test('a single changed answer among thousands is found, and the prefix ends at or behind it', () => {
  const options = { operations: 2000, clients: 16, keys: 20, unknowns: 5 };
  for (let seed = 0; seed < 20; seed++) {
    const history = makeStoreHistory(seed, options);
    const prng = new Prng(seed, 1);
    const reads = history.filter(({ input, return: end }) => input.f === 'read' && end !== null);
    const victim = prng.pick(reads);
    assert.ok(victim.return !== null);
    // Something that was never written, or that is long gone.
    const isOld = prng.chance(1, 2);
    const old = staleValue(history, victim.input.key, victim.call);
    const output = isOld && old !== null ? old : -1;
    const mutated = history.map((operation) => {
      return operation === victim ? { ...victim, output } : operation;
    });
    const verdict = checkLinearizable(mutated, keyValueModel());
    assert.equal(verdict.kind, 'not-linearizable', `seed ${seed}`);
    assert.ok(verdict.kind === 'not-linearizable');
    const { offence } = verdict;
    assert.ok(offence.isShortest);
    // Without its answer all would be well, and one that nobody wrote is wrong at once.
    assert.ok(offence.blocked.return >= victim.return);
    if (output === -1) assert.equal(offence.blocked.return, victim.return);
    assert.ok(isLawful(offence.order, keyValueModel()));
  }
});

/** A value of the key that was read, and read to be replaced, before this time. */
function staleValue(
  history: OperationHistory<KeyValueInput, unknown>,
  key: unknown,
  time: number,
): number | null {
  const seen = history.filter(
    (operation) =>
      operation.input.key === key &&
      operation.input.f === 'read' &&
      operation.return !== null &&
      operation.return < time,
  );
  const values = seen
    .toSorted((a, b) => a.call - b.call)
    .map((operation) => (operation.return === null ? null : operation.output));
  const last = values.at(-1);
  const first = values.find((each) => typeof each === 'number' && each !== last);
  return typeof first === 'number' ? first : null;
}

test('unknown outcomes by the dozen do not stop a search that has an answer', () => {
  for (let seed = 0; seed < 10; seed++) {
    let total = 0;
    const history = generate<Parameters<ReturnType<typeof counterModel>['step']>[1], number>({
      prng: new Prng(seed),
      operations: 300,
      clients: 8,
      unknowns: 100,
      input: (prng) => (prng.chance(1, 5) ? { f: 'read' } : { f: 'add', amount: prng.u32() }),
      apply: (input) => {
        if (input.f === 'add') total += input.amount;
        return total;
      },
    });
    const verdict = checkLinearizable(history, counterModel(), { stepsMax: 200_000 });
    assert.equal(verdict.kind, 'linearizable', `seed ${seed}: ${verdict.steps} steps`);
  }
});
