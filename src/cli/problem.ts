/**
 * Every operating error on one line: what is wrong, and the next command to type. The rooms below
 * throw classes with stable codes; what to do about each is known here, where commands are.
 */
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { printable, systemCode } from '../io/index.ts';
import { ExitCode } from './exit-codes.ts';
import { exampleAddresses } from './replicas.ts';

/** An error that is ready to be shown: no stack, its own exit code. */
export class CliError extends Error {
  override readonly name: string = 'CliError';
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode) {
    super(printable(message));
    this.exitCode = exitCode;
  }
}

/** What a command was doing, for the advice. */
export interface Situation {
  /** `start`, `format` … */
  readonly command: string;
  /** The data file it was given; the folder of `dev` and `benchmark`. */
  readonly file?: string;
  /** `--cluster`, where it may be needed again. */
  readonly cluster?: bigint;
  /** What `dev` needs to be typed again; the port is left out where it is the trouble. */
  readonly dev?: { readonly flags: string; readonly samePort: string };
  /** `--addresses` as typed. */
  readonly addresses?: string;
  /** A recording, to be made or replayed. */
  readonly record?: string;
}

/** What helps one of two replicas, which cannot recover. */
const LAST_COPY_ONLY =
  'only a copy made after this replica had stopped for the last time may be put back, an older ' +
  'one has forgotten what was acknowledged; what recovering takes';

interface Advice {
  readonly exitCode: ExitCode;
  /** Ends the line: what to do, a colon, a command. */
  readonly next: string;
}

/** Turns an error of ours into one that can be shown; anything else is a bug and stays as it is. */
export function explain(error: unknown, situation: Situation): unknown {
  if (error instanceof CliError || !(error instanceof Error) || !('code' in error)) return error;
  const advice = typeof error.code === 'string' ? advise(error.code, error, situation) : null;
  if (advice === null) return error;
  const next = advice.next === '' ? '' : `; ${advice.next}`;
  return new CliError(`${error.message}${next}`, advice.exitCode);
}

function advise(code: string, error: Error, situation: Situation): Advice | null {
  return (
    adviseFile(code, error, situation) ??
    adviseRecording(code, situation) ??
    adviseNetwork(code, error, situation)
  );
}

function adviseRecording(code: string, { record = 'FILE' }: Situation): Advice | null {
  switch (code) {
    case 'ERR_RECORDING_EXISTS':
      return { exitCode: ExitCode.fileExists, next: `replay it: roundelay replay ${record}` };
    case 'ERR_RECORDING_NOT_WRITABLE':
      return {
        exitCode: ExitCode.fileNotWritable,
        next: `look at who may: ls -ld ${placeOf(record)}`,
      };
    case 'ERR_RECORDING_UNREADABLE':
      return { exitCode: ExitCode.fileCorrupt, next: `look at it: ls -l ${record}` };
    case 'ERR_RECORDING_RELEASE':
      return { exitCode: ExitCode.formatVersion, next: 'compare with: roundelay version' };
    case 'ERR_RECORDING_MACHINE':
      return {
        exitCode: ExitCode.fileMismatch,
        next: 'replay it in a program that has the machine: replayRecording({ path, machine })',
      };
    default:
      return null;
  }
}

