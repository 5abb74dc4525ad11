import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Block, Machine } from '../engine/index.ts';
import { ObservedMachine } from './checks/observed-machine.ts';
import { crashAt, crashEverywhere } from './crash-everywhere.ts';
import { replicaSetup } from './replica-setup.ts';
import { type SingleOptions, simulateSingle } from './single.ts';
import type { SubjectFactory } from './subjects/subject.ts';
import { counterSubject, keyValueSubject, subjects } from './subjects/subjects.ts';
import { SWARM_COUNTERS, swarmOptions } from './swarm.ts';
import { Coverage } from './world/coverage.ts';
import type { FailureCode } from './world/failure.ts';

const engine = replicaSetup();

function command(seed: number, machine: string): string {
  return `node scripts/simulate.ts --seed ${seed} --machine ${machine}`;
}

test('the replica passes every seed under every machine, and everything enabled happens', () => {
  const coverage = new Coverage();
  const names = Object.keys(subjects);
  for (let seed = 0; seed < 24; seed++) {
    const name = names[seed % names.length]!;
    const report = simulateSingle(swarmOptions(seed, { subject: subjects[name]! }));
    assert.equal(report.failure, null, `${report.failure?.stack}\n${command(seed, name)}`);
    coverage.merge(report.coverage);
  }
  assert.deepEqual(coverage.missing(SWARM_COUNTERS), [], coverage.summary());
  assert.ok(coverage.count('logWraps') > 24 * 2, coverage.summary());
});

test('the same seed gives the same run', () => {
  for (const [name, subject] of Object.entries(subjects)) {
    const run = (): string => simulateSingle(swarmOptions(3, { subject })).hash;
    assert.equal(run(), run(), name);
  }
});

function small(seed: number, subject: SubjectFactory = counterSubject): SingleOptions {
  return { seed, engine, subject, clients: 3, requests: 30 };
}

test('the replica survives power cuts at every seventh write of a run', () => {
  for (const first of [1, 4]) {
    const options = { ...small(first), first, stride: 14 };
    const { failures, runs } = crashEverywhere(options);
    const [failure] = failures;
    assert.equal(
      failure,
      undefined,
      JSON.stringify(failure?.point) + failure?.report.failure?.stack,
    );
    assert.ok(runs > 20, String(runs));
  }
});

/** Runs that once failed, and what was wrong then. */
const PINNED: readonly [string, SubjectFactory, number, string][] = [
  [
    'a second cut took the superblock copies that the first had left',
    counterSubject,
    0,
    '29:mixed:2',
  ],
  ['the same, while a checkpoint is named', counterSubject, 0, '109:torn:1'],
];

for (const [what, subject, seed, at] of PINNED) {
  test(`pinned: ${what}`, () => {
    const [write, outcome, again] = at.split(':');
    assert.ok(outcome === 'old' || outcome === 'new' || outcome === 'mixed' || outcome === 'torn');
    const point = { write: Number(write), outcome, again: Number(again) } as const;
    const { failure } = crashAt(small(seed, subject), point);
    assert.equal(failure, null, failure?.stack);
  });
}

/** A subject whose machine is spoilt by `spoil`; the reference stays as it is. */
function spoilt(spoil: (machine: Machine, life: number) => Machine): SubjectFactory {
  return () => {
    const subject = keyValueSubject();
    let lives = 0;
    return { ...subject, machine: () => spoil(subject.machine(), lives++) };
  };
}

const nobody = { onApply: () => {}, onCut: () => {} };

class ForgetfulMachine extends ObservedMachine {
  /** One block in five does not come back. */
  override restore(block: Block): void {
    if (block.index % 5 !== 0) super.restore(block);
  }
}

class TimelessMachine extends ObservedMachine {
  #life: number;
  constructor(machine: Machine, life: number) {
    super(machine, nobody);
    this.#life = life;
  }
  /** In a later life nothing is ever due. */
  override due(...[timestamp]: Parameters<Machine['due']>): boolean {
    return this.#life === 0 && super.due(timestamp);
  }
}

class FickleMachine extends ObservedMachine {
  #life: number;
  constructor(machine: Machine, life: number) {
    super(machine, nobody);
    this.#life = life;
  }
  /** Another answer in another life. */
  override apply(...[context, operation, body, reply]: Parameters<Machine['apply']>): number {
    const size = super.apply(context, operation, body, reply);
    if (size > 0 && this.#life > 0) reply[0]! ^= 1;
    return size;
  }
}

const PLANTED: readonly [string, readonly FailureCode[], (seed: number) => SingleOptions][] = [
  [
    'a disk that lies about what is durable',
    ['lost-operation', 'divergence', 'engine-halt', 'engine-crash'],
    (seed) => ({ ...small(seed), disk: { isLying: true } }),
  ],
  [
    'a machine that forgets part of its checkpoint',
    ['lost-operation', 'divergence'],
    (seed) =>
      small(
        seed,
        spoilt((machine) => new ForgetfulMachine(machine, nobody)),
      ),
  ],
  [
    'a machine that forgets what is due',
    ['liveness'],
    (seed) =>
      small(
        seed,
        spoilt((machine, life) => new TimelessMachine(machine, life)),
      ),
  ],
  [
    'a machine that is not deterministic',
    ['divergence'],
    (seed) =>
      small(
        seed,
        spoilt((machine, life) => new FickleMachine(machine, life)),
      ),
  ],
];

for (const [what, codes, options] of PLANTED) {
  test(`planted: ${what}`, () => {
    for (let seed = 0; seed < 10; seed++) {
      const { failure } = simulateSingle(options(seed));
      if (failure === null) continue;
      assert.ok(codes.includes(failure.code), failure.message);
      return;
    }
    assert.fail('10 seeds do not find it');
  });
}
