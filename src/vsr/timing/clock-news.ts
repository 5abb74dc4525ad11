/** What is told of clocks in the log. */
import type { Outbox } from '../outbox.ts';
import type { ClockNews, ClockSource } from './clock-sync.ts';

/** `self`: whose log it is. */
export function traceClocks(outbox: Outbox, self: number, news: readonly ClockNews[]): void {
  for (const one of news) {
    switch (one.kind) {
      case 'outvoted': {
        const { replica, offsetMs } = one;
        const isOwn = replica === self;
        // With the replica as the reason, lines about two clocks do not suppress each other.
        const reason = `replica-${replica}`;
        outbox.trace('warn', 'clock-outvoted', { reason, replica, isOwn, offsetMs });
        break;
      }
      case 'agrees':
        outbox.trace('info', 'clock-agrees', { replica: one.replica, isOwn: one.replica === self });
        break;
      case 'disagreement': {
        const clocks = one.sources.map((source) => offsetText(source, self)).join(', ');
        outbox.trace('warn', 'clock-unsynchronized', { reason: 'disagreement', clocks });
        break;
      }
      case 'silence':
        outbox.trace('warn', 'clock-unsynchronized', { reason: 'silence' });
        break;
      case 'agreement':
        outbox.trace('info', 'clock-synchronized', {});
        break;
    }
  }
}

/** Against the clock of this replica: `replica 2 +3600.0 s`. */
function offsetText({ replica, offsetNs }: ClockSource, self: number): string {
  if (replica === self) return `replica ${replica} (this one)`;
  const seconds = (offsetNs / 1e9).toFixed(1);
  return `replica ${replica} ${offsetNs < 0 ? '' : '+'}${seconds} s`;
}
