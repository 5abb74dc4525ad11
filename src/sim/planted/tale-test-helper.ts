/**
 * A story of a cluster whose replicas have a bug each, and whose disks may be held up: what a
 * replica writes to its log, or the record that names its next checkpoint, waits for the story.
 */
import type { Geometry, Parts } from '../../vsr/index.ts';
import { clusterQuorums } from '../cluster/cluster-swarm.ts';
import { GEOMETRY_SMALL, replicaSetup } from '../replica-setup.ts';
import { Script } from '../script/script.ts';
import type { SubjectFactory } from '../subjects/subject.ts';
import { counterSubject } from '../subjects/subjects.ts';
import type { Plant } from './plants-test-helper.ts';

export interface TaleOptions {
  readonly replicaCount: number;
  readonly clients?: number;
  readonly geometry?: Geometry;
  readonly isRotting?: boolean;
  readonly isBlind?: boolean;
  /** Default: the counter. */
  readonly subject?: SubjectFactory;
}

export class Tale extends Script {
  /** Replicas whose log writes wait. */
  readonly logsHeld: Set<number>;
  /** Replicas whose superblock does not get to name a checkpoint. */
  readonly checkpointsHeld: Set<number>;

  /** `plant`: the bug that all replicas have in all their lives; `null`: none. */
  constructor(plant: Plant | null, options: TaleOptions) {
    const { replicaCount, geometry = GEOMETRY_SMALL, ...rest } = options;
    const logsHeld = new Set<number>();
    const checkpointsHeld = new Set<number>();
    const onParts = (parts: Parts): void => {
      holdLog(parts, logsHeld);
      holdCheckpoints(parts, checkpointsHeld);
      plant?.(parts);
    };
    const setup = { geometry, replicaCount, topology: 'star', onParts } as const;
    const isTraced = process.env['TRACE'] !== undefined;
    super({
      replicaCount,
      engine: (replica) => replicaSetup({ ...setup, replica }),
      quorums: clusterQuorums(replicaCount),
      subject: counterSubject,
      ...rest,
      ...(isTraced ? { trace: print } : {}),
    });
    this.logsHeld = logsHeld;
    this.checkpointsHeld = checkpointsHeld;
  }

  /** It runs, and every client has the answer to one request. Returns the highest operation. */
  begin(clients: number): number {
    this.open();
    for (let client = 0; client < clients; client++) this.request(1, client);
    this.run();
    this.expectAnswered();
    return 2 * clients;
  }
}

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

function holdLog({ journal, member }: Parts, held: ReadonlySet<number>): void {
  const pump = journal.pump.bind(journal);
  journal.pump = () => {
    if (!held.has(member.replica)) pump();
  };
}

function holdCheckpoints(
  { superblock, checkpoints, member }: Parts,
  held: ReadonlySet<number>,
): void {
  const update = superblock.update.bind(superblock);
  const advance = checkpoints.advance.bind(checkpoints);
  let waiting: Parameters<typeof update>[0] | null = null;
  superblock.update = (change) => {
    if (change.checkpoint !== undefined && held.has(member.replica)) waiting = change;
    else update(change);
  };
  checkpoints.advance = () => {
    if (waiting !== null && !held.has(member.replica)) {
      update(waiting);
      waiting = null;
    }
    advance();
  };
}
