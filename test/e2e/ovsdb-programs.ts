/**
 * OVSDB servers as processes, the original's or ours, on files and unix sockets of one folder; and
 * other people's programs that talk to them. Whoever starts a server ends it, by its pid.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { executable } from '../ovsdb-peer/peer.ts';

const root = resolve(import.meta.dirname, '../..');
/** Thin executables with the original's names. */
export const ourFolder: string = join(root, 'bin/ovsdb');

export type Whose = 'theirs' | 'ours';

/** Debian keeps schemas here. */
const SCHEMAS = ['/usr/share/openvswitch', '/usr/share/ovn'];

/** Path of an installed schema, e.g. "vswitch.ovsschema". */
export function schemaPath(name: string): string | null {
  const found = SCHEMAS.map((folder) => join(folder, name)).find(existsSync);
  return found ?? null;
}

/** Why a test with these programs and schemas cannot be; `false`: it can. */
export function lacking(
  programs: readonly string[],
  schemas: readonly string[] = [],
): string | false {
  const absent = [
    ...programs.filter((name) => executable(name) === null),
    ...schemas.filter((name) => schemaPath(name) === null),
  ];
  if (absent.length === 0) return false;
  const problem = `NOTHING WAS TESTED: ${absent.join(', ')} not found (npm run peers)`;
  if (process.env['ROUNDELAY_PEERS'] === 'required') throw new Error(problem);
  process.stderr.write(`\n*** ${problem}\n\n`);
  return problem;
}

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A folder for sockets, files and pids of one world. */
export class World {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'ovsdb-e2e-'));
  readonly #children: Set<ChildProcess> = new Set();

  path(name: string): string {
    return join(this.folder, name);
  }

  /** Programs look here for sockets, and write logs and pids here. */
  environment(whose: Whose = 'theirs'): NodeJS.ProcessEnv {
    const { folder } = this;
    const path = `${process.env['PATH']}${delimiter}/usr/sbin${delimiter}/sbin`;
    return {
      ...process.env,
      PATH: whose === 'ours' ? `${ourFolder}${delimiter}${path}` : path,
      OVS_RUNDIR: folder,
      OVS_LOGDIR: folder,
      OVS_DBDIR: folder,
      OVN_RUNDIR: folder,
      OVN_LOGDIR: folder,
      OVN_DBDIR: folder,
    };
  }

  /** An original program to its end. */
  run(
    program: string,
    parameters: readonly string[],
    options: { whose?: Whose; input?: string } = {},
  ): Promise<Ran> {
    const path = options.whose === 'ours' ? join(ourFolder, program) : executable(program);
    assert.ok(path !== null, `${program} is not installed`);
    return new Promise((done) => {
      const child = execFile(
        path,
        parameters,
        {
          cwd: this.folder,
          env: this.environment(options.whose),
          timeout: 60_000,
          killSignal: 'SIGKILL',
          maxBuffer: 1 << 28,
        },
        (error, stdout, stderr) => {
          const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
          done({ code, stdout: String(stdout), stderr: String(stderr) });
        },
      );
      // Who does not read may be gone already.
      child.stdin?.on('error', () => {});
      child.stdin?.end(options.input ?? '');
    });
  }

  /** Like `run`, and must succeed; its output. */
  async must(
    program: string,
    parameters: readonly string[],
    options: { whose?: Whose; input?: string } = {},
  ): Promise<string> {
    const ran = await this.run(program, parameters, options);
    assert.equal(ran.code, 0, `${program} ${parameters.join(' ')}: ${ran.stdout}${ran.stderr}`);
    return ran.stdout;
  }

  /** A program that runs until the world ends. */
  start(path: string, parameters: readonly string[], whose: Whose = 'theirs'): ChildProcess {
    const child = spawn(path, parameters, {
      cwd: this.folder,
      env: this.environment(whose),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const keep = (chunk: Buffer): void => {
      output = `${output}${chunk}`.slice(-20_000);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    this.#children.add(child);
    this.#outputs.set(child, () => output);
    return child;
  }

  readonly #outputs: Map<ChildProcess, () => string> = new Map();

  outputOf(child: ChildProcess): string {
    return this.#outputs.get(child)?.() ?? '';
  }

  /** A server on databases made from schemas; returns when it listens. */
  async startServer(whose: Whose, options: ServerOptions): Promise<ChildProcess> {
    const tool = executable('ovsdb-tool') as string;
    const files = options.schemas.map((schema) => {
      const file = this.path(`${schema.replace(/.*\//, '').replace('.ovsschema', '')}.db`);
      if (!existsSync(file)) execFileSync(tool, ['create', file, schemaPath(schema) ?? schema]);
      return file;
    });
    const socket = this.path(options.socket);
    const program = whose === 'ours' ? join(ourFolder, 'ovsdb-server') : executable('ovsdb-server');
    const child = this.start(
      program as string,
      [
        ...files,
        `--remote=punix:${socket}`,
        `--unixctl=${socket}.ctl`,
        `--log-file=${socket}.log`,
        '-vconsole:off',
        ...(options.parameters ?? []),
      ],
      whose,
    );
    await until(
      () => existsSync(socket),
      10_000,
      () => `no server: ${this.outputOf(child)}`,
    );
    return child;
  }

  async stop(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    this.#children.delete(child);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((done) => child.once('exit', done));
    child.kill(signal);
    await ended;
  }

  /** Log lines of a server that somebody should look at. */
  complaints(socket: string): string[] {
    const log = `${this.path(socket)}.log`;
    if (!existsSync(log)) return [];
    return readFileSync(log, 'utf8')
      .split('\n')
      .filter((line) => /\|(WARN|ERR|EMER)\|/.test(line));
  }

  async end(): Promise<void> {
    await Promise.all([...this.#children].reverse().map((child) => this.stop(child, 'SIGKILL')));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export interface ServerOptions {
  /** Installed ones by name, others by path. */
  readonly schemas: readonly string[];
  /** Name of the unix socket in the world's folder; the control socket is SOCKET.ctl. */
  readonly socket: string;
  readonly parameters?: readonly string[];
}

/** Until it is so; fails with what `why` says. */
export async function until(
  isSo: () => boolean | Promise<boolean>,
  timeoutMs: number,
  why: () => string,
): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) throw new Error(why());
    await sleep(25);
  }
}
