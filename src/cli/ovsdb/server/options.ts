/** The arguments of ovsdb-server, and what they say together. */
import {
  type DaemonSettings,
  daemonOptions,
  foreground,
  takeDaemonOption,
} from '../shared/daemon-options.ts';
import { databaseDirectory, runDirectory, within } from '../shared/directories.ts';
import { type GivenOption, getopt, type LongOption } from '../shared/getopt.ts';
import { fatal, ProgramExit, printError } from '../shared/program.ts';
import { type TlsSettings, takeTlsOption, tlsOptions, withoutTls } from '../shared/tls-options.ts';
import { vlogOptions } from '../shared/vlog-options.ts';
import { parseExcludedTables } from './excluded-tables.ts';

export const PROGRAM = 'ovsdb-server';

export interface ServerArguments {
  /** Targets, in their order; `db:…` among them. */
  readonly remotes: readonly string[];
  /** As given: file names and `relay:NAME:REMOTES`. */
  readonly databases: readonly string[];
  /** Absolute; `null`: none is wanted. */
  readonly configFile: string | null;
  /** Absolute, `none`, or `null`: the default name. */
  readonly unixctl: string | null;
  readonly run: string | null;
  readonly syncFrom: string | null;
  readonly syncExclude: string | null;
  readonly active: boolean;
  readonly columnDiff: boolean;
  /** Serve what precedes damage in the middle of a file. */
  readonly continueAfterDamage: boolean;
  readonly tls: TlsSettings;
  readonly daemon: DaemonSettings;
  /** About logging, in their order: acted on by the process that serves. */
  readonly logging: readonly GivenOption[];
}

export type Wanted = 'help' | 'version' | ServerArguments;

const longOptions: readonly LongOption[] = [
  { name: 'remote', argument: 'required' },
  { name: 'unixctl', argument: 'required' },
  { name: 'run', argument: 'required' },
  { name: 'help', argument: 'none', short: 'h' },
  { name: 'version', argument: 'none', short: 'V' },
  ...daemonOptions,
  ...vlogOptions,
  ...tlsOptions,
  { name: 'record', argument: 'optional' },
  { name: 'replay', argument: 'optional' },
  { name: 'sync-from', argument: 'required' },
  { name: 'sync-exclude-tables', argument: 'required' },
  { name: 'active', argument: 'none' },
  { name: 'no-dbs', argument: 'none' },
  { name: 'disable-file-column-diff', argument: 'none' },
  { name: 'disable-file-no-data-conversion', argument: 'none' },
  { name: 'config-file', argument: 'required' },
  { name: 'continue-after-damage', argument: 'none' },
];

interface Draft {
  remotes: string[];
  configFile: string | null;
  unixctl: string | null;
  run: string | null;
  syncFrom: string | null;
  syncExclude: string | null;
  active: boolean;
  columnDiff: boolean;
  continueAfterDamage: boolean;
  defaultDatabase: boolean;
  tls: TlsSettings;
  daemon: DaemonSettings;
  logging: GivenOption[];
}

/** Ends the program where something is wrong. */
export function parseArguments(argv: readonly string[]): Wanted {
  const { options, rest, problem } = getopt(PROGRAM, argv, longOptions);
  const draft: Draft = {
    remotes: [],
    configFile: null,
    unixctl: null,
    run: null,
    syncFrom: null,
    syncExclude: null,
    active: false,
    columnDiff: true,
    continueAfterDamage: false,
    defaultDatabase: true,
    tls: withoutTls(),
    daemon: foreground(),
    logging: [],
  };
  for (const option of options) {
    if (option.name === 'help' || option.name === 'version') return option.name;
    take(draft, option);
  }
  if (problem !== null) {
    printError(`${problem}\n`);
    throw new ProgramExit(1);
  }
  checkTogether(draft, rest);
  return { ...draft, databases: databasesOf(draft, rest) };
}

function take(draft: Draft, option: GivenOption): void {
  const argument = option.argument ?? '';
  switch (option.name) {
    case 'remote':
      if (!draft.remotes.includes(argument)) draft.remotes.push(argument);
      return;
    case 'unixctl':
      draft.unixctl = argument === 'none' ? 'none' : within(runDirectory(), argument);
      return;
    case 'run':
      draft.run = argument;
      return;
    case 'sync-from':
      draft.syncFrom = argument;
      return;
    case 'sync-exclude-tables': {
      const problem = parseExcludedTables(argument).problem;
      if (problem !== null) fatal(PROGRAM, problem);
      draft.syncExclude = argument;
      return;
    }
    case 'active':
      draft.active = true;
      return;
    case 'no-dbs':
      draft.defaultDatabase = false;
      return;
    case 'disable-file-column-diff':
      draft.columnDiff = false;
      return;
    case 'config-file':
      draft.configFile = within(databaseDirectory(), argument);
      draft.defaultDatabase = false;
      return;
    case 'continue-after-damage':
      draft.continueAfterDamage = true;
      return;
    default:
      if (takeDaemonOption(PROGRAM, draft.daemon, option)) return;
      if (takeTlsOption(draft.tls, option)) return;
      // What is left is about logging, or accepted without effect: recording and replaying, and
      // conversions without data, which only clusters know.
      draft.logging.push(option);
  }
}

function checkTogether(draft: Draft, rest: readonly string[]): void {
  if (draft.configFile === null) return;
  if (draft.syncFrom !== null || draft.syncExclude !== null || draft.active) {
    const others = '--sync-from, --sync-exclude and --active';
    fatal(PROGRAM, `--config-file is mutually exclusive with ${others}`);
  }
  if (draft.remotes.length > 0) {
    fatal(PROGRAM, '--config-file is mutually exclusive with --remote');
  }
  if (rest.length > 0) fatal(PROGRAM, 'Databases should be specified in a config file');
}

function databasesOf(draft: Draft, rest: readonly string[]): readonly string[] {
  if (rest.length > 0 || !draft.defaultDatabase) return rest;
  return [`${databaseDirectory()}/conf.db`];
}
