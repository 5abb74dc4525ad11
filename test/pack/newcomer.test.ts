/**
 * The first five minutes: a fresh clone in an empty folder, the two commands of the README under
 * the machine's own Node, the README's snippet with the official client, Ctrl-C, start again, and
 * the data is still there.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';

const root = resolve(import.meta.dirname, '../..');

/** The environment of a shell in which nobody has run anything of this project. */
const environment: NodeJS.ProcessEnv = (() => {
  const path = (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes('node_modules'))
    .join(delimiter);
  const kept = Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_)/i.test(name));
  return { ...Object.fromEntries(kept), PATH: path };
})();

let folder = '';
let clone = '';
let running: ChildProcess | null = null;

/** `npm start` until it has said where it listens; the milliseconds until then. */
async function start(): Promise<{ addresses: string[]; text: string; ms: number }> {
  const began = performance.now();
  const child = spawn('npm', ['start', '--', '--port=0'], {
    cwd: clone,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  running = child;
  let text = '';
  return new Promise((done, failed) => {
    const timer = setTimeout(() => failed(new Error(`not ready in 60 s: ${text}`)), 60_000);
    const look = (chunk: Buffer): void => {
      text += chunk;
      const list = /ledger ready at ([\d.:, ]+) \(/.exec(text)?.[1];
      if (list === undefined) return;
      clearTimeout(timer);
      done({ addresses: list.split(', '), text, ms: performance.now() - began });
    };
    child.stdout.on('data', look);
    child.stderr.on('data', look);
    child.once('exit', (code) => {
      running = null;
      failed(new Error(`npm start ended with ${code}: ${text}`));
    });
  });
}

/** Ctrl-C reaches the whole foreground group, as a terminal sends it. */
async function interrupt(): Promise<number> {
  const child = running;
  assert.ok(child?.pid, 'nothing is running');
  const began = performance.now();
  const ended = new Promise((done) => child.once('close', done));
  process.kill(-child.pid, 'SIGINT');
  await ended;
  running = null;
  return performance.now() - began;
}

/** The README's own lines: the first js block, with the addresses that were printed. */
function snippet(addresses: readonly string[]): string {
  const readme = readFileSync(join(clone, 'README.md'), 'utf8');
  const block = /```js\n([\s\S]*?)```/.exec(readme)?.[1];
  assert.ok(block, 'the README has lost its snippet');
  assert.match(block, /\['3000', '3001', '3002'\]/);
  return block.replace("['3000', '3001', '3002']", JSON.stringify(addresses));
}

function run(addresses: readonly string[]): string {
  writeFileSync(join(clone, 'first.mjs'), snippet(addresses));
  const options = { cwd: clone, env: environment, encoding: 'utf8', timeout: 60_000 } as const;
  return execFileSync('node', ['first.mjs'], options);
}

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'roundelay-newcomer-'));
  clone = join(folder, 'clone');
  execFileSync('git', ['clone', '--quiet', root, clone]);
  execFileSync('npm', ['ci'], { cwd: clone, env: environment, stdio: 'ignore', timeout: 300_000 });
});

after(() => {
  if (running?.pid) process.kill(-running.pid, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

test('clone, npm ci, npm start, the snippet, Ctrl-C, start again', async (t) => {
  t.diagnostic(`machine's own Node: ${execFileSync('node', ['--version'], { env: environment })}`);
  const first = await start();
  t.diagnostic(`first start: ready after ${first.ms.toFixed(0)} ms`);
  assert.match(run(first.addresses), /debits 10, credits 10/);
  const stopped = await interrupt();
  assert.ok(stopped < 5_000, `Ctrl-C took ${stopped} ms`);
  const second = await start();
  t.diagnostic(`second start: ready after ${second.ms.toFixed(0)} ms`);
  assert.match(run(second.addresses), /debits 20, credits 20/);
  await interrupt();
});
