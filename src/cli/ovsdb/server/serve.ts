/**
 * The life of the process that serves: open what is to be served, answer the control socket until
 * told to end, and leave nothing behind.
 */
import fs from 'node:fs';
import { UnixctlServer } from '../../../host/ovsdb/unixctl/index.ts';
import type { Daemon } from '../daemon/daemon.ts';
import { endOnSignals } from '../daemon/signals.ts';
import { runDirectory } from '../shared/directories.ts';
import { fatal, versionText } from '../shared/program.ts';
import { registerVlogCommands } from '../vlog/commands.ts';
import type { Vlog } from '../vlog/vlog.ts';
import type { Backend } from './backend.ts';
import { loadConfigFile, registerServerCommands } from './commands.ts';
import { type Config, type DatabaseConfig, databaseFromArgument, parseConfig } from './config.ts';
import { defaultOptions } from './db-columns.ts';
import { collectGarbageSoon } from './heap.ts';
import { createBackend } from './host-backend.ts';
import { registerInformationCommands, watchMemory } from './information-commands.ts';
import { PROGRAM, type ServerArguments } from './options.ts';
import { registerReplicationCommands } from './replication-commands.ts';
import { runCommand } from './run-command.ts';
import { Serving } from './serving.ts';

/** How often the database is told how its remotes fare. */
const STATUS_INTERVAL_MS = 2_500;

/** The exit code of the program. */
export async function serve(vlog: Vlog, wanted: ServerArguments, daemon: Daemon): Promise<number> {
  let serving: Serving | null = null;
  const backend = createBackend({
    vlog,
    columnDiff: wanted.columnDiff,
    onChange: () => {
      if (serving?.looksUp === true) void serving.refresh();
    },
    onReplicationEnd: (name) => void serving?.replicationEnded(name, wanted.configFile),
  });
  const unixctl = new UnixctlServer({
    version: versionText(PROGRAM),
    log: (level, text) => vlog.log('unixctl', level, text),
  });
  endOnSignals(vlog, async () => {
    await Promise.all([unixctl.close(), backend.close()]);
  });
  serving = new Serving({
    vlog,
    backend,
    tls: wanted.tls,
    add: { continueAfterDamage: wanted.continueAfterDamage },
    kept: daemon.kept,
  });
  if (!(await configure(vlog, serving, wanted, daemon))) {
    await backend.close();
    fatal(PROGRAM, 'server configuration failed');
  }
  const exited = new Promise<void>((exit) => {
    const { configFile } = wanted;
    const context = { unixctl, vlog, backend, serving, configFile, exit };
    registerServerCommands(context);
    registerReplicationCommands(context);
    registerInformationCommands(unixctl, backend);
    registerVlogCommands(unixctl, vlog);
  });
  await openControlSocket(unixctl, wanted.unixctl);
  const ran = wanted.run === null ? null : runCommand(PROGRAM, wanted.run);
  daemon.ready();
  collectGarbageSoon();
  if (wanted.run === null) vlog.log('ovsdb_server', 'INFO', versionText(PROGRAM).split('\n')[0]);
  const problem = await untilEnd(vlog, backend, serving, exited, ran);
  await Promise.all([unixctl.close(), backend.close()]);
  if (problem !== null) fatal(PROGRAM, problem);
  return 0;
}

/** False: the server cannot be what it should. */
async function configure(
  vlog: Vlog,
  serving: Serving,
  wanted: ServerArguments,
  daemon: Daemon,
): Promise<boolean> {
  if (wanted.configFile !== null) return await loadConfigFile(wanted.configFile, serving, vlog);
  const config = keptConfig(daemon) ?? configOf(vlog, wanted);
  const ok = await serving.reconfigure(config);
  if (ok) serving.save();
  return ok;
}

/** What the process before this one left; `null`: there was none. */
function keptConfig({ kept }: Daemon): Config | null {
  if (kept === null) return null;
  const bytes = Buffer.alloc(fs.fstatSync(kept).size);
  fs.readSync(kept, bytes, 0, bytes.length, 0);
  return bytes.length === 0 ? null : parseConfig(bytes.toString('utf8'), () => {});
}

function configOf(vlog: Vlog, wanted: ServerArguments): Config {
  const { syncFrom, syncExclude, active } = wanted;
  const databases = new Map<string, DatabaseConfig>();
  for (const argument of wanted.databases) {
    const sync = { from: syncFrom, exclude: syncExclude, active };
    const [name, config] = databaseFromArgument(argument, sync);
    if (databases.has(name)) {
      vlog.log('ovsdb_server', 'WARN', `Duplicate database configuration: ${argument}`);
    }
    databases.set(name, config);
  }
  return {
    remotes: new Map(wanted.remotes.map((target) => [target, defaultOptions()])),
    databases,
    syncFrom,
    syncExclude,
    isBackup: syncFrom !== null && !active,
  };
}

async function openControlSocket(unixctl: UnixctlServer, wanted: string | null): Promise<void> {
  if (wanted === 'none') return;
  const path = wanted ?? `${runDirectory()}/${PROGRAM}.${process.pid}.ctl`;
  try {
    await unixctl.listen(path);
  } catch (error) {
    fatal(PROGRAM, `${path}: could not initialize control socket`, error);
  }
}

/** Serves until it is told to end, or until the command that it runs has ended. */
async function untilEnd(
  vlog: Vlog,
  backend: Backend,
  serving: Serving,
  exited: Promise<void>,
  ran: Promise<string | null> | null,
): Promise<string | null> {
  const memory = watchMemory(vlog, backend);
  let updating = false;
  const updateStatus = async (): Promise<void> => {
    if (updating) return;
    updating = true;
    await serving.updateStatus();
    updating = false;
  };
  const status = setInterval(() => void updateStatus(), STATUS_INTERVAL_MS);
  void updateStatus();
  const ends = ran === null ? [exited] : [exited, ran];
  const problem = await Promise.race(ends);
  clearInterval(status);
  clearInterval(memory);
  return problem ?? null;
}
