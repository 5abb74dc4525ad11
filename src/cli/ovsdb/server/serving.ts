/**
 * The running server's configuration: which databases and remotes it is to have, and making it so.
 * Targets and TLS files that are named by a database (`db:…`) are looked up again after every
 * change. Changes come from commands and from a configuration file, one after another.
 */
import fs from 'node:fs';
import { byText } from '../shared/program.ts';
import type { TlsSettings } from '../shared/tls-options.ts';
import { readProtocols } from '../shared/tls-protocols.ts';
import type { Vlog } from '../vlog/vlog.ts';
import type { AddOptions, Backend, RemoteOptions } from './backend.ts';
import {
  type Config,
  configText,
  type DatabaseConfig,
  databaseFromArgument,
  plainDatabase,
  REPLICATION_PROBE_MS,
  type ServiceModel,
  sourceOf,
} from './config.ts';
import {
  type Databases,
  defaultOptions,
  findColumn,
  findRemotes,
  findText,
  isDatabaseName,
} from './db-columns.ts';
import { statusOperations } from './remote-status.ts';

export interface Served {
  readonly name: string;
  /** As it was given. */
  readonly path: string;
  /** Device and inode of the file; `null`: it has none. */
  readonly identity: string | null;
  model: ServiceModel;
  config: DatabaseConfig;
}

export interface ServingOptions {
  readonly vlog: Vlog;
  readonly backend: Backend;
  readonly tls: TlsSettings;
  readonly add: AddOptions;
  /** Descriptor of the file that outlives a crash; `null`: nobody would read it. */
  readonly kept: number | null;
}

const MODULE = 'ovsdb_server';
const FIRST_WORD_MS = 200;
const STEP_MS = 10;

export class Serving {
  readonly #vlog: Vlog;
  readonly #backend: Backend;
  readonly #tls: TlsSettings;
  readonly #add: AddOptions;
  readonly #kept: number | null;
  /** By schema name. */
  readonly served: Map<string, Served> = new Map();
  remotes: Map<string, RemoteOptions> = new Map();
  syncFrom: string | null = null;
  syncExclude: string | null = null;
  isBackup: boolean = false;
  replicationProbeMs: number = REPLICATION_PROBE_MS;
  #remotesProblem: string = '';
  #tlsProblem: string = '';
  /** What the TLS settings were last resolved to. */
  #tlsResolved: string = '';
  #refreshing: boolean = false;
  #refreshAgain: boolean = false;

  constructor({ vlog, backend, tls, add, kept }: ServingOptions) {
    this.#vlog = vlog;
    this.#backend = backend;
    this.#tls = tls;
    this.#add = add;
    this.#kept = kept;
  }

  /** Makes the server what `config` says, as far as possible; false: something was not. */
  async reconfigure(config: Config): Promise<boolean> {
    // Changes meanwhile are looked at once, at the end.
    this.#refreshing = true;
    const ok = await this.#reconfigure(config);
    this.#refreshing = false;
    if (this.#refreshAgain) await this.refresh();
    return ok;
  }

  async #reconfigure(config: Config): Promise<boolean> {
    this.remotes = new Map(config.remotes);
    this.syncFrom = config.syncFrom;
    this.syncExclude = config.syncExclude;
    this.isBackup = config.isBackup;
    let ok = await this.#reconfigureDatabases(config.databases);
    if (!ok) this.#warn('failed to configure databases');
    const remotesProblem = await this.#resolveRemotes();
    this.#remotesProblem = remotesProblem;
    if (remotesProblem !== '') {
      this.#warn(`failed to configure remotes: ${remotesProblem}`);
      return false;
    }
    const tlsProblem = this.#resolveTls();
    if (tlsProblem !== '') {
      this.#warn(`failed to configure SSL/TLS: ${tlsProblem}`);
      ok = false;
    }
    return ok;
  }

