/**
 * The parts of a server, as they know each other. Each owns its state, and nobody else changes it;
 * the server makes them all and hands this list to each, so that they may call one another.
 */
import type { Prng } from '../stdx/index.ts';
import type { Commands } from './commands.ts';
import type { Deadlines } from './deadlines.ts';
import type { ServerId } from './entry.ts';
import type { Election } from './leadership/election.ts';
import type { ElectionTimer } from './leadership/election-timer.ts';
import type { Transfer } from './leadership/transfer.ts';
import type { Log } from './log/log.ts';
import type { Storage } from './log/storage.ts';
import type { Member } from './member.ts';
import type { Changes } from './membership/changes.ts';
import type { Joining } from './membership/joining.ts';
import type { Sessions } from './membership/sessions.ts';
import type { Policy } from './options.ts';
import type { Outbox } from './outbox.ts';
import type { Reads } from './reads.ts';
import type { AckCopies } from './replication/ack-copies.ts';
import type { Commits } from './replication/commits.ts';
import type { Follower } from './replication/follower.ts';
import type { Leader } from './replication/leader.ts';
import type { Snapshots } from './replication/snapshots.ts';

export interface Parts<T> {
  readonly policy: Policy;
  readonly outbox: Outbox<T>;
  readonly deadlines: Deadlines;
  /** Chance that has to be reproducible: deadlines, names, whom to prefer. */
  readonly prng: Prng;
  readonly member: Member<T>;
  readonly log: Log<T>;
  readonly storage: Storage<T>;
  readonly electionTimer: ElectionTimer<T>;
  readonly election: Election<T>;
  readonly transfer: Transfer<T>;
  readonly leader: Leader<T>;
  readonly follower: Follower<T>;
  readonly commits: Commits<T>;
  readonly ackCopies: AckCopies<T>;
  readonly snapshots: Snapshots<T>;
  readonly commands: Commands<T>;
  readonly reads: Reads<T>;
  readonly changes: Changes<T>;
  readonly joining: Joining<T>;
  readonly sessions: Sessions<T>;
  /** The configuration in force is another than before. */
  readonly onConfigChanged: () => void;
  /** For good: removed from the cluster, or without a disk to write to. */
  readonly stop: (phase: 'left' | 'failed') => void;
  /** When a server was heard of last; null: never. */
  readonly lastMessageMs: (server: ServerId) => number | null;
}
