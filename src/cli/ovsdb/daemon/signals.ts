/**
 * Ending: the files that a program leaves behind (sockets, its pid file) go with it, whether it
 * ends by itself or by a signal; and after a signal it ends by that very signal, so that whoever
 * waits for it sees why.
 */
import fs from 'node:fs';
import { constants } from 'node:os';
import type { Vlog } from '../vlog/vlog.ts';

const fatalSignals = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGALRM'] as const;
export type FatalSignal = (typeof fatalSignals)[number];

/** What the C library calls the signals that end processes. */
const descriptions: { readonly [name: string]: string } = {
  SIGHUP: 'Hangup',
  SIGINT: 'Interrupt',
  SIGQUIT: 'Quit',
  SIGILL: 'Illegal instruction',
  SIGTRAP: 'Trace/breakpoint trap',
  SIGABRT: 'Aborted',
  SIGBUS: 'Bus error',
  SIGFPE: 'Floating point exception',
  SIGKILL: 'Killed',
  SIGUSR1: 'User defined signal 1',
  SIGSEGV: 'Segmentation fault',
  SIGUSR2: 'User defined signal 2',
  SIGPIPE: 'Broken pipe',
  SIGALRM: 'Alarm clock',
  SIGTERM: 'Terminated',
  SIGXCPU: 'CPU time limit exceeded',
  SIGXFSZ: 'File size limit exceeded',
};

/** The cleaning up of a program that was told to end may take this long. */
const CLEAN_UP_MS = 3_000;

export function describeSignal(name: string): string {
  return descriptions[name] ?? `signal ${signalNumber(name)}`;
}

function signalNumber(name: string): number {
  return (constants.signals as { readonly [name: string]: number })[name] ?? 0;
}

/** How a child ended, in the original's words. */
export function describeEnd(code: number | null, signal: string | null): string {
  return signal === null ? `exit status ${code}` : `killed (${describeSignal(signal)})`;
}

const unlinkedAtEnd: Set<string> = new Set();
let hooked = false;

/** The file is removed when the process ends in any way that it notices. */
export function unlinkAtEnd(path: string): void {
  unlinkedAtEnd.add(path);
  if (hooked) return;
  hooked = true;
  process.on('exit', unlinkAll);
}

export function keepAtEnd(path: string): void {
  unlinkedAtEnd.delete(path);
}

function unlinkAll(): void {
  for (const path of unlinkedAtEnd) {
    try {
      fs.rmSync(path, { force: true });
    } catch {
      // It stays; whoever starts next finds it stale.
    }
  }
  unlinkedAtEnd.clear();
}

/** From now on such signals end the process in order: `cleanUp` first, for a limited time. */
export function endOnSignals(vlog: Vlog, cleanUp: () => Promise<void>): void {
  let ending = false;
  for (const signal of fatalSignals) {
    process.on(signal, () => {
      if (ending) return;
      ending = true;
      const number = signalNumber(signal);
      const text = `terminating with signal ${number} (${describeSignal(signal)})`;
      vlog.log('fatal_signal', 'WARN', text);
      const patience = setTimeout(() => endBy(signal), CLEAN_UP_MS);
      cleanUp().then(
        () => {
          clearTimeout(patience);
          endBy(signal);
        },
        () => endBy(signal),
      );
    });
  }
}

function endBy(signal: FatalSignal): void {
  unlinkAll();
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}
