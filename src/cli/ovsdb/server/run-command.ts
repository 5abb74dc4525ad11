/** `--run`: a command that the server runs for, and ends with. */
import { spawn } from 'node:child_process';
import { describeEnd } from '../daemon/signals.ts';
import { complain, reasonOf } from '../shared/program.ts';

/** Resolves with what went wrong, in words, or `null`. */
export function runCommand(program: string, command: string): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn('/bin/sh', ['-c', command], { stdio: 'inherit' });
    child.on('error', (error) => {
      complain(program, `${command}: process failed to start`, reasonOf(error));
      resolve('');
    });
    child.on('exit', (code, signal) => {
      resolve(code === 0 ? null : `${command}: child exited, ${describeEnd(code, signal)}`);
    });
  });
}
