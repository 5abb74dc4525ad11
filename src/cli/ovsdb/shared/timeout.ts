/**
 * `--timeout`: after so many seconds the program ends as by SIGALRM, which shells show as 142.
 */
import type { Vlog } from '../vlog/vlog.ts';

/** Longer than a timer can be told: waits for ever. */
const SECONDS_MAX = 2_000_000;

/** Digits of a whole number of seconds ≥ 1, or `null`: not one. */
export function parseSeconds(text: string): number | null {
  if (!/^\s*\+?\d+$/.test(text)) return null;
  const seconds = Number(text);
  return seconds >= 1 && seconds <= 0xffff_ffff ? seconds : null;
}

/**
 * `seconds`: as given, `null`: not given, then the environment decides. A negative answer of the
 * caller's own checks comes first; this one never fails.
 */
export function startTimeout(vlog: Vlog, seconds: number | null): void {
  const wanted = seconds ?? parseSeconds(process.env['OVS_CTL_TIMEOUT'] ?? '');
  if (wanted === null || wanted > SECONDS_MAX) return;
  const timer = setTimeout(() => {
    vlog.log('fatal_signal', 'WARN', 'terminating with signal 14 (Alarm clock)');
    process.removeAllListeners('SIGALRM');
    process.kill(process.pid, 'SIGALRM');
  }, wanted * 1_000);
  timer.unref();
}
