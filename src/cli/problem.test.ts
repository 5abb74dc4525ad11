/** Flags and errors: what people may type, and that every error of ours has a way out. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ClientErrorCode } from '../client/index.ts';
import { choice, clusterId, integer } from './arguments.ts';
import { ExitCode, exitCodeTexts } from './exit-codes.ts';
import { CliError, explain } from './problem.ts';

test('numbers may have underscores between digits, and nothing else', () => {
  const parse = integer('--count', 1, 1_000_000);
  for (const [text, value] of [
    ['1', 1],
    ['200_000', 200_000],
    ['1_000_000', 1_000_000],
    ['007', 7],
  ] as const) {
    assert.equal(parse(text), value);
  }
  for (const text of ['', '0', '1_000_001', '-1', '1.5', '1e3', '_1', '1_', '1__0', '0x10', ' 1']) {
    assert.throws(
      () => parse(text),
      { exitCode: ExitCode.usage, message: /--count must be/ },
      text,
    );
  }
});

test('cluster ids have 128 bits', () => {
  const parse = clusterId('--cluster');
  assert.equal(parse('340282366920938463463374607431768211455'), 2n ** 128n - 1n);
  assert.equal(parse('0'), 0n);
  for (const text of ['340282366920938463463374607431768211456', '-1', 'x', '9'.repeat(1000)]) {
    assert.throws(() => parse(text), { exitCode: ExitCode.usage });
  }
});

test('a choice is one of its words', () => {
  assert.equal(choice('--order', ['up', 'down'])('down'), 'down');
  assert.throws(() => choice('--order', ['up', 'down'])('left'), /one of up, down, not "left"/);
});

test('every error code of the rooms below has an exit code of its own kind', () => {
  const source = readFileSync(new URL('../io/errors.ts', import.meta.url), 'utf8');
  const codes = [...source.matchAll(/'(ERR_[A-Z_]+)'/g)].map((match) => match[1] ?? '');
  assert.ok(codes.length > 8);
  // The CLI never builds requests from objects and replicates no machine but the ledger, so these
  // cannot come out of a command.
  const typed: string[] = [
    ClientErrorCode.field,
    ClientErrorCode.tooMuchData,
    ClientErrorCode.outcomeUnknown,
    ClientErrorCode.notSent,
    ClientErrorCode.sessionLost,
    ClientErrorCode.tooLarge,
    ClientErrorCode.refused,
    ClientErrorCode.tooMany,
  ];
  const client = Object.values(ClientErrorCode).filter((code) => !typed.includes(code));
  const rest = ['ERR_TEMPORARY_CLUSTER', 'ERR_NODE_VERSION'];
  for (const code of new Set([...codes, ...client, 'ERR_LOAD_FAILED', ...rest])) {
    if (code === ClientErrorCode.closed) continue;
    const error = Object.assign(new Error('something is wrong'), { code });
    const explained = explain(error, { command: 'start', file: './data/x' });
    assert.ok(explained instanceof CliError, code);
    assert.match(explained.message, /^something is wrong/);
  }
});

test('the cluster is named in the advice where the server tells it', () => {
  const situation = { command: 'status', addresses: '3001' };
  for (const [message, id] of [
    ['the ledger at 127.0.0.1:3001 is cluster 258, not 1', '258'],
    ['127.0.0.1:3001 accepts connections but closes them unanswered: is it cluster 1?', '<id>'],
  ]) {
    const error = Object.assign(new Error(message), { code: 'ERR_CONNECT_CLUSTER' });
    const explained = explain(error, situation);
    assert.ok(explained instanceof CliError);
    const advice = `name it: roundelay status --addresses=3001 --cluster=${id}`;
    assert.equal(explained.message, `${message}; ${advice}`);
    assert.equal(explained.exitCode, ExitCode.wrongCluster);
  }
});

test('what is not ours stays a bug', () => {
  const bug = new TypeError('undefined is not a function');
  assert.equal(explain(bug, { command: 'start' }), bug);
  const foreign = Object.assign(new Error('x'), { code: 'ERR_SOMETHING_ELSE' });
  assert.equal(explain(foreign, { command: 'start' }), foreign);
});

test('exit codes are listed once each, and the front door agrees', () => {
  const listed = exitCodeTexts.map(([code]) => code);
  assert.deepEqual(
    listed,
    [...listed].sort((a, b) => a - b),
  );
  assert.deepEqual(new Set(listed), new Set(Object.values(ExitCode)));
  const door = readFileSync(new URL('../../bin/roundelay.js', import.meta.url), 'utf8');
  assert.match(door, new RegExp(`EXIT_NODE_TOO_OLD = ${ExitCode.nodeTooOld};`));
});

test('a read-only file system is called that, and a full disk is looked at where it is', () => {
  const cause = Object.assign(new Error('x'), { code: 'EROFS' });
  const readOnly = Object.assign(new Error('no', { cause }), { code: 'ERR_READ_ONLY' });
  const full = Object.assign(new Error('no'), { code: 'ERR_NO_SPACE' });
  for (const [error, text] of [
    [readOnly, 'no; the file system is read-only, see how it is mounted: findmnt -T /tmp'],
    [full, 'no; see what is left: df -h /tmp'],
  ] as const) {
    for (const file of ['/tmp', '/tmp/is/not/there']) {
      const explained = explain(error, { command: 'dev', file });
      assert.ok(explained instanceof CliError);
      assert.equal(explained.message, text);
    }
  }
});
