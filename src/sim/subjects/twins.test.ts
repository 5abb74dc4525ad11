import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BLOCK_SIZE_MAX,
  type Machine,
  OPERATION_PULSE,
  REPLY_BODY_SIZE_MAX,
} from '../../engine/index.ts';
import { Prng, u64FromNumber } from '../../stdx/index.ts';
import type { Subject } from './subject.ts';
import { casSubject, counterSubject, keyValueSubject } from './subjects.ts';

const BODY_SIZE_MAX = 1024;
const target = new Uint8Array(BLOCK_SIZE_MAX);

/** A machine that starts from another's checkpoint. */
function restored(subject: Subject, machine: Machine, op: number): Machine {
  machine.cut(op);
  const copy = subject.machine();
  for (let block = machine.slice(target); block !== null; block = machine.slice(target)) {
    copy.restore({ ...block, bytes: block.bytes.slice() });
  }
  copy.restored();
  return copy;
}

for (const [name, create] of Object.entries({ casSubject, counterSubject, keyValueSubject })) {
  test(`${name}: machine and twin give the same replies and roots`, () => {
    let pulses = 0;
    for (let seed = 0; seed < 20; seed++) {
      const subject = create();
      const prng = new Prng(seed);
      let now = 1_000_000_000_000;
      const wall = () => u64FromNumber(now);
      const workload = subject.workload({ prng, bodySizeMax: BODY_SIZE_MAX, wall });
      const machine = subject.machine();
      const replies = [new Uint8Array(REPLY_BODY_SIZE_MAX), new Uint8Array(REPLY_BODY_SIZE_MAX)];
      for (let op = 1; op <= 300; op++) {
        now += prng.below(5_000_000);
        const isDue = machine.due(wall());
        if (isDue) pulses++;
        const pulse = { operation: OPERATION_PULSE, body: new Uint8Array(0) };
        const { operation, body } = isDue ? pulse : workload.next();
        const context = { op, timestamp: wall() };
        assert.equal(isDue || machine.validate(operation, body, BODY_SIZE_MAX), isDue || 'valid');
        const sizes = [machine, subject.reference].map((either, i) =>
          either.apply(context, operation, body, replies[i]!),
        );
        const [ours, theirs] = replies.map((reply, i) => reply.subarray(0, sizes[i]));
        assert.deepEqual(ours, theirs, `seed ${seed} op ${op}`);
        if (op % 10 > 0) continue;
        assert.deepEqual(machine.root(), subject.reference.root(), `seed ${seed} op ${op}`);
      }
      // The first cut holds everything, so a machine made from it must have the same root.
      assert.deepEqual(restored(subject, machine, 300).root(), subject.reference.root());
      const bad = workload.invalid();
      const isFit = bad.body.length <= BODY_SIZE_MAX;
      if (isFit) assert.notEqual(machine.validate(bad.operation, bad.body, BODY_SIZE_MAX), 'valid');
    }
    assert.ok(pulses > 100 || name !== 'keyValueSubject', String(pulses));
  });
}
