/** The commands of ovsdb-server's control socket, but for those about replication. */
import { UnixctlError, type UnixctlServer } from '../../../host/ovsdb/unixctl/index.ts';
import { byText } from '../shared/program.ts';
import type { Vlog } from '../vlog/vlog.ts';
import type { Backend } from './backend.ts';
import { readConfigFile } from './config.ts';
import type { Serving } from './serving.ts';

export interface CommandContext {
  readonly unixctl: UnixctlServer;
  readonly vlog: Vlog;
  readonly backend: Backend;
  readonly serving: Serving;
  readonly configFile: string | null;
  /** Ends the program, after the answer. */
  readonly exit: () => void;
}

const MODULE = 'ovsdb_server';

export function registerServerCommands(context: CommandContext): void {
  const { unixctl, exit } = context;
  unixctl.register('exit', '', 0, 1, () => {
    exit();
    return '';
  });
  registerDatabaseCommands(context);
  registerRemoteCommands(context);
  registerTableLogCommands(context);
  registerSwitches(context);
}

/** What a configuration file decides, commands do not. */
export function checkNoConfigFile({ configFile }: CommandContext): void {
  if (configFile === null) return;
  throw new UnixctlError(`Update the ${configFile} and use ovsdb-server/reload instead`);
}

/** A problem in words is the refusal. */
export function answer(problem: string | null): string {
  if (problem !== null) throw new UnixctlError(problem);
  return '';
}

function registerDatabaseCommands(context: CommandContext): void {
  const { unixctl, backend, serving, vlog } = context;
  unixctl.register('ovsdb-server/add-db', 'DB', 1, 1, async ([path]) => {
    checkNoConfigFile(context);
    return answer(await serving.addDatabase(path));
  });
  unixctl.register('ovsdb-server/remove-db', 'DB', 1, 1, async ([name]) => {
    checkNoConfigFile(context);
    return answer(await serving.removeDatabase(name));
  });
  unixctl.register('ovsdb-server/list-dbs', '', 0, 0, () => {
    const names = backend.databases().map(({ name }) => `${name}\n`);
    return names.sort(byText).join('');
  });
  unixctl.register('ovsdb-server/compact', '', 0, 1, async ([name]) => {
    if (name?.startsWith('_')) throw new UnixctlError('cannot compact built-in databases');
    const chosen = [...serving.served.keys()].filter((one) => name === undefined || one === name);
    if (chosen.length === 0) throw new UnixctlError('no database by that name');
    const problems: string[] = [];
    for (const one of chosen) {
      vlog.log(MODULE, 'INFO', `compacting ${one} database by user request`);
      try {
        await backend.compact(one);
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        problems.push(`${error.message}\n`);
      }
    }
    return answer(problems.length === 0 ? null : problems.join(''));
  });
  unixctl.register('ovsdb-server/get-db-storage-status', 'DB', 1, 1, ([name]) => {
    const found = backend.databases().find((one) => one.name === name);
    if (found === undefined) throw new UnixctlError('Failed to find the database.');
    return `status: ${found.storageProblem ?? 'ok'}`;
  });
}

function registerRemoteCommands(context: CommandContext): void {
  const { unixctl, backend, serving, vlog, configFile } = context;
  unixctl.register('ovsdb-server/reconnect', '', 0, 0, () => {
    backend.reconnect(true, 'user ran ovsdb-server/reconnect');
    return '';
  });
  unixctl.register('ovsdb-server/disable-monitor-cond', '', 0, 0, () => {
    backend.disableMonitorCond();
    backend.reconnect(true, 'user ran ovsdb-server/disable-monitor-cond');
    return '';
  });
  unixctl.register('ovsdb-server/add-remote', 'REMOTE', 1, 1, async ([target]) => {
    checkNoConfigFile(context);
    if (target.startsWith('pfd:')) {
      throw new UnixctlError('pfd: remotes can only be specified on the command line');
    }
    return answer(await serving.addRemote(target));
  });
  unixctl.register('ovsdb-server/remove-remote', 'REMOTE', 1, 1, async ([target]) => {
    checkNoConfigFile(context);
    return answer(await serving.removeRemote(target));
  });
  unixctl.register('ovsdb-server/list-remotes', '', 0, 0, () => {
    const lines = [...serving.remotes.keys()].map((target) => `${target}\n`);
    return lines.sort(byText).join('');
  });
  unixctl.register('ovsdb-server/reload', '', 0, 0, async () => {
    if (configFile === null) {
      throw new UnixctlError('Configuration file was not specified on command line');
    }
    const ok = await loadConfigFile(configFile, serving, vlog);
    return answer(ok ? null : 'Configuration failed.  See the log file for details.');
  });
}

/** Reads the file and makes the server what it says; false: not all of it. */
export async function loadConfigFile(path: string, serving: Serving, vlog: Vlog): Promise<boolean> {
  const config = readConfigFile(
    path,
    (text) => vlog.log(MODULE, 'WARN', text),
    (text) => vlog.log(MODULE, 'ERR', text),
    () => vlog.log(MODULE, 'INFO', `loading configuration from '${path}'`),
  );
  if (config === 'not opened') return false;
  if (config !== null) return await serving.reconfigure(config);
  vlog.log(MODULE, 'WARN', `failed to load configuration from ${path}`);
  return false;
}

/** Which tables' changes are logged. The setting is kept; the lines are the debug log's. */
function registerTableLogCommands({ unixctl, backend }: CommandContext): void {
  const logged = new Set<string>();
  unixctl.register('ovsdb-server/tlog-set', 'DB:TABLE on|off', 2, 2, ([name, word]) => {
    const on = word.toLowerCase() === 'on';
    if (!on && word.toLowerCase() !== 'off') throw new UnixctlError('invalid command argument');
    const [database, table, more] = name.split(':').filter((part) => part !== '');
    if (database === undefined || table === undefined || more !== undefined) {
      throw new UnixctlError('invalid DB:TABLE argument');
    }
    const found = backend.databases().find((one) => one.name === database);
    if (found === undefined) throw new UnixctlError('no such database');
    if (found.database?.tables.has(table) !== true) throw new UnixctlError('no such table');
    if (on) logged.add(`${database}:${table}`);
    else logged.delete(`${database}:${table}`);
    return '';
  });
  unixctl.register('ovsdb-server/tlog-list', '', 0, 0, () => {
    const lines = [
      'database        table                       logging\n',
      '--------        -----                       -------\n',
    ];
    const databases = backend.databases().toSorted((a, b) => (a.name < b.name ? -1 : 1));
    for (const { name, database } of databases) {
      lines.push(`${name.padEnd(16)} \n`);
      for (const table of [...(database?.tables.keys() ?? [])].sort(byText)) {
        const state = logged.has(`${name}:${table}`) ? 'ON' : 'OFF';
        lines.push(`${' '.repeat(16)}${table.padEnd(27)} ${state}\n`);
      }
    }
    return lines.join('');
  });
}

/** Commands about what this implementation does by itself. */
function registerSwitches({ unixctl, vlog }: CommandContext): void {
  let told = false;
  let trims = true;
  unixctl.register('ovsdb-server/memory-trim-on-compaction', 'on|off', 1, 1, ([word]) => {
    if (word !== 'on' && word !== 'off') throw new UnixctlError('invalid argument');
    if (!told || trims !== (word === 'on')) {
      const state = word === 'on' ? 'enabled' : 'disabled';
      vlog.log(MODULE, 'INFO', `memory trimming after compaction ${state}.`);
    }
    told = true;
    trims = word === 'on';
    return '';
  });
}
