/**
 * One life of an engine, from its first event to a crash, as its driver sees it; and what checkers
 * may ask it.
 */
import type { Engine } from '../../engine/index.ts';
import type { MessagePool } from '../../wire/index.ts';
import type { History } from '../checks/history.ts';

export interface Life {
  readonly engine: Engine;
  readonly pool: MessagePool;
  /** Gives back every message that the engine holds; nothing is stepped afterwards. */
  releaseMessages(): void;
  /** Who it is to other replicas; absent: it has none. */
  readonly member?: Member;
  /** How far the engine says it is, and its digest there. */
  progress?(): Progress;
  /** Looks into a quiet file: fails the run when it does not hold what it should. */
  audit?(history: History): void;
}

export interface Member {
  /** 16 bytes, from its file. */
  readonly replicaId: Uint8Array;
  /** Its file was made anew by `recover` and has not joined yet. */
  readonly isRecovered: boolean;
}

export type Role =
  | 'primary'
  | 'backup'
  | 'view-change'
  | 'recovering'
  | 'recovering-head'
  | 'halted';

export interface Progress {
  readonly commitMin: number;
  readonly commitMax: number;
  /** Head of the log. */
  readonly op: number;
  /** Durable in its own log without a gap from what is executed. */
  readonly opDurable: number;
  readonly view: number;
  readonly logView: number;
  readonly role: Role;
  /** Takes part in its view; else it recovers, or changes views. */
  readonly isNormal: boolean;
  readonly isPrimary: boolean;
  /** Of everything up to `commitMin`, hexadecimal. */
  readonly digest: string;
}
