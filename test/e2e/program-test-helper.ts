/** Runs the real program through its front door, as a shell would, and reports what came out. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

export const root: string = resolve(import.meta.dirname, '../..');
export const program: string = join(root, 'bin', 'roundelay.js');

export interface Result {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
}

export interface RunOptions {
  readonly node?: string;
  readonly cwd?: string;
  /** Ends the program by force, milliseconds. */
  readonly timeoutMs?: number;
}

const running = new Set<Running>();

/** A running program whose output is collected. */
export class Running {
  readonly child: ChildProcess;
  stdout: string = '';
  stderr: string = '';
  readonly ended: Promise<Result>;

  constructor(parameters: readonly string[], options: RunOptions = {}) {
    const beganMs = performance.now();
    const node = options.node ?? process.execPath;
    const child = spawn(node, [program, ...parameters], {
      cwd: options.cwd ?? root,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    running.add(this);
    child.stdout.on('data', (chunk: Buffer) => {
      this.stdout += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      this.stderr += chunk.toString();
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), options.timeoutMs ?? 30_000);
    this.ended = new Promise((done) => {
      child.once('close', (code, signal) => {
        clearTimeout(timer);
        running.delete(this);
        const { stdout, stderr } = this;
        done({ code, signal, stdout, stderr, ms: performance.now() - beganMs });
      });
    });
  }

  /** Resolves when the text stands in the output; fails when the program ends before. */
  async saw(pattern: RegExp): Promise<RegExpExecArray> {
    const deadlineMs = performance.now() + 20_000;
    let isOver = false;
    void this.ended.then(() => {
      isOver = true;
    });
    for (;;) {
      const match = pattern.exec(`${this.stdout}\n${this.stderr}`);
      if (match !== null) return match;
      if (isOver || performance.now() > deadlineMs) {
        throw new Error(`never saw ${pattern} in: ${this.stdout} ${this.stderr}`);
      }
      await new Promise((done) => setTimeout(done, 10));
    }
  }

  /** Sends a signal and resolves with how, and how fast, the program ended. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<Result> {
    const beganMs = performance.now();
    this.child.kill(signal);
    const result = await this.ended;
    return { ...result, ms: performance.now() - beganMs };
  }
}

export function run(parameters: readonly string[], options: RunOptions = {}): Promise<Result> {
  return new Running(parameters, options).ended;
}

/** A folder of its own, removed when `body` is done; what still runs then has failed to end. */
export async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'roundelay-e2e-'));
  try {
    await body(folder);
  } finally {
    for (const { child } of running) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The machine's own Node, outside of the checkout, if there is one: often an old one. */
export function machineNode(): string | null {
  const found = execFileSync('sh', ['-c', 'which -a node || true'], { encoding: 'utf8' });
  const paths = [...found.split('\n'), '/usr/local/bin/node', '/usr/bin/node'];
  for (const path of paths) {
    if (path !== '' && existsSync(path) && !realpathSync(path).startsWith(root)) return path;
  }
  return null;
}

export function isListening(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.on('error', () => done(false));
    socket.on('connect', () => {
      socket.destroy();
      done(true);
    });
  });
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
