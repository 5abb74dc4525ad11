/**
 * What a replica tells about itself: for the status command, for tests, for whoever watches.
 */
import type { DropReason, RefuseReason } from './counters.ts';

export interface ReplicaStatus {
  readonly role: 'primary' | 'recovering' | 'halted';
  /** Hexadecimal, as stored. */
  readonly cluster: string;
  readonly replica: number;
  readonly replicaCount: number;
  readonly release: number;
  readonly view: number;
  /** Head of the log. */
  readonly op: number;
  /** Executed here. */
  readonly commitMin: number;
  /** Known to be committed. */
  readonly commitMax: number;
  /** Durable in the log. */
  readonly opDurable: number;
  readonly checkpoint: { readonly op: number; readonly root: string; readonly id: string };
  /** Of everything executed. */
  readonly digest: string;
  readonly sessions: number;
  readonly queued: number;
  readonly isReadOnly: boolean;
  readonly dropped: { readonly [reason in DropReason]: number };
  readonly refused: { readonly [reason in RefuseReason]: number };
}
