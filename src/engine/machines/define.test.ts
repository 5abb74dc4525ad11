import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng, toHex, u64FromBigInt } from '../../stdx/index.ts';
import { createChecksum } from '../../wire/index.ts';
import { BLOCK_SIZE_MAX, REPLY_BODY_SIZE_MAX } from '../limits.ts';
import type { Block, Machine } from '../machine.ts';
import { defineMachine, type MachineDefinition } from './define.ts';
import { commandsSize, isPacked, packCommands, unpack } from './define-batch.ts';
import {
  type AppliedCommand,
  COMMANDS_MAX,
  CommandError,
  type CommandOutcome,
  OPERATION_COMMANDS,
  OPERATION_QUESTIONS,
  OUTCOME_HEAD_SIZE,
} from './define-spec.ts';
import { encodeValue } from './define-values.ts';

const checksum = createChecksum();
const reply = new Uint8Array(REPLY_BODY_SIZE_MAX);
const target = new Uint8Array(BLOCK_SIZE_MAX);
const NOW_NS = 1_700_000_000_123_456_789n;

type Command =
  | { readonly type: 'set'; readonly key: string; readonly value: unknown }
  | { readonly type: 'delete'; readonly key: string }
  | { readonly type: 'throw'; readonly how: 'error' | 'bug' }
  | { readonly type: 'when' };

interface Store {
  entries: Map<string, unknown>;
  changes: number;
}

const store = defineMachine({
  name: 'store',
  initial: (): Store => ({ entries: new Map(), changes: 0 }),
  apply: (state, command: Command, context): unknown => {
    switch (command.type) {
      case 'set':
        state.entries.set(command.key, command.value);
        state.changes += 1;
        return state.changes;
      case 'delete':
        return state.entries.delete(command.key);
      case 'throw':
        if (command.how === 'error') throw new CommandError('ERR_NO_LUCK', 'not\ntoday');
        throw new TypeError('only here');
      case 'when':
        return { op: context.op, index: context.index, timestampMs: context.timestampMs };
      default:
        return command satisfies never;
    }
  },
  query: (state, key: string) => state.entries.get(key),
});

let op = 0;

function run<S, C, R, Q, A>(
  definition: MachineDefinition<S, C, R, Q, A>,
  machine: Machine,
  commands: readonly C[],
): CommandOutcome<R>[] {
  const body = packCommands(commands.map((command) => definition.encodeCommand(command)));
  return runBody(definition, machine, body);
}

function runBody<S, C, R, Q, A>(
  definition: MachineDefinition<S, C, R, Q, A>,
  machine: Machine,
  body: Uint8Array,
): CommandOutcome<R>[] {
  assert.equal(machine.validate(OPERATION_COMMANDS, body, REPLY_BODY_SIZE_MAX), 'valid');
  op += 1;
  const context = { op, timestamp: u64FromBigInt(NOW_NS + BigInt(op)) };
  const size = machine.apply(context, OPERATION_COMMANDS, body, reply);
  const items = unpack(reply.subarray(0, size));
  assert.ok(items !== null);
  return items.map((item) => definition.decodeResult(item));
}

function cutOf(machine: Machine): Block[] {
  const blocks: Block[] = [];
  const count = machine.cut(op);
  for (let block = machine.slice(target); block !== null; block = machine.slice(target)) {
    assert.ok(block.bytes.length <= BLOCK_SIZE_MAX);
    if (block.bytes.length > 0) {
      assert.ok(block.checksum !== undefined);
      const mac = new Uint8Array(16);
      checksum.digest(block.bytes, 0, block.bytes.length, mac, 0);
      assert.equal(toHex(block.checksum), toHex(mac));
    }
    blocks.push({ ...block, bytes: block.bytes.slice() });
  }
  assert.equal(blocks.length, count);
  return blocks;
}

class Disk {
  readonly blocks: Map<number, Block> = new Map();

  write(blocks: readonly Block[]): void {
    for (const block of blocks) {
      if (block.bytes.length === 0) assert.ok(this.blocks.delete(block.index), 'not there');
      else this.blocks.set(block.index, block);
    }
  }

  restore(machine: Machine): Machine {
    for (const block of [...this.blocks.values()].sort((a, b) => a.index - b.index)) {
      machine.restore(block);
    }
    machine.restored();
    return machine;
  }
}

