import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { OvsdbError } from '../data/error.ts';
import { uuidsFromPrng } from '../data/uuid.ts';
import type { Json, JsonArray, JsonObject } from '../json/value.ts';
import { Database } from '../store/database.ts';
import { jsonOf, tablesOf } from '../transact/transact-test-helper.ts';
import { type CoreEffect, type CoreLimits, OvsdbCore, type SessionId } from './index.ts';

const schema = tablesOf('{"T":{"columns":{"n":{"type":"integer"}},"isRoot":true}}');
const options = { readOnly: false, role: '', clientId: null, label: '' };
const insert: JsonObject = { op: 'insert', table: 'T', row: {} };

function coreWith(
  limits: Partial<CoreLimits> = {},
  journal: 'append' | 'none' = 'none',
): OvsdbCore {
  const uuids = uuidsFromPrng(new Prng(1));
  const core = new OvsdbCore({ uuids, serverId: uuids(), limits });
  const database = new Database(schema);
  core.addDatabase({ name: 'D', database, model: 'standalone', journal }, 0);
  return core;
}

function ask(
  core: OvsdbCore,
  session: SessionId,
  id: Json,
  method: string,
  params: JsonArray,
): void {
  core.receive(session, { id, method, params });
}

/** Until there is nothing to do at that time; all effects. */
function settle(core: OvsdbCore, nowMs: number = 0): CoreEffect[] {
  const effects = core.takeEffects();
  for (;;) {
    const deadline = core.deadlineMs();
    if (deadline === null || deadline > nowMs) return effects;
    core.tick(nowMs);
    effects.push(...core.takeEffects());
  }
}

function sentTo(effects: readonly CoreEffect[], session: SessionId): JsonObject[] {
  return effects.flatMap((effect) =>
    effect.kind === 'send' && effect.session === session ? [jsonOf(effect.text) as JsonObject] : [],
  );
}

function dropsOf(effects: readonly CoreEffect[]): string[] {
  return effects.flatMap((effect) => (effect.kind === 'drop' ? [effect.reason] : []));
}

test('a pile of requests does not starve other sessions', () => {
  const core = coreWith({ requestsPerTick: 10 });
  const greedy = core.openSession(options);
  const modest = core.openSession(options);
  for (let i = 0; i < 1000; i++) ask(core, greedy, i, 'echo', []);
  ask(core, modest, 'mine', 'echo', []);
  core.tick(0);
  const first = core.takeEffects();
  assert.equal(first.length, 10);
  assert.equal(sentTo(first, modest).length, 1);
  assert.equal(core.deadlineMs(), 0);
  assert.equal(core.wantsInput(greedy), false);
  const answers = sentTo([...first, ...settle(core)], greedy).map(({ id }) => id);
  assert.deepEqual(answers, [...Array(1000).keys()]);
  assert.equal(core.wantsInput(greedy), true);
});

test('equal monitors are told by one string', () => {
  const core = coreWith();
  const sessions = [1, 2, 3].map(() => core.openSession(options));
  for (const session of sessions) ask(core, session, 1, 'monitor_cond', ['D', 'm', { T: [{}] }]);
  settle(core);
  ask(core, sessions[0], 2, 'transact', ['D', insert]);
  const texts = settle(core).flatMap((e) =>
    e.kind === 'send' && e.text.includes('update2') ? [e.text] : [],
  );
  assert.equal(texts.length, 3);
  // One object: its bytes need to be made once only. Equal texts are the least of it.
  assert.equal(new Set(texts).size, 1);
});

test('many sessions are told in slices, those who asked at once', () => {
  const core = coreWith({ flushesPerTick: 10 });
  const sessions = [...Array(25)].map(() => core.openSession(options));
  for (const session of sessions) ask(core, session, 1, 'monitor', ['D', 'm', { T: {} }]);
  settle(core);
  ask(core, sessions[24], 2, 'transact', ['D', insert]);
  core.tick(0);
  const first = core.takeEffects();
  const [update, reply] = sentTo(first, sessions[24]);
  assert.equal(update['method'], 'update');
  assert.equal(reply['id'], 2);
  assert.ok(first.length <= 12, String(first.length));
  assert.equal(core.deadlineMs(), 0);
  const all = [...first, ...settle(core)];
  for (const session of sessions) {
    assert.equal(sentTo(all, session).filter(({ method }) => method === 'update').length, 1);
  }
});

test('what a session may have is limited', () => {
  const core = coreWith({ queuedMax: 5, waitingMax: 2, monitorsMax: 2, locksMax: 2 });
  const a = core.openSession(options);
  const wait = { op: 'wait', table: 'T', where: [], columns: ['n'], until: '!=', rows: [] };
  for (const id of [1, 2, 3]) ask(core, a, id, 'transact', ['D', wait]);
  const [refused] = sentTo(settle(core), a);
  assert.deepEqual(
    [refused['id'], (refused['error'] as JsonObject)['error']],
    [3, 'resources exhausted'],
  );
  for (const id of [4, 5, 6]) ask(core, a, id, 'monitor', ['D', id, { T: {} }]);
  assert.match(JSON.stringify(sentTo(settle(core), a)[2]), /"id":6,"error".*too many monitors/);
  for (const name of ['x', 'y', 'z']) ask(core, a, name, 'lock', [name]);
  assert.match(JSON.stringify(sentTo(settle(core), a)[2]), /too many locks/);
  for (let i = 0; i < 6; i++) ask(core, a, i, 'echo', []);
  assert.deepEqual(dropsOf(core.takeEffects()), ['too many requests wait']);
  assert.equal(core.counters().monitors, 0);
  assert.equal(core.counters().triggers, 0);
  assert.equal(core.counters().locks, 0);
});

