/** Scripts over the real engine, with a log that wraps soon and the simplest machine there is. */
import type { TopologyName } from '../../vsr/index.ts';
import { clusterQuorums } from '../cluster/cluster-swarm.ts';
import type { ClockOptions } from '../process/clock.ts';
import { GEOMETRY_SMALL, replicaSetup } from '../replica-setup.ts';
import { counterSubject } from '../subjects/subjects.ts';
import { Script } from './script.ts';

export interface StoryOptions {
  readonly replicaCount: number;
  readonly topology?: TopologyName;
  readonly clients?: number;
  readonly clocks?: readonly ClockOptions[];
  readonly isRotting?: boolean;
}

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

/** A cluster that has not been started. */
export function story(options: StoryOptions): Script {
  const { replicaCount, topology, ...rest } = options;
  const setup = { geometry: GEOMETRY_SMALL, replicaCount, topology: topology ?? 'star' } as const;
  const trace = process.env['TRACE'] === undefined ? {} : { trace: print };
  return new Script({
    replicaCount,
    engine: (replica) => replicaSetup({ ...setup, replica }),
    quorums: clusterQuorums(replicaCount),
    subject: counterSubject,
    ...rest,
    ...trace,
  });
}

/** A cluster that runs and has answered `requests` requests of its first client. */
export function running(options: StoryOptions, requests: number = 3): Script {
  const t = story(options);
  t.open();
  t.request(requests);
  t.run();
  t.expectAnswered();
  return t;
}
