/** What an {@link OvsdbServer} is told, and what it tells, beside its methods. */
import type { CoreLimits, Database, DatabaseModel, UuidSource } from '../../ovsdb/index.ts';

export type OvsdbLogLevel = 'EMER' | 'ERR' | 'WARN' | 'INFO' | 'DBG';

export interface OvsdbServerOptions {
  /** `module`: the part of the original that says such things. */
  readonly log?: (module: string, level: OvsdbLogLevel, text: string) => void;
  /** Something in a database has changed for good; several changes are told as one. */
  readonly onCommitted?: () => void;
  /** Copying another server's database has ended for good. */
  readonly onReplicationEnd?: (name: string) => void;
  /** For new rows and versions; defaults to random ones. */
  readonly uuids?: UuidSource;
  /** Whether files keep diffs of columns, which readers older than 2.15 do not know. */
  readonly columnDiff?: boolean;
  /** Where unix sockets are whose path is not absolute. */
  readonly runDirectory?: string;
  readonly limits?: Partial<CoreLimits>;
  /** What one client may be behind in reading before it is disconnected, bytes. */
  readonly backlogMax?: number;
}

export interface RemoteOptions {
  /** The longest wait between attempts of this side to connect, ms. */
  readonly maxBackoffMs: number;
  /** `null`: as the kind of target has it (5000 ms, none on unix sockets). 0: none. */
  readonly inactivityProbeMs: number | null;
  readonly readOnly: boolean;
  /** For role-based access control; empty: everything is allowed. */
  readonly role: string;
  /** Class of service, 0–63. Kept for the status; the platform cannot set it. */
  readonly dscp: number;
}

export const defaultRemoteOptions: RemoteOptions = {
  maxBackoffMs: 8_000,
  inactivityProbeMs: null,
  readOnly: false,
  role: '',
  dscp: 48,
};

export interface RemoteStatus {
  readonly isConnected: boolean;
  /** `null`: a listener without connections. */
  readonly state: string | null;
  /** Whole seconds; `null`: never was. */
  readonly secSinceConnect: number | null;
  readonly secSinceDisconnect: number | null;
  readonly lastError: string | null;
  readonly locksHeld: readonly string[];
  readonly locksWaiting: readonly string[];
  readonly locksLost: readonly string[];
  readonly connections: number;
  /** `null`: it does not listen on a port. */
  readonly boundPort: number | null;
}

export interface OvsdbDatabaseInfo {
  readonly name: string;
  /** As it was given; `null`: not from a file. */
  readonly path: string | null;
  readonly model: DatabaseModel;
  /** `null`: not known yet. */
  readonly database: Database | null;
  /** Why the storage takes nothing any more; `null`: it does. */
  readonly storageProblem: string | null;
}

/** Another server. */
export interface OvsdbSource {
  /** One target, or several with commas between. */
  readonly target: string;
  readonly options: RemoteOptions;
}

export interface OvsdbReplicationSource extends OvsdbSource {
  /** Tables that are not copied, `DB:TABLE` with commas between; `null`: all are. */
  readonly exclude: string | null;
}
