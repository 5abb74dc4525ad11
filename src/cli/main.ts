/**
 * The command line: which commands there are, how they are found, and how an error ends. Each
 * command is a file of its own, loaded when it is asked for; what they do lies in the rooms below.
 */
import type { Command } from 'commander';
import { printable } from '../io/log.ts';
import { ExitCode, exitCodeTexts } from './exit-codes.ts';
import { asCalled } from './shared/called.ts';

interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  readonly group: string;
  /** Adds arguments, options and the action. */
  load(): Promise<(command: Command) => void>;
}

const commands: readonly CommandEntry[] = [
  {
    name: 'dev',
    summary: 'a ready ledger of three replicas in ./data: format, start, print the addresses',
    group: 'Begin here:',
    load: async () => (await import('./dev.ts')).define,
  },
  {
    name: 'format',
    summary: 'create the data file of one replica',
    group: 'Run a ledger:',
    load: async () => (await import('./format.ts')).define,
  },
  {
    name: 'start',
    summary: 'run a replica from its data file',
    group: 'Run a ledger:',
    load: async () => (await import('./start.ts')).define,
  },
  {
    name: 'recover',
    summary: 'create a lost data file again, while the other replicas run',
    group: 'Run a ledger:',
    load: async () => (await import('./recover.ts')).define,
  },
  {
    name: 'ovsdb',
    summary: 'the OVSDB server and its tools, as the originals are called',
    group: 'Run a database of Open vSwitch:',
    load: async () => (await import('./ovsdb/command.ts')).define,
  },
  {
    name: 'status',
    summary: 'show role, log, checkpoint and digest of each replica',
    group: 'Look and measure:',
    load: async () => (await import('./status.ts')).define,
  },
  {
    name: 'benchmark',
    summary: 'create transfers as fast as they are answered, and report',
    group: 'Look and measure:',
    load: async () => (await import('./benchmark.ts')).define,
  },
  {
    name: 'experiment',
    summary: 'measure on real processes what failures cost',
    group: 'Look and measure:',
    load: async () => (await import('./experiment.ts')).define,
  },
  {
    name: 'simulate',
    summary: 'run clusters in a simulated world, drawn from seeds',
    group: 'Look and measure:',
    load: async () => (await import('./simulate.ts')).define,
  },
  {
    name: 'replay',
    summary: 'make the steps of a recorded replica again, and compare',
    group: 'Look and measure:',
    load: async () => (await import('./replay.ts')).define,
  },
  {
    name: 'version',
    summary: 'print the version',
    group: 'Look and measure:',
    load: async () => (await import('./version.ts')).define,
  },
];

/** Runs the program; resolves with the exit code. Servers resolve when they were told to end. */
export async function main(argv: readonly string[]): Promise<number> {
  const name = commands.find((entry) => entry.name === argv[0])?.name ?? null;
  try {
    if (name === 'ovsdb') {
      const { runOvsdb } = await import('./ovsdb/command.ts');
      const exitCode = await runOvsdb(argv.slice(1));
      if (exitCode !== null) return exitCode;
    }
    await run(argv.length === 0 ? ['help'] : argv);
    return Number(process.exitCode ?? ExitCode.ok);
  } catch (error) {
    return await report(error, name);
  }
}

async function run(argv: readonly string[]): Promise<void> {
  const isVersion = argv[0] === '--version' || argv[0] === '-V';
  const words = isVersion ? ['version', ...argv.slice(1)] : [...argv];
  const [first = '', second = ''] = words;
  if (first === 'version' && words.length === 1) {
    const { printVersion } = await import('./version.ts');
    printVersion({});
    return;
  }
  if (first !== 'help') return parse(words);
  // Commander explains neither itself nor what it does not know.
  if (second === 'help') return parse(['help']);
  const isKnown = commands.some(({ name }) => name === second);
  return parse(isKnown || second === '' || second.startsWith('-') ? words : [second]);
}

async function parse(words: readonly string[]): Promise<void> {
  const [first = '', second = ''] = words;
  const wanted = first === 'help' ? second : first;
  const program = await build(wanted);
  try {
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    const command = program.commands.find((one) => one.name() === wanted);
    const isMissing =
      isCommanderError(error) && error.code === 'commander.missingMandatoryOptionValue';
    if (!isMissing || command === undefined) throw error;
    // A flag that is missing is often one that was misspelt: what is unknown is named first.
    const [unknown] = command.parseOptions(words.slice(1)).unknown;
    if (unknown === undefined) throw error;
    for (const option of command.options) option.mandatory = false;
    const [flag = ''] = unknown.split('=');
    const bare = words.map((word) => (word === unknown ? flag : word));
    await program.parseAsync(bare, { from: 'user' });
  }
}

/** The program with every command's name, and the wanted one in full. */
async function build(wanted: string): Promise<Command> {
  const { Command } = await import('commander');
  const program = new Command('roundelay');
  program
    .description('A durable ledger that official TigerBeetle clients use.')
    .helpCommand('help [command]', 'explain a command')
    .configureOutput({ writeErr: () => {}, outputError: () => {} })
    .exitOverride()
    .showSuggestionAfterError(true)
    .addHelpText('after', helpTail());
  for (const entry of commands) {
    const command = program.command(entry.name).summary(entry.summary).helpGroup(entry.group);
    command.description(`${entry.summary[0]?.toUpperCase()}${entry.summary.slice(1)}.`);
    command.copyInheritedSettings(program);
    if (entry.name === wanted) (await entry.load())(command);
  }
  return program;
}

function helpTail(): string {
  const codes = exitCodeTexts.map(([code, text]) => `  ${String(code).padStart(3)}  ${text}`);
  return `\nExit codes:\n${codes.join('\n')}\n\nNumbers may be written with underscores: 200_000.`;
}

/** Prints what went wrong on one line and returns the exit code. */
async function report(error: unknown, command: string | null): Promise<number> {
  const help = command === null ? 'roundelay help' : `roundelay ${command} --help`;
  const { CliError } = await import('./problem.ts');
  const { Interrupted } = await import('./shutdown.ts');
  if (error instanceof CliError) {
    const next = error.exitCode === ExitCode.usage ? `; see: ${help}` : '';
    return fail(`${error.message}${next}`, error.exitCode);
  }
  if (error instanceof Interrupted) return fail(error.message, ExitCode.interrupted);
  if (isCommanderError(error)) {
    if (error.exitCode === 0) return ExitCode.ok;
    return fail(`${error.message.replace(/^error: /, '')}; see: ${help}`, ExitCode.usage);
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return fail(`this is a bug: ${text.replaceAll(/\s*\n\s*/g, ' | ')}`, ExitCode.internal);
}

function fail(message: string, exitCode: ExitCode): ExitCode {
  process.stderr.write(`error: ${printable(asCalled(message).replaceAll('\n', ' '))}\n`);
  return exitCode;
}

function isCommanderError(error: unknown): error is Error & { code: string; exitCode: number } {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    error.code.startsWith('commander.')
  );
}

// Whoever reads our output may stop (`| head`): no reason to end, least of all for a server.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});
void main(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
});
