/** Ends the program with a line in its log as well as on standard error. */
import { fatal, reasonOf } from '../shared/program.ts';
import type { Vlog } from '../vlog/vlog.ts';

export function fatalLogged(vlog: Vlog, module: string, text: string, why?: unknown): never {
  const reason = why === undefined ? '' : ` (${typeof why === 'string' ? why : reasonOf(why)})`;
  vlog.setLevels(module, 'console', 'OFF');
  vlog.log(module, 'EMER', text + reason);
  fatal(vlog.program, text + reason);
}
