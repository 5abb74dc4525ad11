import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPassive, needsProbes, parseTarget, TargetError } from './target.ts';

test('targets are read as people write them', () => {
  const cases: [string, object][] = [
    ['ptcp:', { kind: 'ptcp', host: '0.0.0.0', port: 6640 }],
    ['ptcp:0', { kind: 'ptcp', host: '0.0.0.0', port: 0 }],
    ['ptcp:0:127.0.0.1', { kind: 'ptcp', host: '127.0.0.1', port: 0 }],
    ['pssl:6641:[::1]', { kind: 'pssl', host: '::1', port: 6641 }],
    ['ptcp::127.0.0.1', { kind: 'ptcp', host: '127.0.0.1', port: 6640 }],
    ['tcp:10.0.0.1', { kind: 'tcp', host: '10.0.0.1', port: 6640 }],
    ['tcp:[fe80::1]:66', { kind: 'tcp', host: 'fe80::1', port: 66 }],
    ['ssl:db.example.org:1', { kind: 'ssl', host: 'db.example.org', port: 1 }],
    ['unix:a:b', { kind: 'unix', path: 'a:b' }],
    ['punix:/run/db.sock', { kind: 'punix', path: '/run/db.sock' }],
  ];
  for (const [text, wanted] of cases) {
    const target = parseTarget(text);
    assert.deepEqual({ ...target }, { ...wanted, text }, text);
    assert.equal(isPassive(target), text.startsWith('p'));
  }
});

test('what is no target says what is wrong', () => {
  for (const text of [
    '',
    'tcp:',
    'tcp:h:65536',
    'ptcp:x',
    'ptcp:-1',
    'unix:',
    'udp:1',
    'nothing',
  ]) {
    assert.throws(() => parseTarget(text), TargetError, text);
  }
});

test('unix sockets need no probes', () => {
  assert.deepEqual(
    ['tcp:h', 'pssl:1', 'ptcp:1', 'unix:x', 'punix:x'].map((text) => needsProbes(text)),
    [true, true, true, false, false],
  );
});
