/** Commands that tell about the process itself. */
import { UnixctlError, type UnixctlServer } from '../../../host/ovsdb/unixctl/index.ts';
import type { Vlog } from '../vlog/vlog.ts';
import type { Backend } from './backend.ts';

/** How often it is looked at how much memory there is. */
const MEMORY_CHECK_MS = 10_000;
/** So much more than at the last report is worth another. */
const GROWTH = 1.5;

export function registerInformationCommands(unixctl: UnixctlServer, backend: Backend): void {
  unixctl.register('memory/show', '', 0, 0, () => memoryText(backend));
  // Nothing is counted here that the original's counters count.
  unixctl.register('coverage/show', '', 0, 0, () => {
    const head = 'Event coverage, avg rate over last: 5 seconds, last minute, last hour,';
    return `${head}  hash=00000000:\n0 events never hit\n`;
  });
  unixctl.register('ovsdb-server/perf-counters-show', '', 0, 0, () => {
    return 'performance counter is not supported on this platform\n';
  });
  unixctl.register('ovsdb-server/perf-counters-clear', '', 0, 0, () => '');
  unixctl.register('coverage/read-counter', 'COUNTER', 1, 1, () => {
    throw new UnixctlError('No such counter');
  });
}

function memoryText(backend: Backend): string {
  const entries = Object.entries(backend.memory()).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([name, count]) => `${name}:${count}`).join(' ');
}

/** Logs the memory in use, once, and again when it has grown much. The timer ends with nothing. */
export function watchMemory(vlog: Vlog, backend: Backend): NodeJS.Timeout {
  const startedMs = performance.now();
  let reportedKb = 0;
  let reportedMs = startedMs;
  const timer = setInterval(() => {
    const { maxRSS: kb } = process.resourceUsage();
    const nowMs = performance.now();
    const seconds = (sinceMs: number): string => ((nowMs - sinceMs) / 1_000).toFixed(1);
    if (reportedKb === 0) {
      const text = `${kb} kB peak resident set size after ${seconds(startedMs)} seconds`;
      vlog.log('memory', 'INFO', text);
    } else if (kb >= reportedKb * GROWTH) {
      const percent = Math.round((kb / reportedKb - 1) * 100);
      const change = `grew ${percent}% in last ${seconds(reportedMs)} seconds`;
      const text = `peak resident set size ${change}, from ${reportedKb} kB to ${kb} kB`;
      vlog.log('memory', 'INFO', text);
    } else return;
    vlog.log('memory', 'INFO', memoryText(backend));
    reportedKb = kb;
    reportedMs = nowMs;
  }, MEMORY_CHECK_MS);
  timer.unref();
  return timer;
}
