/** `roundelay simulate`: what a person sees who follows the hint under a failure. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from './program-test-helper.ts';

test('a seed is a run: the same one prints the same hash, with a trace or without', async () => {
  const once = await run(['simulate', 'vsr', '--seed', '7', '--replica-count=2']);
  assert.equal(once.code, 0, once.stderr);
  const [first = '', hash = '', counts = ''] = once.stdout.split('\n');
  assert.match(first, /^seed 7 passed: 2 replicas, \S+, \S+, \d+ operations, \d+ events, \S+ s$/);
  assert.match(hash, /^hash [0-9a-f]{16}$/);
  assert.match(counts, /commits \d+ · replies \d+/);
  const traced = await run(['simulate', 'vsr', '--seed=7', '--replica-count=2', '--trace']);
  assert.ok(traced.stdout.includes(hash));
  assert.match(traced.stdout, /r\d\.\d+ +> peer-message +r\d prepareOk view \d+ /);
});

test('several seeds run on several threads and are summed up', async () => {
  const flags = ['--seeds=0..5', '--jobs=2', '--machine=counter', '--topology=star'];
  const { code, stdout, stderr } = await run(['simulate', 'vsr', ...flags], { timeoutMs: 120_000 });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^6 seeds, 0 failed, \d+\.\d s, \d+ events\/s\nevents \d+ · /);
});

test('the other engine is simulated the same way', async () => {
  const flags = ['--seed', '3', '--replica-count=3', '--machine=counter', '--trace'];
  const { code, stdout, stderr } = await run(['simulate', 'raft', ...flags]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^seed 3 passed: 3 replicas, (streams|datagrams), counter, /m);
  assert.match(stdout, /^hash [0-9a-f]{16}$/m);
  assert.match(stdout, /r\d\.\d+ +> peer-message +r\d raft append-request term \d+/);
  assert.match(stdout, /snapshotsInstalled \d+|snapshotsMade \d+/);
});

test('what makes no sense is one line', async () => {
  for (const flags of [
    ['paxos'],
    ['vsr', '--replica-count=7'],
    ['raft', '--topology=ring'],
    ['raft', '--performance'],
    ['vsr', '--seeds=5..1'],
    ['vsr', '--seed=1', '--seeds=1..2'],
    ['vsr', '--topology=tree'],
  ]) {
    const { code, stderr } = await run(['simulate', ...flags]);
    assert.equal(code, 2, flags.join(' '));
    assert.match(stderr, /^error: [^\n]+\n$/);
  }
});
