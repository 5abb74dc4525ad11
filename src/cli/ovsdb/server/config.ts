/**
 * What a server serves: its remotes and databases, from arguments or from a configuration file in
 * JSON. The same form is kept across crashes under `--monitor`.
 */
import fs from 'node:fs';
import {
  isArray,
  isInteger,
  isObject,
  type Json,
  type JsonObject,
  MemberParser,
  memberOf,
  parseJson,
  serialize,
} from '../../../ovsdb/index.ts';
import { reasonOf } from '../shared/program.ts';
import type { RemoteOptions, Source } from './backend.ts';
import { defaultOptions } from './db-columns.ts';

export const models = ['standalone', 'clustered', 'active-backup', 'relay'] as const;
export type ServiceModel = (typeof models)[number];

export interface DatabaseConfig {
  /** `null`: as the file turns out to be. */
  readonly model: ServiceModel | null;
  readonly source: Source | null;
  /** Of active-backup: tables that are not copied, `TABLE` or `DB:TABLE`, with commas between. */
  readonly syncExclude: string | null;
  /** Of active-backup: whether it is the backup now. */
  readonly backup: boolean;
}

export interface Config {
  readonly remotes: ReadonlyMap<string, RemoteOptions>;
  /** By file name, or name of a relayed database. */
  readonly databases: ReadonlyMap<string, DatabaseConfig>;
  readonly syncFrom: string | null;
  readonly syncExclude: string | null;
  readonly isBackup: boolean;
}

export const REPLICATION_PROBE_MS = 60_000;
export const RELAY_PROBE_MS = 120_000;

export const plainDatabase: DatabaseConfig = {
  model: null,
  source: null,
  syncExclude: null,
  backup: false,
};

/** Said once for each thing that is wrong. */
export type Warn = (text: string) => void;

/** A database as arguments name it: a file, or `relay:NAME:REMOTES`. */
export function databaseFromArgument(
  argument: string,
  sync: { readonly from: string | null; readonly exclude: string | null; readonly active: boolean },
): [name: string, config: DatabaseConfig] {
  const relay = /^relay:([^:]*):([\s\S]+)$/.exec(argument);
  if (relay !== null) {
    const source = sourceOf(relay[2], 'relay');
    return [relay[1], { ...plainDatabase, model: 'relay', source }];
  }
  if (sync.from === null) return [argument, plainDatabase];
  const source = sourceOf(sync.from, 'active-backup');
  const backup = !sync.active;
  return [argument, { model: 'active-backup', source, syncExclude: sync.exclude, backup }];
}

export function sourceOf(
  target: string,
  model: ServiceModel,
  inactivityProbeMs: number = model === 'relay' ? RELAY_PROBE_MS : REPLICATION_PROBE_MS,
): Source {
  return { target, options: { ...defaultOptions(), inactivityProbeMs } };
}

/** `null`: it cannot be used; why was said. */
export function readConfigFile(
  path: string,
  warn: Warn,
  fail: Warn,
  opened: () => void,
): Config | 'not opened' | null {
  let text: string;
  try {
    text = fs.readFileSync(path, 'utf8');
  } catch (error) {
    fail(`failed to open configuration file '${path}': ${reasonOf(error)}`);
    return 'not opened';
  }
  opened();
  return parseConfig(text, warn);
}

export function parseConfig(text: string, warn: Warn): Config | null {
  const parsed = parseJson(text);
  if (!parsed.ok) {
    warn(`config: reading JSON failed (${parsed.error})`);
    return null;
  }
  const json = parsed.value;
  if (!isObject(json)) {
    warn('configuration in a file must be a JSON object');
    return null;
  }
  const remotes = parseRemotes(memberOf(json, 'remotes') ?? null, warn);
  if (remotes === null) {
    warn("config: failed to parse 'remotes'");
    return null;
  }
  const databases = parseDatabases(memberOf(json, 'databases') ?? null, warn);
  if (databases === null) {
    warn("config: failed to parse 'databases'");
    return null;
  }
  return {
    remotes,
    databases,
    syncFrom: textMember(json, 'sync_from'),
    syncExclude: textMember(json, 'sync_exclude'),
    isBackup: memberOf(json, 'is_backup') === true,
  };
}

export function configText(config: Config): string {
  const databases = [...config.databases].map(([name, one]) => [name, databaseJson(one)]);
  const remotes = [...config.remotes].map(([name, options]) => [name, remoteJson(options)]);
  return serialize({
    remotes: Object.fromEntries(remotes),
    databases: Object.fromEntries(databases),
    ...(config.syncFrom === null ? {} : { sync_from: config.syncFrom }),
    ...(config.syncExclude === null ? {} : { sync_exclude: config.syncExclude }),
    is_backup: config.isBackup,
  });
}

