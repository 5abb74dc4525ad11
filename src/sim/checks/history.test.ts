import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLIENTS_MAX } from '../../engine/index.ts';
import { u64FromNumber } from '../../stdx/index.ts';
import { TALLY_OPERATION, TallyMachine } from '../subjects/tally-test-helper.ts';
import { type FailureCode, SimulationFailure } from '../world/failure.ts';
import { World } from '../world/world.ts';
import { History, type HistoryOptions } from './history.ts';
import { SessionModel } from './session-model.ts';
import { Witness } from './witness.ts';

/** A history under a machine that is the reference's equal, with short hands for what happens. */
function scene(options: HistoryOptions = {}) {
  const world = new World({ seed: 1 });
  const history = new History(world, new TallyMachine(), options);
  const witness = new Witness(world, history, 'r0');
  let machine = new TallyMachine();
  const body = (n: number): Uint8Array => new Uint8Array(16).fill(n);
  const run = (op: number, n: number): Uint8Array => {
    const reply = new Uint8Array(64);
    const context = { op, timestamp: u64FromNumber(100 + op) };
    return reply.subarray(0, machine.apply(context, TALLY_OPERATION, body(n), reply));
  };
  return {
    history,
    register: (client: string, op: number) =>
      history.onRegistered(client, op, u64FromNumber(100 + op)),
    request: (n: number) => history.onRequest('somebody', TALLY_OPERATION, body(n)),
    abandon: (client: string, n: number) => history.onAbandon(client, TALLY_OPERATION, body(n)),
    apply: (op: number, n: number, timestamp: number = 100 + op, reply = run(op, n)) => {
      const operation = TALLY_OPERATION;
      witness.onApply({ op, timestamp: u64FromNumber(timestamp), operation, body: body(n), reply });
      return reply;
    },
    reply: (client: string, op: number, n: number, reply: Uint8Array) => {
      const timestamp = u64FromNumber(100 + op);
      const seen = { op, timestamp, operation: TALLY_OPERATION, body: reply };
      history.onReply(client, TALLY_OPERATION, body(n), seen);
    },
    restart: () => {
      machine = new TallyMachine();
      witness.onLife(null);
    },
    recovered: () => witness.onRecovered(machine.root()),
  };
}

type Scene = ReturnType<typeof scene>;

/** Two clients, one answered operation each. */
function begun(): Scene {
  const s = scene();
  s.register('a', 1);
  s.register('b', 2);
  s.request(1);
  s.request(2);
  s.reply('a', 3, 1, s.apply(3, 1));
  s.reply('b', 4, 2, s.apply(4, 2));
  return s;
}

test('a lawful history passes, restarts and repeated operations included', () => {
  const s = begun();
  s.restart();
  s.apply(3, 1);
  s.apply(4, 2);
  s.recovered();
  s.request(3);
  s.abandon('a', 3);
  s.apply(5, 3);
  s.request(4);
  s.abandon('b', 4);
  s.history.finish();
});

const CASES: readonly [string, FailureCode, (s: Scene) => void][] = [
  ['an operation that nobody asked for', 'double-apply', (s) => s.apply(5, 9)],
  ['a request that is applied twice', 'double-apply', (s) => s.apply(5, 1)],
  ['an operation that is applied again in the same life', 'double-apply', (s) => s.apply(4, 2)],
  [
    'an operation that another takes the place of after a restart',
    'lost-operation',
    (s) => {
      s.restart();
      s.request(7);
      s.apply(3, 7);
    },
  ],
  [
    'an operation that a restart leaves out',
    'lost-operation',
    (s) => {
      s.restart();
      s.apply(3, 1);
      s.recovered();
    },
  ],
  [
    'a new operation in the place of one that was lost',
    'lost-operation',
    (s) => {
      s.restart();
      s.apply(3, 1);
      s.request(3);
      s.apply(5, 3);
    },
  ],
  [
    'an empty machine after a restart',
    'lost-operation',
    (s) => {
      s.restart();
      s.recovered();
    },
  ],
  [
    'an operation with another timestamp after a restart',
    'lost-operation',
    (s) => {
      s.restart();
      s.apply(3, 1, 777);
    },
  ],
  [
    'a reply that the machine did not give',
    'divergence',
    (s) => {
      s.request(3);
      s.apply(5, 3);
      s.reply('a', 5, 3, new Uint8Array(8));
    },
  ],
  [
    'a reply from another operation',
    'divergence',
    (s) => {
      s.request(3);
      s.reply('a', 5, 8, s.apply(5, 3));
    },
  ],
  [
    'an operation that answers two clients',
    'double-apply',
    (s) => {
      s.request(3);
      const reply = s.apply(5, 3);
      s.reply('a', 5, 3, reply);
      s.reply('b', 5, 3, reply);
    },
  ],
  [
    'a reply to what never happened',
    'lost-operation',
    (s) => s.reply('a', 9, 3, new Uint8Array(8)),
  ],
  [
    'a machine that computes something else',
    'divergence',
    (s) => {
      s.request(3);
      s.apply(5, 3, 105, new Uint8Array(8));
    },
  ],
  [
    'a root that is not the reference’s',
    'divergence',
    (s) => s.history.checkRoot(new Uint8Array(16)),
  ],
  [
    'a digest that changes',
    'divergence',
    (s) => {
      s.history.checkDigest(4, 'aa');
      s.history.checkDigest(4, 'bb');
    },
  ],
  [
    'a timestamp that does not rise',
    'order',
    (s) => {
      s.request(3);
      s.apply(5, 3, 104);
    },
  ],
  ['a session number that was an operation', 'order', (s) => s.register('c', 4)],
  ['two sessions with one number', 'order', (s) => s.register('c', 2)],
  [
    'a hole in the operations',
    'order',
    (s) => {
      s.request(3);
      s.reply('a', 6, 3, s.apply(6, 3));
      s.history.finish();
    },
  ],
  [
    'an operation whose client never hears of it',
    'double-apply',
    (s) => {
      s.request(3);
      s.apply(5, 3);
      s.history.finish();
    },
  ],
  [
    'an eviction without need',
    'eviction',
    (s) => {
      s.history.onEvicted('a');
      s.history.finish();
    },
  ],
];