test('many commands, an outcome each, errors between them', () => {
  const machine = store.machine(checksum);
  const outcomes = run(store, machine, [
    { type: 'set', key: 'a', value: 1n },
    { type: 'throw', how: 'error' },
    { type: 'throw', how: 'bug' },
    { type: 'when' },
    { type: 'delete', key: 'a' },
    { type: 'delete', key: 'a' },
  ]);
  assert.deepEqual(outcomes, [
    { status: 'ok', result: 1 },
    { status: 'failed', code: 'ERR_NO_LUCK', message: 'not\ntoday' },
    {
      status: 'failed',
      code: 'ERR_COMMAND_FAILED',
      message: 'the machine failed, what it changed before stays',
    },
    { status: 'ok', result: { op, index: 3, timestampMs: 1_700_000_000_123 } },
    { status: 'ok', result: true },
    { status: 'ok', result: false },
  ]);
  assert.deepEqual(store.state(machine), { entries: new Map(), changes: 1 });
});

test('a command that cannot be read harms no other', () => {
  const machine = store.machine(checksum);
  const good = store.encodeCommand({ type: 'set', key: 'k', value: 'v' });
  const body = packCommands([new Uint8Array(0), good, Uint8Array.of(0xff, 0xfe), good]);
  assert.deepEqual(
    runBody(store, machine, body).map((outcome) =>
      outcome.status === 'failed' ? outcome.code : outcome.status,
    ),
    ['ERR_COMMAND_INVALID', 'ok', 'ERR_COMMAND_INVALID', 'ok'],
  );
});

test('questions change nothing, in the log and outside', () => {
  const machine = store.machine(checksum);
  run(store, machine, [{ type: 'set', key: 'k', value: { deep: ['v'] } }]);
  cutOf(machine);
  const body = packCommands([store.encodeQuestion('k'), store.encodeQuestion('none')]);
  assert.equal(machine.validate(OPERATION_QUESTIONS, body, 4096), 'valid');
  const answers = (size: number): unknown[] =>
    (unpack(reply.subarray(0, size)) ?? []).map((item) => store.decodeAnswer(item));
  const expected = [
    { status: 'ok', result: { deep: ['v'] } },
    { status: 'ok', result: undefined },
  ];
  assert.deepEqual(answers(machine.query(OPERATION_QUESTIONS, body, reply)), expected);
  const context = { op: 9, timestamp: u64FromBigInt(NOW_NS) };
  assert.deepEqual(answers(machine.apply(context, OPERATION_QUESTIONS, body, reply)), expected);
  assert.deepEqual(cutOf(machine), []);
});

test('what is admitted', () => {
  const machine = store.machine(checksum);
  const mute = defineMachine({ name: 'mute', initial: () => 0, apply: () => 0 }).machine(checksum);
  const body = packCommands([Uint8Array.of(1, 2, 3)]);
  assert.equal(machine.validate(127, body, 4096), 'invalid-operation');
  assert.equal(machine.validate(130, body, 4096), 'invalid-operation');
  assert.equal(mute.validate(OPERATION_QUESTIONS, body, 4096), 'invalid-operation');
  assert.equal(machine.validate(OPERATION_COMMANDS, body, body.length - 1), 'invalid-body');
  assert.equal(machine.validate(OPERATION_COMMANDS, new Uint8Array(0), 4096), 'invalid-body');
  const many = new Uint8Array(4 * COMMANDS_MAX);
  assert.equal(machine.validate(OPERATION_COMMANDS, many, 40_000), 'valid');
  const tooMany = new Uint8Array(4 * COMMANDS_MAX + 4);
  assert.equal(machine.validate(OPERATION_COMMANDS, tooMany, 40_000), 'invalid-body');
  const prng = new Prng(3);
  let valid = 0;
  for (let i = 0; i < 50_000; i++) {
    const bytes = new Uint8Array(prng.below(40));
    for (let at = 0; at < bytes.length; at++) if (prng.chance(1, 6)) bytes[at] = prng.below(20);
    if (prng.chance(1, 50)) bytes.fill(0xff, prng.below(40));
    const items = unpack(bytes);
    assert.equal(isPacked(bytes), items !== null);
    if (items === null) continue;
    valid += 1;
    assert.equal(commandsSize(items), bytes.length);
    assert.deepEqual(packCommands(items), bytes);
    assert.equal(machine.validate(OPERATION_COMMANDS, bytes, 4096), 'valid');
    runBody(store, machine, bytes);
  }
  assert.ok(valid > 1_000, `${valid}`);
});

