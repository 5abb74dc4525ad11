/**
 * The parts of a replica, as they know each other. Each owns its state, and nobody else changes it;
 * the replica makes them all and hands this list to each, so that they may call one another.
 */
import type { Admission, Counters, HeldRequests } from '../engine/index.ts';
import type { Prng } from '../stdx/index.ts';
import type { MessagePool } from '../wire/index.ts';
import type { Checkpoints } from './checkpoint.ts';
import type { Commits } from './commits.ts';
import type { Deadlines } from './deadlines.ts';
import type { Geometry } from './file/geometry.ts';
import type { History } from './log/history.ts';
import type { Journal } from './log/journal.ts';
import type { Log } from './log/log.ts';
import type { PrepareCache } from './log/prepare-cache.ts';
import type { Member } from './member.ts';
import type { Outbox } from './outbox.ts';
import type { Peers } from './peers.ts';
import type { Repair } from './repair/repair.ts';
import type { Responder } from './repair/responder.ts';
import type { Backup } from './replication/backup.ts';
import type { Primary } from './replication/primary.ts';
import type { Relief } from './replication/relief.ts';
import type { ReplicatedState } from './state.ts';
import type { SuperblockStore } from './superblock.ts';
import type { Sync } from './sync/sync.ts';
import type { Topology } from './topology/topology.ts';
import type { StartView } from './view-change/start-view.ts';
import type { ViewChange } from './view-change/view-change.ts';

export interface Parts {
  readonly pool: MessagePool;
  readonly geometry: Geometry;
  readonly outbox: Outbox;
  readonly deadlines: Deadlines;
  readonly counters: Counters;
  /** Chance that has to be reproducible: jitter, whom to ask. */
  readonly prng: Prng;
  readonly superblock: SuperblockStore;
  readonly state: ReplicatedState;
  readonly member: Member;
  readonly log: Log;
  readonly journal: Journal;
  readonly cache: PrepareCache;
  readonly history: History;
  readonly checkpoints: Checkpoints;
  readonly commits: Commits;
  readonly peers: Peers;
  readonly topology: Topology;
  readonly admission: Admission;
  readonly heldRequests: HeldRequests;
  readonly primary: Primary;
  readonly backup: Backup;
  readonly relief: Relief;
  readonly repair: Repair;
  readonly responder: Responder;
  readonly viewChange: ViewChange;
  readonly startView: StartView;
  readonly sync: Sync;
}
