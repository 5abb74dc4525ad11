/**
 * Every operating error on one line: what is wrong, and the next command to type. The rooms below
 * throw classes with stable codes; what to do about each is known here, where commands are.
 */
import { dirname } from 'node:path';
import { printable } from '../io/index.ts';
import { ExitCode } from './exit-codes.ts';

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
  /** The data file it was given. */
  readonly file?: string;
  /** `--addresses` as typed. */
  readonly addresses?: string;
}

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
  return adviseFile(code, error, situation) ?? adviseNetwork(code, error, situation);
}

function adviseFile(code: string, error: Error, situation: Situation): Advice | null {
  const file = situation.file ?? 'FILE';
  const format = `roundelay format --cluster=0 --replica=0 --replica-count=1 ${file}`;
  switch (code) {
    case 'ERR_DATA_FILE_MISSING':
      return situation.command === 'format'
        ? { exitCode: ExitCode.fileMissing, next: `make the folder: mkdir -p ${dirname(file)}` }
        : { exitCode: ExitCode.fileMissing, next: `create it: ${format}` };
    case 'ERR_DATA_FILE_EXISTS':
      return {
        exitCode: ExitCode.fileExists,
        next: `start it: roundelay start --addresses=3000 ${file}`,
      };
    case 'ERR_READ_ONLY':
      return {
        exitCode: ExitCode.fileNotWritable,
        next: `look at who may: ls -ld ${dirname(file)} ${file}`,
      };
    case 'ERR_NO_SPACE':
      return { exitCode: ExitCode.diskFull, next: `see what is left: df -h ${dirname(file)}` };
    case 'ERR_DATA_FILE_LOCKED':
      return { exitCode: ExitCode.fileInUse, next: lockedNext(error) };
    case 'ERR_DATA_FILE_CORRUPT':
      return {
        exitCode: ExitCode.fileCorrupt,
        next: `restore it from a copy, or begin anew beside it: ${format}.new`,
      };
    case 'ERR_FORMAT_VERSION':
      return { exitCode: ExitCode.formatVersion, next: 'compare with: roundelay version' };
    case 'ERR_DATA_FILE_MISMATCH':
      return {
        exitCode: ExitCode.fileMismatch,
        next:
          situation.command === 'format'
            ? `make one: ${format}`
            : `start it as it is: roundelay start --addresses=3000 ${file}`,
      };
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
  const { command, file } = situation;
  const addresses = situation.addresses ?? '3000';
  const named = `roundelay ${command} --addresses=${addresses}`;
  switch (code) {
    case 'ERR_ADDRESS_INVALID':
      return { exitCode: ExitCode.usage, next: '' };
    case 'ERR_ADDRESS_IN_USE':
      return {
        exitCode: ExitCode.addressInUse,
        next: `take a free port: ${freePort(command, file)}`,
      };
    case 'ERR_ADDRESS_UNAVAILABLE':
      return {
        exitCode: ExitCode.addressUnavailable,
        next: `take a free port: ${freePort(command, file)}`,
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
        next: 'put it elsewhere: roundelay benchmark --directory=FOLDER',
      };
    case 'ERR_LOAD_FAILED':
      return {
        exitCode: ExitCode.loadFailed,
        next: loadNext(error, addresses),
      };
    default:
      return null;
  }
}

function lockedNext(error: Error): string {
  const pid = 'pid' in error && typeof error.pid === 'number' ? error.pid : null;
  return pid === null ? 'find it: fuser FILE' : `look at it: ps -fp ${pid}`;
}

function freePort(command: string, file: string | undefined): string {
  return command === 'dev' ? 'roundelay dev --port=0' : `roundelay start --addresses=0 ${file}`;
}

function otherCluster(error: Error): string {
  return / is cluster (\d+), not /.exec(error.message)?.[1] ?? 'ID';
}

function loadNext(error: Error, addresses: string): string {
  if (!('status' in error) || typeof error.status !== 'string') return '';
  if (!error.status.startsWith('exists')) return '';
  return `use other ids: roundelay benchmark --addresses=${addresses} --seed=${Date.now() % 1000}`;
}
