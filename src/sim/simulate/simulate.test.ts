import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COUNTER_ADD, CounterMachine } from '../../engine/index.ts';
import { writeU32 } from '../../stdx/index.ts';
import { hashPrimitive, type Model } from '../linearizability/index.ts';
import { simulate, simulateMany } from './index.ts';
import * as planted from './planted-test-helper.ts';

const { ticketWorkload: workload } = planted;

test('a machine without mistakes passes, whatever befalls it', () => {
  const report = simulateMany(planted.tickets, {
    seeds: 12,
    workload,
    questions: (chance) => chance.pick(planted.people),
    check: { invariant: uniqueTickets },
  });
  assert.ok(report.ok, report.text);
  assert.equal(report.runs, 12);
  for (const name of ['crashes', 'checkpoints', 'viewChanges', 'partitions', 'replayedOps']) {
    assert.ok(Number(report.coverage[name]) > 0, name);
  }
  assert.equal(report.coverage['testimonies'], undefined);
});

test('the same seed does the same, and what is not asked for does not happen', () => {
  const calm = { seed: 4, faults: 'none', requests: 60, workload } as const;
  const first = simulate(planted.tickets, calm);
  assert.ok(first.ok, first.text);
  assert.equal(simulate(planted.tickets, calm).hash, first.hash);
  assert.notEqual(simulate(planted.tickets, { ...calm, seed: 5 }).hash, first.hash);
  // One cut of all at the end.
  assert.equal(first.coverage['restarts'], 3);
  const crashes = simulate(planted.tickets, { ...calm, faults: { crashes: 2 } });
  assert.ok(Number(crashes.coverage['crashes']) > 3);
  assert.equal(crashes.coverage['losses'], undefined);
});

test('the engine is one word', () => {
  const common = { engine: 'raft', workload } as const;
  for (const replicas of [2, 3, 5]) {
    const report = simulateMany(planted.tickets, { ...common, replicas, seeds: 2 });
    assert.ok(report.ok, report.text);
    assert.ok(Number(report.coverage['elections']) > 0);
    assert.ok(Number(report.coverage['checkpoints']) > 0);
  }
  for (const [machine, code] of [
    [planted.secretlyChancy, 'nondeterministic'],
    [planted.forgetful, 'state-lost'],
  ] as const) {
    const failure = failureOf(simulateMany(machine, common));
    assert.equal(failure.code, code, failure.text);
    assert.match(failure.again, /engine: 'raft'/);
  }
});

test('a machine of bytes can be tried out as well', () => {
  const report = simulateMany(() => new CounterMachine(), {
    seeds: 3,
    requests: 80,
    workload: (chance) => {
      const body = new Uint8Array(4);
      writeU32(body, 0, chance.below(100));
      return { operation: COUNTER_ADD, body };
    },
    check: { invariant: (machine) => machine.total >= 0 },
  });
  assert.ok(report.ok, report.text);
});

test('numbers that make no sense are refused', () => {
  const wrong = (options: object) => () => simulate(planted.tickets, { workload, ...options });
  assert.throws(wrong({ replicas: 9 }), /replicas must be a whole number from 1 to 6, not 9/);
  assert.throws(wrong({ seed: -1 }), RangeError);
  assert.throws(wrong({ requests: 0.5 }), RangeError);
  const asked = () => simulate(planted.forgetful, { workload, questions: () => 'ann' as never });
  assert.throws(asked, /there are questions, but the machine has no query/);
  const who = 'x'.repeat(40_000);
  const large = { workload: () => ({ type: 'draw', who }) as const };
  assert.throws(wrong(large), /does not fit into a request, which has room for 32512 bytes/);
});

/** Within a few seeds: the first failure. */
function failureOf(report: ReturnType<typeof simulateMany>) {
  const failure = report.failed?.failure;
  assert.ok(failure, `not noticed in ${report.runs} runs`);
  assert.ok(report.runs <= 6, `${report.runs} runs`);
  return { ...failure, text: report.text };
}

test('planted: chance is named', () => {
  const failure = failureOf(simulateMany(planted.chancy, { workload }));
  assert.equal(failure.code, 'nondeterministic');
  assert.match(failure.message, /apply called Math\.random\(\)/);
});

test('planted: a clock is named', () => {
  const failure = failureOf(simulateMany(planted.clocked, { workload }));
  assert.equal(failure.code, 'nondeterministic');
  assert.match(failure.message, /apply called Date\.now\(\)/);
});

