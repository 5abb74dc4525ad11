/** `roundelay start`: runs the replica of a data file until it is told to end. */
import type { Command } from 'commander';
import type { TopologyName } from '../vsr/index.ts';
import { choice, integer, usage } from './arguments.ts';
import { openLog } from './log.ts';
import { explain } from './problem.ts';
import { addFlagsWithoutEffect, warnOfFlagsWithoutEffect } from './shared/no-effect.ts';
import { serve } from './shared/serve.ts';
import { tuneEngine } from './shared/tune-engine.ts';

interface Options {
  addresses: string;
  topology?: TopologyName;
  development?: boolean;
  record?: string;
  recordSizeMax?: number;
  logDebug?: boolean;
  /** For `dev`, which shows the lines of its replicas. */
  logWarn?: boolean;
  logText?: boolean;
}

/** The engine's list, which is not loaded only to say it. */
export const topologies: readonly TopologyName[] = [
  'ring',
  'alternating-ring',
  'star',
  'adaptive-route',
  'alternating-chord',
  'star-ring',
  'star-chord',
];

export function define(command: Command): void {
  command
    .argument('<file>', 'the data file, made by `roundelay format`')
    .requiredOption(
      '--addresses <list>',
      'all replicas in order, `port`, `ip`, `ip:port` or `[ipv6]:port`; with 0 the system ' +
        'chooses a port, which is printed alone',
    )
    .option(
      '--topology <name>',
      `how operations travel between replicas, the same on all: ${topologies.join(', ')}`,
      choice('--topology', topologies),
    )
    .option('--development', 'refuse a file that was not formatted with --development')
    .option(
      '--record <file>',
      'write everything that the engine is told to a new file, for `roundelay replay`; it holds ' +
        'all that clients send',
    )
    .option(
      '--record-size-max <bytes>',
      'more is not recorded (default: 1 GiB)',
      integer('--record-size-max', 65_536, Number.MAX_SAFE_INTEGER),
    )
    .option('--log-debug', 'log more')
    .addOption(command.createOption('--log-warn').hideHelp())
    .addOption(command.createOption('--log-text').hideHelp());
  addFlagsWithoutEffect(command, 'start');
  command.action((file: string, options: Options) => run(file, options, command));
}

async function run(path: string, options: Options, command: Command): Promise<void> {
  const { record, recordSizeMax } = options;
  if (recordSizeMax !== undefined && record === undefined) {
    throw usage('--record-size-max needs --record');
  }
  warnOfFlagsWithoutEffect(command, 'start');
  tuneEngine();
  const level = options.logWarn === true ? 'warn' : 'info';
  const log = openLog({
    level: options.logDebug === true ? 'debug' : level,
    ...(options.logText === true ? { json: false } : {}),
  });
  const { parseAddresses, startReplicaServer } = await import('../host/index.ts');
  const { addressText } = await import('../io/index.ts');
  const development = options.development === true ? { development: true } : {};
  const topology = options.topology === undefined ? {} : { topology: options.topology };
  const recording = {
    ...(record === undefined ? {} : { record }),
    ...(recordSizeMax === undefined ? {} : { recordSizeMax }),
  };
  const more = { ...development, ...topology, ...recording };
  try {
    const addresses = parseAddresses(options.addresses);
    await serve(
      () => startReplicaServer({ path, addresses, log, warmUp: true, ...more }),
      (server) => {
        const address = addressText(server.address);
        // A script reads the port; for all others the log says it.
        if (addresses.some(({ port }) => port === 0)) console.log(server.address.port);
        const { replica, replicaCount } = server.status();
        const which = replicaCount === 1 ? '' : `replica ${replica} of ${replicaCount}, `;
        const message = `serving ${which}${path} at ${address}`;
        log({ level: 'info', event: 'serving', message, fields: { address } });
      },
    );
  } catch (error) {
    const situation = { command: 'start', file: path, addresses: options.addresses };
    throw explain(error, { ...situation, ...(record === undefined ? {} : { record }) });
  }
}
