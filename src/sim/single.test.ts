import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type SingleOptions, type SingleReport, simulateSingle } from './single.ts';
import { tallySubject } from './subjects/tally-test-helper.ts';
import { type ToyBug, toySetup } from './toy-engine-test-helper.ts';
import { COUNTERS, type Counter, Coverage } from './world/coverage.ts';
import type { FailureCode } from './world/failure.ts';

/** A run that has some of everything. */
function toyOptions(seed: number, bug: ToyBug | null = null): SingleOptions {
  return {
    seed,
    engine: toySetup(bug),
    subject: tallySubject,
    clients: 4,
    requests: 120,
    client: {
      repeats: 100,
      renewals: 100,
      awakenings: 50,
      abandons: 100,
      invalids: 30,
      pings: 50,
      forgeries: 50,
    },
    deadlineNs: 10_000_000_000,
    faults: { crashes: 4, ioErrors: 1, clockSteps: 2 },
  };
}

function text(report: SingleReport): string {
  return `seed ${report.seed}: ${report.failure?.message}\n${report.coverage.summary()}`;
}

function churn(options: SingleOptions): SingleOptions {
  return { ...options, requests: 200, client: { renewals: 700, awakenings: 300, repeats: 0 } };
}

/** All but what the toy engine cannot do, and nobody judges what clients see of a tally. */
const WANTED: readonly Counter[] = COUNTERS.filter(
  (name) =>
    !['checkpoints', 'logWraps', 'pulses', 'noSpace', 'flushes', 'poolExhausted'].includes(name) &&
    !['testimonies', 'testimoniesUnclear'].includes(name),
);

test('a correct engine passes every seed, and everything enabled happens', () => {
  const coverage = new Coverage();
  for (let seed = 0; seed < 40; seed++) {
    const options = toyOptions(seed);
    const report = simulateSingle(seed % 4 === 0 ? churn(options) : options);
    assert.equal(report.failure, null, text(report));
    coverage.merge(report.coverage);
  }
  assert.deepEqual(coverage.missing(WANTED), [], coverage.summary());
});

test('the same seed gives the same hash, another seed another one', () => {
  const hash = (seed: number): string => simulateSingle(toyOptions(seed)).hash;
  assert.equal(hash(5), hash(5));
  assert.notEqual(hash(5), hash(6));
  const lines: string[] = [];
  const traced = simulateSingle({ ...toyOptions(5), trace: (line) => lines.push(line) });
  assert.equal(traced.hash, hash(5));
  assert.ok(lines.length > 1000);
  for (const line of lines) assert.match(line, /^ *\d+\.\d{3} +\d+ \S+( \d+)? +\S+/);
});

/** What must catch each planted bug. */
const BUGS: { readonly [bug in ToyBug]: readonly FailureCode[] } = {
  'ack-before-durable': ['lost-operation', 'double-apply'],
  'writes-not-durable': ['lost-operation'],
  'torn-header-trusted': ['lost-operation', 'divergence', 'engine-crash', 'double-apply'],
  'torn-body-trusted': ['double-apply', 'engine-crash'],
  'lost-session': ['double-apply', 'order', 'liveness'],
  'double-apply': ['double-apply'],
  'repeated-reply-differs': ['reply-changed', 'divergence'],
  'reply-release': ['reply-invalid'],
  'timestamps-follow-the-clock': ['order'],
  'message-leak': ['message-leak'],
  'message-changed-after-send': ['message-misuse', 'engine-crash'],
  'buffer-changed-under-write': ['disk-misuse'],
  'overlapping-writes': ['disk-misuse'],
  'io-error-ignored': ['engine-halt'],
  'invalid-applied': ['double-apply'],
  'forgery-accepted': ['double-apply'],
  'evicts-the-newest': ['eviction'],
  'goes-silent': ['liveness'],
  invariant: ['engine-crash'],
};

for (const [bug, codes] of Object.entries(BUGS) as [ToyBug, readonly FailureCode[]][]) {
  test(`planted bug: ${bug}`, () => {
    for (let seed = 0; seed < 100; seed++) {
      const options = toyOptions(seed, bug);
      const { failure } = simulateSingle(bug === 'evicts-the-newest' ? churn(options) : options);
      if (failure === null) continue;
      assert.ok(codes.includes(failure.code), failure.message);
      return;
    }
    assert.fail('100 seeds do not find it');
  });
}
