/** The commands about active-backup replication and relays. */
import { UnixctlError } from '../../../host/ovsdb/unixctl/index.ts';
import { type CommandContext, checkNoConfigFile } from './commands.ts';
import { sourceOf } from './config.ts';
import { parseExcludedTables } from './excluded-tables.ts';

export function registerReplicationCommands(context: CommandContext): void {
  const { unixctl, serving } = context;
  unixctl.register('ovsdb-server/set-active-ovsdb-server', '', 1, 1, async ([target]) => {
    checkNoConfigFile(context);
    serving.syncFrom = target;
    await serving.changeReplicas((config) => ({
      ...config,
      source: sourceOf(target, 'active-backup', serving.replicationProbeMs),
    }));
    return '';
  });
  unixctl.register('ovsdb-server/get-active-ovsdb-server', '', 0, 0, () => serving.syncFrom ?? '');
  unixctl.register('ovsdb-server/connect-active-ovsdb-server', '', 0, 0, async () => {
    checkNoConfigFile(context);
    if (serving.syncFrom === null) {
      return 'Unable to connect: active server is not specified.\n';
    }
    await serving.connectToActive(serving.syncFrom);
    return '';
  });
  unixctl.register('ovsdb-server/disconnect-active-ovsdb-server', '', 0, 0, async () => {
    checkNoConfigFile(context);
    serving.isBackup = false;
    await serving.changeReplicas((config) => ({ ...config, backup: false }));
    return '';
  });
  registerSettings(context);
  unixctl.register('ovsdb-server/sync-status', '', 0, 0, () => serving.syncStatus());
}

function registerSettings(context: CommandContext): void {
  const { unixctl, serving } = context;
  const probe = 'ovsdb-server/set-active-ovsdb-server-probe-interval';
  unixctl.register(probe, '', 1, 1, async ([text]) => {
    checkNoConfigFile(context);
    serving.replicationProbeMs = parseInterval(text);
    await serving.changeReplicas((config) =>
      config.source === null
        ? config
        : {
            ...config,
            source: sourceOf(config.source.target, 'active-backup', serving.replicationProbeMs),
          },
    );
    return '';
  });
  unixctl.register('ovsdb-server/set-relay-source-probe-interval', '', 1, 1, async ([text]) => {
    checkNoConfigFile(context);
    await serving.setRelayProbe(parseInterval(text));
    return '';
  });
  unixctl.register('ovsdb-server/set-sync-exclude-tables', '', 0, 1, async ([tables = '']) => {
    checkNoConfigFile(context);
    const { problem } = parseExcludedTables(tables);
    if (problem !== null) return problem;
    serving.syncExclude = tables;
    await serving.changeReplicas((config) => ({ ...config, syncExclude: tables }));
    return '';
  });
  unixctl.register(
    'ovsdb-server/get-sync-exclude-tables',
    '',
    0,
    0,
    () => serving.syncExclude ?? '',
  );
}

/** Whole milliseconds. */
function parseInterval(text: string): number {
  const value = Number(text);
  if (/^\s*[-+]?\d+$/.test(text) && Math.abs(value) <= 0x7fff_ffff) return value;
  throw new UnixctlError('Invalid probe interval, integer value expected');
}