test('results that are too large, and replies that get full', () => {
  const make = defineMachine({
    name: 'large',
    initial: () => ({ done: 0 }),
    resultSizeMax: 100_000,
    apply: (state, size: number): Uint8Array => {
      state.done += 1;
      return new Uint8Array(size);
    },
    codecs: { result: { encode: (bytes) => bytes, decode: (bytes) => bytes } },
  });
  const machine = make.machine(checksum);
  const sizes = Array.from({ length: 40 }, (_, i) => (i === 3 ? 100_001 : 90_000));
  const outcomes = run(make, machine, sizes);
  const statuses = outcomes.map((outcome) =>
    outcome.status === 'failed' ? outcome.code : outcome.status,
  );
  const done = make.state(machine).done;
  assert.equal(statuses[3], 'ERR_RESULT_TOO_LARGE');
  assert.equal(statuses.filter((status) => status === 'ok').length, done - 1);
  assert.deepEqual(new Set(statuses.slice(done)), new Set(['deferred']), 'all after the first');
  assert.ok(!statuses.slice(0, done).includes('deferred'));
  const used = (done - 1) * 90_000 + 40 * OUTCOME_HEAD_SIZE;
  assert.ok(used + 100_000 > REPLY_BODY_SIZE_MAX, 'no sooner than it must');
  // One of the largest kind is always executed, whatever comes with it.
  const huge = defineMachine({
    name: 'huge',
    initial: () => ({ done: 0 }),
    resultSizeMax: 1_000_000,
    apply: (state, _command: number): Uint8Array => {
      state.done += 1;
      return new Uint8Array(1_000_000);
    },
    codecs: { result: { encode: (bytes) => bytes, decode: (bytes) => bytes } },
  });
  const one = huge.machine(checksum);
  assert.equal(run(huge, one, new Array(COMMANDS_MAX).fill(1))[0]?.status, 'ok');
  assert.equal(huge.state(one).done, 1);
});

test('a state that is replaced is never left half changed', () => {
  const counter = defineMachine({
    name: 'counter',
    initial: () => 10,
    apply: (total, add: number, { replace }) => {
      const next = replace(total + add);
      if (next < 0) throw new CommandError('ERR_NEGATIVE', 'the total would be negative');
      return next;
    },
  });
  const machine = counter.machine(checksum);
  assert.deepEqual(run(counter, machine, [-3, -8, 1]), [
    { status: 'ok', result: 7 },
    { status: 'failed', code: 'ERR_NEGATIVE', message: 'the total would be negative' },
    { status: 'ok', result: 8 },
  ]);
  assert.equal(counter.state(machine), 8);
});

test('own codecs keep no view of a message, and their failures are outcomes', () => {
  const errors: unknown[] = [];
  const raw = { encode: (bytes: Uint8Array) => bytes, decode: (bytes: Uint8Array) => bytes };
  const keeper = defineMachine({
    name: 'keeper',
    initial: (): { last: Uint8Array } => ({ last: new Uint8Array(0) }),
    apply: (state, command: Uint8Array): unknown => {
      state.last = command;
      return command[0] === 1 ? () => {} : null;
    },
    codecs: { command: raw },
    onError: (error) => {
      errors.push(error);
      throw error;
    },
  });
  const machine = keeper.machine(checksum);
  const seen: unknown[] = [];
  const applied: AppliedCommand<Uint8Array, unknown>[] = [];
  keeper.observe(
    machine,
    (one) => applied.push(one),
    (error) => seen.push(error),
  );
  const body = packCommands([Uint8Array.of(7, 8, 9)]);
  assert.deepEqual(runBody(keeper, machine, body), [{ status: 'ok', result: null }]);
  body.fill(0);
  assert.deepEqual(keeper.state(machine).last, Uint8Array.of(7, 8, 9));
  const [outcome] = run(keeper, machine, [Uint8Array.of(1)]);
  assert.equal(outcome?.status === 'failed' && outcome.code, 'ERR_RESULT_INVALID');
  assert.match(String(errors[0]), /the value is a function/);
  assert.deepEqual(seen, errors);
  assert.deepEqual(
    applied.map(({ index, command }) => [index, [...command]]),
    [
      [0, [7, 8, 9]],
      [0, [1]],
    ],
  );
});

