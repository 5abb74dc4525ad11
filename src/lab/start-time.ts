/**
 * How long a server or a whole cluster takes from exec until it serves: a register request, as raw
 * bytes, is offered to every replica every 5 ms until one answers. No client of ours or anybody's
 * stands between, since a client's own timers (600 ms for the official one) would be what is
 * measured.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { CLIENT_RELEASE, ClientSession } from '../client/index.ts';
import { assert, readU32 } from '../stdx/index.ts';
import { Command, HEADER_SIZE, MessagePool, Offset, readCommand } from '../wire/index.ts';
import type { Launcher } from './cluster-processes.ts';
import { TemporaryClusterError } from './errors.ts';

const RETRY_MS = 5;
const TIMEOUT_MS = 120_000;

export interface StartedServer {
  readonly child: ChildProcess;
  readonly pid: number;
  /** From just before exec until the answer, milliseconds. */
  readonly startMs: number;
}

export interface StartedCluster {
  /** In the order of the replicas. */
  readonly children: readonly ChildProcess[];
  /** From just before the first exec until the first answer, milliseconds. */
  readonly startMs: number;
}

/** Starts a server of cluster 0 on this port and waits for its first answer. */
export async function startAndMeasure(
  launcher: Launcher,
  port: number,
  file: string,
): Promise<StartedServer> {
  const { children, startMs } = await startClusterAndMeasure(launcher, [port], [file]);
  const [child] = children;
  return { child, pid: child.pid ?? 0, startMs };
}

/**
 * Starts all replicas of cluster 0 at once and waits for the first answer: the time includes the
 * choice of a primary. Rejects when one of them ends before; the others are ended then.
 */
export async function startClusterAndMeasure(
  launcher: Launcher,
  ports: readonly number[],
  files: readonly string[],
): Promise<StartedCluster> {
  assert(ports.length === files.length && !ports.includes(0), 'startClusterAndMeasure: ports');
  const request = registerRequest();
  const beganMs = performance.now();
  const ended = new AbortController();
  const children: ChildProcess[] = [];
  try {
    const exits = files.map((file) => {
      const parameters = [...launcher.arguments, 'start', `--addresses=${ports.join(',')}`, file];
      const child = spawn(launcher.executable, parameters, { stdio: ['ignore', 'ignore', 'pipe'] });
      children.push(child);
      return earlyExit(child);
    });
    const answers = ports.map((port) => firstAnswer(port, request, ended.signal));
    const startMs = (await Promise.race([...answers, ...exits])) - beganMs;
    return { children, startMs };
  } catch (error) {
    for (const child of children) child.kill('SIGKILL');
    throw error;
  } finally {
    ended.abort();
  }
}

/** Rejects when the process ends, with the last that it said. */
function earlyExit(child: ChildProcess): Promise<never> {
  let errors = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-2000);
  });
  const exited = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => {
      const line = errors.trim().split('\n').at(-1) ?? '';
      reject(new TemporaryClusterError(`start ended with ${code}: ${line}`));
    });
  });
  exited.catch(() => {});
  return exited;
}

/** A register request as a session sends it. */
function registerRequest(): Uint8Array {
  const sizes = { requestSlotSize: 4096, requestSlots: 0, replySlots: 0, smallSlots: 0 };
  const session = new ClientSession({
    clientId: crypto.getRandomValues(new Uint8Array(16)),
    cluster: new Uint8Array(16),
    replicaCount: 1,
    release: CLIENT_RELEASE,
    checksum: new MessagePool(sizes).checksum,
    seed: 0,
  });
  session.start(0);
  for (const effect of session.onConnected(0, 0)) {
    if (effect.type === 'send' && readCommand(effect.bytes) === Command.request) {
      return effect.bytes;
    }
  }
  throw new TemporaryClusterError('no register request was made');
}

/** Resolves with the time of the first reply; `signal` ends the attempts. */
function firstAnswer(port: number, request: Uint8Array, signal: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    let socket: Socket | null = null;
    let connected = false;
    const timer = setInterval(attempt, RETRY_MS);
    const deadlineMs = performance.now() + TIMEOUT_MS;
    signal.addEventListener('abort', () => {
      clearInterval(timer);
      socket?.destroy();
    });

    function attempt(): void {
      if (performance.now() > deadlineMs) {
        reject(new TemporaryClusterError(`no answer within ${TIMEOUT_MS} ms`));
      } else if (connected) socket?.write(request);
      else if (socket === null) open();
    }

    function open(): void {
      connected = false;
      const opened = connect({ port, host: '127.0.0.1', noDelay: true });
      socket = opened;
      opened.on('connect', () => {
        connected = true;
        opened.write(request);
      });
      opened.on('data', (chunk) => {
        if (chunk.length < HEADER_SIZE || readCommand(chunk) !== Command.reply) return;
        assert(readU32(chunk, Offset.release) === CLIENT_RELEASE, 'firstAnswer: not our reply');
        resolve(performance.now());
      });
      opened.on('error', () => {});
      opened.on('close', () => {
        connected = false;
        socket = null;
      });
    }
  });
}
