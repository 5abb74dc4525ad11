/**
 * ovsdb-tool: database files without a server. Commands, texts and exit codes are the original's;
 * what a command needs is loaded when it is known which one it is.
 */
import { parseUuid, UUID_ZERO } from '../../../ovsdb/data/uuid.ts';
import { getopt, type LongOption } from '../shared/getopt.ts';
import { print, printError, versionText } from '../shared/program.ts';
import type { Vlog } from '../vlog/vlog.ts';
import { PROGRAM, type ToolContext } from './context.ts';
import { Fatal, fatal } from './fatal.ts';

interface Command {
  readonly name: string;
  readonly usage: string;
  readonly argsMin: number;
  readonly argsMax: number;
  readonly run: (context: ToolContext) => Promise<void> | void;
}

const info = () => import('./info-commands.ts');
const cluster = () => import('./cluster-commands.ts');
const write = () => import('./write-commands.ts');
const MANY: number = Number.POSITIVE_INFINITY;

const commands: readonly Command[] = [
  command('create', '[db [schema]]', 0, 2, async (c) => (await write()).create(c)),
  command('create-cluster', 'db contents local', 3, 3, async (c) =>
    (await cluster()).createCluster(c),
  ),
  command('join-cluster', 'db name local remote...', 4, MANY, async (c) =>
    (await cluster()).joinCluster(c),
  ),
  command('compact', '[db [dst]]', 0, 2, async (c) => (await write()).compact(c)),
  command('convert', '[db [schema [dst]]]', 0, 3, async (c) => (await write()).convert(c)),
  command('needs-conversion', '', 0, 2, async (c) => (await info()).needsConversion(c)),
  command('db-name', '[db]', 0, 1, async (c) => (await info()).databaseName(c)),
  command('db-version', '[db]', 0, 1, async (c) => (await info()).databaseVersion(c)),
  command('db-cksum', '[db]', 0, 1, async (c) => (await info()).databaseChecksum(c)),
  command('db-cid', 'db', 1, 1, async (c) => (await info()).clusterId(c)),
  command('db-sid', 'db', 1, 1, async (c) => (await info()).serverId(c)),
  command('db-local-address', 'db', 1, 1, async (c) => (await info()).localAddress(c)),
  command('db-is-clustered', 'db', 1, 1, async (c) => (await info()).isOfKind('CLUSTER')(c)),
  command('db-is-standalone', 'db', 1, 1, async (c) => (await info()).isOfKind('JSON')(c)),
  command('schema-name', '[schema]', 0, 1, async (c) => (await info()).schemaMember('name')(c)),
  command('schema-version', '[schema]', 0, 1, async (c) =>
    (await info()).schemaMember('version')(c),
  ),
  command('schema-cksum', '[schema]', 0, 1, async (c) => (await info()).schemaMember('cksum')(c)),
  command('query', '[db] trns', 1, 2, async (c) => (await write()).query(c)),
  command('transact', '[db] trns', 1, 2, async (c) => (await write()).transact(c)),
  command('show-log', '[db]', 0, 1, async (c) => (await import('./show-log.ts')).showLog(c)),
  command('check-cluster', 'db...', 1, MANY, notYet),
  command('compare-versions', 'a op b', 3, 3, async (c) =>
    (await import('./compare-versions.ts')).compareVersions(c),
  ),
  command('help', '', 0, MANY, async ({ print }) => print(await usage())),
  command('list-commands', '', 0, MANY, ({ print }) => print(commandList())),
  command('cluster-to-standalone', 'db clusterdb', 2, 2, async (c) =>
    (await cluster()).clusterToStandalone(c),
  ),
];

function command(
  name: string,
  usageOf: string,
  argsMin: number,
  argsMax: number,
  run: Command['run'],
): Command {
  return { name, usage: usageOf, argsMin, argsMax, run };
}

function notYet(): never {
  return fatal('check-cluster is not supported yet');
}

const longOptions: readonly LongOption[] = [
  { name: 'more', argument: 'none', short: 'm' },
  { name: 'rbac-role', argument: 'required' },
  { name: 'cid', argument: 'required' },
  { name: 'election-timer', argument: 'required' },
  { name: 'verbose', argument: 'optional', short: 'v' },
  { name: 'help', argument: 'none', short: 'h' },
  { name: 'option', argument: 'none', short: 'o' },
  { name: 'version', argument: 'none', short: 'V' },
];

const ELECTION_TIMER_MIN_MS = 100;
const ELECTION_TIMER_MAX_MS = 600_000;

/** Where output goes. */
export interface ToolOutput {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
}

const processOutput: ToolOutput = { stdout: { write: print }, stderr: { write: printError } };

