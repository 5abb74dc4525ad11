/** `roundelay start`: runs the replica of a data file until it is told to end. */
import type { Command } from 'commander';
import { openLog } from './log.ts';
import { addFlagsWithoutEffect, warnOfFlagsWithoutEffect } from './no-effect.ts';
import { explain } from './problem.ts';
import { serve } from './serve.ts';

interface Options {
  addresses: string;
  development?: boolean;
  logDebug?: boolean;
}

export function define(command: Command): void {
  command
    .argument('<file>', 'the data file, made by `roundelay format`')
    .requiredOption(
      '--addresses <list>',
      'all replicas in order, `port`, `ip`, `ip:port` or `[ipv6]:port`; with 0 the system ' +
        'chooses a port, which is printed alone',
    )
    .option('--development', 'refuse a file that was not formatted with --development')
    .option('--log-debug', 'log more');
  addFlagsWithoutEffect(command, 'start');
  command.action((file: string, options: Options) => run(file, options, command));
}

async function run(path: string, options: Options, command: Command): Promise<void> {
  warnOfFlagsWithoutEffect(command, 'start');
  const log = openLog({ level: options.logDebug === true ? 'debug' : 'info' });
  const { parseAddresses, startReplicaServer } = await import('../host/index.ts');
  const { addressText } = await import('../io/index.ts');
  const development = options.development === true ? { development: true } : {};
  try {
    const addresses = parseAddresses(options.addresses);
    await serve(
      () => startReplicaServer({ path, addresses, log, ...development }),
      (server) => {
        const address = addressText(server.address);
        // A script reads the port; for all others the log says it.
        if (addresses.some(({ port }) => port === 0)) console.log(server.address.port);
        const message = `serving ${path} at ${address}`;
        log({ level: 'info', event: 'serving', message, fields: { address } });
      },
    );
  } catch (error) {
    throw explain(error, { command: 'start', file: path, addresses: options.addresses });
  }
}