function adviseFile(code: string, error: Error, situation: Situation): Advice | null {
  const file = situation.file ?? 'FILE';
  const format = `roundelay format --cluster=0 --replica=0 --replica-count=1 ${file}`;
  switch (code) {
    case 'ERR_DATA_FILE_MISSING':
      return { exitCode: ExitCode.fileMissing, next: missingNext(situation, format) };
    case 'ERR_DATA_FILE_EXISTS': {
      const own = situation.addresses ?? '3000';
      return {
        exitCode: ExitCode.fileExists,
        next: `start it: roundelay start --addresses=${own} ${file}`,
      };
    }
    case 'ERR_READ_ONLY':
      return {
        exitCode: ExitCode.fileNotWritable,
        next: readOnlyNext(error, file),
      };
    case 'ERR_NO_SPACE':
      return { exitCode: ExitCode.diskFull, next: `see what is left: df -h ${placeOf(file)}` };
    case 'ERR_DATA_FILE_LOCKED':
      return { exitCode: ExitCode.fileInUse, next: lockedNext(error) };
    case 'ERR_DATA_FILE_CORRUPT':
      return {
        exitCode: ExitCode.fileCorrupt,
        next: corruptNext(situation, file),
      };
    case 'ERR_FORMAT_VERSION':
      return { exitCode: ExitCode.formatVersion, next: 'compare with: roundelay version' };
    case 'ERR_DATA_FILE_MISMATCH':
      return {
        exitCode: ExitCode.fileMismatch,
        next:
          situation.command === 'format'
            ? `make one: ${format}`
            : `start it as it is: ${startAsItIs(error, situation, file)}`,
      };
    case 'ERR_NODE_VERSION':
      return { exitCode: ExitCode.nodeTooOld, next: 'see what runs: roundelay version --verbose' };
    case 'ERR_NO_MEMORY':
      return { exitCode: ExitCode.outOfMemory, next: 'see what there is: free -m' };
    case 'ERR_STORAGE_FAILED':
      return { exitCode: ExitCode.storageFailed, next: 'ask the kernel: dmesg | tail' };
    case 'ERR_DIVERGED':
      return { exitCode: ExitCode.diverged, next: 'keep the data file and report this' };
    default:
      return null;
  }
}

function adviseNetwork(code: string, error: Error, situation: Situation): Advice | null {
  const { command } = situation;
  const addresses = situation.addresses ?? '3000';
  const named = `roundelay ${command} --addresses=${addresses}`;
  switch (code) {
    case 'ERR_ADDRESS_INVALID':
      return { exitCode: ExitCode.usage, next: '' };
    case 'ERR_ADDRESS_IN_USE':
      return {
        exitCode: ExitCode.addressInUse,
        next: `take a free port: ${freePort(situation)}`,
      };
    case 'ERR_ADDRESS_UNAVAILABLE':
      return {
        exitCode: ExitCode.addressUnavailable,
        next: `take a free port: ${freePort(situation)}`,
      };
    case 'ERR_CONNECT_REFUSED':
      return { exitCode: ExitCode.nobodyListens, next: 'start a ledger: roundelay dev' };
    case 'ERR_CONNECT_CLUSTER':
      return {
        exitCode: ExitCode.wrongCluster,
        next: `name it: ${named} --cluster=${otherCluster(error)}`,
      };
    case 'ERR_PROTOCOL':
    case 'ERR_CONNECT_TIMEOUT':
    case 'ERR_REQUEST_TIMEOUT':
      return {
        exitCode: ExitCode.noAnswer,
        next: `see who is there: roundelay status --addresses=${addresses}`,
      };
    case 'ERR_CLIENT_EVICTED':
    case 'ERR_CLIENT_RELEASE_TOO_LOW':
    case 'ERR_CLIENT_RELEASE_TOO_HIGH':
      return {
        exitCode: ExitCode.evicted,
        next: `see who is there: roundelay status --addresses=${addresses}`,
      };
    case 'ERR_TEMPORARY_CLUSTER':
      return {
        exitCode: ExitCode.clusterFailed,
        next: `put it elsewhere: roundelay ${command} --directory=FOLDER`,
      };
    case 'ERR_RECOVER_REFUSED':
      return {
        exitCode: ExitCode.recoverRefused,
        next: `see who is there: roundelay status --addresses=${addresses}`,
      };
    case 'ERR_LOAD_FAILED':
      return {
        exitCode: ExitCode.loadFailed,
        next: loadNext(error, named, situation.cluster),
      };
    default:
      return null;
  }
}

function readOnlyNext(error: Error, file: string): string {
  if (systemCode(error.cause) === 'EROFS') {
    return `the file system is read-only, see how it is mounted: findmnt -T ${placeOf(file)}`;
  }
  return `look at who may: ls -ld ${dirname(file)} ${file}`;
}

