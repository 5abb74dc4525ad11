/**
 * ovsdb-client: asks OVSDB servers for databases, schemas and rows, changes and watches them. Its
 * commands, outputs, messages and exit codes are the original's. What a command does not need is
 * not loaded: scripts start this program in loops.
 */
import { commands } from './client/commands.ts';
import { openDatabase } from './client/connection/open-database.ts';
import type { ClientContext } from './client/context.ts';
import { type DaemonControl, foregroundControl } from './client/daemon-control.ts';
import { fatal, PROGRAM } from './client/fatal.ts';
import type { TablePrinter } from './client/format/table.ts';
import { longOptions, OptionReader } from './client/options.ts';
import { Output } from './client/output.ts';
import { type GivenOption, getopt } from './shared/getopt.ts';
import { exitCodeOf, ProgramExit, print, printError, versionText } from './shared/program.ts';
import { startTimeout } from './shared/timeout.ts';
import { Vlog } from './vlog/vlog.ts';

/** `argv`: behind the program's name. Gives the exit code. */
export function main(argv: readonly string[]): Promise<number> {
  return exitCodeOf(async () => {
    await run(argv);
    return 0;
  });
}

async function run(argv: readonly string[]): Promise<void> {
  const vlog = new Vlog(PROGRAM);
  const reader = new OptionReader(vlog);
  const line = getopt(PROGRAM, argv, longOptions);
  const logFiles: GivenOption[] = [];
  for (const option of line.options) {
    if (option.name === 'help') return print((await import('./client/usage.ts')).usageText());
    if (option.name === 'version') return print(`${versionText(PROGRAM)}\n`);
    if (option.name === 'log-file') logFiles.push(option);
    else reader.take(option);
  }
  if (line.problem !== null) {
    printError(`${line.problem}\n`);
    throw new ProgramExit(1);
  }
  startTimeout(vlog, reader.timeoutSeconds);
  const background = await backgroundOf(reader, vlog, line.rest[0] ?? '');
  // Not before, or the process that only starts another would write to it too.
  for (const option of logFiles) reader.take(option);
  const context = contextOf(reader, vlog, background);
  await runCommand(context, line.rest);
  if (context.output.failed) fatal('write to stdout failed');
}

/** Commands that the options about the background are for. */
const backgroundCommands: readonly string[] = [
  ...['monitor', 'monitor-cond', 'monitor-cond-since', 'transact', 'query'],
  ...['lock', 'steal', 'unlock'],
];

async function backgroundOf(
  { daemon }: OptionReader,
  vlog: Vlog,
  command: string,
): Promise<DaemonControl> {
  const wanted = daemon.detach || daemon.monitor || daemon.pidfile !== null;
  if (!wanted || !backgroundCommands.includes(command)) return foregroundControl;
  const { BackgroundControl } = await import('./client/daemon.ts');
  const { isForeground } = await import('./daemon/daemon.ts');
  const background = new BackgroundControl(daemon, vlog);
  // Another process will do everything: it is started before anything is opened.
  if (isForeground(daemon)) await background.start();
  return background;
}

function contextOf(
  { options, style }: OptionReader,
  vlog: Vlog,
  daemon: DaemonControl,
): ClientContext {
  const output = new Output();
  let printer: Promise<TablePrinter> | null = null;
  return {
    ...options,
    output,
    tables: () => {
      printer ??= import('./client/format/table.ts').then(
        (format) => new format.TablePrinter(style, (bytes) => output.write(bytes)),
      );
      return printer;
    },
    daemon,
    alarm: (module, text) => vlog.log(module, 'ERR', text),
    warn: (module, text) => vlog.log(module, 'WARN', text),
    inform: (module, text) => vlog.log(module, 'INFO', text),
  };
}

async function runCommand(context: ClientContext, rest: readonly string[]): Promise<void> {
  const [name, ...args] = rest;
  if (name === undefined) fatal('missing command name; use --help for help');
  const command = commands.find((one) => one.name === name);
  if (command === undefined) return fatal(`unknown command '${name}'; use --help for help`);
  const { need, argsMin, argsMax } = command;
  let given = { args, rpc: null, database: '' } as Parameters<typeof command.run>[1];
  if (need !== 'nothing') {
    const { rpc, database, used } = await openDatabase(context, need, args, argsMin, null);
    given = { args: args.slice(used), rpc, database };
  }
  const count = given.args.length;
  if (count < argsMin || count > argsMax) {
    fatal(`invalid syntax for '${name}' (use --help for help)`);
  }
  await command.run(context, given);
  given.rpc?.close();
}
