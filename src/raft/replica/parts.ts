/**
 * The parts of a Raft replica, as they know each other. Each owns its state, and nobody else
 * changes it. `member`, `peers`, `primary` and `checkpoints` are what the engine room calls them,
 * whose admission works on any engine's parts.
 */
import type { Admission, Counters, HeldRequests, StepOutbox } from '../../engine/index.ts';
import type { MessagePool } from '../../wire/index.ts';
import type { Dialect } from '../dialect/index.ts';
import type { RaftFile, RaftHead } from '../file/index.ts';
import type { Applier } from './applier.ts';
import type { Core } from './core.ts';
import type { Deadlines } from './deadlines.ts';
import type { Links } from './links.ts';
import type { Office } from './office.ts';
import type { Proposals } from './proposals.ts';
import type { Snapshots } from './snapshots.ts';
import type { RaftState } from './state.ts';

export interface ReplicaParts {
  readonly pool: MessagePool;
  readonly head: RaftHead;
  readonly outbox: StepOutbox;
  readonly deadlines: Deadlines;
  readonly counters: Counters;
  readonly file: RaftFile;
  readonly dialect: Dialect;
  readonly core: Core;
  readonly state: RaftState;
  readonly member: Office;
  readonly peers: Links;
  readonly primary: Proposals;
  readonly applier: Applier;
  readonly snapshots: Snapshots;
  readonly checkpoints: { readonly isReadOnly: boolean };
  readonly admission: Admission;
  readonly heldRequests: HeldRequests;
}
