/** The options about running in the background, and what they mean together. */
import { runDirectory, within } from './directories.ts';
import type { GivenOption, LongOption } from './getopt.ts';

export interface DaemonSettings {
  detach: boolean;
  monitor: boolean;
  changeDirectory: boolean;
  /** Absolute or as the caller's folder has it; `null`: none. */
  pidfile: string | null;
  overwritePidfile: boolean;
  selfConfinement: boolean;
  /** `user[:group]` */
  user: string | null;
}

export const daemonOptions: readonly LongOption[] = [
  { name: 'detach', argument: 'none' },
  { name: 'no-self-confinement', argument: 'none' },
  { name: 'no-chdir', argument: 'none' },
  { name: 'pidfile', argument: 'optional' },
  { name: 'overwrite-pidfile', argument: 'none' },
  { name: 'monitor', argument: 'none' },
  { name: 'user', argument: 'required' },
];

export function foreground(): DaemonSettings {
  return {
    detach: false,
    monitor: false,
    changeDirectory: true,
    pidfile: null,
    overwritePidfile: false,
    selfConfinement: true,
    user: null,
  };
}

/** Notes the option if it is one of these. */
export function takeDaemonOption(
  program: string,
  settings: DaemonSettings,
  { name, argument }: GivenOption,
): boolean {
  switch (name) {
    case 'detach':
      settings.detach = true;
      return true;
    case 'no-self-confinement':
      settings.selfConfinement = false;
      return true;
    case 'no-chdir':
      settings.changeDirectory = false;
      return true;
    case 'pidfile':
      settings.pidfile = within(runDirectory(), argument ?? `${program}.pid`);
      return true;
    case 'overwrite-pidfile':
      settings.overwritePidfile = true;
      return true;
    case 'monitor':
      settings.monitor = true;
      return true;
    case 'user':
      settings.user = argument;
      return true;
    default:
      return false;
  }
}

export function daemonUsage(program: string): string {
  return `
Daemon options:
  --detach                run in background as daemon
  --monitor               creates a process to monitor this daemon
  --user=username[:group] changes the effective daemon user:group
  --no-chdir              do not chdir to '/'
  --pidfile[=FILE]        create pidfile (default: ${runDirectory()}/${program}.pid)
  --overwrite-pidfile     with --pidfile, start even if already running
`;
}
