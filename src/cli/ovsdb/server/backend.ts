/**
 * What the program needs of the server that it drives. The server itself, its sockets and files
 * are in the host room; here is only what arguments, configuration and commands ask of it.
 */
import type { Database, Json } from '../../../ovsdb/index.ts';
import type { TlsSettings } from '../shared/tls-options.ts';

export interface RemoteOptions {
  readonly maxBackoffMs: number;
  /** `null`: as the kind of target has it. 0: none. */
  readonly inactivityProbeMs: number | null;
  readonly readOnly: boolean;
  readonly role: string;
  /** 0–63. */
  readonly dscp: number;
}

export type Model = 'standalone' | 'clustered' | 'relay';

export interface BackendDatabase {
  readonly name: string;
  /** As it was given; `null`: not from a file. */
  readonly path: string | null;
  readonly model: Model;
  /** `null`: not known yet. */
  readonly database: Database | null;
  /** Why the storage takes nothing any more; `null`: it does. */
  readonly storageProblem: string | null;
}

export interface RemoteStatus {
  readonly isConnected: boolean;
  /** `null`: a listener has none. */
  readonly state: string | null;
  /** Whole seconds; `null`: never was. */
  readonly secSinceConnect: number | null;
  readonly secSinceDisconnect: number | null;
  readonly lastError: string | null;
  readonly locksHeld: readonly string[];
  readonly locksWaiting: readonly string[];
  readonly locksLost: readonly string[];
  readonly connections: number;
  readonly boundPort: number | null;
}

/** Another server. */
export interface Source {
  /** One target, or several with commas between. */
  readonly target: string;
  readonly options: RemoteOptions;
}

export interface ReplicationSource extends Source {
  /** Tables that are not copied, `TABLE` or `DB:TABLE`, with commas between; `null`: all are. */
  readonly exclude: string | null;
}

export interface AddOptions {
  readonly continueAfterDamage: boolean;
}

export interface Backend {
  /** Its name. Rejects with an error whose message is the original's. */
  addDatabaseFile(path: string, options: AddOptions): Promise<string>;
  removeDatabase(name: string, reason: string): Promise<void>;
  databases(): readonly BackendDatabase[];
  /** Rejects with an error whose message is the original's. */
  compact(name: string): Promise<void>;
  /** Drops all connections of clients, or only those that are not told of changes. */
  reconnect(force: boolean, reason: string): void;
  disableMonitorCond(): void;
  /** Operations of the server itself; resolves with what went wrong, or `null`. */
  internal(name: string, operations: readonly Json[]): Promise<string | null>;
  /** Everything that is to be listened on and connected to from now on. */
  setRemotes(remotes: ReadonlyMap<string, RemoteOptions>): Promise<void>;
  setTls(settings: TlsSettings): void;
  remoteStatus(target: string): RemoteStatus | null;
  /** For memory/show. */
  memory(): Readonly<Record<string, number>>;
  /** Ends everything: what was acknowledged is on disk, sockets are unlinked. */
  close(): Promise<void>;
  /** Copies another server's database into this one until told otherwise; `null`: stops. */
  replicate?(name: string, from: ReplicationSource | null): Promise<void>;
  /** How copying goes, in the original's words. */
  replicationStatus?(name: string): string;
  /** Serves another server's database without keeping it. Its name. */
  addRelay?(name: string, source: Source): Promise<string>;
  /** The relayed database gets its data from there from now on. */
  setRelaySource?(name: string, source: Source): Promise<void>;
}
