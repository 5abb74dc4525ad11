/**
 * What a run really did. A simulator that silently stops injecting a fault, or never reaches the
 * second wrap of the log, is worse than none: it is believed. So everything worth claiming is
 * counted, runs add up, and a campaign in which an enabled counter stays at zero fails.
 */
import { assert } from '../../stdx/index.ts';

/** Counters in the order in which a summary prints them. */
export const COUNTERS = [
  'events',
  'effects',
  'commits',
  'replies',
  'registers',
  'reads',
  'writes',
  'flushes',
  'crashes',
  'restarts',
  'crashesInRecovery',
  'crashesWithWrites',
  'sectorsLost',
  'sectorsTorn',
  'checkpoints',
  'logWraps',
  'replayedOps',
  'requests',
  'resends',
  'repeatedReplies',
  'duplicates',
  'losses',
  'disconnects',
  'sessionsAbandoned',
  'evictions',
  'refusals',
  'invalidRequests',
  'forgeries',
  'pings',
  'pulses',
  'clockSteps',
  'poolExhausted',
  'ioErrors',
  'noSpace',
  'halts',
  'rootsCompared',
  'testimonies',
  'testimoniesUnclear',
] as const;

/** Likewise, of runs with several replicas. */
export const CLUSTER_COUNTERS = [
  'peerMessages',
  'overflows',
  'clogs',
  'partitions',
  'partitionsAsymmetric',
  'deposals',
  'linksUp',
  'linksDown',
  'linksRefused',
  'linksBroken',
  'pauses',
  'corruptions',
  'selfRestarts',
  'noops',
  'reformats',
  'crashesOfPrimary',
  'crashesOfAll',
  'crashesSilent',
  'coresPartial',
  'coresExcused',
  'viewsSeen',
  'acks',
  'durableStatesRead',
  // What replicas say of themselves, by their traces.
  'viewChanges',
  'viewsStarted',
  'logTruncations',
  'nackTruncations',
  'headersRepaired',
  'preparesRepaired',
  'headsUnknown',
  'syncs',
  'preparesResent',
  'commitGaps',
  'requestsForwarded',
  'requestsHeld',
  'abdications',
  'clocksOutvoted',
  'clocksApart',
] as const;

/** Likewise, of Raft alone. */
export const RAFT_COUNTERS = [
  'termsSeen',
  'leadersHeard',
  'votesGiven',
  'preVotesGiven',
  // What members say of themselves, by their traces.
  'preVotes',
  'preVotesRefused',
  'votesRefused',
  'elections',
  'leaders',
  'quorumsLost',
  'conflicts',
  'snapshotsMade',
  'snapshotsSent',
  'snapshotsInstalled',
  'requestsKnown',
  'commitsByCopies',
  'tailsTorn',
  'spaceShort',
] as const;

export type Counter =
  | (typeof COUNTERS)[number]
  | (typeof CLUSTER_COUNTERS)[number]
  | (typeof RAFT_COUNTERS)[number];

const allCounters: readonly Counter[] = [...COUNTERS, ...CLUSTER_COUNTERS, ...RAFT_COUNTERS];

/** Events that replicas trace, and what counts them. */
export const TRACE_COUNTERS: { readonly [event: string]: Counter } = {
  'view-change': 'viewChanges',
  'view-started': 'viewsStarted',
  'log-truncated': 'logTruncations',
  'nack-truncation': 'nackTruncations',
  'repair-header': 'headersRepaired',
  'repair-prepare': 'preparesRepaired',
  'recovering-head': 'headsUnknown',
  sync: 'syncs',
  'prepare-resent': 'preparesResent',
  'commit-gap': 'commitGaps',
  'request-forwarded': 'requestsForwarded',
  'request-held': 'requestsHeld',
  abdicated: 'abdications',
  'clock-outvoted': 'clocksOutvoted',
  'clock-unsynchronized': 'clocksApart',
  'pre-vote': 'preVotes',
  'pre-vote-refused': 'preVotesRefused',
  'vote-refused': 'votesRefused',
  election: 'elections',
  leads: 'leaders',
  'quorum-lost': 'quorumsLost',
  truncate: 'conflicts',
  compacted: 'snapshotsMade',
  'send-snapshot': 'snapshotsSent',
  'install-snapshot': 'snapshotsInstalled',
  'request-known': 'requestsKnown',
  'commit-by-copies': 'commitsByCopies',
  'disk-full': 'spaceShort',
};

export class Coverage {
  readonly #counts: Map<Counter, number> = new Map(allCounters.map((name) => [name, 0]));

  add(name: Counter, amount: number = 1): void {
    assert(amount >= 0, 'Coverage: a counter never falls');
    this.#counts.set(name, this.count(name) + amount);
  }

  count(name: Counter): number {
    return this.#counts.get(name) ?? 0;
  }

  /** Adds another run's counts to these. */
  merge(other: Coverage): void {
    for (const name of allCounters) this.add(name, other.count(name));
  }

  /** Whatever is not zero, by name. */
  entries(): readonly (readonly [Counter, number])[] {
    return [...this.#counts].filter(([, count]) => count > 0);
  }

  /** The wanted counters that are still zero, in order. */
  missing(wanted: readonly Counter[]): readonly Counter[] {
    return wanted.filter((name) => this.count(name) === 0);
  }

  /** One line, zero counters left out: `commits 812 · crashes 5 · …`. */
  summary(): string {
    const parts = allCounters.filter((name) => this.count(name) > 0);
    return parts.map((name) => `${name} ${this.count(name)}`).join(' · ');
  }
}
