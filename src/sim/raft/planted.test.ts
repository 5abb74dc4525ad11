/**
 * Bugs that such systems have had, planted into every member of a Raft cluster: the simulator must
 * find each, and call it by its name. Those that break a rule of Raft are the ones by which the
 * room tests itself; what only shows with rare coincidences has a story of its own.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Parts } from '../../raft/index.ts';
import { PLANTS } from '../../raft/plants-test-helper.ts';
import type { ReplicaParts } from '../../raft/replica/parts.ts';
import { simulateCluster } from '../cluster/cluster.ts';
import type { ClusterOptions } from '../cluster/options.ts';
import type { FailureCode } from '../world/failure.ts';
import { type RaftSwarmOptions, raftSwarm } from './swarm.ts';

type RaftPlant = (parts: Parts<Uint8Array>) => void;

const SEEDS = 30;

/** What the first seed that fails finds. */
function caught(
  wanted: RaftSwarmOptions,
  change: (options: ClusterOptions) => ClusterOptions = (options) => options,
): FailureCode | null {
  for (let seed = 0; seed < SEEDS; seed++) {
    const { options } = raftSwarm(seed, { subject: 'counter', requests: 60, ...wanted });
    const limits = { faultsNs: 20_000_000_000, convergenceNs: 60_000_000_000 };
    const { failure } = simulateCluster(change({ ...options, ...limits }));
    if (failure !== null) return failure.code;
  }
  return null;
}

/** Puts another value in the place of a getter or a method. */
function replace(target: object, name: string, value: unknown): void {
  assert.ok(name in target, `nothing is called ${name}`);
  Object.defineProperty(target, name, { value, configurable: true });
}

const RAFT_PLANTS: readonly [string, readonly FailureCode[], RaftPlant][] = [
  ['a vote is forgotten', ['view'], PLANTS['vote forgotten']],
  // Members notice it themselves, or the file does that has two votes.
  [
    'two votes in a term',
    ['view', 'engine-crash', 'lost-operation'],
    PLANTS['two votes in a term'],
  ],
  [
    'entries are acknowledged before they are durable',
    ['not-durable'],
    PLANTS['acknowledgement before the sync'],
  ],
  [
    'what is of an older term is committed by being counted',
    ['not-durable'],
    PLANTS["an older term's entry is committed by counting"],
  ],
  [
    'what was cut off still counts as durable',
    ['not-durable'],
    PLANTS['truncation keeps the synced mark'],
  ],
  [
    'terms are spoken of before they are durable',
    ['view'],
    ({ storage }) => {
      replace(storage, 'termSeq', () => 0);
    },
  ],
  [
    'one file is enough for a commit',
    ['not-durable'],
    ({ leader, log }) => {
      leader.matches = () => new Array<number>(log.servers.size).fill(log.last);
    },
  ],
  [
    'a follower that is told of acknowledgements takes what it has for committed',
    ['lost-operation', 'engine-crash', 'not-durable'],
    ({ ackCopies, log }) => {
      const original = ackCopies.matches.bind(ackCopies);
      ackCopies.matches = () => original().map(() => log.last);
    },
  ],
  [
    'a dead leader is never missed',
    ['convergence'],
    ({ election }) => {
      election.start = () => {};
    },
  ],
  [
    'who has missed a log never gets a snapshot',
    ['convergence'],
    ({ snapshots }) => {
      snapshots.send = () => {};
    },
  ],
  [
    'heartbeats without end',
    ['liveness'],
    ({ electionTimer }) => {
      replace(electionTimer, 'pingMs', 5);
    },
  ],
];

for (const [what, codes, onParts] of RAFT_PLANTS) {
  test(`planted: ${what}`, () => {
    const code = caught({ setup: { onParts } });
    assert.ok(code !== null, `${SEEDS} seeds do not find it`);
    assert.ok(codes.includes(code), `found as ${code}`);
  });
}

/** Requests under way are not known: the log has them twice, which by itself does no harm. */
function forgetsProposals({ primary }: ReplicaParts): void {
  primary.prepares = function* () {};
}

test('requests that are in the log twice are done once', () => {
  let known = 0;
  for (let seed = 0; seed < 6; seed++) {
    const setup = { onReplicaParts: forgetsProposals };
    const { options } = raftSwarm(seed, { subject: 'counter', requests: 60, setup });
    const { failure, coverage } = simulateCluster(options);
    assert.equal(failure, null, failure?.stack);
    known += coverage.count('requestsKnown');
  }
  assert.ok(known > 0, 'none was in the log twice');
});

test('planted: requests that are in the log twice are done twice', () => {
  const onReplicaParts = (parts: ReplicaParts): void => {
    forgetsProposals(parts);
    parts.state.isNext = () => true;
  };
  const code = caught({ setup: { onReplicaParts } });
  // A registration that comes twice is noticed by the replica itself.
  assert.ok(code === 'double-apply' || code === 'engine-crash', String(code));
});

test('planted: disks that lie about what is durable', () => {
  const code = caught({}, (options) => ({ ...options, disk: { isLying: true } }));
  const codes: readonly (FailureCode | null)[] = ['not-durable', 'view', 'lost-operation'];
  assert.ok(codes.includes(code), String(code));
});

test('nothing planted, nothing found', () => {
  // As many seeds as plants get: none of them was found by chance.
  assert.equal(caught({}), null);
});
