/** Corners that neither the transcripts nor the seeds come to by themselves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Alone, ofType } from './alone-test-helper.ts';
import type { Entry } from './entry.ts';
import type { AppendRequest, Msg } from './message.ts';
import { addressOf, type Payload } from './node-test-helper.ts';

const noop = (index: number, term: number): Entry<Payload> => ({ index, term, kind: 'noop' });

function append(prevIndex: number, entries: readonly Entry<Payload>[]): AppendRequest<Payload> {
  const leaderCommit = prevIndex + entries.length;
  const base = { type: 'append-request', term: 1, prevTerm: 1, round: 0 } as const;
  return { ...base, prevIndex, leaderCommit, entries };
}

test('of an append that reaches into the snapshot only the rest counts', () => {
  const alone = new Alone(['a', 'b', 'c']);
  alone.hear('b', append(1, [noop(2, 1), noop(3, 1)]));
  alone.snapshot();
  assert.equal(alone.node.inside.log.start, 4);
  const [reply] = ofType(
    alone.hear(
      'b',
      append(
        1,
        [2, 3, 4].map((i) => noop(i, 1)),
      ),
    ),
    'append-reply',
  );
  assert(reply?.type === 'append-reply');
  assert.deepEqual([reply.result, reply.logEnd, reply.entryCount], ['ok', 5, 3]);
  const [old] = ofType(alone.hear('b', append(1, [noop(2, 1)])), 'append-reply');
  assert(old?.type === 'append-reply');
  assert.deepEqual([old.result, old.logEnd], ['ok', 5], 'wholly covered');
  const [wrong] = ofType(alone.hear('b', append(1, [noop(2, 1), noop(3, 2)])), 'append-reply');
  assert(wrong?.type === 'append-reply');
  assert.equal(wrong.result, 'inconsistency', 'another history');
});

test('an append to all takes the place of the next heartbeat', () => {
  const alone = new Alone(['a', 'b', 'c']);
  alone.lead();
  alone.nowMs += 200;
  alone.propose('x');
  assert.equal(alone.node.inside.deadlines.at('ping'), 200 + 333);
});

test('the election timer may be changed again when a change is committed, or cut off', () => {
  const alone = new Alone(['a', 'b', 'c']);
  alone.lead();
  const change = (electionTimerMs: number): string | undefined => {
    const type = 'change-election-timer';
    const effects = alone.node.step({ type, command: 1, electionTimerMs }, alone.nowMs);
    alone.carryOut(effects);
    return effects.find((effect) => effect.type === 'complete')?.status;
  };
  assert.equal(change(1500), 'success');
  assert.equal(change(1600), 'change-pending');
  alone.reply('b', 3);
  assert.equal(change(1600), 'success');
  // Another leader has something else in its place.
  const { log, electionTimer } = alone.node.inside;
  const other = { ...append(3, [noop(4, 2)]), term: 2, leaderCommit: 3 };
  alone.hear('b', other);
  assert.deepEqual([log.last, electionTimer.pendingMs, electionTimer.currentMs], [4, null, 1500]);
});

test('a command that is the newest in an installed snapshot is done', () => {
  const alone = new Alone(['a', 'b', 'c']);
  alone.hear('b', append(1, [noop(2, 1)]));
  alone.propose('x');
  const { log } = alone.node.inside;
  const snapshot = { ...log.snapshot, index: 9, eid: 'x', data: ['x'] };
  const request = { type: 'install-snapshot-request', term: 1, snapshot } as const;
  const message = { type: 'message', peer: 'b', message: request } as const;
  alone.carryOut(alone.node.step(message, alone.nowMs));
  assert.equal(alone.node.inside.commands.count, 0);
  assert(alone.completed.some(({ status, index }) => status === 'success' && index === 9));
});

test('a command of a former leader that nobody mentions any more is reported as lost', () => {
  const alone = new Alone(['a', 'b', 'c']);
  alone.lead();
  alone.propose('x');
  alone.step({ type: 'transfer', command: 9, target: 'c', reason: '' });
  alone.nowMs += 2001;
  alone.timeout('upkeep');
  assert(alone.completed.some(({ status }) => status === 'lost-leadership'));
});

test('a snapshot of what is not applied is refused', () => {
  const alone = new Alone(['a']);
  const ready = { type: 'snapshot-ready', command: 3, index: 99, data: [], size: 0 } as const;
  alone.step(ready);
  assert(alone.completed.some(({ status }) => status === 'no-such-index'));
});

test('the only server is not removed on behalf of another either', () => {
  const alone = new Alone(['a']);
  const sent = alone.hear('x', { type: 'remove-server-request', server: 'a' });
  const [reply] = ofType(sent, 'remove-server-reply');
  assert(reply?.type === 'remove-server-reply');
  assert.deepEqual([reply.success, reply.comment], [false, 'empty']);
  assert(alone.node.inside.member.isLeader);
});

test('a server of doubtful membership that cannot ask first takes its time', () => {
  for (const [preVote, timers] of [
    ['on', 1],
    ['off', 10],
  ] as const) {
    const alone = new Alone(['b', 'c'], { preVote }, 'a');
    const servers = new Map(['a', 'b', 'c'].map((id) => [id, id]));
    const entry = { index: 2, term: 1, kind: 'config', servers } as const;
    alone.hear('b', { ...append(1, [entry]), leaderCommit: 1 });
    alone.node.start(1, alone.nowMs);
    const { deadlines, member } = alone.node.inside;
    assert(!member.isJoining, 'its own log names it');
    assert.equal(deadlines.at('election'), timers * 1000);
  }
});

const dismissal = (target: string) =>
  ({ type: 'remove-server-reply', success: true, target }) as const;

test('who is told unasked that it is out believes it only when it has no reason not to', () => {
  const phaseAfter = (target: string, prepare: (alone: Alone) => void): string => {
    const alone = new Alone(['a', 'b', 'c']);
    alone.nowMs = 10_000;
    prepare(alone);
    alone.hear('b', dismissal(target));
    return alone.node.inside.member.phase;
  };
  assert.equal(
    phaseAfter('a', (alone) => alone.timeout('election')),
    'left',
  );
  assert.equal(
    phaseAfter('b', (alone) => alone.timeout('election')),
    'member',
    'about another',
  );
  assert.equal(
    phaseAfter('a', (alone) => alone.hear('b', append(1, [noop(2, 1)]))),
    'member',
    'it hears a leader',
  );
  assert.equal(
    phaseAfter('a', (alone) => alone.lead()),
    'member',
    'it leads',
  );
});

test('who was never in is not told that it is out, but goes on asking', () => {
  const alone = new Alone(['a', 'b', 'c'], {}, 'd');
  const servers = new Map(['a', 'b', 'c', 'd'].map((id) => [id, addressOf(id)]));
  const config: Entry<Payload> = { index: 2, term: 1, kind: 'config', servers };
  alone.hear('b', { ...append(1, [config]), leaderCommit: 1 });
  alone.hear('b', { type: 'add-server-reply', success: true, remotes: [] });
  alone.nowMs = 20_000;
  alone.timeout('election');
  assert.deepEqual(
    [alone.node.inside.member.phase, alone.node.inside.member.role],
    ['member', 'candidate'],
  );
  alone.hear('b', dismissal('d'));
  assert.equal(alone.node.inside.member.phase, 'member');
});

test('an outsider is one whose log ends where it is known that it is out', () => {
  const without = new Map(['a', 'b'].map((id) => [id, addressOf(id)]));
  const config: Entry<Payload> = { index: 3, term: 2, kind: 'config', servers: without };
  const ask = { type: 'vote-request', term: 9, isTransfer: false, isPreVote: true } as const;
  for (const [isCommitted, lastTerm, lastIndex, isOut] of [
    [true, 1, 2, true],
    [true, 1, 20, true],
    [true, 2, 3, true],
    // It may have been let in again, by what is not here.
    [true, 2, 4, false],
    [true, 3, 3, false],
    // Nothing is certain yet.
    [false, 1, 2, false],
  ] as const) {
    const alone = new Alone(['a', 'b', 'c']);
    const leaderCommit = isCommitted ? 3 : 2;
    alone.hear('b', { ...append(1, [noop(2, 1), config]), term: 2, leaderCommit });
    alone.nowMs = 10_000;
    const sent = alone.hear('c', { ...ask, lastTerm, lastIndex });
    const [reply] = ofType(sent, 'remove-server-reply');
    const what = `${isCommitted} ${lastTerm} ${lastIndex}`;
    assert.equal(
      reply?.type === 'remove-server-reply' ? reply.target : null,
      isOut ? 'c' : null,
      what,
    );
    // Its term is nobody's business either.
    assert.equal(alone.node.inside.member.term, isOut ? 2 : 9, what);
  }
});

test('who sees in the log that it was removed leaves, as soon as that is committed', () => {
  const without = new Map(['b', 'c'].map((id) => [id, addressOf(id)]));
  const config: Entry<Payload> = { index: 3, term: 1, kind: 'config', servers: without };
  const alone = new Alone(['a', 'b', 'c']);
  const request = append(1, [noop(2, 1), config, noop(4, 1)]);
  assert.equal(ofType(alone.hear('b', { ...request, leaderCommit: 2 }), 'append-reply').length, 1);
  assert.equal(alone.node.inside.member.phase, 'member');
  const effects = alone.node.step({ type: 'message', peer: 'b', message: request }, alone.nowMs);
  assert.equal(alone.node.inside.member.phase, 'left');
  const records = effects.flatMap((one) => (one.type === 'append' ? one.records : []));
  assert.deepEqual(records, [{ type: 'note', note: 'left' }]);
  assert(effects.every((effect) => effect.type !== 'send'));
});

test('while a snapshot is on its way, heartbeats go on and count, and none is sent again', () => {
  const leader = new Alone(['a', 'b', 'c'], { snapshotRetryTimers: 0 });
  leader.lead();
  leader.reply('b', 2);
  leader.snapshot();
  const sent = leader.reply('c', 2, { logEnd: 1 });
  assert.equal(ofType(sent, 'install-snapshot-request').length, 1);
  const follower = new Alone(['a', 'b', 'c'], {}, 'c');
  for (let i = 0; i < 100; i++) {
    leader.nowMs += 333;
    follower.nowMs += 333;
    const pings = [...leader.timeout('ping'), ...leader.timeout('upkeep')];
    assert.equal(ofType(pings, 'install-snapshot-request').length, 0);
    const [ping] = ofType(pings, 'append-request').filter(({ to }) => to === 'c');
    const [answer] = ofType(follower.hear('a', ping as Msg<Payload>), 'append-reply');
    assert(answer?.type === 'append-reply');
    assert.equal(answer.result, 'inconsistency');
    assert((follower.node.inside.deadlines.at('election') ?? 0) >= follower.nowMs + 1000);
    leader.hear('c', answer as Msg<Payload>);
    // Only the one that waits for its snapshot is heard.
    if (i % 3 === 2) leader.timeout('election');
    assert(leader.node.inside.member.isLeader);
  }
});
