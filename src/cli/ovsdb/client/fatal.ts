/** How a command of this program ends early. */
import { fatal as endProgram } from '../shared/program.ts';

export const PROGRAM = 'ovsdb-client';

/** Says `text` behind the program's name and ends it; `why`: a system error or its words. */
export function fatal(text: { toString(): string }, why?: unknown): never {
  return endProgram(PROGRAM, text.toString(), why);
}
