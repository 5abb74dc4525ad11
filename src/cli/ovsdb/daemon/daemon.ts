/**
 * A program's life as a daemon, from its arguments on: which part this process has, its pid file,
 * and the moment when it is ready.
 *
 *     const daemon = await startDaemon(vlog, settings);
 *     if (typeof daemon === 'number') return daemon;   // another process does the work
 *     …open everything…
 *     daemon.ready();
 */
import type { DaemonSettings } from '../shared/daemon-options.ts';
import type { Vlog } from '../vlog/vlog.ts';
import { closeStandardFiles } from './standard-files.ts';
import { partOf, runForeground, tellReady } from './start.ts';
import { becomeUser } from './user.ts';

export interface Daemon {
  /**
   * A descriptor of a file that the next process finds as this one left it, should this one crash;
   * `null` without a monitor.
   */
  readonly kept: number | null;
  /** Everything is open: whoever waits may go on. `keptFiles`: of 0, 1, 2, those still needed. */
  ready(keptFiles?: readonly number[]): void;
}

/**
 * Whether another process will do the work, so that this one need not open its log file or
 * anything else.
 */
export function isForeground(settings: DaemonSettings): boolean {
  return partOf(settings).kind === 'foreground';
}

/** The exit code where the work is done by another process. */
export async function startDaemon(vlog: Vlog, settings: DaemonSettings): Promise<Daemon | number> {
  const part = partOf(settings);
  if (part.kind === 'foreground') return await runForeground(vlog, settings);
  // Under a monitor that has become the user already.
  const hasBecome = part.kind === 'serve' && part.kept !== null;
  if (settings.user !== null && !hasBecome) becomeUser(vlog, settings.user, settings.pidfile);
  if (part.kind === 'monitor') {
    const { runMonitor } = await import('./monitor.ts');
    return await runMonitor(vlog, settings, part.ready);
  }
  if (settings.pidfile !== null) {
    const { makePidfile } = await import('./pidfile.ts');
    makePidfile(vlog, settings.pidfile, settings.overwritePidfile);
  }
  return {
    kept: part.kept,
    ready: (keptFiles = []) => {
      tellReady(part.ready);
      if (!settings.detach) return;
      if (settings.changeDirectory) process.chdir('/');
      closeStandardFiles(vlog, keptFiles);
    },
  };
}
