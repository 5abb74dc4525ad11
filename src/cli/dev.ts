/**
 * `roundelay dev`: a ledger that is ready, for whoever has just come. Three replicas, each a
 * process of its own, so that one can be killed to see what happens; or a single one in this
 * process, when that is asked for or found.
 */
import { relative, resolve } from 'node:path';
import type { Command } from 'commander';
import type { StartedLedger } from '../host/index.ts';
import type { DevCluster, ProcessEnd } from '../lab/index.ts';
import { folder, integer } from './arguments.ts';
import { ExitCode } from './exit-codes.ts';
import { openLog } from './log.ts';
import { CliError, explain } from './problem.ts';
import { PORT_DEFAULT, REPLICAS_MAX } from './replicas.ts';
import { asCalled } from './shared/called.ts';
import { serve } from './shared/serve.ts';

const DIRECTORY_DEFAULT = './data';
const REPLICAS_DEFAULT = 3;
const PORT_MAX = 65_535;

interface Options {
  port: number;
  directory: string;
  replicaCount?: number;
  development?: boolean;
  verbose?: boolean;
}

export function define(command: Command): void {
  command
    .option(
      '--port <port>',
      'where the first replica listens, the others follow; 0 lets the system choose',
      integer('--port', 0, PORT_MAX),
      PORT_DEFAULT,
    )
    .option(
      '--directory <folder>',
      'where the data is, or will be',
      folder('--directory'),
      DIRECTORY_DEFAULT,
    )
    .option(
      '--replica-count <count>',
      `how many replicas (default: as many as the folder has files, ${REPLICAS_DEFAULT} if none)`,
      integer('--replica-count', 1, REPLICAS_MAX),
    )
    .option('--development', 'make small files that take small requests (32 KiB)')
    .option('--verbose', 'show what the replicas do, not only what troubles them')
    .action((options: Options) => run(options));
}

async function run(options: Options): Promise<void> {
  const { port, directory } = options;
  const { devReplicaCount } = await import('../lab/dev-cluster.ts');
  try {
    const found = await devReplicaCount(resolve(directory));
    const replicaCount = options.replicaCount ?? found ?? REPLICAS_DEFAULT;
    if (replicaCount === 1) await runAlone(options);
    else await runCluster(options, replicaCount);
  } catch (error) {
    const flags = directory === DIRECTORY_DEFAULT ? '' : ` --directory=${directory}`;
    const samePort = port === PORT_DEFAULT ? '' : ` --port=${port}`;
    throw explain(await explainReplica(error, options), {
      command: 'dev',
      file: directory,
      dev: { flags, samePort },
    });
  }
}

async function runAlone(options: Options): Promise<void> {
  const { port, directory } = options;
  const { startLedger } = await import('../host/index.ts');
  const { makeFolders } = await import('../lab/dev-cluster.ts');
  const { fromSystemError } = await import('../io/index.ts');
  try {
    makeFolders(resolve(directory));
  } catch (error) {
    throw fromSystemError(error, resolve(directory));
  }
  const development = options.development === true ? { development: true } : {};
  const log = openLog({ level: options.verbose === true ? 'info' : 'warn' });
  await serve(
    () => startLedger({ directory, port, log, ...development }),
    (ledger: StartedLedger) => {
      const where = ledger.path === null ? 'memory' : relative(process.cwd(), ledger.path);
      announce([ledger.address], `data in ${where}`);
    },
  );
}

async function runCluster(options: Options, replicaCount: number): Promise<void> {
  const { DevCluster, ReplicaEndedError } = await import('../lab/dev-cluster.ts');
  const { freePorts } = await import('../lab/free-ports.ts');
  const { ownLauncher } = await import('../lab/temporary-cluster.ts');
  const first = options.port;
  if (first + replicaCount - 1 > PORT_MAX) {
    const text = `--port=${first} leaves no room for ${replicaCount} replicas`;
    throw new CliError(text, ExitCode.usage);
  }
  const replicas = Array.from({ length: replicaCount }, (_, replica) => replica);
  const ports =
    first === 0 ? await freePorts(replicaCount) : replicas.map((replica) => first + replica);
  const levels = options.verbose === true ? [] : ['--log-warn'];
  const directory = resolve(options.directory);
  const lines = new HeldLines();
  await serve(
    () =>
      DevCluster.start({
        directory,
        ports,
        development: options.development === true,
        launcher: ownLauncher(),
        flags: ['--log-text', ...levels],
        onLine: (replica, line) => lines.add(`[${replica}] ${line}\n`),
        onDeath: (replica, end) => tellDeath(replica, end, directory, ports),
      }).catch((error: unknown) => {
        // What it says is the error; the rest is what its end did to the others.
        const isTold = error instanceof ReplicaEndedError && error.end.error !== '';
        if (!isTold) lines.release();
        throw error;
      }),
    (cluster: DevCluster) => {
      lines.release();
      const where = relative(process.cwd(), directory);
      announce(cluster.addresses.split(','), `${replicaCount} replicas, data in ${where}`);
    },
  );
}