/** `argv`: behind the program's name. Gives the exit code. */
export async function main(
  argv: readonly string[],
  output: ToolOutput = processOutput,
): Promise<number> {
  try {
    await new Tool(output).run(argv);
    return 0;
  } catch (error) {
    if (!(error instanceof Fatal)) throw error;
    if (error.message !== '') output.stderr.write(`${error.message}\n`);
    return error.exitCode;
  }
}

class Tool {
  readonly #output: ToolOutput;
  #verbosity: number = 0;
  #rbacRole: string | null = null;
  #clusterId: string | null = null;
  #electionTimerMs: number | null = null;
  /** Loaded when somebody asks for other levels. */
  #vlog: Vlog | null = null;
  #warnings: number = 0;

  constructor(output: ToolOutput) {
    this.#output = output;
  }

  async run(argv: readonly string[]): Promise<void> {
    const line = getopt(PROGRAM, argv, longOptions);
    for (const { name, argument } of line.options) {
      if (await this.#option(name, argument ?? '')) return;
    }
    if (line.problem !== null) throw new Fatal(line.problem);
    await this.#command(line.rest);
  }

  /** Whether the option was all there is to do. */
  async #option(name: string, argument: string): Promise<boolean> {
    switch (name) {
      case 'more':
        this.#verbosity += 1;
        return false;
      case 'rbac-role':
        this.#rbacRole = argument;
        return false;
      case 'cid':
        this.#clusterId = parseUuid(argument) ?? UUID_ZERO;
        if (this.#clusterId === UUID_ZERO) fatal(`${argument}: not a valid UUID`);
        return false;
      case 'election-timer':
        this.#electionTimerMs = parseElectionTimer(argument);
        return false;
      case 'verbose':
        await this.#setLevels(argument);
        return false;
      case 'help':
        this.#print(await usage());
        return true;
      case 'option':
        this.#print(optionList());
        return true;
      default:
        this.#print(versionText(PROGRAM));
        return true;
    }
  }

  async #command([name, ...args]: readonly string[]): Promise<void> {
    if (name === undefined) fatal('missing command name; use --help for help');
    const found = commands.find((candidate) => candidate.name === name);
    if (found === undefined) return fatal(`unknown command '${name}'; use --help for help`);
    if (args.length < found.argsMin) {
      fatal(`'${name}' command requires at least ${found.argsMin} arguments`);
    }
    if (args.length > found.argsMax) {
      fatal(`'${name}' command takes at most ${found.argsMax} arguments`);
    }
    await found.run({
      args,
      verbosity: this.#verbosity,
      rbacRole: this.#rbacRole,
      clusterId: this.#clusterId,
      electionTimerMs: this.#electionTimerMs,
      print: (text) => this.#print(text),
      warn: (module, text, level = 'WARN') => this.#warn(module, text, level),
    });
  }

  #print(text: string): void {
    this.#output.stdout.write(`${text}\n`);
  }

  async #setLevels(argument: string): Promise<void> {
    this.#vlog ??= new (await import('../vlog/vlog.ts')).Vlog(PROGRAM);
    if (argument === '') {
      this.#vlog.setLevels(null, null, 'DBG');
      return;
    }
    const problem = this.#vlog.setFromText(argument);
    if (problem !== null) fatal(`processing "${argument}": ${problem}`);
  }

  #warn(module: string, text: string, level: 'WARN' | 'ERR'): void {
    if (this.#vlog !== null) {
      this.#vlog.log(module, level, text);
      return;
    }
    this.#warnings += 1;
    const number = String(this.#warnings).padStart(5, '0');
    const now = new Date().toISOString().replace(/\.\d+/, '');
    this.#output.stderr.write(`${now}|${number}|${module}|${level}|${text}\n`);
  }
}

async function usage(): Promise<string> {
  return (await import('./usage.ts')).usageText();
}

function parseElectionTimer(argument: string): number {
  const ms = Number.parseInt(argument, 10) || 0;
  if (ms >= ELECTION_TIMER_MIN_MS && ms <= ELECTION_TIMER_MAX_MS) return ms;
  return fatal(
    `ovsdb error: election timer must be between ${ELECTION_TIMER_MIN_MS} and ` +
      `${ELECTION_TIMER_MAX_MS}, in msec.`,
  );
}

function commandList(): string {
  const lines = commands.map(({ name, usage: arguments_ }) => `  ${name.padEnd(23)} ${arguments_}`);
  return ['The available commands are:', ...lines].join('\n');
}

function optionList(): string {
  const text = { none: '', required: '=ARG', optional: '[=ARG]' } as const;
  return longOptions.map(({ name, argument }) => `--${name}${text[argument]}`).join('\n');
}
