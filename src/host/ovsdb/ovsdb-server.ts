/**
 * An OVSDB server in this process: the core, the files of its databases and the streams of its
 * clients, put together. It formats nothing for people and reads no arguments; the program and
 * tests do that. Errors about files say in their message what the original says.
 */
import { randomUUID } from 'node:crypto';
import { TlsContext, type TlsFiles } from '../../io/streams/index.ts';
import {
  Backup,
  backupStatus,
  type Database,
  excludedTablesOf,
  isArray,
  isObject,
  type Json,
  OvsdbCore,
  type OvsdbError,
  parseJson,
  Relay,
  SERVER_DATABASE,
  serialize,
} from '../../ovsdb/index.ts';
import { CoreRunner } from './core-runner.ts';
import type {
  OvsdbDatabaseInfo,
  OvsdbLogLevel,
  OvsdbReplicationSource,
  OvsdbServerOptions,
  OvsdbSource,
  RemoteOptions,
  RemoteStatus,
} from './options.ts';
import { Remotes } from './remotes.ts';
import { SourceLink } from './source-link.ts';
import { type OvsdbStorage, openOvsdbFile } from './storage/index.ts';

interface ServedFile {
  readonly path: string;
  readonly storage: OvsdbStorage;
}

interface Replication {
  readonly backup: Backup;
  readonly link: SourceLink;
  readonly source: OvsdbReplicationSource;
  /** `DATABASE:TABLE` */
  readonly excluded: readonly string[];
}

interface Relayed {
  readonly relay: Relay;
  link: SourceLink;
}

export class OvsdbServer {
  readonly #core: OvsdbCore;
  readonly #runner: CoreRunner;
  readonly #remotes: Remotes;
  readonly #tls: TlsContext = new TlsContext();
  readonly #options: OvsdbServerOptions;
  readonly #log: (module: string, level: OvsdbLogLevel, text: string) => void;
  readonly #uuids: () => string;
  readonly #files: Map<string, ServedFile> = new Map();
  /** Paths that are being opened or are open. */
  readonly #paths: Set<string> = new Set();
  readonly #replications: Map<string, Replication> = new Map();
  readonly #relays: Map<string, Relayed> = new Map();
  #commitTold: boolean = false;

