import assert from 'node:assert/strict';
import fs from 'node:fs';
import { type TestContext, test } from 'node:test';
import { UnixctlError, UnixctlServer } from '../../host/ovsdb/unixctl/index.ts';
import { type Ended, Playground } from './program-test-helper.ts';

/** A program that answers, in this process; its socket is `x.ctl`. */
async function answering(t: TestContext): Promise<Playground> {
  const here = new Playground();
  const server = new UnixctlServer({ version: 'prog 1' });
  server.register('echo', 'ARG...', 0, Infinity, (args) => args.join('|'));
  server.register('refuse', '', 0, 0, () => {
    throw new UnixctlError('because\nof this');
  });
  server.register('never', '', 0, 0, () => new Promise(() => {}));
  server.register('number', '', 0, 0, (_, format) => (format === 'json' ? { b: 1, a: [2] } : 3));
  await server.listen(here.path('x.ctl'));
  t.after(() => server.close());
  return here;
}

function ask(here: Playground, ...args: string[]): Promise<Ended> {
  return here.start('appctl', '-t', here.path('x.ctl'), ...args).ended;
}

test('it prints the answer, or the refusal with code 2', async (t) => {
  const here = await answering(t);
  const target = here.path('x.ctl');
  const refused = `ovs-appctl: ${target}: server returned an error\n`;
  const table: readonly (readonly [readonly string[], number, string, string])[] = [
    [['echo', 'a', '-x', '--y', 'é'], 0, 'a|-x|--y|é\n', ''],
    [['echo'], 0, '', ''],
    [['version'], 0, 'prog 1\n', ''],
    [['refuse'], 2, '', `because\nof this\n${refused}`],
    [['echo', 'a', '-T', '1'], 0, 'a|-T|1\n', ''],
    [['-e', 'version'], 0, 'prog 1\n', ''],
    [['--format=json', 'echo', 'a'], 0, '{"reply":"a","reply-format":"plain"}\n', ''],
    [['-f', 'json', '--pretty', 'number'], 0, '{\n  "a": [\n    2\n  ],\n  "b": 1\n}\n', ''],
    [['number'], 2, '', 'ovs-appctl: Unexpected reply type in JSON rpc reply: number\n'],
  ];
  const ended = await Promise.all(table.map(([args]) => ask(here, ...args)));
  for (const [i, [args, code, out, err]] of table.entries()) {
    assert.deepEqual(ended[i], { code, signal: null, out, err }, args.join(' '));
  }
});

test('it waits as long as it was told, and ends as by an alarm', async (t) => {
  const here = await answering(t);
  const { signal, err } = await ask(here, '-T', '1', 'never');
  assert.equal(signal, 'SIGALRM');
  assert.match(err, /\|fatal_signal\|WARN\|terminating with signal 14 \(Alarm clock\)\n$/);
});

test('it says why nobody can be asked', () => {
  const here = new Playground();
  const stale = here.path('stale.pid');
  fs.writeFileSync(stale, `${process.pid}\n`);
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [
      ['-t', '/nope'],
      /failed to connect to \/nope\novs-appctl: cannot connect to "\/nope" \(No such file.*\)\n$/,
    ],
    [
      ['-t', 'nope'],
      /open: No such file.*\novs-appctl: cannot read pidfile ".*\/nope\.pid" \(No such file.*\)\n$/,
    ],
    // Nobody has the lock on it, so whoever has the number now is somebody else.
    [['-t', 'stale'], /^ovs-appctl: cannot read pidfile ".*\/stale\.pid" \(No such process\)\n$/],
    [[], /ovs-vswitchd\.pid" \(No such file or directory\)\n$/],
    [['-t', 'a', '-t', 'b'], /^ovs-appctl: -t or --target may be specified only once\n$/],
    [['-T', '0'], /^ovs-appctl: value 0 on -T or --timeout is invalid\n$/],
    [['--pretty'], /^ovs-appctl: --pretty is supported with --format json only\n$/],
  ];
  for (const [args, expected] of cases) {
    const { code, out, err } = here.run('appctl', ...args, 'version');
    assert.equal(code, 1);
    assert.equal(out, '');
    assert.match(err, expected);
  }
  const { err } = here.run('appctl');
  assert.equal(
    err,
    'ovs-appctl: at least one non-option argument is required (use --help for help)\n',
  );
});