test('checkpoints hand out what changed, and bring everything back, beyond 1 MiB', () => {
  const prng = new Prng(5);
  const disk = new Disk();
  let machine = store.machine(checksum);
  const twin = store.machine(checksum);
  const sizes: number[] = [];
  for (let round = 0; round < 120; round++) {
    // Grows, shrinks, grows: trailing blocks come and go.
    const isGrowing = round % 60 < 35;
    const commands = Array.from({ length: 30 }, (): Command => {
      const key = `k${prng.below(2_000)}`;
      if (!isGrowing) return { type: 'delete', key: `k${prng.below(2_000)}` };
      return { type: 'set', key, value: 'x'.repeat(prng.below(4_000)) };
    });
    if (!isGrowing) {
      for (const key of [...store.state(twin).entries.keys()].slice(0, 60)) {
        commands.push({ type: 'delete', key });
      }
    }
    op -= 1;
    const first = run(store, machine, commands);
    op -= 1;
    assert.deepEqual(run(store, twin, commands), first);
    op += 1;
    if (prng.chance(1, 2)) continue;
    disk.write(cutOf(machine));
    const root = toHex(machine.rootOfCut());
    assert.equal(root, toHex(twin.root()), 'a root does not depend on cuts');
    assert.equal(root, toHex(machine.root()));
    assert.deepEqual(cutOf(machine), [], 'nothing has changed since');
    sizes.push(disk.blocks.size);
    machine = disk.restore(store.machine(checksum));
    assert.equal(toHex(machine.root()), root, 'restored');
    assert.deepEqual(cutOf(machine), [], 'what was restored is not handed out again');
    assert.deepStrictEqual(store.state(machine), store.state(twin));
    assert.deepEqual(
      [...store.state(machine).entries.keys()],
      [...store.state(twin).entries.keys()],
    );
  }
  assert.ok(Math.max(...sizes) > 17, `at most ${Math.max(...sizes)} blocks: more than 1 MiB`);
  assert.ok(Math.min(...sizes.slice(20)) < 6, 'and less again');
});

test('a small change of a large state is a small checkpoint', () => {
  const machine = store.machine(checksum);
  for (let i = 0; i < 100; i++) {
    run(store, machine, [{ type: 'set', key: `${i}`, value: 'x'.repeat(20_000) }]);
  }
  assert.equal(
    cutOf(machine).length,
    Math.ceil((encodeValue(store.state(machine)).length + 13) / 65_536),
  );
  run(store, machine, [{ type: 'set', key: '50', value: 'y'.repeat(20_000) }]);
  const changed = cutOf(machine).length;
  assert.ok(changed >= 2 && changed <= 3, `${changed}: the value and the number of changes`);
});

test('the state of another machine is not taken for ours', () => {
  const disk = new Disk();
  const machine = store.machine(checksum);
  disk.write(cutOf(machine));
  const other = defineMachine({ name: 'other', initial: () => ({}), apply: () => 0 });
  assert.throws(() => disk.restore(other.machine(checksum)), /the state of another machine/);
  assert.throws(() => other.state(machine), /not a machine of this definition/);
});

test('definitions out of bounds are refused', () => {
  const initial = (): number => 0;
  const apply = (): number => 0;
  for (const name of ['', 'Counter', '7up', 'a_b', 'a'.repeat(33), '../x']) {
    assert.throws(() => defineMachine({ name, initial, apply }), RangeError, name);
  }
  for (const resultSizeMax of [0, 1_023, 1_000_001, 2_000.5]) {
    assert.throws(() => defineMachine({ name: 'a', initial, apply, resultSizeMax }), RangeError);
  }
  assert.throws(() => new CommandError('no luck', 'x'), RangeError);
  assert.equal(new CommandError('ERR_X', 'x'.repeat(1_000)).message.length, 256);
});
