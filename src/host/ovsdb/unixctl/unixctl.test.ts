import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { callUnixctl, UnixctlConnection, UnixctlError, UnixctlServer } from './index.ts';

async function start(path: string = newPath()): Promise<UnixctlServer> {
  const server = new UnixctlServer({ version: 'prog 1' });
  server.register('echo', '[ARG]...', 0, Infinity, (args) => args.join(' '));
  server.register('two', 'A B', 2, 2, () => 'two');
  server.register('hidden', null, 0, 0, () => '');
  server.register('later', '', 0, 0, () => new Promise((resolve) => setTimeout(resolve, 20, 'ok')));
  server.register('refuse', '', 0, 0, () => {
    throw new UnixctlError('no, because');
  });
  await server.listen(path);
  return server;
}

function newPath(): string {
  return join(fs.mkdtempSync(join(tmpdir(), 'ctl-')), 'x.ctl');
}

/** Sends text, gives all that comes back until the other side hangs up or `untilText` was seen. */
function talk(path: string, text: string, untilText: string | null): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = '';
    const socket = net.connect({ path }, () => socket.write(text));
    socket.setEncoding('utf8');
    socket.on('error', reject);
    socket.on('close', () => resolve(received));
    socket.on('data', (chunk) => {
      received += String(chunk);
      if (untilText !== null && received.includes(untilText)) socket.destroy();
    });
  });
}

test('commands are answered or refused in the words of the original', async () => {
  const server = await start();
  const path = server.path as string;
  const table: readonly (readonly [string, string[], string | null, string | null])[] = [
    ['echo', ['a', 'b'], 'a b', null],
    ['version', [], 'prog 1', null],
    ['later', [], 'ok', null],
    ['two', ['a'], null, '"two" command requires at least 2 arguments'],
    ['two', ['a', 'b', 'c'], null, '"two" command takes at most 2 arguments'],
    ['refuse', [], null, 'no, because'],
    [
      'nope',
      [],
      null,
      '"nope" is not a valid command (use "list-commands" to see a list of valid commands)',
    ],
  ];
  for (const [command, args, result, error] of table) {
    const reply = await callUnixctl(path, command, args);
    const ended = (text: string | null): string | null => (text === null ? null : `${text}\n`);
    assert.deepEqual(reply, { result: ended(result), error: ended(error) }, command);
  }
  const { result } = await callUnixctl(path, 'list-commands', []);
  assert.match(
    String(result),
    /^The available commands are:\n {2}echo {20}\[ARG\]\.\.\.\n {2}later/,
  );
  assert.doesNotMatch(String(result), /hidden/);
  await server.close();
});

test('answers come as JSON where that was asked for, for this connection only', async () => {
  const server = await start();
  const connection = await UnixctlConnection.connect(server.path as string);
  assert.equal((await connection.call('set-options', ['--format', 'json'])).error, null);
  assert.deepEqual(await connection.call('echo', ['a']), {
    result: { 'reply-format': 'plain', reply: 'a' },
    error: null,
  });
  const { result } = await connection.call('list-commands', []);
  assert.equal((result as { two: string }).two, 'A B');
  const refused = await connection.call('set-options', ['--format', 'xml']);
  assert.equal(refused.error, 'option format has invalid value xml');
  assert.equal((await callUnixctl(server.path as string, 'echo', ['a'])).result, 'a\n');
  connection.close();
  await server.close();
});

test('requests of one connection are answered in their order', async () => {
  const server = await start();
  const requests = ['later', 'echo', 'version'].map((method, id) =>
    JSON.stringify({ id, method, params: [] }),
  );
  const text = await talk(server.path as string, requests.join(''), 'prog 1');
  assert.deepEqual(
    [...text.matchAll(/"id":(\d)/g)].map(([, id]) => id),
    ['0', '1', '2'],
  );
  await server.close();
});

test('who does not keep to the protocol is hung up on, and nobody else', async () => {
  const server = await start();
  const path = server.path as string;
  const other = await UnixctlConnection.connect(path);
  const bad = ['{"method":', '[]x', '{"id":null,"method":"echo","params":[]}', '{"id":1}', 'x{'];
  for (const text of [...bad.slice(1), '{"id":1,"method":"echo","params":{}}', '[1,2]']) {
    assert.equal(await talk(path, text, null), '', text);
  }
  const numbers = await talk(path, '{"id":1,"method":"echo","params":[1]}', 'argument');
  assert.match(numbers, /\\"echo\\" command has non-string argument/);
  assert.equal((await other.call('echo', ['x'])).result, 'x\n');
  other.close();
  await server.close();
});

test('the socket is there while it listens, at paths of any length', async () => {
  const folder = join(fs.mkdtempSync(join(tmpdir(), 'ctl-')), 'long'.repeat(30));
  fs.mkdirSync(folder);
  const path = join(folder, 'x.ctl');
  fs.writeFileSync(path, 'left behind');
  const server = await start(path);
  assert.equal(fs.statSync(path).mode & 0o777, 0o700);
  assert.equal((await callUnixctl(path, 'echo', ['far'])).result, 'far\n');
  await server.close();
  assert.ok(!fs.existsSync(path));
  await assert.rejects(callUnixctl(path, 'echo', []), { code: 'ENOENT' });
});

test('an end of the server is an end for who waits', async () => {
  const server = await start();
  server.register('never', '', 0, 0, () => new Promise(() => {}));
  const waiting = callUnixctl(server.path as string, 'never', []);
  await new Promise((resolve) => setTimeout(resolve, 20));
  await Promise.all([assert.rejects(waiting, { code: 'EOF' }), server.close()]);
});
