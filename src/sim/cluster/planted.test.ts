/**
 * Bugs that such systems have had, planted into every replica of a cluster: the simulator must find
 * each, and call it by its name.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Parts } from '../../vsr/index.ts';
import { keyValueSubject } from '../subjects/subjects.ts';
import type { FailureCode } from '../world/failure.ts';
import { simulateCluster } from './cluster.ts';
import { type ClusterSwarmOptions, clusterSwarm } from './cluster-swarm.ts';
import type { ClusterOptions } from './options.ts';

type Plant = (parts: Parts) => void;

/** Puts another value in the place of a getter or a method. */
function replace(target: object, name: string, value: unknown): void {
  assert.ok(name in target, `nothing is called ${name}`);
  Object.defineProperty(target, name, { value, configurable: true });
}

const SEEDS = 40;

/** The codes of the first failure that some seed finds. */
function caught(
  plant: Plant | null,
  wanted: ClusterSwarmOptions = {},
  change: (options: ClusterOptions) => ClusterOptions = (options) => options,
): FailureCode | null {
  for (let seed = 0; seed < SEEDS; seed++) {
    const setup = plant === null ? {} : { setup: { onParts: plant } };
    const swarm = clusterSwarm(seed, { subject: 'counter', requests: 60, ...wanted, ...setup });
    const options = { ...swarm.options, faultsNs: 20_000_000_000, convergenceNs: 30_000_000_000 };
    const { failure } = simulateCluster(change(options));
    if (failure !== null) return failure.code;
  }
  return null;
}

const three: ClusterSwarmOptions = { replicaCount: 3 };

const PLANTS: readonly [string, readonly FailureCode[], ClusterSwarmOptions, Plant][] = [
  [
    'one file is enough for a commit',
    // Or nobody can be asked any more what only the dead one had.
    ['not-durable', 'fork', 'lost-operation', 'divergence', 'convergence'],
    { replicaCount: 5 },
    ({ member }) => replace(member, 'quorums', { ...member.quorums, replication: 1 }),
  ],
  [
    'a view needs nobody’s vote',
    // Or they go from view to view, each of its own accord, and never come to an end.
    ['fork', 'view', 'lost-operation', 'engine-crash', 'engine-halt', 'divergence', 'convergence'],
    { replicaCount: 5 },
    ({ member }) => replace(member, 'quorums', { ...member.quorums, viewChange: 1 }),
  ],
  [
    'views are spoken of before they are durable',
    ['view'],
    three,
    ({ member }) => replace(member, 'isViewDurable', true),
  ],
  [
    'a log is acknowledged before it is durable that it belongs to its view',
    ['view'],
    three,
    ({ member }) => replace(member, 'isLogViewDurable', true),
  ],
  [
    'prepares are acknowledged before they are written',
    ['not-durable'],
    { replicaCount: 5 },
    ({ log }) => replace(log, 'isClean', (op: number) => log.header(op) !== null),
  ],
  [
    'nothing is ever repaired',
    ['convergence'],
    three,
    ({ repair }) => replace(repair, 'advance', () => {}),
  ],
  [
    'a dead primary is never missed',
    ['convergence'],
    three,
    ({ viewChange }) => replace(viewChange, 'vote', () => {}),
  ],
  [
    'who has missed a log never asks for a checkpoint',
    ['convergence'],
    three,
    ({ sync }) => replace(sync, 'considers', () => false),
  ],
  [
    'a message is lost by the one who answers repairs',
    ['message-leak', 'engine-crash'],
    three,
    ({ responder, pool }) => {
      const answer = responder.onRequestPrepare.bind(responder);
      replace(responder, 'onRequestPrepare', (from: number, bytes: Uint8Array) => {
        pool.acquire('small');
        answer(from, bytes);
      });
    },
  ],
  [
    'a primary speaks for whoever is silent',
    ['not-durable', 'fork', 'lost-operation', 'divergence'],
    three,
    ({ primary, peers }) => {
      const answer = primary.onPrepareOk.bind(primary);
      replace(primary, 'onPrepareOk', (from: number, bytes: Uint8Array) => {
        for (const other of [0, 1, 2])
          if (other === from || peers.isDown(other)) answer(other, bytes);
        answer((from + 1) % 3, bytes);
      });
    },
  ],
];

for (const [what, codes, wanted, plant] of PLANTS) {
  test(`planted: ${what}`, () => {
    const code = caught(plant, wanted);
    assert.ok(code !== null, `${SEEDS} seeds do not find it`);
    assert.ok(codes.includes(code), `found as ${code}`);
  });
}

test('planted: a machine that answers differently on one replica', () => {
  const code = caught(null, three, (options) => {
    let machines = 0;
    const subject = (): ReturnType<typeof keyValueSubject> => {
      const plain = keyValueSubject();
      const machine = (): ReturnType<typeof plain.machine> => {
        const made = plain.machine();
        if (machines++ % 3 !== 1) return made;
        const apply = made.apply.bind(made);
        made.apply = (context, operation, body, reply) => {
          const size = apply(context, operation, body, reply);
          if (size > 0 && context.op % 16 === 0) reply[0]! ^= 1;
          return size;
        };
        return made;
      };
      return { ...plain, machine };
    };
    return { ...options, subject };
  });
  assert.equal(code, 'divergence');
});

test('planted: disks that lie about what is durable', () => {
  const codes: readonly (FailureCode | null)[] = [
    'lost-operation',
    'not-durable',
    'view',
    'fork',
    'divergence',
    'engine-halt',
    'engine-crash',
    'convergence',
  ];
  const code = caught(null, three, (options) => ({ ...options, disk: { isLying: true } }));
  assert.ok(codes.includes(code), String(code));
});

test('nothing planted, nothing found', () => {
  // As many seeds as plants get: none of them was found by chance.
  for (const replicaCount of [3, 5]) assert.equal(caught(null, { replicaCount }), null);
});
