import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TOPOLOGY_NAMES } from '../../vsr/index.ts';
import { running, story } from './catalogue-test-helper.ts';

test('a fresh cluster answers, whatever its size and topology', () => {
  for (const replicaCount of [1, 2, 3, 4, 5, 6]) {
    for (const topology of TOPOLOGY_NAMES) {
      const t = running({ replicaCount, topology }, 10);
      // A registration and ten requests.
      t.expectAll({ commitMin: 11, commitMax: 11, op: 11 });
      t.end();
    }
  }
});

test('any replicas but a replication quorum can be missing', () => {
  for (const replicaCount of [3, 4, 5, 6]) {
    const t = running({ replicaCount });
    const { primary } = t;
    const viewChange = replicaCount - Math.min(3, Math.ceil(replicaCount / 2)) + 1;
    const others = t.others(primary);
    const missing = others.slice(0, replicaCount - viewChange);
    t.stop(...missing);
    t.request(5);
    t.run();
    t.expectAnswered();
    t.expect(primary, { commitMin: 9, role: 'primary' });
    t.end();
  }
});

test('without a quorum nothing is answered, and everything once there is one', () => {
  const t = running({ replicaCount: 3 });
  const { primary } = t;
  t.stop(...t.others(primary));
  t.request(1);
  t.wait(5000);
  t.expectAnswered(false);
  t.open();
  t.run();
  t.expectAnswered();
  t.end();
});

test('nobody is primary before a quorum is up', () => {
  const t = story({ replicaCount: 3 });
  t.open(0);
  t.wait(5000);
  assert.equal(t.primary, -1);
  t.open(2);
  t.until(() => t.primary >= 0);
  t.request(1);
  t.run();
  t.expectAnswered();
  t.end();
});