test('planted: chance that cannot be seen shows in a difference', () => {
  const failure = failureOf(simulateMany(planted.secretlyChancy, { workload }));
  assert.equal(failure.code, 'nondeterministic');
  assert.match(failure.message, /op \d+, \{"type":"draw".* answered .*, .* answered/);
  assert.match(failure.message, /two fresh copies .* part at op \d+/);
  assert.match(failure.message, /the last requests of client \d+\.\d+, which asked for it:/);
  assert.equal(typeof failure.op, 'number');
});

test('planted: a clock that is let through shows in a difference', () => {
  const check = { outsideWorld: false };
  const report = simulateMany(planted.clocked, { seeds: 10, workload, check });
  assert.equal(report.failed?.failure?.code, 'nondeterministic', report.text);
});

test('planted: what copies share shows in a difference', () => {
  const failure = failureOf(simulateMany(planted.shared, { workload }));
  assert.equal(failure.code, 'nondeterministic');
});

test('planted: what apply throws is shown with its place', () => {
  const failure = failureOf(simulateMany(planted.throwing, { workload }));
  assert.equal(failure.code, 'machine-threw');
  assert.match(failure.message, /TypeError: \w+ has nothing to give back/);
  assert.match(failure.message, /planted-test-helper\.ts/);
  assert.match(failure.message, /"give-back"/);
});

test('planted: state that no checkpoint holds', () => {
  const failure = failureOf(simulateMany(planted.forgetful, { workload }));
  assert.equal(failure.code, 'state-lost');
  assert.match(failure.message, /a copy that is restored from the checkpoint at op \d+ parts at/);
  assert.equal(typeof failure.replica, 'number');
});

test('planted: order that no checkpoint keeps', () => {
  const failure = failureOf(simulateMany(planted.disordered, { workload }));
  assert.equal(failure.code, 'state-lost');
  assert.match(failure.message, /not in its order/);
});

test('planted: a question that changes something', () => {
  const questions = () => 'somebody';
  const failure = failureOf(simulateMany(planted.curious, { workload, questions }));
  assert.equal(failure.code, 'query-mutates');
  assert.match(failure.message, /the question "somebody" changed the state/);
});

test('planted: an invariant that does not hold', () => {
  const check = { invariant: uniqueTickets };
  const failure = failureOf(simulateMany(planted.overbooked, { workload, check }));
  assert.equal(failure.code, 'invariant');
  assert.match(failure.message, /the invariant does not hold: two hold ticket 13, after op \d+/);
  assert.match(failure.message, /state: \{"next":1\d,/);
});

test('planted: a workload that touches what it may only look at', () => {
  const report = simulateMany(planted.tickets, {
    workload: (chance, state) => {
      state.next++;
      return workload(chance, state);
    },
  });
  assert.equal(failureOf(report).code, 'workload-mutates');
});

test('planted: an update that is lost, though all replicas agree', () => {
  const options = {
    workload: storeWorkload,
    check: { linearizable: { model: storeModel } },
    requests: 150,
  } as const;
  const failure = failureOf(simulateMany(planted.storeLosing(7), options));
  assert.equal(failure.code, 'linearizability');
  assert.match(failure.message, /nothing explains {2}process \d+: \{"f":"read"/);
  const sound = simulateMany(planted.storeLosing(0), { ...options, seeds: 6 });
  assert.ok(sound.ok, sound.text);
  assert.ok(Number(sound.coverage['testimonies']) > 0);
});

test('a failure says how to see it again, and how it ended', () => {
  const options = { replicas: 5, requests: 90, faults: { crashes: 2 }, workload } as const;
  const report = simulateMany(planted.secretlyChancy, options);
  const failure = failureOf(report);
  const given = /^simulate\(tickets, \{ seed: \d+, replicas: 5, requests: 90, /;
  assert.match(failure.again, given);
  assert.match(failure.again, /faults: \{"crashes":2\}, workload, trace: console\.log \}\)$/);
  assert.ok(failure.trace.length > 5);
  assert.ok(failure.text.includes(failure.again) && failure.text.includes(failure.message));
});

test('afterwards clocks and chance are what they were', () => {
  const before = [Math.random, Date, Date.now, performance.now, crypto.randomUUID];
  simulate(planted.chancy, { workload });
  assert.deepEqual([Math.random, Date, Date.now, performance.now, crypto.randomUUID], before);
  assert.equal(Object.hasOwn(performance, 'now'), false);
});

function uniqueTickets({ held }: planted.Tickets): string | boolean {
  const numbers = [...held.values()];
  const twice = numbers.find((number, index) => numbers.indexOf(number) !== index);
  return twice === undefined || `two hold ticket ${twice}`;
}

const keys = ['a', 'b', 'c'] as const;

function storeWorkload(chance: Parameters<typeof workload>[0]): planted.StoreCommand {
  const key = chance.pick(keys);
  if (chance.chance(1, 2)) return { f: 'read', key };
  return { f: 'write', key, value: chance.u32() };
}

const storeModel: Model<{ value: number | null }, planted.StoreCommand, number | null> = {
  name: 'store',
  init: () => ({ value: null }),
  step: (state, command, output) => {
    if (command.f === 'write') return { value: command.value };
    return output === undefined || output === state.value ? state : null;
  },
  equal: (a, b) => a.value === b.value,
  hash: ({ value }) => hashPrimitive(value),
  partition: (history) => {
    return keys.map((key) => history.filter(({ input }) => input.key === key));
  },
};
