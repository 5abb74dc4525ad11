/**
 * Everything that a replica does at a certain time, by name.
 */
import { StepDeadlines } from '../engine/index.ts';

/** In the order in which deadlines of the same moment fire. */
const names = [
  /** Ask the machine whether something is due; try again what found no room. */
  'pulse',
  'ping',
  /** The first prepare without a quorum is sent again. */
  'prepare',
  /** The primary says that it is there, and what is committed. */
  'heartbeat',
  /** The fault detector changes its colour. */
  'detector',
  /** The primary gets nothing done and gives up. */
  'abdicate',
  /** The primary's disk is full: perhaps another one should lead. */
  'relief',
  /** Votes for leaving a view are forgotten. */
  'votes-expire',
  /** What a view change waits for is asked for again. */
  'view-resend',
  /** The view change itself takes too long. */
  'view-status',
  'repair',
  /** More is committed than the log here knows of. */
  'behind',
  /** Requests held for the primary go to it. */
  'held-requests',
  /** Copying a checkpoint does not get on. */
  'sync',
] as const;
export type DeadlineName = (typeof names)[number];

export class Deadlines extends StepDeadlines<DeadlineName> {
  constructor() {
    super(names);
  }
}
