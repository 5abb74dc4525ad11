/** Scripts of clusters that others have stumbled over, with a look at the parts of each replica. */
import type { Geometry, Parts, TopologyName } from '../../vsr/index.ts';
import { clusterQuorums } from '../cluster/cluster-swarm.ts';
import type { ClockOptions } from '../process/clock.ts';
import { GEOMETRY_SMALL, replicaSetup } from '../replica-setup.ts';
import { Script } from '../script/script.ts';
import type { SubjectFactory } from '../subjects/subject.ts';
import { counterSubject } from '../subjects/subjects.ts';

export interface LessonOptions {
  readonly replicaCount: number;
  readonly topology?: TopologyName;
  readonly geometry?: Geometry;
  readonly clients?: number;
  readonly clocks?: readonly ClockOptions[];
  /** Default: the counter. */
  readonly subject?: SubjectFactory;
  /** Gets the parts of each life before anything runs. */
  readonly onParts?: (parts: Parts) => void;
}

export class Lesson extends Script {
  /** Of each replica's newest life. */
  readonly parts: readonly Parts[];

  constructor(options: LessonOptions) {
    const { replicaCount, topology = 'star', geometry = GEOMETRY_SMALL } = options;
    const { onParts: look, subject = counterSubject, clients, clocks } = options;
    const lives: Parts[] = [];
    super({
      replicaCount,
      engine: (replica) => {
        const onParts = (parts: Parts): void => {
          lives[replica] = parts;
          look?.(parts);
        };
        return replicaSetup({ geometry, replicaCount, replica, topology, onParts });
      },
      quorums: clusterQuorums(replicaCount),
      subject,
      ...(clients === undefined ? {} : { clients }),
      ...(clocks === undefined ? {} : { clocks }),
    });
    this.parts = lives;
  }

  /** Each of these clients makes a request at once; all must be answered within `ms`. */
  ask(ms: number, clients: number = 1): void {
    for (let client = 0; client < clients; client++) this.request(1, client);
    this.until(() => this.isAnswered, ms);
  }

  /** It runs, and every client is registered. */
  begin(clients: number = 1): void {
    this.open();
    for (let client = 0; client < clients; client++) this.request(1, client);
    this.run();
    this.expectAnswered();
  }
}
