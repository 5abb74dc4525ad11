/**
 * A process in the background lets go of the standard files, or the terminal or pipe it was started
 * from would stay open.
 */
import fs from 'node:fs';
import type { Vlog } from '../vlog/vlog.ts';

/** All of 0, 1, 2 but `kept` become the null device; nothing is logged to the console any more. */
export function closeStandardFiles(vlog: Vlog, kept: readonly number[]): void {
  vlog.setLevels(null, 'console', 'OFF');
  for (const descriptor of [0, 1, 2]) {
    if (kept.includes(descriptor)) continue;
    try {
      fs.closeSync(descriptor);
    } catch {
      // It was not open.
    }
    // The system gives the lowest free number, which is the one just closed.
    fs.openSync('/dev/null', 'r+');
  }
}
