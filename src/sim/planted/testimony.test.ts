/**
 * What the clients' testimony is worth: bugs that it finds where nothing else looks, and where
 * everything else is mistaken in the same way.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  COUNTER_ADD,
  COUNTER_READ,
  KEY_VALUE_CAS,
  KEY_VALUE_GET,
  KEY_VALUE_PUT,
  KeyValueStatus,
  keyValueBody,
} from '../../engine/index.ts';
import { readU16 } from '../../stdx/index.ts';
import type { Parts } from '../../vsr/index.ts';
import { HEADER_SIZE, ReplyOffset, readSize, sealBody, sealHeader } from '../../wire/index.ts';
import { simulateCluster } from '../cluster/cluster.ts';
import { clusterSwarm } from '../cluster/cluster-swarm.ts';
import type { Demand, ReferenceMachine, Subject } from '../subjects/subject.ts';
import { casSubject, counterSubject, keyValueSubject } from '../subjects/subjects.ts';
import type { SimulationFailure } from '../world/failure.ts';
import type { Plant } from './plants-test-helper.ts';
import { Tale } from './tale-test-helper.ts';

/** A primary keeps what it answered to a read until it answers an addition: others do that too. */
function remembersReads({ admission, pool }: Parts): void {
  const sendReply = admission.sendReply.bind(admission);
  let remembered: Uint8Array | null = null;
  admission.sendReply = (reply, client, offset) => {
    const operation = reply.bytes[ReplyOffset.operation];
    if (operation === COUNTER_ADD) remembered = null;
    if (operation === COUNTER_READ && remembered !== null) {
      const stale = pool.acquire('reply');
      assert.ok(stale !== null);
      stale.bytes.set(reply.bytes.subarray(0, readSize(reply.bytes)));
      stale.bytes.set(remembered, HEADER_SIZE);
      sealBody(stale.bytes, pool.checksum);
      sealHeader(stale.bytes, pool.checksum);
      pool.release(reply);
      return sendReply(stale, client, offset);
    }
    if (operation === COUNTER_READ) remembered = reply.bytes.slice(HEADER_SIZE, HEADER_SIZE + 8);
    return sendReply(reply, client, offset);
  };
}

/** A read, an addition in another view, and a read where the first one was. */
function readInTwoViews(plant: Plant | null, isBlind: boolean): void {
  const read: Demand = { operation: COUNTER_READ, body: new Uint8Array(0) };
  const add: Demand = { operation: COUNTER_ADD, body: Uint8Array.of(5, 0, 0, 0) };
  const demands = [read, add, read];
  const subject = (): Subject => ({
    ...counterSubject(),
    workload: () => ({
      next: () => demands.shift() ?? read,
      invalid: () => ({ ...read, reason: 0 }),
    }),
  });
  const t = new Tale(plant, { replicaCount: 3, clients: 1, isBlind, subject });
  t.begin(1);
  const { primary } = t;
  passLead(t);
  t.request(1);
  t.until(() => t.isAnswered, 30_000);
  while (t.primary !== primary) passLead(t);
  t.request(1);
  t.until(() => t.isAnswered, 30_000);
  t.end();
}

/** Nobody hears the primary until another one leads; then it follows. */
function passLead(t: Tale): void {
  const { primary } = t;
  const connect = t.isolate(primary);
  t.until(() => t.primary !== primary, 30_000);
  connect();
  t.until(() => t.progress(primary).role === 'backup', 30_000);
}

test('planted: an answer from before the view change', () => {
  for (const isBlind of [true, false]) readInTwoViews(null, isBlind);
  // Who compares answers with what was executed sees it at once.
  assert.throws(() => readInTwoViews(remembersReads, false), /^SimulationFailure: divergence/);
  // Who sees what clients see is told by them.
  assert.throws(
    () => readInTwoViews(remembersReads, true),
    (error: SimulationFailure) => {
      assert.equal(error.code, 'linearizability');
      assert.match(error.message, /nothing explains {2}process \d: \{"f":"read"\} → 0/);
      assert.match(error.message, /in state {10}5\n/);
      return true;
    },
  );
});

/** The same mistake in a machine and in its twin: nothing differs, and it is wrong all the same. */
function changed(
  plain: Subject,
  change: <M extends ReferenceMachine>(machine: M) => M,
): () => Subject {
  return () => ({
    ...plain,
    reference: change(plain.reference),
    machine: () => change(plain.machine()),
  });
}

/** Every fourth operation, if it is to put something, is only said to be done. */
function losesPuts<M extends ReferenceMachine>(machine: M): M {
  const apply = machine.apply.bind(machine);
  machine.apply = (context, operation, body, reply) => {
    const isLost = operation === KEY_VALUE_PUT && context.op % 4 === 0;
    const size = apply(context, isLost ? KEY_VALUE_GET : operation, body, reply);
    if (!isLost) return size;
    reply[0] = KeyValueStatus.ok;
    return 1;
  };
  return machine;
}

/** Every fourth operation, if it is an addition, is only said to be made. */
function losesAdditions<M extends ReferenceMachine>(machine: M): M {
  const apply = machine.apply.bind(machine);
  machine.apply = (context, operation, body, reply) => {
    const isLost = operation === COUNTER_ADD && context.op % 4 === 0;
    return apply(context, isLost ? COUNTER_READ : operation, body, reply);
  };
  return machine;
}

/** Every second compare-and-set does not compare. */
function comparesSeldom<M extends ReferenceMachine>(machine: M): M {
  const apply = machine.apply.bind(machine);
  machine.apply = (context, operation, body, reply) => {
    if (operation !== KEY_VALUE_CAS || context.op % 2 === 0) {
      return apply(context, operation, body, reply);
    }
    const keyEnd = 8 + readU16(body, 0);
    const key = String.fromCharCode(...body.subarray(8, keyEnd));
    const value = body.subarray(keyEnd, keyEnd + readU16(body, 2));
    return apply(context, KEY_VALUE_PUT, keyValueBody(key, value), reply);
  };
  return machine;
}

/** Not in every run do clients look where something is wrong. */
const SEEDS = 8;
const CAUGHT = 2;

for (const [name, make, change] of [
  ['key-value', keyValueSubject, losesPuts],
  ['counter', counterSubject, losesAdditions],
  ['cas', casSubject, comparesSeldom],
] as const) {
  test(`planted: machine and twin are wrong in the same way, ${name}`, () => {
    let caught = 0;
    for (let seed = 1; seed <= SEEDS && caught < CAUGHT; seed++) {
      const wanted = { subject: name, requests: 80, replicaCount: 3 };
      const { options } = clusterSwarm(seed, wanted);
      const right = simulateCluster(options);
      assert.equal(right.failure, null, right.failure?.message);
      assert.equal(right.coverage.count('testimonies'), 1);
      assert.equal(right.coverage.count('testimoniesUnclear'), 0);
      const wrong = simulateCluster({ ...options, subject: changed(make(), change) });
      if (wrong.failure === null) continue;
      assert.equal(wrong.failure.code, 'linearizability', `seed ${seed}`);
      caught++;
    }
    assert.equal(caught, CAUGHT, 'runs in which it was found');
  });
}
