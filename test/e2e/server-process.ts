/** Starts real servers for tests and ends them by their process ids, whatever happens. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requestStatus } from '../../src/client/index.ts';
import type { LogRecord, StatusReport } from '../../src/host/index.ts';

export interface ServerOptions {
  readonly development?: boolean;
}

export class ServerProcess {
  readonly port: number;
  readonly pid: number;
  readonly logs: LogRecord[] = [];
  readonly #child: ChildProcess;
  readonly #directory: string;

  private constructor(child: ChildProcess, directory: string, port: number) {
    assert.ok(child.pid !== undefined && child.stderr !== null);
    this.port = port;
    this.pid = child.pid;
    this.#child = child;
    this.#directory = directory;
    process.once('exit', () => this.#destroy());
  }

  /** On a fresh data file, cluster 0. */
  static async start(options: ServerOptions = {}): Promise<ServerProcess> {
    const directory = mkdtempSync(join(tmpdir(), 'roundelay-e2e-'));
    const script = join(import.meta.dirname, 'serve-ledger.ts');
    const child = spawn(process.execPath, [script, JSON.stringify({ ...options, directory })], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let errors = '';
    let server: ServerProcess | null = null;
    child.stderr.on('data', (chunk: Buffer) => {
      errors += chunk.toString();
      if (server !== null) errors = server.#takeLogs(errors);
    });
    const first = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
    const port = Number(String(first[0]));
    if (!Buffer.isBuffer(first[0])) assert.fail(`the server ended with ${port}: ${errors}`);
    server = new ServerProcess(child, directory, port);
    errors = server.#takeLogs(errors);
    return server;
  }

  /** Nothing has stopped it. */
  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async status(): Promise<StatusReport> {
    const address = { host: '127.0.0.1', port: this.port };
    const report = await requestStatus({ address, cluster: 0n, timeoutMs: 5_000 });
    return report as unknown as StatusReport;
  }

  /** Waits for a line that fits. */
  async logged(pattern: RegExp): Promise<LogRecord> {
    return await until(() => this.logs.find(({ message }) => pattern.test(message)), `${pattern}`);
  }

  /** Ends it as an operator would; returns how long that took, milliseconds. */
  async stop(): Promise<number> {
    const startMs = performance.now();
    if (this.isAlive) {
      const exit = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      const timer = setTimeout(() => this.#child.kill('SIGKILL'), 5_000);
      await exit;
      clearTimeout(timer);
    }
    const elapsedMs = performance.now() - startMs;
    this.#destroy();
    return elapsedMs;
  }

  #destroy(): void {
    this.#child.kill('SIGKILL');
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #takeLogs(text: string): string {
    const lines = text.split('\n');
    const rest = lines.pop() ?? '';
    for (const line of lines) this.logs.push(JSON.parse(line) as LogRecord);
    return rest;
  }
}

/** The first value that is not undefined or false, asked for again and again for ten seconds. */
export async function until<T>(ask: () => T | undefined | false, what: string): Promise<T> {
  const startMs = performance.now();
  for (;;) {
    const value = ask();
    if (value !== undefined && value !== false) return value;
    assert.ok(performance.now() - startMs < 10_000, `waited for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
