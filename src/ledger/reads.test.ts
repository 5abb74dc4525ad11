/**
 * The reading half against its dumb twin, over random histories. HISTORIES=5000 in the environment
 * makes more of them, for a campaign.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { check, type Query, randomQuery } from './query-test-helper.ts';
import { History } from './reads-test-helper.ts';

const histories = Number(process.env['HISTORIES'] ?? 500);

/** Every operation must have found something, or the test tests nothing. */
class Coverage {
  readonly results = new Map<number, number>();

  add(query: Query, count: number): void {
    this.results.set(query.operation, (this.results.get(query.operation) ?? 0) + count);
  }

  demand(count: number): void {
    for (const operation of [137, 142, 143, 144, 145]) {
      const found = this.results.get(operation) ?? 0;
      // There are always fewer accounts.
      const wanted = operation === 144 ? 100 : count;
      assert.ok(found >= wanted, `operation ${operation} found only ${found} results`);
    }
  }
}

test('answers equal those of the twin on short histories, with segments of any size', () => {
  const coverage = new Coverage();
  for (let seed = 0; seed < histories; seed++) {
    const segmentRows = [2, 4, 8, 32][seed % 4] as number;
    const history = new History({ seed, segmentRows, accounts: 2 + (seed % 7) });
    const steps = 5 + (seed % 20);
    for (let i = 0; i < steps; i++) {
      history.step();
      if (history.prng.chance(1, 4)) {
        const query = randomQuery(history);
        coverage.add(query, check(history, query));
      }
    }
    for (let i = 0; i < 12; i++) {
      const query = randomQuery(history);
      coverage.add(query, check(history, query));
    }
  }
  coverage.demand(2_000);
});

test('answers equal those of the twin on long chains of few accounts', () => {
  const coverage = new Coverage();
  for (let seed = 5000; seed < 5006; seed++) {
    const history = new History({ seed, segmentRows: 256, accounts: 5, accountsFixed: true });
    for (let i = 0; i < 300; i++) history.step();
    assert.ok(history.twin.events.length > 1000);
    for (let i = 0; i < 200; i++) {
      const query = randomQuery(history);
      coverage.add(query, check(history, query));
    }
  }
  coverage.demand(3_000);
});
