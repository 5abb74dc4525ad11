/** The programs that come with the official client, each run in a process of its own. */
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = dirname(fileURLToPath(import.meta.resolve('tigerbeetle-node')));

/** Tests in the client's own suite. */
export const OFFICIAL_TESTS = 27;

export interface ProgramRun {
  readonly code: number;
  /** Both streams. */
  readonly output: string;
}

/** Runs one against the replicas at `addresses`; it is killed after `limitMs`. */
export function runOfficial(
  program: 'test.js' | 'benchmark.js',
  addresses: string,
  limitMs: number,
): Promise<ProgramRun> {
  return new Promise((resolve) => {
    const options = {
      env: { ...process.env, TB_ADDRESS: addresses },
      timeout: limitMs,
      killSignal: 'SIGKILL' as const,
      // Under kills the client tells of every attempt to connect.
      maxBuffer: 64 * 1024 * 1024,
    };
    execFile(process.execPath, [join(dist, program)], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, output: `${stdout}${stderr}` });
    });
  });
}

/** How many tests of the suite say that they passed. */
export function testsPassed(output: string): number {
  return output.match(/: PASSED$/gm)?.length ?? 0;
}
