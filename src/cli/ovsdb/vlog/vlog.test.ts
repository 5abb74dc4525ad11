import assert from 'node:assert/strict';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { formatLine, formatTime } from './pattern.ts';
import { RateLimit } from './rate-limit.ts';
import { Vlog } from './vlog.ts';

/** A quiet log with a file; gives its lines without time and number. */
function open(): { vlog: Vlog; path: string; lines: () => string[] } {
  const path = join(fs.mkdtempSync(join(tmpdir(), 'vlog-')), 'log');
  const vlog = new Vlog('prog');
  vlog.setLevels(null, 'console', 'OFF');
  assert.equal(vlog.openFile(path), null);
  const lines = (): string[] =>
    fs
      .readFileSync(path, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => line.split('|').slice(2).join('|'));
  return { vlog, path, lines };
}

test('patterns are filled in', () => {
  const line = {
    program: 'prog',
    subprogram: '',
    module: 'jsonrpc',
    level: 'WARN',
    syslogPriority: 132,
    number: 7,
    text: 'something\n\n',
    now: new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 6)),
    elapsedMs: 12.4,
  };
  const table: readonly (readonly [string, string])[] = [
    [
      '%D{%Y-%m-%dT%H:%M:%S.###Z}|%05N|%c%T|%p|%m',
      '2026-01-02T03:04:05.006Z|00007|jsonrpc|WARN|something',
    ],
    ['%D{%H:%M:%SZ}', '03:04:05Z'],
    ['%D', '2026-01-02 03:04:05.006'],
    ['%-10c|%10c|%3c', 'jsonrpc   |   jsonrpc|jsonrpc'],
    ['%A %B %t %r %% %q%n.', 'prog 132 main 12 % q\n.'],
    ['100%', '100'],
  ];
  for (const [pattern, expected] of table) assert.equal(formatLine(pattern, line), expected);
  assert.equal(
    formatLine('%c%T %t', { ...line, subprogram: 'monitor' }),
    'jsonrpc(monitor) monitor',
  );
  assert.equal(formatTime('%e %b %a %y %j', line.now, true), ' 2 Jan Fri 26 %j');
});

test('a line in the file looks as the original writes it, numbered from 1', () => {
  const { vlog, path } = open();
  vlog.log('ovsdb_server', 'INFO', 'hello');
  const [first, second] = fs.readFileSync(path, 'utf8').split('\n');
  const time = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z';
  assert.match(first, new RegExp(`^${time}\\|00001\\|vlog\\|INFO\\|opened log file .*/log$`));
  assert.match(second, new RegExp(`^${time}\\|00002\\|ovsdb_server\\|INFO\\|hello$`));
});

test('levels are set by words in any order', () => {
  const { vlog, lines } = open();
  vlog.log('jsonrpc', 'DBG', 'no');
  assert.equal(vlog.setFromText('jsonrpc:file:dbg'), null);
  vlog.log('jsonrpc', 'DBG', () => 'yes');
  vlog.log('reconnect', 'DBG', 'no');
  assert.equal(vlog.setFromText('file err, ANY'), null);
  vlog.log('reconnect', 'WARN', 'no');
  vlog.log('reconnect', 'ERR', 'yes');
  assert.equal(vlog.setFromText('file'), null);
  vlog.log('reconnect', 'DBG', 'yes');
  assert.deepEqual(lines().slice(1), ['jsonrpc|DBG|yes', 'reconnect|ERR|yes', 'reconnect|DBG|yes']);
});

test('words that make no sense are refused in the words of the original', () => {
  const { vlog } = open();
  const table: readonly (readonly [string, string | null])[] = [
    ['nonexistent', 'no destination, level, or module "nonexistent"'],
    ['pattern', 'missing destination'],
    ['PATTERN:nonexistent', 'unknown destination "nonexistent"'],
    ['file:console', 'cannot specify multiple destinations'],
    ['err:warn', 'cannot specify multiple levels'],
    ['jsonrpc:raft', 'cannot specify multiple modules'],
    ['facility:nope', 'invalid facility'],
    ['FACILITY:local3', null],
    ['Reconnect:Err', null],
  ];
  for (const [spec, problem] of table) assert.equal(vlog.setFromText(spec), problem, spec);
});

test('patterns are set per destination, and keep their separators', () => {
  const { vlog, path } = open();
  assert.equal(vlog.setFromText('PATTERN:file:%p: I<3:OVS, %m'), null);
  vlog.log('vlog', 'WARN', 'x');
  assert.equal(fs.readFileSync(path, 'utf8').split('\n')[1], 'WARN: I<3:OVS, x');
  assert.match(vlog.patternsTable(), /^FILE {5}none {30}%p: I<3:OVS, %m$/m);
});

test('the file is opened again under its name, closed, and opened again', () => {
  const { vlog, path, lines } = open();
  fs.renameSync(path, `${path}.old`);
  vlog.log('vlog', 'INFO', 'into the old one');
  assert.equal(vlog.openFile(path), null);
  vlog.log('vlog', 'INFO', 'into the new one');
  vlog.closeFile();
  vlog.log('vlog', 'INFO', 'lost');
  assert.equal(vlog.openFile(vlog.filePath as string), null);
  assert.deepEqual(lines(), [
    `vlog|INFO|opened log file ${path}`,
    'vlog|INFO|into the new one',
    `vlog|INFO|opened log file ${path}`,
  ]);
  assert.match(fs.readFileSync(`${path}.old`, 'utf8'), /into the old one\n.*closing log file\n$/);
  assert.equal(vlog.openFile('/nonexistent/log'), 'No such file or directory');
});

test('the table of levels is sorted and shows disabled limits', () => {
  const { vlog } = open();
  vlog.setFromText('vlog:syslog:err');
  assert.ok(vlog.setRateLimits('vlog', false));
  assert.ok(!vlog.setRateLimits('nope', false));
  const lines = vlog.levelsTable().split('\n');
  assert.equal(lines[0], '                 console    syslog    file');
  assert.ok(lines.includes('daemon             OFF       INFO       INFO'));
  assert.ok(
    lines.includes('vlog               OFF        ERR       INFO    (rate limiting disabled)'),
  );
});

test('after a burst so many lines a minute pass, and the rest is counted', () => {
  const limit = new RateLimit(60, 2);
  assert.notEqual(limit.pass(1_000), null);
  assert.notEqual(limit.pass(1_000), null);
  assert.equal(limit.pass(1_001), null);
  assert.equal(limit.pass(1_500), null);
  assert.deepEqual(limit.pass(2_100), { count: 2, firstMsAgo: 1_099, lastMsAgo: 600 });
  assert.equal(limit.pass(2_200), null);
});

test('lines held back are told of by the next that passes', () => {
  const { vlog, lines } = open();
  const limit = new RateLimit(60_000_000, 1);
  const slow = new RateLimit(1, 1);
  vlog.logLimited(slow, 'jsonrpc', 'WARN', 'one');
  vlog.logLimited(slow, 'jsonrpc', 'WARN', 'two');
  vlog.logLimited(limit, 'jsonrpc', 'WARN', 'other');
  vlog.setRateLimits(null, false);
  vlog.logLimited(slow, 'jsonrpc', 'WARN', 'three');
  assert.deepEqual(lines().slice(1), [
    'jsonrpc|WARN|one',
    'jsonrpc|WARN|other',
    'jsonrpc|WARN|three',
  ]);
});
