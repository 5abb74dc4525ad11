/** `roundelay recover`: makes a lost data file again, with the consent of the others. */
import type { Command } from 'commander';
import { clusterId, integer, usage } from './arguments.ts';
import { explain } from './problem.ts';
import { REPLICAS_MAX } from './replicas.ts';
import { asCalled } from './shared/called.ts';

interface Options {
  cluster: bigint;
  replica: number;
  replicaCount: number;
  addresses: string;
  timeoutMs: number;
}

export function define(command: Command): void {
  command
    .description(
      'Create the data file of a replica again whose file was lost. The other replicas must be ' +
        'running: they commit a few empty operations first, so that nothing which the lost file ' +
        'had acknowledged can be forgotten. Never use `format` for that.',
    )
    .argument('<file>', 'the data file to create; an existing one is never overwritten')
    .addOption(
      command
        .createOption('--cluster <id>', 'cluster id, as it was given to `format`')
        .argParser(clusterId('--cluster'))
        .makeOptionMandatory(),
    )
    .requiredOption(
      '--replica <index>',
      'which replica has lost its file, from 0',
      integer('--replica', 0, REPLICAS_MAX - 1),
    )
    .requiredOption(
      '--replica-count <count>',
      'how many replicas the cluster has',
      integer('--replica-count', 1, REPLICAS_MAX),
    )
    .requiredOption('--addresses <list>', 'all replicas in order, the lost one included')
    .option(
      '--timeout-ms <ms>',
      'how long the others may take for each operation',
      integer('--timeout-ms', 100, 3_600_000),
      10_000,
    )
    .option('--development', 'accepted for symmetry: the others say how large requests may be')
    .action((file: string, options: Options) => run(file, options));
}

async function run(path: string, options: Options): Promise<void> {
  const { replica, replicaCount, cluster, timeoutMs } = options;
  if (replica >= replicaCount) {
    throw usage(`--replica=${replica} is not below --replica-count=${replicaCount}`);
  }
  const { parseAddresses } = await import('../io/index.ts');
  const { recoverReplica } = await import('../lab/index.ts');
  try {
    const addresses = parseAddresses(options.addresses);
    if (addresses.length !== replicaCount) {
      const count = addresses.length;
      throw usage(`--addresses names ${count}, --replica-count=${replicaCount} are wanted`);
    }
    const made = await recoverReplica({ path, cluster, replica, addresses, timeoutMs });
    const mebibytes = (made.sizeBytes / 1_048_576).toFixed(1);
    console.log(
      `recovered ${path}: cluster ${cluster}, replica ${replica}, view ${made.view}, ${mebibytes} MiB`,
    );
    console.log(asCalled(`start it: roundelay start --addresses=${options.addresses} ${path}`));
  } catch (error) {
    const { addresses } = options;
    throw explain(error, { command: 'recover', file: path, addresses, cluster });
  }
}
