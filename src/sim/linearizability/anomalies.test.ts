/** Histories that somebody has thought of: each anomaly by its name, and what excuses it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkLinearizable } from './check.ts';
import { add, cas, historyOf, type Line, read, write } from './lines-test-helper.ts';
import type { Model } from './model.ts';
import { counterModel } from './models/counter.ts';
import { fencedLockModel } from './models/fenced-lock.ts';
import { queueModel } from './models/queue.ts';
import { registerModel } from './models/register.ts';

interface Case<I, O> {
  readonly name: string;
  readonly isGood: boolean;
  readonly lines: readonly Line<I, O>[];
}

function tryAll<S, I, O>(model: Model<S, I, O>, cases: readonly Case<I, O>[]): void {
  for (const { name, isGood, lines } of cases) {
    test(`${model.name}: ${name} is ${isGood ? '' : 'not '}linearizable`, () => {
      const history = historyOf(lines);
      // In whatever order operations are listed.
      for (const either of [history, history.toReversed()]) {
        const verdict = checkLinearizable(either, model);
        assert.equal(verdict.kind, isGood ? 'linearizable' : 'not-linearizable');
      }
    });
  }
}

tryAll(registerModel(), [
  { name: 'nothing at all', isGood: true, lines: [] },
  {
    name: 'one after the other',
    isGood: true,
    lines: [
      [0, 0, 1, write(1), null],
      [1, 2, 3, read, 1],
    ],
  },
  {
    name: 'a stale read',
    isGood: false,
    lines: [
      [0, 0, 1, write(1), null],
      [0, 2, 3, write(2), null],
      [1, 4, 5, read, 1],
    ],
  },
  {
    name: 'a read beside a write, of the old value',
    isGood: true,
    lines: [
      [0, 0, 1, write(1), null],
      [0, 2, 9, write(2), null],
      [1, 4, 5, read, 1],
    ],
  },
  {
    name: 'a read that begins when the write ends, of the old value',
    isGood: true,
    lines: [
      [0, 0, 1, write(1), null],
      [0, 2, 4, write(2), null],
      [1, 4, 5, read, 1],
    ],
  },
  {
    name: 'a new value that is old again for the next reader',
    isGood: false,
    lines: [
      [0, 0, 1, write(1), null],
      [0, 2, 9, write(2), null],
      [1, 3, 4, read, 2],
      [2, 5, 6, read, 1],
    ],
  },
  {
    name: 'a read from the future',
    isGood: false,
    lines: [
      [1, 0, 1, read, 7],
      [0, 2, 3, write(7), null],
    ],
  },
  {
    name: 'a value that nobody wrote',
    isGood: false,
    lines: [
      [0, 0, 1, write(1), null],
      [1, 0, 5, read, 3],
    ],
  },
  {
    name: 'two writes that two readers see in different order',
    isGood: false,
    lines: [
      [0, 0, 9, write(1), null],
      [1, 0, 9, write(2), null],
      [2, 1, 2, read, 1],
      [3, 1, 2, read, 2],
      [2, 3, 4, read, 2],
      [3, 3, 4, read, 1],
    ],
  },
  {
    name: 'two writes that two readers see in one order',
    isGood: true,
    lines: [
      [0, 0, 9, write(1), null],
      [1, 0, 9, write(2), null],
      [2, 1, 2, read, 1],
      [3, 3, 4, read, 2],
      [2, 5, 6, read, 2],
    ],
  },
  {
    name: 'a write that failed to return and was read',
    isGood: true,
    lines: [
      [0, 0, null, write(1)],
      [1, 2, 3, read, null],
      [1, 4, 5, read, 1],
    ],
  },
  {
    name: 'a write that failed to return and took effect twice',
    isGood: false,
    lines: [
      [0, 0, null, write(1)],
      [1, 2, 3, read, 1],
      [1, 4, 5, write(2), null],
      [1, 6, 7, read, 1],
    ],
  },
  {
    name: 'a write that was read before its call, and never returned,',
    isGood: false,
    lines: [
      [1, 0, 1, read, 1],
      [0, 2, null, write(1)],
    ],
  },
  {
    name: 'a value that comes back by two writes of unknown outcome',
    isGood: true,
    lines: [
      [0, 0, null, write(1)],
      [2, 0, null, write(1)],
      [1, 2, 3, read, 1],
      [1, 4, 5, write(2), null],
      [1, 6, 7, read, 1],
    ],
  },
  {
    name: 'one value compared and set by two',
    isGood: false,
    lines: [
      [0, 0, 5, cas(null, 1), true],
      [1, 0, 5, cas(null, 2), true],
    ],
  },
  {
    name: 'a compare-and-set that fails although the value is right',
    isGood: false,
    lines: [
      [0, 0, 1, write(1), null],
      [1, 2, 3, cas(1, 2), false],
    ],
  },
  {
    name: 'a compare-and-set that fails beside one that does not',
    isGood: true,
    lines: [
      [0, 0, 5, cas(null, 1), true],
      [1, 0, 5, cas(null, 2), false],
      [2, 6, 7, read, 1],
    ],
  },
  {
    name: 'a compare-and-set that failed and was seen',
    isGood: false,
    lines: [
      [0, 0, 1, cas(5, 1), false],
      [2, 6, 7, read, 1],
    ],
  },
  {
    name: 'an unknown compare-and-set that another one needs',
    isGood: true,
    lines: [
      [0, 0, null, cas(null, 1)],
      [1, 2, 3, cas(1, 2), true],
      [2, 4, 5, read, 2],
    ],
  },
  {
    name: 'unknown ones in a row, called in another order',
    isGood: true,
    lines: [
      [0, 0, null, cas(3, 4)],
      [1, 0, null, cas(2, 3)],
      [2, 0, null, cas(1, 2)],
      [3, 0, null, cas(null, 1)],
      [4, 1, 2, read, null],
      [4, 3, 4, read, 4],
    ],
  },
]);

tryAll(counterModel(), [
  {
    name: 'a lost update',
    isGood: false,
    lines: [
      [0, 0, 5, add(1), 1],
      [1, 0, 5, add(1), 1],
    ],
  },
  {
    name: 'a lost update that only a reader sees',
    isGood: false,
    lines: [
      [0, 0, 5, add(1), null],
      [1, 0, 5, add(1), null],
      [2, 6, 7, read, 1],
    ],
  },
  {
    name: 'an addition that was made twice',
    isGood: false,
    lines: [
      [0, 0, 1, add(5), 5],
      [2, 6, 7, read, 10],
    ],
  },
  {
    name: 'an addition of unknown outcome that was made twice',
    isGood: false,
    lines: [
      [0, 0, null, add(5)],
      [2, 6, 7, read, 10],
    ],
  },
  {
    name: 'just those additions of unknown outcome that were made',
    isGood: true,
    lines: [
      [0, 0, null, add(1)],
      [1, 0, null, add(2)],
      [2, 0, null, add(4)],
      [3, 0, null, add(8)],
      [4, 6, 7, read, 10],
      [4, 8, 9, read, 15],
    ],
  },
  {
    name: 'an addition of unknown outcome that was made and is gone',
    isGood: false,
    lines: [
      [0, 0, null, add(1)],
      [1, 0, null, add(2)],
      [4, 6, 7, read, 1],
      [4, 8, 9, read, 2],
    ],
  },
]);

const enqueue = (value: number) => ({ f: 'enqueue', value }) as const;
const dequeue = { f: 'dequeue' } as const;

tryAll(queueModel(), [
  {
    name: 'last in, first out',
    isGood: false,
    lines: [
      [0, 0, 1, enqueue(1), null],
      [0, 2, 3, enqueue(2), null],
      [1, 4, 5, dequeue, 2],
    ],
  },
  {
    name: 'any order of what was put in at once',
    isGood: true,
    lines: [
      [0, 0, 3, enqueue(1), null],
      [2, 0, 3, enqueue(2), null],
      [1, 4, 5, dequeue, 2],
      [1, 6, 7, dequeue, 1],
      [1, 8, 9, dequeue, null],
    ],
  },
  {
    name: 'a thing that two got',
    isGood: false,
    lines: [
      [0, 0, 1, enqueue(1), null],
      [1, 2, 5, dequeue, 1],
      [2, 2, 5, dequeue, 1],
    ],
  },
  {
    name: 'an empty queue that has something in it',
    isGood: false,
    lines: [
      [0, 0, 1, enqueue(1), null],
      [1, 2, 3, dequeue, null],
    ],
  },
  {
    name: 'a thing that somebody took who never said so',
    isGood: true,
    lines: [
      [0, 0, 1, enqueue(1), null],
      [2, 0, null, dequeue],
      [1, 2, 3, dequeue, null],
    ],
  },
]);

const acquire = { f: 'acquire' } as const;
const release = (token: number) => ({ f: 'release', token }) as const;
const use = (token: number) => ({ f: 'use', token }) as const;
const expire = { f: 'expire' } as const;

tryAll(fencedLockModel(), [
  {
    name: 'two holders',
    isGood: false,
    lines: [
      [0, 0, 1, acquire, 1],
      [1, 2, 3, acquire, 2],
    ],
  },
  {
    name: 'one holder after the other',
    isGood: true,
    lines: [
      [0, 0, 1, acquire, 1],
      [1, 2, 3, acquire, null],
      [0, 4, 5, release(1), true],
      [1, 6, 7, acquire, 5],
    ],
  },
  {
    name: 'a token that is not larger',
    isGood: false,
    lines: [
      [0, 0, 1, acquire, 5],
      [0, 2, 3, release(5), true],
      [1, 6, 7, acquire, 5],
    ],
  },
  {
    name: 'a token that only just fits behind one that nobody knows',
    isGood: false,
    lines: [
      [0, 0, 1, acquire, 1],
      [0, 2, 3, release(1), true],
      [1, 4, null, acquire],
      [2, 5, 6, acquire, null],
      [3, 7, 8, expire, true],
      [2, 9, 10, acquire, 2],
    ],
  },
  {
    name: 'an old token that is refused',
    isGood: true,
    lines: [
      [0, 0, 1, acquire, 1],
      [3, 2, 3, expire, true],
      [1, 4, 5, acquire, 2],
      [0, 6, 7, use(1), true],
      [1, 8, 9, use(2), true],
      [0, 10, 11, use(1), false],
    ],
  },
  {
    name: 'an old token that still is good',
    isGood: false,
    lines: [
      [0, 0, 1, acquire, 1],
      [3, 2, 3, expire, true],
      [1, 4, 5, acquire, 2],
      [1, 8, 9, use(2), true],
      [0, 10, 11, use(1), true],
    ],
  },
]);
