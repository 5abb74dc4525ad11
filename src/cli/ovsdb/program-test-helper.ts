/**
 * Runs the programs as people do: as processes, in a folder of their own that is all they know.
 * What is still running at the end of a test is killed, by its process id.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createOvsdbFile } from '../../host/ovsdb/storage/index.ts';
import { isError, parseSchema } from '../../ovsdb/index.ts';

const runner = join(import.meta.dirname, '..', '..', '..', 'bin', 'ovsdb', 'run.js');
const TIMEOUT_MS = 20_000;

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

export class Playground {
  readonly folder: string;
  readonly #environment: NodeJS.ProcessEnv;

  constructor() {
    this.folder = fs.mkdtempSync(join(tmpdir(), 'ovsdb-'));
    const places = ['OVS_RUNDIR', 'OVS_LOGDIR', 'OVS_DBDIR', 'OVS_SYSCONFDIR'];
    const environment = Object.fromEntries(places.map((name) => [name, this.folder]));
    this.#environment = { ...process.env, ...environment };
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  read(name: string): string {
    return fs.readFileSync(this.path(name), 'utf8');
  }

  has(name: string): boolean {
    return fs.existsSync(this.path(name));
  }

  /** A database file with one table `T` with a column `n`, and one for remotes. */
  async createDatabase(file: string, name: string = file): Promise<void> {
    const texts = { key: 'string', min: 0, max: 'unlimited' };
    const schema = parseSchema({
      name,
      version: '1.0.0',
      tables: { T: { columns: { n: { type: 'integer' }, remotes: { type: texts } } } },
    });
    assert.ok(!isError(schema));
    await createOvsdbFile(this.path(file), schema);
  }

  /** Runs a program to its end. */
  run(program: 'server' | 'tool' | 'client' | 'appctl', ...args: string[]): Ended {
    const { status, signal, stdout, stderr } = spawnSync(
      process.execPath,
      [runner, program, ...args],
      { cwd: this.folder, env: this.#environment, encoding: 'utf8', timeout: TIMEOUT_MS },
    );
    return { code: status, signal, out: stdout, err: stderr };
  }

  /** Starts a program; what it ends with. */
  start(
    program: 'server' | 'client' | 'appctl',
    ...args: string[]
  ): { pid: number; ended: Promise<Ended> } {
    const child = spawn(process.execPath, [runner, program, ...args], {
      cwd: this.folder,
      env: this.#environment,
    });
    const texts = { out: '', err: '' };
    child.stdout.on('data', (chunk) => {
      texts.out += String(chunk);
    });
    child.stderr.on('data', (chunk) => {
      texts.err += String(chunk);
    });
    const ended = new Promise<Ended>((resolve) => {
      child.on('close', (code, signal) => resolve({ code, signal, ...texts }));
    });
    return { pid: child.pid as number, ended };
  }

  /** Asks the server something; what it says, or fails. */
  ask(...args: string[]): string {
    const { code, out, err } = this.run('appctl', '-t', 'ovsdb-server', ...args);
    assert.equal(code, 0, err);
    return out;
  }

  pid(file: string = 'ovsdb-server.pid'): number {
    return Number(this.read(file));
  }

  /** Kills whoever still has a pid file here. */
  killAll(): void {
    for (const name of fs.readdirSync(this.folder)) {
      if (!name.endsWith('.pid')) continue;
      try {
        process.kill(this.pid(name), 'SIGKILL');
      } catch {
        // It ended by itself.
      }
    }
  }
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

export async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  while (!condition()) {
    assert.ok(performance.now() < deadline, 'waited for too long');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
