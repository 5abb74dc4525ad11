/** `roundelay format`: makes a data file; what is fixed for its life is decided here. */
import { randomFillSync } from 'node:crypto';
import type { Command } from 'commander';
import { clusterId, integer, usage } from './arguments.ts';
import { explain } from './problem.ts';
import { exampleAddresses, REPLICAS_MAX } from './replicas.ts';
import { asCalled } from './shared/called.ts';

interface Options {
  cluster?: bigint;
  replica: number;
  replicaCount: number;
  development?: boolean;
}

export function define(command: Command): void {
  command
    .argument('<file>', 'the data file to create; an existing one is never overwritten')
    .addOption(
      command
        .createOption(
          '--cluster <id>',
          'cluster id, the same for all replicas and clients (default: random)',
        )
        .argParser(clusterId('--cluster')),
    )
    .requiredOption(
      '--replica <index>',
      'which replica this is, from 0',
      integer('--replica', 0, REPLICAS_MAX - 1),
    )
    .requiredOption(
      '--replica-count <count>',
      'how many there are, 1 to 6',
      integer('--replica-count', 1, REPLICAS_MAX),
    )
    .option('--development', 'a small file and small requests (32 KiB), for laptops and tests')
    .action((file: string, options: Options) => run(file, options));
}

async function run(path: string, options: Options): Promise<void> {
  const { replica, replicaCount } = options;
  if (replica >= replicaCount) {
    throw usage(`--replica=${replica} is not below --replica-count=${replicaCount}`);
  }
  const cluster = options.cluster ?? randomCluster();
  const development = options.development ?? false;
  const { formatLedger } = await import('../host/index.ts');
  try {
    const made = await formatLedger({ path, cluster, replica, replicaCount, development });
    const mebibytes = (made.sizeBytes / 1_048_576).toFixed(1);
    console.log(`formatted ${path}: cluster ${cluster}, replica ${replica}, ${mebibytes} MiB`);
    const start = `roundelay start --addresses=${exampleAddresses(replicaCount)} ${path}`;
    console.log(asCalled(`start it: ${start}`));
  } catch (error) {
    throw explain(error, { command: 'format', file: path });
  }
}

function randomCluster(): bigint {
  const [low = 0n, high = 0n] = randomFillSync(new BigUint64Array(2));
  return (high << 64n) | low;
}
