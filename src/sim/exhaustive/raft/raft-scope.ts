/**
 * How much of Raft is looked at. Every number is a budget of the whole cluster: so many may happen,
 * at any moment, in any order, to anybody.
 *
 * Never in a scope: changes of the configuration, reads, commands passed on by followers, leaders
 * that hand over, failing disks. Timers: an election timer may end at any moment, heartbeats too;
 * no clock is looked at, so servers' clocks may go as differently as they like. A request for a
 * vote always comes late enough that nobody calls it a disruption (else it is as if it were lost).
 * `applied` follows at once on what is delivered. A crash and the start after it are one move: what
 * others do in between they may do before or after just as well.
 */
import { assert } from '../../../stdx/index.ts';
import type { Budget } from '../subject.ts';

export interface RaftScope {
  /** Servers, 2 to 5. Default 3. */
  readonly servers: number;
  /** Election timers that end, those of leaders that look for their majority among them. */
  readonly elections: number;
  /** Commands, proposed in their order, each at whoever leads. */
  readonly commands: number;
  /** Power cuts of one server: what was not synced is kept up to any record. */
  readonly crashes: number;
  /** Sessions that end and are made anew, as one side finds out first. */
  readonly losses: number;
  readonly heartbeats: number;
  /**
   * `streams`: messages between two servers come in order while their session lasts, and its end
   * may lose any number of the last ones; what is sent after a loss and before it is noticed comes
   * over the next session. `datagrams`: in any order, or never.
   */
  readonly network: 'streams' | 'datagrams';
  /** Datagrams that come twice. */
  readonly duplicates: number;
  /** Snapshots that a server makes of all that it has applied. */
  readonly snapshots: number;
  readonly preVote: 'on' | 'off';
  /** Leaders look whether they still have a majority. */
  readonly checksQuorum: boolean;
  /** Times that a link becomes slow, see `explore`; null: all always are. Streams only. */
  readonly slowLinks: number | null;
  /**
   * Times that a disk becomes slow: its syncs then take for as long as they like, until all that
   * was asked for is durable. Else every write is durable with its step. null: all are always slow.
   */
  readonly slowDisks: number | null;
  /** Every acknowledgement goes to all, as if each had asked the others for copies. */
  readonly copies: boolean;
  /** Entries of one append. */
  readonly batchEntriesMax: number;
  /** Servers whose election timers may end; null: all. */
  readonly candidates: readonly number[] | null;
  /** Pairs of servers that hear nothing of each other. */
  readonly apart: readonly (readonly [number, number])[];
}

export const RAFT_SCOPE: RaftScope = {
  servers: 3,
  elections: 2,
  commands: 1,
  crashes: 0,
  losses: 0,
  network: 'streams',
  heartbeats: 0,
  duplicates: 0,
  snapshots: 0,
  preVote: 'off',
  checksQuorum: false,
  slowLinks: null,
  slowDisks: null,
  copies: false,
  batchEntriesMax: 1024,
  candidates: null,
  apart: [],
};

/** Indexes of the budgets. */
export const RaftBudget = {
  elections: 0,
  commands: 1,
  crashes: 2,
  losses: 3,
  heartbeats: 4,
  duplicates: 5,
  snapshots: 6,
  slowDisks: 7,
  slowLinks: 8,
} as const;

export function budgetsOf(scope: RaftScope): readonly Budget[] {
  assert(scope.servers >= 2 && scope.servers <= 5, 'RaftScope: servers');
  const isOrdered = scope.network === 'streams';
  assert(!isOrdered || scope.duplicates === 0, 'RaftScope: streams double nothing');
  assert(isOrdered || scope.slowLinks === null, 'RaftScope: datagrams have no links');
  const names = Object.keys(RaftBudget) as (keyof typeof RaftBudget)[];
  return names.map((name) => ({ name, count: scope[name] ?? 0, isExact: name === 'commands' }));
}