/** A folder that exists: the one that was named, or the nearest above the file. */
function placeOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return file;
  const parent = dirname(file);
  return parent === file ? file : placeOf(parent);
}

function missingNext(situation: Situation, format: string): string {
  const { command, addresses = '' } = situation;
  const file = situation.file ?? 'FILE';
  if (/^(benchmark|dev|experiment)/.test(command)) return `make it: mkdir -p ${file}`;
  if (command === 'format') return `make the folder: mkdir -p ${dirname(file)}`;
  const count = addresses.split(',').length;
  if (count === 1) return `create it: ${format}`;
  return (
    'create it, if the cluster is new (a lost file is made again by `roundelay recover`): ' +
    `roundelay format --cluster=<id> --replica=<index> --replica-count=${count} ${file}`
  );
}

function corruptNext(situation: Situation, file: string): string {
  const { command, addresses = '' } = situation;
  const restore = 'restore it from its newest copy, or begin anew beside it';
  if (command === 'dev') return `${restore}: roundelay dev --directory=${file}.new`;
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return `name a data file: ls ${file}`;
  // Beside a device is no place for data.
  if (found?.isFile() === false) return `name a data file, or create one: ${formatIn('.')}`;
  const replicaCount = addresses.split(',').length;
  if (replicaCount > 1) return damagedNext(file, replicaCount, addresses);
  const format = 'roundelay format --cluster=<id> --replica=0 --replica-count=1';
  return `${restore}: ${format} ${file}.new`;
}

/** A replica that has forgotten what it acknowledged takes it from the others, too. */
function damagedNext(file: string, replicaCount: number, addresses: string): string {
  if (replicaCount === 2) return `${LAST_COPY_ONLY}: roundelay recover --help`;
  return (
    'never put back an old copy, which has forgotten what this replica acknowledged; while the ' +
    `others run: mv ${file} ${file}.damaged && roundelay recover --cluster=<id> ` +
    `--replica=<index> --replica-count=${replicaCount} --addresses=${addresses} ${file}`
  );
}

function formatIn(folder: string): string {
  return `roundelay format --cluster=0 --replica=0 --replica-count=1 ${folder}/0_0.roundelay`;
}

function startAsItIs(error: Error, situation: Situation, file: string): string {
  const path = 'path' in error && typeof error.path === 'string' ? error.path : file;
  const { dev } = situation;
  // The folder is enough, unless its file is of another cluster.
  if (dev !== undefined && error.message.includes('--development')) {
    return `roundelay dev${dev.flags}${dev.samePort}`;
  }
  const count = Number(/ formatted for (\d) replica/.exec(error.message)?.[1] ?? 1);
  return `roundelay start --addresses=${exampleAddresses(count)} ${path}`;
}

function lockedNext(error: Error): string {
  const pid = 'pid' in error && typeof error.pid === 'number' ? error.pid : null;
  return pid === null ? 'find it: fuser FILE' : `look at it: ps -fp ${pid}`;
}

function freePort({ command, file, dev, addresses = '' }: Situation): string {
  if (command === 'dev') return `roundelay dev --port=0${dev?.flags ?? ''}`;
  const replicas = addresses.split(',').length;
  if (replicas > 1) return `roundelay start --addresses=<the same ${replicas} for all> ${file}`;
  return `roundelay start --addresses=0 ${file}`;
}

/** The cluster that the server says it is; not every server tells. */
function otherCluster(error: Error): string {
  return / is cluster (\d+), not /.exec(error.message)?.[1] ?? '<id>';
}

function loadNext(error: Error, named: string, cluster: bigint = 0n): string {
  const again = cluster === 0n ? named : `${named} --cluster=${cluster}`;
  if ('batchSizeMax' in error && typeof error.batchSizeMax === 'number') {
    return `send what fits: ${again} --transfer-batch-size=${error.batchSizeMax}`;
  }
  if (!('status' in error) || typeof error.status !== 'string') return '';
  if (!error.status.startsWith('exists')) return '';
  return `use other ids: ${again} --seed=${Date.now() % 1000}`;
}
