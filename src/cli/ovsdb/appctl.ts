/**
 * ovs-appctl: asks a running program something over its control socket, and prints the answer. It
 * is started in loops of shells, so it loads little.
 */
import { UnixctlConnection, type UnixctlReply } from '../../host/ovsdb/unixctl/unixctl-client.ts';
import { glibcErrorText } from '../../io/append-file/error-text.ts';
import { runDirectory } from './shared/directories.ts';
import { getopt, type LongOption } from './shared/getopt.ts';
import {
  complain,
  exitCodeOf,
  fatal,
  ProgramExit,
  print,
  printError,
  versionText,
} from './shared/program.ts';
import { parseSeconds, startTimeout } from './shared/timeout.ts';
import { takeVlogOption, vlogOptions } from './shared/vlog-options.ts';
import { Vlog } from './vlog/vlog.ts';

const PROGRAM = 'ovs-appctl';
const TARGET_DEFAULT = 'ovs-vswitchd';

const options: readonly LongOption[] = [
  { name: 'target', argument: 'required', short: 't' },
  { name: 'execute', argument: 'none', short: 'e' },
  { name: 'format', argument: 'required', short: 'f' },
  { name: 'help', argument: 'none', short: 'h' },
  { name: 'option', argument: 'none', short: 'o' },
  { name: 'pretty', argument: 'none' },
  { name: 'version', argument: 'none', short: 'V' },
  { name: 'timeout', argument: 'required', short: 'T' },
  ...vlogOptions,
];

interface Draft {
  target: string;
  format: 'text' | 'json';
  pretty: boolean;
}

interface Question {
  readonly target: string;
  readonly format: 'text' | 'json';
  readonly pretty: boolean;
  readonly command: string;
  readonly args: readonly string[];
}

export function main(argv: readonly string[]): Promise<number> {
  return exitCodeOf(async () => {
    const vlog = new Vlog(PROGRAM);
    const question = parse(vlog, argv);
    return question === null ? 0 : await ask(vlog, question);
  });
}

/** `null`: everything is done. */
function parse(vlog: Vlog, argv: readonly string[]): Question | null {
  const { options: given, rest, problem } = getopt(PROGRAM, argv, options, false);
  const question: Draft = { target: '', format: 'text', pretty: false };
  let seconds: number | null = null;
  let executes = 0;
  for (const option of given) {
    const argument = option.argument ?? '';
    switch (option.name) {
      case 'target':
        if (question.target !== '') fatal(PROGRAM, '-t or --target may be specified only once');
        question.target = argument;
        break;
      case 'execute':
        if (executes++ > 0) fatal(PROGRAM, '-e or --execute may be speciifed only once');
        break;
      case 'format':
        question.format = parseFormat(argument);
        break;
      case 'help':
        print(usage());
        return null;
      case 'option':
        print(optionList());
        return null;
      case 'pretty':
        question.pretty = true;
        break;
      case 'timeout':
        seconds = parseSeconds(argument);
        if (seconds === null) fatal(PROGRAM, `value ${argument} on -T or --timeout is invalid`);
        break;
      case 'version':
        print(`${versionText(PROGRAM)}\n`);
        return null;
      default:
        takeVlogOption(vlog, option);
    }
  }
  if (problem !== null) {
    printError(`${problem}\n`);
    throw new ProgramExit(1);
  }
  startTimeout(vlog, seconds);
  const [command, ...args] = rest;
  if (command === undefined) {
    fatal(PROGRAM, 'at least one non-option argument is required (use --help for help)');
  }
  if (question.pretty && question.format !== 'json') {
    fatal(PROGRAM, '--pretty is supported with --format json only');
  }
  return { ...question, target: question.target || TARGET_DEFAULT, command, args };
}

function parseFormat(text: string): 'text' | 'json' {
  const format = text.toLowerCase();
  if (format === 'text' || format === 'json') return format;
  return fatal(PROGRAM, `value ${text} on -f or --format is invalid`);
}

async function ask(vlog: Vlog, question: Question): Promise<number> {
  const { target, format, command, args } = question;
  const connection = await connect(vlog, target);
  if (format === 'json') {
    const reply = await transact(vlog, connection, target, 'set-options', ['--format', 'json']);
    if (reply.error !== null) return refused(target, reply.error);
  }
  const reply = await transact(vlog, connection, target, command, args);
  connection.close();
  if (reply.error !== null) return refused(target, reply.error);
  print(withLineEnd(asText(reply.result, question)));
  return 0;
}

