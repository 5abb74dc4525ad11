/** Numbers for people who ask how much there is of everything. */
import type { Locks } from './locks.ts';
import type { ServedDatabase } from './served-database.ts';
import type { Session } from './session.ts';

export interface CoreCounters {
  readonly sessions: number;
  /** Open monitors of sessions. */
  readonly monitors: number;
  /** Transactions that wait or are not confirmed. */
  readonly triggers: number;
  readonly locks: number;
  /** In all databases but `_Server`. */
  readonly atoms: number;
  /** Requests that were read and not looked at. */
  readonly queued: number;
  /** Texts kept for whoever needs them next. */
  readonly cachedTexts: number;
  readonly historyTransactions: number;
  readonly historyAtoms: number;
}

export function countersOf(
  sessions: Iterable<Session>,
  databases: Iterable<ServedDatabase>,
  locks: Locks<Session>,
): CoreCounters {
  const counters = {
    sessions: 0,
    monitors: 0,
    triggers: 0,
    locks: locks.size,
    atoms: 0,
    queued: 0,
    cachedTexts: 0,
    historyTransactions: 0,
    historyAtoms: 0,
  };
  for (const { monitors, queue } of sessions) {
    counters.sessions += 1;
    counters.monitors += monitors.size;
    counters.queued += queue.length;
  }
  for (const { content, pipeline, waits, forwarded, name } of databases) {
    counters.triggers += pipeline.size + waits.size + forwarded.size;
    if (content === null) continue;
    if (!name.startsWith('_')) counters.atoms += content.database.atoms;
    counters.cachedTexts += content.monitors.cachedTexts;
    counters.historyTransactions += content.monitors.historyLength;
    counters.historyAtoms += content.monitors.historyAtoms;
  }
  return counters;
}
