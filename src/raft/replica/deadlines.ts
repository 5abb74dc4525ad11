/** Everything that a Raft replica does at a certain time, by name. */
import { StepDeadlines } from '../../engine/index.ts';

/** In the order in which deadlines of the same moment fire. */
const names = [
  /** What Raft itself waits for. */
  'raft',
  /** Messages that the dialect sends again. */
  'dialect',
  /** Ask the machine whether something is due. */
  'pulse',
  /** Requests held for the leader go to it. */
  'held-requests',
  /** A snapshot is made a bit further. */
  'snapshot',
  /** The disk was full; perhaps it is no longer. */
  'disk-full',
] as const;
export type DeadlineName = (typeof names)[number];

export class Deadlines extends StepDeadlines<DeadlineName> {
  constructor() {
    super(names);
  }
}
