/** Commands that say something about a database file or a schema, and change nothing. */
import fs from 'node:fs';
import { isError } from '../../../ovsdb/data/error.ts';
import { parseUuid, UUID_ZERO } from '../../../ovsdb/data/uuid.ts';
import { isObject, type JsonObject } from '../../../ovsdb/json/value.ts';
import { parseSchema, type Schema, schemasEqual } from '../../../ovsdb/schema/schema.ts';
import { defaultDatabase, defaultSchema, type ToolContext } from './context.ts';
import { Fatal, fatal } from './fatal.ts';
import { openLog, readDatabaseSchema, readerOf, readJson, readSchemaFile } from './read-file.ts';

/** Exit code of a test whose answer is no. */
const NO = 2;

export function needsConversion({ args, print }: ToolContext): void {
  const [name = defaultDatabase(), schemaName = defaultSchema()] = args;
  const old = readDatabaseSchema(name);
  print(schemasEqual(old, readSchemaFile(schemaName)) ? 'no' : 'yes');
}

export function databaseName({ args, print }: ToolContext): void {
  const [name = defaultDatabase()] = args;
  const log = openLog(name);
  const json = readJson(readerOf(log, name)) as JsonObject;
  fs.closeSync(log.fd);
  if (log.magic === 'CLUSTER') {
    print(headerOf(json).name);
    return;
  }
  const schema = parseSchema(json);
  print(isError(schema) ? fatal(schema) : schema.name);
}

export function databaseVersion({ args, print }: ToolContext): void {
  print(readDatabaseSchema(args[0] ?? defaultDatabase()).version);
}

export function databaseChecksum({ args, print }: ToolContext): void {
  print(readDatabaseSchema(args[0] ?? defaultDatabase()).cksum);
}

export function schemaMember(member: 'name' | 'version' | 'cksum'): (context: ToolContext) => void {
  return ({ args, print }) => {
    const schema: Schema = readSchemaFile(args[0] ?? defaultSchema());
    print(schema[member]);
  };
}

interface ClusterHeader {
  readonly name: string;
  readonly localAddress: string;
  readonly serverId: string;
  readonly clusterId: string;
}

function headerOf(json: JsonObject): ClusterHeader {
  const text = (name: string): string => {
    const value = json[name];
    if (typeof value === 'string') return value;
    const what = value === undefined ? `Required '${name}' member is missing.` : undefined;
    const problem = what ?? `Type mismatch for member '${name}'.`;
    return fatal(`syntax error: Parsing raft header failed: ${problem}`);
  };
  const uuid = (name: string): string => parseUuid(text(name)) ?? UUID_ZERO;
  return {
    name: text('name'),
    localAddress: text('local_address'),
    serverId: uuid('server_id'),
    clusterId: json['cluster_id'] === undefined ? UUID_ZERO : uuid('cluster_id'),
  };
}

function clusterHeader(name: string): ClusterHeader {
  const log = openLog(name);
  if (log.magic !== 'CLUSTER') fatal(`${name}: not a clustered database`);
  const json = readJson(readerOf(log, name));
  fs.closeSync(log.fd);
  return headerOf(isObject(json) ? json : {});
}

export function clusterId({ args, print }: ToolContext): void {
  const id = clusterHeader(args[0]).clusterId;
  if (id === UUID_ZERO) {
    throw new Fatal(`${args[0]}: cluster ID not yet known`, NO);
  }
  print(id);
}

export function serverId({ args, print }: ToolContext): void {
  print(clusterHeader(args[0]).serverId);
}

export function localAddress({ args, print }: ToolContext): void {
  print(clusterHeader(args[0]).localAddress);
}

/** `magic`: of the kind that is asked for. */
export function isOfKind(magic: 'JSON' | 'CLUSTER'): (context: ToolContext) => void {
  return ({ args }) => {
    const log = openLog(args[0]);
    fs.closeSync(log.fd);
    if (log.magic !== magic) throw new Fatal(null, NO);
  };
}
