/** What an entry of the log does to a replica's state. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  buildPrepare,
  CLIENTS_MAX,
  COUNTER_READ,
  CounterMachine,
  OPERATION_PULSE,
} from '../../engine/index.ts';
import { readU64, type U64, writeSafeU64, writeU32 } from '../../stdx/index.ts';
import {
  HEADER_SIZE,
  MessagePool,
  OPERATION_REGISTER,
  PrepareOffset,
  ReplyOffset,
  readView,
  sealHeader,
} from '../../wire/index.ts';
import { RaftState } from './state.ts';

const ZERO = new Uint8Array(16);

class Reserving extends CounterMachine {
  override reserve(): number {
    return 100;
  }
}

class Bench {
  readonly pool: MessagePool;
  readonly state: RaftState;

  constructor() {
    const sizes = { requestSlotSize: 4096, requestSlots: 1, smallSlots: 1 };
    this.pool = new MessagePool({ ...sizes, replySlots: CLIENTS_MAX + 2 });
    this.state = new RaftState(new Reserving(), this.pool, 4096);
  }

  entry(operation: number, timestamp: U64, client: number = 0, request: number = 0): Uint8Array {
    const data = new Uint8Array(HEADER_SIZE);
    const author = { cluster: ZERO, view: 7, replica: 1, release: 0x1109 };
    const { commitMin: commit, digest: parent } = this.state;
    const position = { op: 0, parent, checkpointId: ZERO, commit, timestamp };
    buildPrepare(data, operation, author, position, this.pool.checksum);
    writeSafeU64(data, PrepareOffset.client, client);
    writeU32(data, PrepareOffset.request, request);
    writeSafeU64(data, PrepareOffset.session, request === 0 ? 0 : 1);
    sealHeader(data, this.pool.checksum);
    return data;
  }

  apply(data: Uint8Array): Uint8Array {
    const reply = this.pool.acquire('reply')!;
    this.state.apply(this.state.commitMin + 1, data, reply);
    const bytes = reply.bytes.slice(0, HEADER_SIZE);
    this.pool.release(reply);
    return bytes;
  }
}

test('timestamps never go back, whatever clocks the leaders had, and leave room for events', () => {
  const { state, apply, entry } = bound();
  state.pass(1);
  apply(entry(OPERATION_PULSE, { hi: 5, lo: 1000 }));
  assert.deepEqual(state.timestamp, { hi: 5, lo: 1000 });
  apply(entry(OPERATION_PULSE, { hi: 4, lo: 9 }));
  assert.deepEqual(state.timestamp, { hi: 5, lo: 1101 });
  apply(entry(OPERATION_PULSE, { hi: 5, lo: 1150 }));
  assert.deepEqual(state.timestamp, { hi: 5, lo: 1202 });
  apply(entry(OPERATION_PULSE, { hi: 6, lo: 0 }));
  assert.deepEqual(state.timestamp, { hi: 6, lo: 0 });
});

test('a reply says where the operation was executed, in the view of its leader', () => {
  const { state, apply, entry } = bound();
  const reply = apply(entry(OPERATION_REGISTER, { hi: 1, lo: 1 }, 3));
  assert.equal(readView(reply), 7);
  assert.equal(readU64(reply, ReplyOffset.op).lo, 1);
  assert.deepEqual(readU64(reply, ReplyOffset.timestamp), state.timestamp);
  assert.equal(state.view, 7);
});

test('a request is the next of its session or none', () => {
  const { state, apply, entry } = bound();
  const at = { hi: 1, lo: 1 };
  assert.ok(state.isNext(entry(OPERATION_REGISTER, at, 3)));
  assert.ok(!state.isNext(entry(COUNTER_READ, at, 3, 1)), 'not registered');
  apply(entry(OPERATION_REGISTER, at, 3));
  assert.ok(!state.isNext(entry(OPERATION_REGISTER, at, 3)), 'registered');
  assert.ok(!state.isNext(entry(COUNTER_READ, at, 3, 2)), 'skips one');
  assert.ok(state.isNext(entry(COUNTER_READ, at, 3, 1)));
  apply(entry(COUNTER_READ, at, 3, 1));
  assert.ok(!state.isNext(entry(COUNTER_READ, at, 3, 1)), 'known');
  assert.ok(state.isNext(entry(COUNTER_READ, at, 3, 2)));
  assert.ok(state.isNext(entry(OPERATION_PULSE, at)), 'nobody sent it');
  const other = entry(COUNTER_READ, at, 3, 2);
  writeSafeU64(other, PrepareOffset.session, 2);
  assert.ok(!state.isNext(other), 'another session');
});

test('the digest tells replicas apart that have executed something else', () => {
  const [one, other] = [bound(), bound()];
  const at = { hi: 1, lo: 1 };
  for (const { state } of [one, other]) state.pass(1);
  const first = one.entry(OPERATION_PULSE, at);
  one.apply(first);
  other.apply(first);
  assert.deepEqual(one.state.digest, other.state.digest);
  assert.ok(other.state.agrees(one.entry(OPERATION_PULSE, at)));
  one.apply(one.entry(OPERATION_PULSE, { hi: 1, lo: 500 }));
  other.apply(other.entry(OPERATION_PULSE, { hi: 1, lo: 501 }));
  assert.notDeepEqual(one.state.digest, other.state.digest);
  assert.ok(!other.state.agrees(one.entry(OPERATION_PULSE, at)));
});

function bound() {
  const bench = new Bench();
  return {
    state: bench.state,
    apply: bench.apply.bind(bench),
    entry: bench.entry.bind(bench),
  };
}
