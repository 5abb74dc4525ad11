/**
 * The unmodified official client against a real server: its own test suite and its own benchmark,
 * with the normal and with the small geometry.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ServerProcess } from './server-process.ts';

const dist = dirname(fileURLToPath(import.meta.resolve('tigerbeetle-node')));
const LIMIT_MS = 90_000;
const TESTS = 27;

interface Run {
  readonly code: number;
  readonly output: string;
}

/** Runs one of the client's programs against a server, in a process of its own. */
function run(program: string, port: number): Promise<Run> {
  return new Promise((resolve) => {
    const options = {
      env: { ...process.env, TB_ADDRESS: String(port) },
      timeout: LIMIT_MS - 20_000,
      killSignal: 'SIGKILL' as const,
    };
    execFile(process.execPath, [join(dist, program)], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, output: `${stdout}${stderr}` });
    });
  });
}

for (const development of [false, true]) {
  const geometry = development ? 'small' : 'normal';

  test(`the client's own tests pass, ${geometry} geometry`, { timeout: LIMIT_MS }, async () => {
    const server = await ServerProcess.start({ development });
    try {
      const { code, output } = await run('test.js', server.port);
      assert.equal(code, 0, output);
      assert.equal(output.match(/: PASSED$/gm)?.length, TESTS, output);
      assert.doesNotMatch(output, /FAILED|Error/);
      assert.ok(server.isAlive);
      const { refused, dropped, clients } = await server.status();
      assert.equal(
        Object.values(refused).reduce((sum, count) => sum + count),
        0,
      );
      assert.deepEqual(Object.keys(clients.closed), ['peer']);
      assert.equal(dropped['invalid-header'], 0);
    } finally {
      assert.ok((await server.stop()) < 2_000, 'it ends within two seconds');
    }
  });

  test(`the client's own benchmark runs, ${geometry} geometry`, { timeout: LIMIT_MS }, async () => {
    const server = await ServerProcess.start({ development });
    try {
      const { code, output } = await run('benchmark.js', server.port);
      assert.equal(code, 0, output);
      assert.match(output, /^transfers per second: \d+$/m);
      // It prints a failed check and exits with 0 all the same.
      assert.doesNotMatch(output, /Error/);
    } finally {
      await server.stop();
    }
  });
}
