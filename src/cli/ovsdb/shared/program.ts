/**
 * What every program here does alike: say what is wrong in the original's form, end with its exit
 * codes, write without delay, and name its version.
 */
import fs from 'node:fs';
import { glibcErrorText } from '../../../io/append-file/error-text.ts';

/** The release whose arguments, texts and files ours follow. */
export const COMPATIBLE_VERSION: string = '3.1.0';

/** Thrown to end the program; what there was to say has been said. */
export class ProgramExit extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`exit ${exitCode}`);
    this.exitCode = exitCode;
  }
}

/**
 * `program: text (why)` on standard error. `why`: a system error (its code decides the words) or
 * the words themselves.
 */
export function complain(program: string, text: string, why?: unknown): void {
  const reason = why === undefined ? '' : ` (${typeof why === 'string' ? why : reasonOf(why)})`;
  printError(`${program}: ${text}${reason}\n`);
}

/** Complains and ends the program with `exitCode`. */
export function fatal(program: string, text: string, why?: unknown, exitCode: number = 1): never {
  complain(program, text, why);
  throw new ProgramExit(exitCode);
}

/** The system's words for an error that has a code; otherwise its message. */
export function reasonOf(error: unknown): string {
  if (error instanceof Error && !('code' in error)) return error.message;
  return glibcErrorText(error);
}

/**
 * Runs a program's body. What it throws to end itself becomes the exit code; anything else is a
 * bug and is left to the platform, which prints where.
 */
export async function exitCodeOf(body: () => number | Promise<number>): Promise<number> {
  try {
    return await body();
  } catch (error) {
    if (error instanceof ProgramExit) return error.exitCode;
    throw error;
  }
}

/** Orders texts by their code units, as the original's tables are. */
export function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function print(text: string): void {
  writeAll(1, text);
}

export function printError(text: string): void {
  writeAll(2, text);
}

const WAIT_MS = 2;
const WAITS_MAX = 5_000;

/**
 * Everything, at once: a program may end right after. A pipe that is full is waited for; a reader
 * that has gone is no reason to fail.
 */
function writeAll(descriptor: number, text: string): void {
  let bytes: Uint8Array = Buffer.from(text, 'utf8');
  let waits = 0;
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(fs.writeSync(descriptor, bytes));
    } catch (error) {
      const isFull = error instanceof Error && 'code' in error && error.code === 'EAGAIN';
      if (!isFull || waits++ >= WAITS_MAX) return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WAIT_MS);
    }
  }
}

/** What `--version` and the command `version` say, without the last end of line. */
export function versionText(program: string): string {
  const path = new URL('../../../../package.json', import.meta.url);
  const { version }: { version: string } = JSON.parse(fs.readFileSync(path, 'utf8'));
  return `${program} (Open vSwitch) ${COMPATIBLE_VERSION}\nroundelay ${version}`;
}
