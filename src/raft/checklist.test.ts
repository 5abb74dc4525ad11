/** Cases that others have got wrong once, where a transcript would not show them well. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Alone, ofType, type Sent } from './alone-test-helper.ts';

test('a changed election timer is used for the first deadline after a restart', () => {
  const alone = new Alone(['a']);
  alone.step({ type: 'change-election-timer', command: 1, electionTimerMs: 1700 });
  assert.equal(alone.node.inside.electionTimer.currentMs, 1700);
  for (const isCompacted of [false, true]) {
    if (isCompacted) alone.snapshot();
    const { node } = alone;
    node.start(1, 0);
    const election = node.inside.deadlines.at('election');
    assert(election !== null && election >= 1700 && election < 1702, `deadline ${election}`);
    assert.equal(node.inside.electionTimer.currentMs, 1700);
  }
});

test('a snapshot carries the election timer of now to whoever takes it', () => {
  const alone = new Alone(['a', 'b', 'c']);
  alone.lead();
  alone.step({ type: 'change-election-timer', command: 1, electionTimerMs: 1700 });
  alone.reply('b', 3);
  alone.snapshot();
  const [sent] = ofType(alone.reply('c', 2, { logEnd: 1 }), 'install-snapshot-request');
  assert(sent?.type === 'install-snapshot-request');
  assert.equal(sent.snapshot.electionTimerMs, 1700);
});

test('one snapshot at most is under way to a peer', () => {
  const alone = new Alone(['a', 'b', 'c']);
  alone.lead();
  alone.propose('x');
  alone.reply('b', 3);
  alone.snapshot();
  const first = alone.reply('c', 2, { logEnd: 1 });
  assert.equal(ofType(first, 'install-snapshot-request').length, 1);
  const more: Sent[] = [];
  for (let i = 4; i < 8; i++) {
    more.push(...alone.propose(`y${i}`), ...alone.reply('b', i));
    alone.nowMs += 500;
    more.push(...alone.timeout('ping'), ...alone.timeout('upkeep'));
    more.push(...alone.reply('c', 3, { logEnd: 1 }));
  }
  assert.deepEqual(ofType(more, 'install-snapshot-request'), []);
});

test('after a snapshot everything that has gathered is sent in one append', () => {
  const alone = new Alone(['a', 'b', 'c']);
  alone.lead();
  alone.propose('x');
  alone.reply('b', 3);
  alone.snapshot();
  alone.reply('c', 2, { logEnd: 1 });
  alone.propose('y');
  alone.propose('z');
  const { term } = alone.node.inside.member;
  const taken = { type: 'install-snapshot-reply', term, lastIndex: 3, lastTerm: term } as const;
  const [append] = ofType(alone.hear('c', taken), 'append-request');
  assert(append?.type === 'append-request');
  assert.deepEqual([append.prevIndex, append.entries.length], [3, 2]);
});

test('a peer that acknowledges a snapshot and clings to its log gets a longer one, not the same', () => {
  const alone = new Alone(['a', 'b', 'c']);
  alone.lead();
  alone.propose('x');
  alone.reply('b', 3);
  alone.snapshot();
  alone.reply('c', 2, { logEnd: 1 });
  const { term } = alone.node.inside.member;
  const taken = { type: 'install-snapshot-reply', term, lastIndex: 3, lastTerm: term } as const;
  let snapshots = 0;
  // It says that it has taken the snapshot, and has a log up to 7 that contradicts it.
  for (let i = 0; i < 100; i++) {
    const sent = [...alone.hear('c', taken), ...alone.reply('c', 3, { logEnd: 8 })];
    snapshots += ofType(sent, 'install-snapshot-request').length;
  }
  assert(snapshots === 0, `the same snapshot ${snapshots} times in no time`);
  // The leader makes its log longer than that and asks for a snapshot of it.
  alone.nowMs += 400;
  const later = [...alone.timeout('upkeep'), ...alone.reply('c', 3, { logEnd: 8 })];
  assert(alone.node.inside.log.last >= 8, 'the log has grown');
  later.push(...alone.reply('b', alone.node.inside.log.last));
  assert.deepEqual(ofType(later, 'install-snapshot-request'), []);
  alone.nowMs += 400;
  alone.node.inside.deadlines.set('upkeep', alone.nowMs);
  const effects = alone.node.step({ type: 'tick' }, alone.nowMs);
  assert(effects.some((effect) => effect.type === 'want-snapshot'));
  const [sent] = ofType(alone.snapshot(), 'install-snapshot-request');
  assert(sent?.type === 'install-snapshot-request' && sent.snapshot.index >= 7);
});

test('the leadership is handed to a reachable server with the longest log', () => {
  for (let seed = 0; seed < 5; seed++) {
    const alone = new Alone(['a', 'b', 'c', 'd', 'e']);
    alone.lead();
    alone.propose('x');
    for (const peer of ['b', 'c']) alone.reply(peer, 3);
    alone.reply('d', 2);
    alone.step({ type: 'disconnected', peer: 'b' });
    const event = { type: 'transfer', command: 9, target: null, reason: '' } as const;
    const [sent] = ofType(alone.step(event), 'become-leader');
    assert.equal(sent?.to, 'c');
    assert(!alone.node.inside.member.isLeader, 'it follows at once');
  }
});

test('auto: without an answer and without peers that understand, a real vote follows', () => {
  const rounds = (hear: (alone: Alone) => void): boolean[] => {
    const alone = new Alone(['a', 'b', 'c'], { preVote: 'auto' });
    return [1, 2, 3, 4].map(() => {
      hear(alone);
      alone.nowMs += 2000;
      const [request] = ofType(alone.timeout('election'), 'vote-request');
      assert(request?.type === 'vote-request');
      return request.isPreVote;
    });
  };
  // Nobody understands.
  assert.deepEqual(
    rounds(() => undefined),
    [true, true, true, false],
  );
  // One of three does, and it is silent for a reason.
  const ask = { type: 'vote-request', term: 0, lastIndex: 0, lastTerm: 0 } as const;
  assert.deepEqual(
    rounds((alone) => alone.hear('b', { ...ask, isTransfer: false, isPreVote: true })),
    [true, true, true, true],
  );
});

test('auto: half of a cluster is not enough to ask, nor to stand', () => {
  const rounds = (hear: (alone: Alone) => void): boolean[] => {
    const alone = new Alone(['a', 'b', 'c', 'd'], { preVote: 'auto' });
    return [1, 2, 3, 4, 5].map(() => {
      alone.nowMs += 2000;
      const [request] = ofType(alone.timeout('election'), 'vote-request');
      assert(request?.type === 'vote-request');
      hear(alone);
      return request.isPreVote;
    });
  };
  const granted = (alone: Alone): void => {
    const { term } = alone.node.inside.member;
    alone.hear('b', { type: 'vote-reply', term, vote: 'a', isPreVote: true });
  };
  // b grants each time, c and d are old: they only know real votes, and move the term with them.
  let term = 4;
  const stands = (alone: Alone): void => {
    granted(alone);
    const request = { type: 'vote-request', term: term++, lastIndex: 0, lastTerm: 0 } as const;
    alone.hear('c', { ...request, isTransfer: false, isPreVote: false });
  };
  assert.deepEqual(rounds(stands), [true, true, true, false, false]);
  // c and d are not there at all: to stand would only move terms.
  const isCut = (alone: Alone): void => {
    granted(alone);
    for (const peer of ['c', 'd']) {
      if (alone.node.engine.status().servers.some((one) => one.id === peer && one.isConnected)) {
        alone.step({ type: 'disconnected', peer });
      }
    }
  };
  assert.deepEqual(rounds(isCut), [true, true, true, true, true]);
});

test('a leader of four goes on with two answers and not with one', () => {
  for (const [answers, leads] of [
    [['b', 'c'], true],
    [['b'], false],
  ] as const) {
    const alone = new Alone(['a', 'b', 'c', 'd']);
    alone.lead();
    alone.timeout('election');
    if (!alone.node.inside.member.isLeader) alone.lead();
    for (const peer of answers) alone.reply(peer, 2, { logEnd: 1 });
    alone.timeout('election');
    assert.equal(alone.node.inside.member.isLeader, leads, `${answers.length} answers`);
  }
});

test('nothing of a newer term is told before that term is durable', () => {
  const { node } = new Alone(['a', 'b', 'c']);
  const append = {
    type: 'append-request',
    term: 5,
    prevIndex: 1,
    prevTerm: 1,
    leaderCommit: 1,
    entries: [],
    round: 0,
  } as const;
  const effects = node.step({ type: 'message', peer: 'b', message: append }, 0);
  assert(!effects.some((effect) => effect.type === 'send'));
  const sync = effects.find((effect) => effect.type === 'request-sync');
  assert(sync?.type === 'request-sync');
  const after = node.step({ type: 'synced', seq: sync.seq }, 0);
  assert(after.some((effect) => effect.type === 'send' && effect.message.type === 'append-reply'));
});

test('what waits for the disk is dropped when its term is over', () => {
  const { node } = new Alone(['a', 'b', 'c']);
  const request = { type: 'vote-request', lastIndex: 1, lastTerm: 1 } as const;
  const flags = { isTransfer: true, isPreVote: false };
  node.step({ type: 'message', peer: 'b', message: { ...request, ...flags, term: 5 } }, 0);
  const effects = node.step(
    { type: 'message', peer: 'c', message: { ...request, ...flags, term: 6 } },
    0,
  );
  const sync = effects.find((effect) => effect.type === 'request-sync');
  assert(sync?.type === 'request-sync');
  const sent = node.step({ type: 'synced', seq: sync.seq }, 0);
  const votes = sent.flatMap((effect) => (effect.type === 'send' ? [effect.peer] : []));
  assert.deepEqual(votes, ['c']);
});

test('commands of one turn share an append and a sync', () => {
  const alone = new Alone(['a', 'b', 'c']);
  alone.lead();
  const propose = { type: 'propose', data: [], size: 10, prerequisite: null } as const;
  const events = [1, 2, 3].map((command) => ({ ...propose, command, eid: `x${command}` }));
  const effects = alone.node.engine.stepAll(events, 0);
  const appends = effects.flatMap((effect) =>
    effect.type === 'send' && effect.message.type === 'append-request' ? [effect.message] : [],
  );
  assert.deepEqual(
    appends.map((append) => append.entries.length),
    [3, 3],
  );
  assert.equal(effects.filter((effect) => effect.type === 'request-sync').length, 1);
});

test('an answer to a pre-vote is no vote, whatever term it says', () => {
  const alone = new Alone(['a', 'b', 'c']);
  alone.timeout('election');
  alone.hear('b', { type: 'vote-reply', term: 0, vote: 'a', isPreVote: true });
  const { member } = alone.node.inside;
  assert.deepEqual([member.term, member.role], [1, 'candidate']);
  alone.hear('c', { type: 'vote-reply', term: 1, vote: 'a', isPreVote: true });
  assert.equal(member.role, 'candidate');
  alone.hear('c', { type: 'vote-reply', term: 1, vote: 'a', isPreVote: false });
  assert.equal(member.role, 'leader');
});

test('a former leader does not deny a command that it has in its log', () => {
  const alone = new Alone(['a', 'b', 'c']);
  alone.lead();
  const type = 'execute-command-request';
  const request = { type, eid: 'x', data: ['x'], size: 1, prerequisite: null } as const;
  alone.hear('b', request);
  alone.step({ type: 'transfer', command: 9, target: 'c', reason: '' });
  assert.deepEqual(ofType(alone.hear('b', request), 'execute-command-reply'), []);
  const other = alone.hear('b', { ...request, eid: 'y' });
  assert.equal(ofType(other, 'execute-command-reply').length, 1);
});