async function connect(vlog: Vlog, target: string): Promise<UnixctlConnection> {
  const path = target.startsWith('/') ? target : await socketOf(vlog, target);
  try {
    return await UnixctlConnection.connect(path);
  } catch (error) {
    vlog.log('unixctl', 'WARN', `failed to connect to ${path}`);
    return fatal(PROGRAM, `cannot connect to "${path}"`, error);
  }
}

/** The socket of the program of that name, which its pid file leads to. */
async function socketOf(vlog: Vlog, name: string): Promise<string> {
  const { readPidfile } = await import('./daemon/pidfile.ts');
  const pidfile = `${runDirectory()}/${name}.pid`;
  const pid = readPidfile(pidfile);
  if (typeof pid === 'number') return `${runDirectory()}/${name}.${pid}.ctl`;
  const why = glibcErrorText(pid);
  if (pid !== 'ESRCH') vlog.log('daemon_unix', 'WARN', `${pidfile}: open: ${why}`);
  return fatal(PROGRAM, `cannot read pidfile "${pidfile}"`, why);
}

async function transact(
  vlog: Vlog,
  connection: UnixctlConnection,
  target: string,
  command: string,
  args: readonly string[],
): Promise<UnixctlReply> {
  try {
    return await connection.call(command, args);
  } catch (error) {
    const why = glibcErrorText(error);
    vlog.log('unixctl', 'WARN', `error communicating with unix: ${why}`);
    return fatal(PROGRAM, `${target}: transaction error`, why);
  }
}

function refused(target: string, error: unknown): number {
  printError(withLineEnd(asText(error, { format: 'text', pretty: false })));
  complain(PROGRAM, `${target}: server returned an error`);
  return 2;
}

function asText(json: unknown, { format, pretty }: Pick<Question, 'format' | 'pretty'>): string {
  if (format === 'json') return JSON.stringify(sorted(json), null, pretty ? 2 : 0);
  if (typeof json === 'string') return json;
  complain(PROGRAM, `Unexpected reply type in JSON rpc reply: ${typeOf(json)}`);
  throw new ProgramExit(2);
}

function withLineEnd(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

/** With the members of objects in the order of their names. */
function sorted(json: unknown): unknown {
  if (typeof json !== 'object' || json === null) return json;
  if (Array.isArray(json)) return json.map(sorted);
  const members = Object.entries(json).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, value]) => [name, sorted(value)]));
}

function typeOf(json: unknown): string {
  if (json === null) return 'null';
  if (typeof json === 'boolean') return String(json);
  return Array.isArray(json) ? 'array' : typeof json;
}

function optionList(): string {
  return options
    .map(({ name, argument, short }) => {
      const shown = argument === 'required' ? 'ARG' : '[ARG]';
      const long = argument === 'none' ? `--${name}\n` : `--${name}=${shown}\n`;
      if (short === undefined) return long;
      return `${long}-${short} ${argument === 'none' ? '' : shown}\n`;
    })
    .join('');
}

function usage(): string {
  return `${PROGRAM}, for querying and controlling Open vSwitch daemon
usage: ${PROGRAM} [TARGET] COMMAND [ARG...]
Targets:
  -t, --target=TARGET  pidfile or socket to contact
Common commands:
  list-commands      List commands supported by the target
  version            Print version of the target
  vlog/list          List current logging levels
  vlog/list-pattern  List logging patterns for each destination.
  vlog/set [SPEC]
      Set log levels as detailed in SPEC, which may include:
      A valid module name (all modules, by default)
      'syslog', 'console', 'file' (all destinations, by default))
      'off', 'emer', 'err', 'warn', 'info', or 'dbg' ('dbg', bydefault)
  vlog/reopen        Make the program reopen its log file
Other options:
  --timeout=SECS     wait at most SECS seconds for a response
  -f, --format=FMT   Output format. One of: 'json', or 'text'
                     (default: text)
  --pretty           Format the output in a more readable fashion.
                     Requires: --format=json.
  -h, --help         Print this helpful information
  -V, --version      Display ovs-appctl version information
`;
}
