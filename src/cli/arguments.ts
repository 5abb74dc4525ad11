/** Values of flags: numbers with `_`, cluster ids, choices. What makes no sense is one line. */

import { statSync } from 'node:fs';
import type { Command, Option } from 'commander';
import { ExitCode } from './exit-codes.ts';
import { CliError } from './problem.ts';

/** A parser for integers from `min` to `max`, written plainly or as `200_000`. */
export function integer(flag: string, min: number, max: number): (text: string) => number {
  return (text) => {
    const digits = /^\d+(_\d+)*$/.test(text) ? text.replaceAll('_', '') : '';
    const value = digits === '' ? Number.NaN : Number(digits);
    if (!(value >= min && value <= max)) {
      throw usage(`${flag} must be a number from ${min} to ${max}, not ${shown(text)}`);
    }
    return value;
  };
}

/** `--cluster` of commands that talk to a cluster: a 128-bit number in decimal, 0 by default. */
export function clusterOption(command: Command): Option {
  const option = command.createOption('--cluster <id>', 'cluster id');
  return option.argParser(clusterId('--cluster')).default(0n, '0');
}

/** A parser for 128-bit cluster ids in decimal. */
export function clusterId(flag: string): (text: string) => bigint {
  return (text) => {
    const digits = /^\d+(_\d+)*$/.test(text) ? text.replaceAll('_', '') : '';
    const value = digits === '' || digits.length > 39 ? -1n : BigInt(digits);
    if (value < 0n || value >> 128n !== 0n) {
      throw usage(`${flag} must be a whole number below 2^128, not ${shown(text)}`);
    }
    return value;
  };
}

/** One of a few words. */
export function choice<T extends string>(flag: string, words: readonly T[]): (text: string) => T {
  return (text) => {
    const found = words.find((word) => word === text);
    if (found === undefined) {
      throw usage(`${flag} must be one of ${words.join(', ')}, not ${shown(text)}`);
    }
    return found;
  };
}

/** A parser for the name of a folder, which may not exist yet but is no file. */
export function folder(flag: string): (text: string) => string {
  return (text) => {
    if (!canBeFolder(text)) throw usage(`${flag}: ${shown(text)} is not a folder`);
    return text;
  };
}

function canBeFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    // A part of the path is a file; whatever else is wrong is said by those who go there.
    return !(error instanceof Error && 'code' in error && error.code === 'ENOTDIR');
  }
}

/** What was typed, short enough for one line. */
function shown(text: string): string {
  return `"${text.length > 40 ? `${text.slice(0, 37)}...` : text}"`;
}

/** The error for a command line that makes no sense. */
export function usage(message: string): CliError {
  return new CliError(message, ExitCode.usage);
}