  async #reconfigureDatabases(wanted: ReadonlyMap<string, DatabaseConfig>): Promise<boolean> {
    const missing = new Map(wanted);
    for (const served of [...this.served.values()]) {
      const config = wanted.get(served.path);
      if (config === undefined) {
        await this.#remove(served, `database ${served.name} removed from configuration`);
      } else if (!canBecome(served.model, config.model)) {
        await this.#remove(served, `service model changed for database ${served.name}`);
      } else {
        missing.delete(served.path);
        await this.#become(served, config);
      }
    }
    let ok = true;
    for (const [path, config] of missing) {
      const problem = await this.#open(path, config);
      if (problem === null) continue;
      this.#warn(`failed to open database '${path}': ${problem}`);
      ok = false;
    }
    return ok;
  }

  /** What is wrong, in the original's words, or `null`. */
  async addDatabase(argument: string): Promise<string | null> {
    const sync = { from: this.syncFrom, exclude: this.syncExclude, active: !this.isBackup };
    const [path, config] = databaseFromArgument(argument, sync);
    const problem = await this.#open(path, config);
    if (problem !== null) return problem;
    this.save();
    await this.refresh();
    return null;
  }

  async removeDatabase(name: string): Promise<string | null> {
    const served = this.served.get(name);
    if (name.startsWith('_') && this.#databases().has(name)) {
      return 'Cannot remove reserved database.';
    }
    if (served === undefined) return 'Failed to find the database.';
    await this.#remove(served, `removing ${name} database by user request`);
    this.save();
    await this.refresh();
    return null;
  }

  async addRemote(target: string): Promise<string | null> {
    if (isDatabaseName(target)) {
      const place = findColumn(this.#databases(), target);
      if (typeof place === 'string') return place;
    }
    if (!this.remotes.has(target)) this.remotes.set(target, defaultOptions());
    this.save();
    await this.refresh();
    return null;
  }

  async removeRemote(target: string): Promise<string | null> {
    if (!this.remotes.delete(target)) return 'no such remote';
    this.save();
    await this.refresh();
    return null;
  }

  async #open(path: string, config: DatabaseConfig): Promise<string | null> {
    if (config.model !== 'relay' && this.#isOpen(path)) return `ovsdb error: ${path}: already open`;
    let name: string;
    try {
      name =
        config.model === 'relay'
          ? await this.#openRelay(path, config)
          : await this.#backend.addDatabaseFile(path, this.#add);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      const isCluster = 'code' in error && error.code === 'ERR_OVSDB_CLUSTERED';
      const mismatch = isCluster && config.model !== null && config.model !== 'clustered';
      return mismatch ? mismatchText(path, 'clustered', config.model) : error.message;
    }
    const file = this.#backend.databases().find((one) => one.name === name);
    const found: ServiceModel = file?.model ?? 'standalone';
    const model = config.model === 'active-backup' && found === 'standalone' ? config.model : found;
    if (config.model !== null && config.model !== model) {
      await this.#backend.removeDatabase(name, `cannot complete opening ${name} database`);
      return mismatchText(path, found, config.model);
    }
    const identity = model === 'relay' ? null : identityOf(path);
    const served = { name, path, identity, model, config: plainDatabase };
    this.served.set(name, served);
    await this.#become(served, config);
    return null;
  }

  /** By another name or by the same, it is the same file. */
  #isOpen(path: string): boolean {
    const wanted = identityOf(path);
    if (wanted === null) return false;
    return [...this.served.values()].some(({ identity }) => identity === wanted);
  }

  async #openRelay(name: string, { source }: DatabaseConfig): Promise<string> {
    if (this.#backend.addRelay === undefined || source === null) {
      throw new Error(`ovsdb error: ${name}: relay mode is not available`);
    }
    return await this.#backend.addRelay(name, source);
  }

  /** Changes what a database is among others; what it holds stays. */
  async #become(served: Served, config: DatabaseConfig): Promise<void> {
    const before = served.config;
    served.config = config;
    served.model = config.model ?? served.model;
    if (served.model === 'relay') {
      const isNew = before.source !== null && sourceKey(before) !== sourceKey(config);
      if (isNew && config.source !== null) {
        await this.#backend.setRelaySource?.(served.name, config.source);
      }
      return;
    }
    if (!config.backup && !before.backup) return;
    if (config.backup === before.backup && sourceKey(before) === sourceKey(config)) return;
    const source = config.backup ? config.source : null;
    if (this.#backend.replicate === undefined) {
      if (source !== null) this.#warn(`${served.name}: replication is not available`);
      return;
    }
    const exclude = config.syncExclude === null ? null : qualified(served.name, config.syncExclude);
    const from = source === null ? null : { ...source, exclude };
    await this.#backend.replicate(served.name, from);
  }

  /** Changes all databases that are copies, or have copies. */
  async changeReplicas(change: (config: DatabaseConfig) => DatabaseConfig): Promise<void> {
    for (const served of this.served.values()) {
      if (served.model === 'active-backup') await this.#become(served, change(served.config));
    }
    this.save();
  }

  /** Makes backups of all databases that are in files of their own. */
  async connectToActive(target: string): Promise<void> {
    for (const served of this.served.values()) {
      if (served.model !== 'standalone') continue;
      served.model = 'active-backup';
      const source = sourceOf(target, 'active-backup', this.replicationProbeMs);
      served.config = {
        model: 'active-backup',
        source,
        syncExclude: this.syncExclude,
        backup: false,
      };
    }
    this.isBackup = true;
    await this.changeReplicas((config) => ({ ...config, backup: true }));
    await this.#firstWord();
  }

  /**
   * Until the other sides have said something, for a moment: who looks into the log after the
   * command finds there what came of it.
   */
  async #firstWord(): Promise<void> {
    for (let waited = 0; waited < FIRST_WORD_MS; waited += STEP_MS) {
      const states = [...this.served.values()]
        .filter(({ config }) => config.backup)
        .map(({ name }) => this.#backend.replicationStatus?.(name) ?? '');
      if (!states.some((state) => /^(connecting|not connected)/.test(state))) return;
      await new Promise((next) => setTimeout(next, STEP_MS));
    }
  }

  async setRelayProbe(intervalMs: number): Promise<void> {
    for (const served of this.served.values()) {
      const { source } = served.config;
      if (served.model !== 'relay' || source === null) continue;
      const changed = sourceOf(source.target, 'relay', intervalMs);
      await this.#become(served, { ...served.config, source: changed });
    }
    this.save();
  }

  /**
   * Copying has ended for good, so the database is its own master. Where arguments have made it a
   * backup, all of them are.
   */
  async replicationEnded(name: string, configFile: string | null): Promise<void> {
    const served = this.served.get(name);
    if (served === undefined) return;
    served.config = { ...served.config, backup: false };
    if (configFile !== null || !this.isBackup) return;
    this.isBackup = false;
    await this.changeReplicas((config) => ({ ...config, backup: false }));
  }

  /** For people: who is master of what. */
  syncStatus(): string {
    const names = ['_Server', ...this.served.keys()].sort(byText);
    let text = '';
    for (const [i, name] of names.entries()) {
      const served = this.served.get(name);
      if (served?.model !== 'active-backup') continue;
      const { backup } = served.config;
      text += `database: ${name}\nstate: ${backup ? 'backup' : 'active'}\n`;
      if (backup) text += this.#backend.replicationStatus?.(name) ?? '';
      if (i + 1 < names.length) text += '\n';
    }
    return text === '' ? 'state: active\n' : text;
  }

  async #remove(served: Served, reason: string): Promise<void> {
    this.served.delete(served.name);
    await this.#backend.removeDatabase(served.name, reason);
  }

  /** Looks up again what databases name. Calls while it is at it make it look once more. */
  async refresh(): Promise<void> {
    if (this.#refreshing) {
      this.#refreshAgain = true;
      return;
    }
    this.#refreshing = true;
    do {
      this.#refreshAgain = false;
      const remotes = await this.#resolveRemotes();
      if (remotes !== '' && remotes !== this.#remotesProblem) this.#warn(remotes);
      this.#remotesProblem = remotes;
      const tls = this.#resolveTls();
      if (tls !== '' && tls !== this.#tlsProblem) this.#warn(tls);
      this.#tlsProblem = tls;
    } while (this.#refreshAgain);
    this.#refreshing = false;
  }

  /** Whether anything depends on what a database holds. */
  get looksUp(): boolean {
    const files = Object.values(this.#tls).filter((file) => typeof file === 'string');
    return [...this.remotes.keys(), ...files].some(isDatabaseName);
  }

  async #resolveRemotes(): Promise<string> {
    const problems: string[] = [];
    const databases = this.#databases();
    const resolved = new Map<string, RemoteOptions>();
    for (const [target, options] of this.remotes) {
      const found = isDatabaseName(target)
        ? findRemotes(databases, target, problems)
        : new Map([[target, options]]);
      for (const [one, its] of found) if (!resolved.has(one)) resolved.set(one, its);
    }
    // Certificates first: listeners take them when they open.
    this.#resolveTls();
    await this.#backend.setRemotes(resolved);
    return problems.join('\n');
  }

  #resolveTls(): string {
    const problems: string[] = [];
    const databases = this.#databases();
    const text = (name: string | null): string | null => findText(databases, name, problems);
    const resolved: TlsSettings = {
      privateKey: text(this.#tls.privateKey),
      certificate: text(this.#tls.certificate),
      caCert: text(this.#tls.caCert),
      bootstrapCaCert: this.#tls.bootstrapCaCert,
      peerCaCert: this.#tls.peerCaCert,
      protocols: text(this.#tls.protocols),
      ciphers: text(this.#tls.ciphers),
      ciphersuites: text(this.#tls.ciphersuites),
      serverName: text(this.#tls.serverName),
    };
    const key = JSON.stringify(resolved);
    if (key !== this.#tlsResolved) {
      const { protocols, lines } = readProtocols(resolved.protocols);
      for (const line of lines) this.#vlog.log('stream_ssl', line.level, line.text);
      this.#backend.setTls({ ...resolved, protocols });
    }
    this.#tlsResolved = key;
    return problems.join('\n');
  }

  /** Writes back how the remotes fare. */
  async updateStatus(): Promise<void> {
    const databases = this.#databases();
    for (const target of this.remotes.keys()) {
      if (!isDatabaseName(target)) continue;
      const place = findColumn(databases, target);
      if (place === null || typeof place === 'string') continue;
      const { databaseName } = place;
      const isFollowed = this.served.get(databaseName)?.config.backup === true;
      if (isFollowed || this.served.get(databaseName)?.model === 'clustered') continue;
      const operations = statusOperations(place, (one) => this.#backend.remoteStatus(one));
      if (operations.length === 0) continue;
      const problem = await this.#backend.internal(databaseName, operations);
      if (problem !== null) {
        this.#vlog.log(MODULE, 'ERR', `Failed to update remote status: ${problem}`);
      }
    }
  }

  /** What there is now, as a configuration. */
  config(): Config {
    const databases = [...this.served.values()].map(
      ({ path, config, model }): [string, DatabaseConfig] => [path, { ...config, model }],
    );
    return {
      remotes: this.remotes,
      databases: new Map(databases),
      syncFrom: this.syncFrom,
      syncExclude: this.syncExclude,
      isBackup: this.isBackup,
    };
  }

  /** Keeps the configuration for the process that follows a crash of this one. */
  save(): void {
    if (this.#kept === null) return;
    fs.ftruncateSync(this.#kept, 0);
    fs.writeSync(this.#kept, configText(this.config()), 0, 'utf8');
  }

  #databases(): Databases {
    return new Map(this.#backend.databases().map(({ name, database }) => [name, database]));
  }

  #warn(text: string): void {
    this.#vlog.log(MODULE, 'WARN', text);
  }
}

/** Names of tables alone are of this database. */
function qualified(database: string, tables: string): string {
  const names = tables.split(/[ ,]+/).filter((name) => name !== '');
  return names.map((name) => (name.includes(':') ? name : `${database}:${name}`)).join(',');
}

function mismatchText(path: string, found: string, wanted: string): string {
  return `ovsdb error: ${path}: database is ${found} and not ${wanted}`;
}

/** Device and inode; `null`: there is no such file. */
function identityOf(path: string): string | null {
  const found = fs.statSync(path, { throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}/${found.ino}`;
}

function sourceKey({ source, syncExclude }: DatabaseConfig): string {
  return JSON.stringify([source, syncExclude]);
}

/** Whether a database goes on as it is under a changed configuration. */
function canBecome(now: ServiceModel, wanted: ServiceModel | null): boolean {
  if (now === wanted) return true;
  if (wanted === null) return now === 'standalone' || now === 'clustered';
  const pair = [now, wanted];
  return pair.includes('standalone') && pair.includes('active-backup');
}
