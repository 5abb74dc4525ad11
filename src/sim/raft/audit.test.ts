/** Each rule of the audit, kept and broken: members whose files and words a test makes up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMessage, type Scene, scene } from './audit-test-helper.ts';

const { ack, append, candidate, installed, snapshot, vote } = createMessage;

/** r0 leads term 1; everybody has its noop, entry 2, and knows it to be committed. */
function begun(): Scene {
  const s = scene(3);
  for (const member of [0, 1, 2]) s.file(member).term(1, 0);
  s.says(0, 1, candidate(1, 1, 1));
  s.says(1, 0, vote(1, 0));
  s.says(2, 0, vote(1, 0));
  s.file(0).entry(2, 1);
  s.says(0, 1, append(1, [1, 1], [[2, 1]], 1));
  s.says(0, 2, append(1, [1, 1], [[2, 1]], 1));
  s.file(1).entry(2, 1);
  s.says(1, 0, ack(1, 1, 1));
  s.file(2).entry(2, 1);
  s.says(2, 0, ack(1, 1, 1));
  s.says(0, 1, append(1, [2, 1], [], 2));
  return s;
}

test('a lawful conversation passes: a new leader, a conflict cut off, a snapshot, a restart', () => {
  const s = begun();
  // r0 is alone with entry 3 of term 1; r1 is elected and puts another one there.
  s.file(0).entry(3, 1);
  s.says(0, 1, append(1, [2, 1], [[3, 1]], 2));
  s.file(1).term(2, 1);
  s.says(1, 2, candidate(2, 2, 1));
  s.file(2).term(2, 1);
  s.says(2, 1, vote(2, 1));
  s.file(1).entry(3, 2);
  s.says(1, 2, append(2, [2, 1], [[3, 2]], 2));
  s.file(2).entry(3, 2);
  s.says(2, 1, ack(2, 2, 1));
  s.says(1, 2, append(2, [3, 2], [], 3));
  s.file(0).term(2, null);
  s.file(0).cutTo(2).entry(3, 2);
  s.says(1, 0, append(2, [2, 1], [[3, 2]], 3));
  s.says(0, 1, ack(2, 2, 1));
  s.file(1).snapshot(3, 2);
  s.says(1, 0, snapshot(2, 3, 2));
  s.file(0).snapshot(3, 2);
  s.says(0, 1, installed(2, 3, 2));
  s.lives(1);
  s.audit.onStepped(1, 2);
  s.audit.finish();
  assert.deepEqual([2, 3].map(s.audit.explains, s.audit), ['nothing', 'nothing']);
});

const broken: { readonly [what: string]: readonly [code: string, act: (s: Scene) => void] } = {
  'a term that a power cut would undo': ['view', (s) => s.says(1, 0, ack(2, 1, 1))],
  'a vote that a power cut would undo': [
    'view',
    (s) => {
      s.file(1).term(2, null);
      s.says(1, 2, vote(2, 2));
    },
  ],
  'two votes in a term': [
    'view',
    (s) => {
      s.file(1).term(2, 2);
      s.says(1, 2, vote(2, 2));
      s.file(1).term(2, 0);
      s.says(1, 0, vote(2, 0));
    },
  ],
  'a candidate that boasts of what is not durable': [
    'not-durable',
    (s) => {
      s.file(1).term(2, 1);
      s.says(1, 2, candidate(2, 3, 1));
    },
  ],
  'two leaders of a term': [
    'view',
    (s) => {
      s.file(1).vote(1);
      s.says(1, 2, append(1, [2, 1], [], 2));
    },
  ],
  'a leader that goes on in its next life': [
    'view',
    (s) => {
      s.lives(0);
      s.says(0, 1, append(1, [2, 1], [], 2));
    },
  ],
  'a leader that has voted for another': [
    'view',
    (s) => {
      s.file(1).term(2, 2);
      s.says(1, 2, append(2, [2, 1], [], 2));
    },
  ],
  'a leader without what is committed': [
    'lost-operation',
    (s) => {
      s.file(1).cutTo(1).term(2, 1);
      s.says(1, 2, append(2, [1, 1], [], 1));
    },
  ],
  'a leader that has something else there': [
    'lost-operation',
    (s) => {
      s.file(1).term(2, 1);
      s.says(1, 2, append(2, [1, 1], [[2, 2]], 1));
    },
  ],
  'two entries with one name': [
    'fork',
    (s) => s.says(0, 2, append(1, [1, 1], [[2, 1, 'another']], 2)),
  ],
  'one entry after two different ones': [
    'fork',
    (s) => {
      s.file(0).term(3, 0);
      s.says(0, 1, append(3, [2, 1], [[3, 3]], 2));
      s.says(0, 2, append(3, [2, 2], [[3, 3]], 2));
    },
  ],
  'an acknowledgement before it is durable': [
    'not-durable',
    (s) => {
      s.says(0, 1, append(1, [2, 1], [[3, 1]], 2));
      s.says(1, 0, ack(1, 2, 1));
    },
  ],
  'an acknowledgement of what was cut off since': [
    'not-durable',
    (s) => {
      s.file(0).term(2, 0);
      s.file(1).term(2, null);
      s.file(1).entry(3, 1);
      s.says(0, 1, append(2, [2, 1], [[3, 2]], 2));
      s.says(1, 0, ack(2, 2, 1));
    },
  ],
  'a commit that one file holds': [
    'not-durable',
    (s) => {
      s.file(0).entry(3, 1);
      s.says(0, 1, append(1, [2, 1], [[3, 1]], 2));
      s.says(0, 1, append(1, [3, 1], [], 3));
    },
  ],
  'a commit of an older term, by counting': [
    'not-durable',
    (s) => {
      for (const member of [0, 1]) s.file(member).entry(3, 1);
      s.says(0, 1, append(1, [2, 1], [[3, 1]], 2));
      s.file(1).term(2, 1);
      s.says(1, 2, append(2, [3, 1], [], 2));
      s.says(1, 2, append(2, [3, 1], [], 3));
    },
  ],
  'a snapshot of another history': [
    'fork',
    (s) => {
      s.file(1).term(3, 1);
      s.says(1, 2, snapshot(3, 2, 2));
    },
  ],
  'a life that has forgotten its term': [
    'view',
    (s) => {
      s.file(1).reset();
      s.lives(1);
      s.audit.onStepped(1, 2);
    },
  ],
  'a life that has forgotten its vote': [
    'view',
    (s) => {
      s.file(1).vote(null);
      s.lives(1);
      s.audit.onStepped(1, 2);
    },
  ],
  'a file that lacks at the end what is committed': [
    'lost-operation',
    (s) => {
      s.file(2).cutTo(1);
      s.audit.finish();
    },
  ],
};

for (const [what, [code, act]] of Object.entries(broken)) {
  test(`broken: ${what}`, () => {
    const s = begun();
    assert.throws(
      () => act(s),
      (error: Error & { code?: string }) => {
        assert.equal(error.code, code, error.message);
        return true;
      },
    );
  });
}
