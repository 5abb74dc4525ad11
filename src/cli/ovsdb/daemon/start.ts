/**
 * Running in the background without fork: the program starts itself again in a session of its own,
 * with the same arguments, and waits until that process says that it is ready or ends. With
 * `--monitor` a process stands in between that starts it again when it crashes. Which part a
 * process has is told by an environment variable, which it takes away at once.
 *
 *     foreground --> [monitor] --> the process that serves
 *        descriptor 3: a pipe for one byte, "ready"
 *        descriptor 4, under a monitor: a file for what must outlive a crash
 */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import fs from 'node:fs';
import type { Readable } from 'node:stream';
import type { DaemonSettings } from '../shared/daemon-options.ts';
import type { Vlog } from '../vlog/vlog.ts';
import { fatalLogged } from './fatal-logged.ts';
import { describeEnd } from './signals.ts';

const PART = 'ROUNDELAY_OVSDB_PART';
const READY = 3;
const KEPT = 4;

/** `serve`, with who started it; or the other parts. */
export type Part =
  | { readonly kind: 'foreground' }
  | { readonly kind: 'monitor'; readonly ready: number | null }
  | { readonly kind: 'serve'; readonly ready: number | null; readonly kept: number | null };

let part: Part | null = null;

/** Which part this process has, as far as `settings` leave a choice. */
export function partOf(settings: DaemonSettings): Part {
  part ??= readPart(settings);
  return part;
}

function readPart({ detach, monitor }: DaemonSettings): Part {
  const told = process.env[PART];
  delete process.env[PART];
  if (told === 'serve') return { kind: 'serve', ready: READY, kept: null };
  if (told === 'monitored') return { kind: 'serve', ready: READY, kept: KEPT };
  if (told === 'monitor') return { kind: 'monitor', ready: READY };
  if (detach) return { kind: 'foreground' };
  if (monitor) return { kind: 'monitor', ready: null };
  return { kind: 'serve', ready: null, kept: null };
}

/** Starts the background process and waits for it. The exit code of this one. */
export async function runForeground(vlog: Vlog, settings: DaemonSettings): Promise<number> {
  const child = startSelf(settings.monitor ? 'monitor' : 'serve', true, null);
  const end = await readyOrEnd(child);
  if (end === 'ready') {
    release(child);
    return 0;
  }
  if (end.code !== null && end.code !== 0) return end.code;
  const how = describeEnd(end.code, end.signal);
  vlog.log('daemon_unix', 'ERR', `fork child died before signaling startup (${how})`);
  return fatalLogged(vlog, 'daemon_unix', 'could not detach from foreground session');
}

export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Starts the program again in another part. `kept`: a descriptor for the child's 4. */
export function startSelf(
  as: 'monitor' | 'serve' | 'monitored',
  newSession: boolean,
  kept: number | null,
): ChildProcess {
  const stdio: StdioOptions = ['inherit', 'inherit', 'inherit', 'pipe'];
  if (kept !== null) stdio.push(kept);
  return spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
    stdio,
    detached: newSession,
    env: { ...process.env, [PART]: as },
  });
}

export function readyOrEnd(child: ChildProcess): Promise<'ready' | ChildEnd> {
  return new Promise((resolve, reject) => {
    const pipe = child.stdio[READY] as Readable;
    let ready = false;
    pipe.on('data', () => {
      ready = true;
      resolve('ready');
    });
    pipe.on('error', () => {});
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      // The byte may be on its way when the end is told already.
      setImmediate(() => {
        if (!ready) resolve({ code, signal });
      });
    });
  });
}

/** Lets this process end while the child goes on. */
export function release(child: ChildProcess): void {
  (child.stdio[READY] as Readable).destroy();
  child.unref();
}

/** Tells whoever waits that the start is complete. */
export function tellReady(descriptor: number | null): void {
  if (descriptor === null) return;
  try {
    fs.writeSync(descriptor, '\0');
    fs.closeSync(descriptor);
  } catch {
    // Nobody waits any more.
  }
}