test('who does not read what it is sent is dropped, not kept for ever', () => {
  const core = coreWith({ backlogMax: 20 });
  const slow = core.openSession(options);
  const other = core.openSession(options);
  ask(core, slow, 1, 'lock', ['l']);
  settle(core);
  core.backlogged(slow);
  const drops: string[] = [];
  for (let i = 0; i < 30; i++) {
    ask(core, other, 1, 'steal', ['l']);
    ask(core, other, 2, 'unlock', ['l']);
    drops.push(...dropsOf(settle(core)));
  }
  assert.deepEqual(drops, ['it does not read']);
});

test('a slow storage stops who writes, and nobody else', () => {
  const core = coreWith({ unconfirmedMax: 4 }, 'append');
  const writer = core.openSession(options);
  const other = core.openSession(options);
  for (let i = 0; i < 10; i++) ask(core, writer, i, 'transact', ['D', insert]);
  ask(core, other, 'x', 'get_server_id', []);
  const appends = (effects: readonly CoreEffect[]): number[] =>
    effects.flatMap((effect) => (effect.kind === 'append' ? [effect.number] : []));
  const first = settle(core);
  assert.deepEqual(appends(first), [1, 2, 3, 4]);
  assert.equal(sentTo(first, other).length, 1);
  assert.equal(core.wantsInput(writer), false);
  core.appended('D', 1, 0);
  assert.deepEqual(appends(settle(core)), []);
  core.appended('D', 2, 0);
  assert.deepEqual(appends(settle(core)), [5, 6]);
  for (let number = 3; number <= 10; number++) {
    core.appended('D', number, 0);
    settle(core);
  }
  assert.equal(core.wantsInput(writer), true);
  assert.equal(core.database('D')?.table('T').size, 10);
});

test('a storage that confirms in one go answers everybody in order', () => {
  const core = coreWith({}, 'append');
  const a = core.openSession(options);
  ask(core, a, 'm', 'monitor', ['D', 'm', { T: { columns: ['n'] } }]);
  for (let i = 0; i < 5; i++) ask(core, a, i, 'transact', ['D', { ...insert, row: { n: i } }]);
  settle(core);
  core.appended('D', 5, 0);
  const told = sentTo(settle(core), a).map((message) => message['method'] ?? message['id']);
  assert.deepEqual(
    told,
    [0, 1, 2, 3, 4].flatMap((id) => ['update', id]),
  );
});

test('the server itself may change what clients may not, and is told how it went', () => {
  const core = coreWith({}, 'append');
  core.setReadOnly('D', true);
  const told: string[] = [];
  core.internal('D', [insert], 0, (error, text) => {
    told.push(`${error} ${text.slice(0, 8)}`);
  });
  const [append] = settle(core);
  assert.equal(append.kind, 'append');
  assert.equal(told.length, 0);
  const before = core.revision('D');
  core.appended('D', 1, 0);
  assert.equal(core.revision('D'), before + 1);
  assert.deepEqual(told, ['null [{"uuid"']);
  core.internal('D', [insert], 0, (error, text) => {
    told.push(`${error} ${text.slice(-20)}`);
  });
  core.appendFailed('D', 2, new OvsdbError('I/O error', 'no'), 0);
  assert.match(told[1], /"details":"no"\}\]$/);
  assert.equal(core.database('D')?.table('T').size, 1);
});

test('calls about sessions that are gone have no effect; about none ever they fail', () => {
  const core = coreWith();
  const a = core.openSession(options);
  core.malformed(a, 'bad');
  core.tick(0);
  assert.deepEqual(dropsOf(core.takeEffects()), ['bad']);
  core.receive(a, {});
  core.malformed(a, 'worse');
  core.backlogged(a);
  core.drained(a);
  core.closeSession(a);
  assert.equal(core.wantsInput(a), false);
  assert.deepEqual(settle(core), []);
  assert.deepEqual(core.sessionLocks(a), { held: [], waiting: [], lost: [] });
  assert.throws(() => core.receive(a + 1, {}));
});

test('locks of a session by what has become of them', () => {
  const core = coreWith();
  const [a, b] = [core.openSession(options), core.openSession(options)];
  ask(core, a, 1, 'steal', ['lost']);
  ask(core, a, 2, 'lock', ['held']);
  ask(core, b, 1, 'lock', ['other']);
  ask(core, b, 2, 'steal', ['lost']);
  settle(core);
  ask(core, a, 3, 'lock', ['other']);
  settle(core);
  assert.deepEqual(core.sessionLocks(a), { held: ['held'], waiting: ['other'], lost: ['lost'] });
});
