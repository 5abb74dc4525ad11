/** How a command ends early: with a message and a code, without a stack. */
import { PROGRAM } from './context.ts';

export class Fatal extends Error {
  readonly exitCode: number;

  /** `text`: a line for standard error; `null`: nothing is said. */
  constructor(text: string | null, exitCode: number = 1) {
    super(text ?? '');
    this.exitCode = exitCode;
  }
}

/** Ends the command as the original does when it gives up. */
export function fatal(text: { toString(): string }): never {
  throw new Fatal(`${PROGRAM}: ${text}`);
}