/** Lines of replicas, not shown until it is known whether they start. */
class HeldLines {
  #held: string[] | null = [];

  add(line: string): void {
    if (this.#held === null) process.stderr.write(line);
    else this.#held.push(line);
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const line of held) process.stderr.write(line);
  }
}

function tellDeath(
  replica: number,
  { signal, code }: ProcessEnd,
  directory: string,
  ports: readonly number[],
): void {
  const file = relative(process.cwd(), `${directory}/0_${replica}.roundelay`);
  const again = asCalled(`roundelay start --addresses=${ports.join(',')} ${file}`);
  process.stderr.write(`[${replica}] ended with ${signal ?? code}; start it again: ${again}\n`);
}

/** The error of a replica that ended is its own last line, with its exit code. */
async function explainReplica(error: unknown, options: Options): Promise<unknown> {
  const { ReplicaEndedError } = await import('../lab/dev-cluster.ts');
  const lost = await explainFile(error, options);
  if (lost !== null || !(error instanceof ReplicaEndedError)) return lost ?? error;
  const { end } = error;
  const known = Object.values(ExitCode).find((code) => code === end.code);
  const isAddress = known === ExitCode.addressInUse || known === ExitCode.addressUnavailable;
  // Its advice is for `start`.
  const text = isAddress
    ? `${problemOf(error)}; take free ports: roundelay dev --port=0`
    : error.message;
  return new CliError(text, known ?? ExitCode.clusterFailed);
}

/** A file of the cluster that is lost or damaged, as found here or by its replica; or `null`. */
async function explainFile(error: unknown, options: Options): Promise<CliError | null> {
  const { ReplicaEndedError, surveyDevFiles } = await import('../lab/dev-cluster.ts');
  const { DataFileCorruptError, DataFileMissingError } = await import('../io/index.ts');
  const isLost = error instanceof DataFileMissingError;
  let replica: number | null = null;
  if (isLost || error instanceof DataFileCorruptError) replica = replicaOf(error.path);
  else if (!(error instanceof ReplicaEndedError)) return null;
  else if (error.end.code === ExitCode.fileCorrupt) replica = error.replica;
  if (replica === null) return null;
  const { lostFileNext } = await import('./shared/dev-file.ts');
  const directory = resolve(options.directory);
  const port = options.port === 0 ? PORT_DEFAULT : options.port;
  const lost = { replica, isDamaged: !isLost, directory, folder: options.directory, port };
  const next = lostFileNext(lost, await surveyDevFiles(directory));
  if (next === null) return null;
  const code = isLost ? ExitCode.fileMissing : ExitCode.fileCorrupt;
  return new CliError(`${problemOf(error)}; ${next}`, code);
}

/** `null`: it is not the name of a replica's file. */
function replicaOf(path: string): number | null {
  const digit = /0_(\d)\.roundelay$/.exec(path)?.[1];
  return digit === undefined ? null : Number(digit);
}

/** The line of an error without what it advises. */
function problemOf(error: Error): string {
  return error.message.split('; ')[0] ?? '';
}

function announce(addresses: readonly string[], about: string): void {
  const quoted = addresses.map((address) => `'${address}'`).join(', ');
  console.log(`ledger ready at ${addresses.join(', ')} (${about}, Ctrl-C ends it)`);
  console.log('');
  console.log("  import { createClient } from 'tigerbeetle-node';");
  console.log(`  const client = createClient({ cluster_id: 0n, replica_addresses: [${quoted}] });`);
  console.log('');
}
