/**
 * The process of `--monitor`: starts the one that serves, and again after a crash, at most once in
 * ten seconds. Any other end of it is its own as well.
 */
import type { ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DaemonSettings } from '../shared/daemon-options.ts';
import type { Vlog } from '../vlog/vlog.ts';
import { fatalLogged } from './fatal-logged.ts';
import { describeEnd } from './signals.ts';
import { closeStandardFiles } from './standard-files.ts';
import { type ChildEnd, readyOrEnd, startSelf, tellReady } from './start.ts';

/** Ends that are crashes. */
const crashes: readonly string[] = [
  ...['SIGABRT', 'SIGALRM', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGPIPE', 'SIGSEGV'],
  ...['SIGXCPU', 'SIGXFSZ'],
];
const RESTART_INTERVAL_MS = 10_000;

/** Serves as the monitor until there is nothing to monitor. The exit code. */
export async function runMonitor(
  vlog: Vlog,
  settings: DaemonSettings,
  ready: number | null,
): Promise<number> {
  const kept = openKept();
  let child = startSelf('monitored', false, kept);
  const first = await readyOrEnd(child);
  if (first !== 'ready') {
    if (first.code !== null && first.code !== 0) return first.code;
    const how = describeEnd(first.code, first.signal);
    vlog.log('daemon_unix', 'ERR', `fork child died before signaling startup (${how})`);
    return fatalLogged(vlog, 'daemon_unix', 'could not initiate process monitoring');
  }
  tellReady(ready);
  if (settings.detach) closeStandardFiles(vlog, []);
  vlog.subprogram = 'monitor';
  let count = 0;
  let restartedMs = -Infinity;
  for (let health = 'healthy'; ; ) {
    process.title = `${vlog.program}: monitoring pid ${child.pid} (${health})`;
    const end = await endOf(child);
    const how = describeEnd(end.code, end.signal);
    if (end.signal === null || !crashes.includes(end.signal)) {
      vlog.log('daemon_unix', 'INFO', `pid ${child.pid} died, ${how}, exiting`);
      return 0;
    }
    health = `${++count} crashes: pid ${child.pid} died, ${how}`;
    const waitMs = restartedMs + RESTART_INTERVAL_MS - performance.now();
    if (waitMs > 0) {
      const text = `${health}, waiting until 10 seconds since last restart`;
      vlog.log('daemon_unix', 'WARN', text);
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
    restartedMs = performance.now();
    vlog.log('daemon_unix', 'ERR', `${health}, restarting`);
    child = startSelf('monitored', false, kept);
    await readyOrEnd(child);
  }
}

function endOf(child: ChildProcess): Promise<ChildEnd> {
  const { exitCode: code, signalCode: signal } = child;
  if (code !== null || signal !== null) return Promise.resolve({ code, signal });
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
}

/** A file without a name, which the next child finds as the last one left it. */
function openKept(): number {
  const path = join(tmpdir(), `ovsdb-server-${process.pid}-${Date.now()}`);
  const descriptor = fs.openSync(path, 'wx+', 0o600);
  fs.rmSync(path);
  return descriptor;
}