for (const [name, code, act] of CASES) {
  test(`history finds ${name}`, () => {
    const s = begun();
    assert.throws(
      () => act(s),
      (error) => error instanceof SimulationFailure && error.code === code,
    );
  });
}

test('a hole is a lost registration only if somebody was forgotten and came back', () => {
  const run = (registers: number, isResent: boolean): void => {
    const s = scene();
    for (let i = 0; i < registers; i++) s.register(`client ${i}`, i + 1);
    if (isResent) s.history.onRegisterResent('late');
    // Op `registers + 1` is the first registration of `late`; the table forgets it again.
    for (let i = 0; i < CLIENTS_MAX; i++) s.register(`other ${i}`, registers + 2 + i);
    s.register('late', registers + 2 + CLIENTS_MAX);
    s.history.finish();
  };
  run(CLIENTS_MAX, true);
  assert.throws(() => run(CLIENTS_MAX, false), /nothing is known of op 65/);
  // Nobody was forgotten in between: then it was registered twice.
  const s = scene();
  s.history.onRegisterResent('late');
  for (let i = 0; i < CLIENTS_MAX; i++) s.register(`client ${i}`, i + 1);
  s.register('late', CLIENTS_MAX + 2);
  assert.throws(() => s.history.finish(), /registered twice/);
});

test('a hole is nothing when the log itself explains it', () => {
  for (const [explanation, isFine] of [
    ['nothing', true],
    ['registered-again', true],
    [null, false],
  ] as const) {
    const s = scene({ explains: (op) => (op === 2 ? explanation : null) });
    s.register('a', 1);
    s.request(1);
    s.reply('a', 3, 1, s.apply(3, 1));
    if (isFine) s.history.finish();
    else assert.throws(() => s.history.finish(), /nothing is known of op 2/);
  }
});

test('a registration that comes again when its session is forgotten is the last op', () => {
  const run = (clients: number): void => {
    const s = scene();
    for (let i = 0; i < clients; i++) s.register(`client ${i}`, i + 1);
    s.history.onEvicted('client 0');
    // Nobody was told of the operation after the last one; its client is the one without a session.
    s.history.checkDigest(clients + 1, 'aa');
    // It took the place of the next.
    s.history.onEvicted('client 1');
    s.history.finish();
  };
  run(CLIENTS_MAX + 1);
  assert.throws(() => run(CLIENTS_MAX), /nothing is known of op 65/);
});

test('the session model forgets whoever committed least recently', () => {
  const model = new SessionModel();
  for (let i = 0; i < CLIENTS_MAX; i++) model.onRegister(`client ${i}`, i + 1);
  model.onCommit('client 0', 100);
  model.onRegister('new', 101);
  model.onCommit('client 0', 102);
  model.expectEvicted('client 1');
  model.finish();
  // Its request was under way when the registration took its session away; later ones are not.
  model.onCommit('client 1', 103);
  assert.throws(() => model.onCommit('client 1', 203), /without a session/);
  model.expectEvicted('client 2');
  assert.throws(() => model.finish(), /its session lived/);
});
