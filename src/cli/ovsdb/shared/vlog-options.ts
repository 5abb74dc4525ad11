/** The options about logging that all programs share. */
import type { Vlog } from '../vlog/vlog.ts';
import { logDirectory } from './directories.ts';
import type { GivenOption, LongOption } from './getopt.ts';
import { fatal, ProgramExit } from './program.ts';

export const vlogOptions: readonly LongOption[] = [
  { name: 'verbose', argument: 'optional', short: 'v' },
  { name: 'log-file', argument: 'optional' },
  { name: 'syslog-method', argument: 'required' },
  { name: 'syslog-target', argument: 'required' },
];

/** Acts on the option if it is one of these. */
export function takeVlogOption(vlog: Vlog, { name, argument }: GivenOption): boolean {
  switch (name) {
    case 'verbose': {
      const problem = argument === null ? null : vlog.setFromText(argument);
      if (argument === null) vlog.setLevels(null, null, 'DBG');
      if (problem !== null) fatal(vlog.program, `processing "${argument}": ${problem}`);
      return true;
    }
    case 'log-file': {
      const problem = vlog.openFile(argument ?? `${logDirectory()}/${vlog.program}.log`);
      if (problem !== null && argument !== null) throw new ProgramExit(1);
      return true;
    }
    case 'syslog-method': {
      // Nothing is sent to a syslog daemon: who wants the lines reads the file.
      const isKnown = /^(null|libc|udp:.*|unix:.*)$/s.test(argument ?? '');
      if (!isKnown) fatal(vlog.program, `unsupported syslog method '${argument}'`);
      return true;
    }
    case 'syslog-target':
      return true;
    default:
      return false;
  }
}

export function vlogUsage(program: string): string {
  return `
Logging options:
  -vSPEC, --verbose=SPEC   set logging levels
  -v, --verbose            set maximum verbosity level
  --log-file[=FILE]        enable logging to specified FILE
                           (default: ${logDirectory()}/${program}.log)
  --syslog-method=(libc|unix:file|udp:ip:port)
                           specify how to send messages to syslog daemon
  --syslog-target=HOST:PORT  also send syslog msgs to HOST:PORT via UDP
`;
}
