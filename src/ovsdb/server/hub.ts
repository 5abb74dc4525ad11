/** What the parts of the core share. */
import type { UuidSource } from '../data/uuid.ts';
import type { CoreEffect } from './effects.ts';
import type { CoreLimits } from './limits.ts';
import type { Locks } from './locks.ts';
import type { ServedDatabase } from './served-database.ts';
import type { Session } from './session.ts';

export interface Hub {
  readonly limits: CoreLimits;
  readonly uuids: UuidSource;
  readonly locks: Locks<Session>;
  readonly databases: ReadonlyMap<string, ServedDatabase>;
  /** Wall clock − the clock of `nowMs`, ms. */
  readonly dateOffsetMs: number;
  /** Whether changed columns are kept as diffs. */
  readonly columnDiff: boolean;
  /** Whether there are monitors with conditions. */
  readonly monitorCond: boolean;
  sessions(): Iterable<Session>;
  emit(effect: CoreEffect): void;
  /** Sends what the session's monitors have to tell, then the message. */
  send(session: Session, text: string): void;
  /** Sends what the session's monitors have to tell; `false`: it is gone. */
  tell(session: Session): boolean;
  /** Closes the connection, and forgets the session at once. */
  drop(session: Session, reason: string): void;
  /** What the session could not do before it may be able to do now. */
  wake(session: Session): void;
  /** The database is another one now: tells those who can be told, drops the others. */
  replaced(served: ServedDatabase, reason: string, nowMs: number): void;
}