  constructor(options: OvsdbServerOptions = {}) {
    const { uuids = randomUUID, log = () => {}, limits } = options;
    this.#options = options;
    this.#log = log;
    this.#uuids = uuids;
    const core = new OvsdbCore({
      uuids,
      serverId: randomUUID(),
      ...(limits === undefined ? {} : { limits }),
    });
    this.#core = core;
    core.columnDiff = options.columnDiff ?? true;
    core.dateOffsetMs = Date.now() - performance.now();
    this.#runner = new CoreRunner(core, this.#hooks(), () => performance.now());
    this.#remotes = new Remotes({
      core,
      runner: this.#runner,
      tls: this.#tls,
      runDirectory: options.runDirectory,
      backlogMax: options.backlogMax,
      log,
    });
  }

  #hooks(): ConstructorParameters<typeof CoreRunner>[1] {
    return {
      log: this.#log,
      append: (effect) => this.#files.get(effect.database)?.storage.append(effect),
      flush: () => {
        for (const { storage } of this.#files.values()) storage.flush();
      },
      forward: ({ database, number, params }) => {
        const relayed = this.#relays.get(database);
        relayed?.relay.forward(number, params);
        // Not from within the core's turn.
        queueMicrotask(() => relayed?.link.settle());
      },
      committed: () => this.#onCommitted(),
    };
  }

  #onCommitted(): void {
    const { onCommitted } = this.#options;
    if (onCommitted === undefined || this.#commitTold) return;
    this.#commitTold = true;
    setImmediate(() => {
      this.#commitTold = false;
      onCommitted();
    });
  }

  get serverId(): string {
    return this.#core.serverId;
  }

  // --- Databases ------------------------------------------------------------------------------

  /**
   * Serves the database in a file. Resolves with its name.
   * @throws OvsdbFileError, or an error whose message is the original's
   */
  async addDatabaseFile(
    path: string,
    { continueAfterDamage = false }: { readonly continueAfterDamage?: boolean } = {},
  ): Promise<string> {
    if (this.#paths.has(path)) throw new Error(`ovsdb error: ${path}: already open`);
    this.#paths.add(path);
    try {
      return await this.#openFile(path, continueAfterDamage);
    } catch (error) {
      this.#paths.delete(path);
      throw error;
    }
  }

  async #openFile(path: string, continueAfterDamage: boolean): Promise<string> {
    const uuids = this.#uuids;
    const { database, storage, warnings } = await openOvsdbFile({
      path,
      uuids,
      continueAfterDamage,
    });
    for (const { level, text } of warnings) this.#log('ovsdb_file', level, text);
    const { name } = database;
    if (this.#core.hasDatabase(name)) {
      await storage.close();
      throw new Error(`ovsdb error: ${name}: duplicate database name`);
    }
    this.#files.set(name, { path, storage });
    storage.start({
      appended: (number) => {
        this.#runner.confirmed(name, number);
        this.#core.appended(name, number, performance.now());
        this.#runner.drain();
      },
      failed: (number, error, through) => {
        this.#core.appendFailed(name, number, error, performance.now(), through);
        this.#runner.drain();
      },
      log: (level, text) => this.#log('ovsdb_file', level, text),
    });
    this.#core.addDatabase({ name, database, model: 'standalone' }, performance.now());
    this.#runner.drain();
    return name;
  }

  /** Serves a database that no file keeps. */
  addDatabase(database: Database): void {
    const { name } = database;
    if (this.#core.hasDatabase(name)) {
      throw new Error(`ovsdb error: ${name}: duplicate database name`);
    }
    const options = { name, database, model: 'standalone', journal: 'none' } as const;
    this.#core.addDatabase(options, performance.now());
    this.#runner.drain();
  }

  /** Resolves when its file is closed. */
  async removeDatabase(name: string, reason?: string): Promise<void> {
    if (!this.#core.hasDatabase(name) || name === SERVER_DATABASE) {
      throw new Error('Failed to find the database.');
    }
    this.#replications.get(name)?.link.close();
    this.#replications.delete(name);
    this.#relays.get(name)?.link.close();
    this.#relays.delete(name);
    this.#core.removeDatabase(name, performance.now(), reason);
    this.#runner.drain();
    this.#runner.forget(name);
    const file = this.#files.get(name);
    this.#files.delete(name);
    if (file === undefined) return;
    await file.storage.close();
    this.#paths.delete(file.path);
  }

  /** `_Server` among them. */
  databases(): OvsdbDatabaseInfo[] {
    return this.#core.databaseNames().map((name) => {
      const file = this.#files.get(name);
      return {
        name,
        path: file?.path ?? null,
        model: this.#relays.has(name) ? 'relay' : 'standalone',
        database: this.#core.database(name),
        storageProblem: file?.storage.problem ?? null,
      };
    });
  }

  /** Writes the database's file anew, without what is past. */
  async compact(name: string): Promise<void> {
    this.#runner.drain();
    await this.#files.get(name)?.storage.compact();
  }

  /** Operations of the server itself; resolves with what went wrong, or `null`. */
  async internal(name: string, operations: readonly Json[]): Promise<string | null> {
    const results = await this.transact(name, operations);
    const failed = results.find((result) => isObject(result) && Object.hasOwn(result, 'error'));
    return failed === undefined ? null : serialize(failed);
  }

  /** The same; resolves with the operations' results, errors among them (RFC 7047 §4.1.3). */
  transact(name: string, operations: readonly Json[]): Promise<readonly Json[]> {
    return new Promise((resolve) => {
      const done = (error: OvsdbError | null, text: string): void => {
        const results = error === null ? parseJson(text) : null;
        if (error !== null) resolve([error.toJson()]);
        else resolve(results?.ok === true && isArray(results.value) ? results.value : []);
      };
      this.#core.internal(name, operations, performance.now(), done);
      this.#runner.drain();
    });
  }

  setReadOnly(name: string, readOnly: boolean): void {
    this.#core.setReadOnly(name, readOnly);
    this.#runner.drain();
  }

  // --- Clients --------------------------------------------------------------------------------

  /** Everything that is to be listened on and connected to from now on; see {@link Remotes}. */
  setRemotes(remotes: ReadonlyMap<string, RemoteOptions>): Promise<void> {
    return this.#remotes.set(remotes);
  }

  /** `null`: no such remote, or it cannot be listened on. */
  remoteStatus(target: string): RemoteStatus | null {
    return this.#remotes.status(target);
  }

  /** For streams that are opened from now on. Files are read when they are needed. */
  setTls(files: TlsFiles): void {
    this.#tls.configure(files);
  }

  /** Drops all connections of clients, or only those that are not told of changes. */
  reconnect(force: boolean, reason: string): void {
    this.#core.dropSessions(reason, { force });
    this.#runner.drain();
  }

  /** "monitor_cond" and "monitor_cond_since" are not known from now on. */
  disableMonitorCond(): void {
    this.#core.monitorCond = false;
    this.reconnect(true, 'user ran ovsdb-server/disable-monitor-cond');
  }

  /** By the names that "memory/show" uses. */
  memory(): Record<string, number> {
    const counters = this.#core.counters();
    const memory: Record<string, number> = {
      atoms: counters.atoms,
      'json-caches': counters.cachedTexts,
      monitors: counters.monitors,
      sessions: counters.sessions,
      triggers: counters.triggers,
      'txn-history': counters.historyTransactions,
      'txn-history-atoms': counters.historyAtoms,
    };
    let backlog = 0;
    for (const { stream } of this.#runner.clients) backlog += stream?.backlogBytes ?? 0;
    memory['backlog'] = backlog;
    return memory;
  }

  // --- Other servers --------------------------------------------------------------------------

  /** Copies another server's database into this one until told otherwise; `null`: stops. */
  async replicate(name: string, from: OvsdbReplicationSource | null): Promise<void> {
    this.#replications.get(name)?.link.close();
    this.#replications.delete(name);
    this.setReadOnly(name, from !== null);
    if (from === null) return;
    const excluded = excludedTablesOf(name, from.exclude ?? '');
    const backup = new Backup({ core: this.#core, name, excluded, uuids: this.#uuids });
    // What can never work leaves the database its own master again.
    const onFailed = (): void => {
      this.#replications.delete(name);
      this.setReadOnly(name, false);
      this.#options.onReplicationEnd?.(name);
    };
    const link = this.#link(backup, from, 'replication', onFailed);
    const tables = [...excluded].map((table) => `${name}:${table}`);
    this.#replications.set(name, { backup, link, source: from, excluded: tables });
  }

  /** How copying goes, in the original's words. */
  replicationStatus(name: string): string {
    const found = this.#replications.get(name);
    if (found === undefined) return '';
    const { backup, link, source, excluded } = found;
    return backupStatus(backup.state, source.target, link.isAlive, excluded);
  }

  /** Serves another server's database without keeping it. Resolves with its name. */
  async addRelay(name: string, source: OvsdbSource): Promise<string> {
    if (this.#core.hasDatabase(name)) {
      throw new Error(`ovsdb error: ${name}: duplicate database name`);
    }
    const status = { connected: false, leader: false };
    const options = {
      name,
      database: null,
      model: 'relay',
      journal: 'none',
      forwards: true,
      status,
    };
    this.#core.addDatabase({ ...options, model: 'relay', journal: 'none' }, performance.now());
    const relay = new Relay({ core: this.#core, name, uuids: this.#uuids });
    this.#relays.set(name, { relay, link: this.#link(relay, source, 'ovsdb_relay', () => {}) });
    this.#runner.drain();
    return name;
  }

  /** The relayed database gets its data from there from now on. */
  async setRelaySource(name: string, source: OvsdbSource): Promise<void> {
    const relayed = this.#relays.get(name);
    if (relayed === undefined) throw new Error(`ovsdb error: ${name}: not a relay`);
    relayed.link.close();
    relayed.relay.disconnected(performance.now());
    this.#runner.drain();
    relayed.link = this.#link(relayed.relay, source, 'ovsdb_relay', () => {});
  }

  #link(
    follower: Backup | Relay,
    source: OvsdbSource,
    module: string,
    onFailed: (reason: string) => void,
  ): SourceLink {
    return new SourceLink({
      follower,
      source,
      module,
      runner: this.#runner,
      tls: this.#tls,
      runDirectory: this.#options.runDirectory,
      log: this.#log,
      onFailed,
    });
  }

  /** Ends everything. What was acknowledged is in the files; socket files are gone. */
  async close(): Promise<void> {
    for (const { link } of this.#replications.values()) link.close();
    for (const { link } of this.#relays.values()) link.close();
    await this.#remotes.close();
    this.#runner.drain();
    await Promise.all([...this.#files.values()].map(({ storage }) => storage.close()));
    this.#runner.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
