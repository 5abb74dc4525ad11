/** `roundelay dev`: a ledger that is ready, for whoever has just come. */
import { relative } from 'node:path';
import type { Command } from 'commander';
import type { StartedLedger } from '../host/index.ts';
import { folder, integer } from './arguments.ts';
import { openLog } from './log.ts';
import { explain } from './problem.ts';
import { serve } from './serve.ts';

const PORT_DEFAULT = 3000;
const DIRECTORY_DEFAULT = './data';

interface Options {
  port: number;
  directory: string;
  development?: boolean;
}

export function define(command: Command): void {
  command
    .option(
      '--port <port>',
      'where to listen; 0 lets the system choose',
      integer('--port', 0, 65_535),
      PORT_DEFAULT,
    )
    .option(
      '--directory <folder>',
      'where the data is, or will be',
      folder('--directory'),
      DIRECTORY_DEFAULT,
    )
    .option('--development', 'make a small file that takes small requests (32 KiB)')
    .action((options: Options) => run(options));
}

async function run(options: Options): Promise<void> {
  const { port, directory } = options;
  const { startLedger } = await import('../host/index.ts');
  const development = options.development === true ? { development: true } : {};
  const log = openLog({ level: 'warn' });
  try {
    await serve(() => startLedger({ directory, port, log, ...development }), announce);
  } catch (error) {
    const flags = directory === DIRECTORY_DEFAULT ? '' : ` --directory=${directory}`;
    const samePort = port === PORT_DEFAULT ? '' : ` --port=${port}`;
    throw explain(error, { command: 'dev', file: directory, dev: { flags, samePort } });
  }
}

function announce(ledger: StartedLedger): void {
  const folder = ledger.path === null ? 'memory' : relative(process.cwd(), ledger.path);
  console.log(`ledger ready at ${ledger.address} (data in ${folder}, Ctrl-C ends it)`);
  console.log('');
  console.log("  import { createClient } from 'tigerbeetle-node';");
  console.log(
    `  const client = createClient({ cluster_id: 0n, replica_addresses: ['${ledger.address}'] });`,
  );
  console.log('');
}