function parseRemotes(json: Json, warn: Warn): Map<string, RemoteOptions> | null {
  const remotes = new Map<string, RemoteOptions>();
  if (json === null) return remotes;
  if (!isObject(json)) {
    warn("config: 'remotes' is not a JSON object");
    return null;
  }
  for (const [target, options] of Object.entries(json)) {
    if (options !== null && !isObject(options)) {
      warn(`${target}: JSON-RPC options are not a JSON object or null`);
      return null;
    }
    remotes.set(target, parseOptions(defaultOptions(), options ?? {}, false, warn));
  }
  return remotes;
}

/** What is wrong in them is said, and the rest counts. */
function parseOptions(
  options: RemoteOptions,
  json: JsonObject,
  connectionOnly: boolean,
  warn: Warn,
): RemoteOptions {
  const parser = new MemberParser(json, 'JSON-RPC options');
  const integer = (name: string): number | null => {
    const value = parser.optionalInteger(name);
    return value !== undefined && isInteger(value) ? Number(value) : null;
  };
  const read = {
    maxBackoffMs: integer('max-backoff') ?? options.maxBackoffMs,
    inactivityProbeMs: integer('inactivity-probe') ?? options.inactivityProbeMs,
    dscp: integer('dscp') ?? options.dscp,
  };
  const { readOnly, role } = options;
  const more = connectionOnly
    ? { readOnly, role }
    : {
        readOnly: parser.optionalBoolean('read-only') ?? readOnly,
        role: parser.optionalString('role') ?? role,
      };
  const error = parser.finish();
  if (error !== null) warn(error.toString());
  return { ...read, ...more };
}

function parseDatabases(json: Json, warn: Warn): Map<string, DatabaseConfig> | null {
  const databases = new Map<string, DatabaseConfig>();
  if (json === null) return databases;
  if (!isObject(json)) {
    warn("config: 'databases' is not a JSON object or null");
    return null;
  }
  for (const [name, one] of Object.entries(json)) {
    const config = one === null ? plainDatabase : parseDatabase(name, one, warn);
    if (config === null) return null;
    databases.set(name, config);
  }
  return databases;
}

function parseDatabase(name: string, json: Json, warn: Warn): DatabaseConfig | null {
  const parser = new MemberParser(json, `database ${name}`);
  const word = parser.optionalString('service-model') ?? null;
  const model = models.find((one) => one === word) ?? null;
  if (word !== null && model === null) {
    warn(`Unrecognized database service model: '${word}'`);
    parser.raise(`'${word}' is not a valid service model`);
  }
  const isBackup = model === 'active-backup';
  const backup = isBackup ? parser.boolean('backup') === true : false;
  const syncExclude = isBackup ? parseExclude(parser) : null;
  const source =
    isBackup || model === 'relay' ? parseSource(parser, model, isBackup && !backup, warn) : null;
  const error = parser.finish();
  if (error === null) return { model, source, syncExclude, backup };
  warn(error.toString());
  return null;
}

function parseExclude(parser: MemberParser): string | null {
  const tables = parser.optionalArray('exclude-tables');
  if (tables === undefined) return null;
  if (!tables.every((table) => typeof table === 'string')) {
    parser.raise("'exclude-tables' must contain strings");
    return null;
  }
  return tables.join(',');
}

function parseSource(
  parser: MemberParser,
  model: ServiceModel,
  optional: boolean,
  warn: Warn,
): Source | null {
  const json = optional ? parser.optionalObject('source') : parser.object('source');
  if (json === undefined) return null;
  const [first, ...more] = Object.entries(json);
  if (first === undefined || more.length > 0) {
    parser.raise("'source' should be an object with exactly one element");
    return null;
  }
  const [target, options] = first;
  const source = sourceOf(target, model);
  if (options === null) return source;
  if (!isObject(options) || isArray(options)) {
    parser.raise('JSON-RPC options is not a JSON object or null');
    return null;
  }
  return { target, options: parseOptions(source.options, options, true, warn) };
}

function textMember(json: JsonObject, name: string): string | null {
  const value = memberOf(json, name);
  return typeof value === 'string' ? value : null;
}

function remoteJson(options: RemoteOptions, connectionOnly: boolean = false): Json {
  return {
    'max-backoff': options.maxBackoffMs,
    ...(options.inactivityProbeMs === null
      ? {}
      : { 'inactivity-probe': options.inactivityProbeMs }),
    dscp: options.dscp,
    ...(connectionOnly ? {} : { 'read-only': options.readOnly }),
    ...(connectionOnly || options.role === '' ? {} : { role: options.role }),
  };
}

function databaseJson(config: DatabaseConfig): Json {
  const { model, source, syncExclude, backup } = config;
  return {
    ...(model === null ? {} : { 'service-model': model }),
    ...(source === null ? {} : { source: { [source.target]: remoteJson(source.options, true) } }),
    ...(model === 'active-backup' && syncExclude !== null
      ? { 'exclude-tables': syncExclude.split(/[ ,]+/) }
      : {}),
    ...(model === 'active-backup' ? { backup } : {}),
  };
}
