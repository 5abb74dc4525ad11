/** Files that a command writes its findings to: looked at before the work, written after it. */
import { accessSync, constants, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemCode } from '../../io/index.ts';
import { usage } from '../arguments.ts';
import { ExitCode } from '../exit-codes.ts';
import { CliError } from '../problem.ts';

/** A usage error for a file that could not be written anyway; `undefined` is none at all. */
export function requireWritable(flag: string, path: string | undefined): void {
  if (path === undefined) return;
  let isFolder = false;
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    isFolder = found?.isDirectory() === true;
    accessSync(found === undefined ? `${dirname(path)}/.` : path, constants.W_OK);
  } catch (error) {
    throw usage(`${flag}: ${path} cannot be written: ${reason(error)}`);
  }
  if (isFolder) throw usage(`${flag}: ${path} is a folder`);
}

/** @throws CliError when it fails although {@link requireWritable} had nothing against it. */
export function writeOutput(flag: string, path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch (error) {
    const code = systemCode(error) === 'ENOSPC' ? ExitCode.diskFull : ExitCode.fileNotWritable;
    throw new CliError(`${flag}: ${path} was not written: ${reason(error)}`, code);
  }
}

function reason(error: unknown): string {
  switch (systemCode(error)) {
    case 'ENOENT':
      return 'its folder does not exist';
    case 'ENOTDIR':
      return 'its folder is a file';
    case 'EACCES':
    case 'EPERM':
      return 'no permission';
    case 'EROFS':
      return 'the file system is read-only';
    case 'ENOSPC':
      return 'the disk is full';
    default:
      return error instanceof Error ? error.message : String(error);
  }
}
