/**
 * show-log: what the records of a database file say. More verbose, also which rows they touch; once
 * more, also the values.
 */
import { parseDatum } from '../../../ovsdb/data/datum-json.ts';
import { datumToText } from '../../../ovsdb/data/datum-text.ts';
import { isError } from '../../../ovsdb/data/error.ts';
import { serializeSorted } from '../../../ovsdb/json/serialize.ts';
import {
  isArray,
  isInteger,
  isObject,
  type Json,
  type JsonObject,
} from '../../../ovsdb/json/value.ts';
import { parseSchema, type Schema } from '../../../ovsdb/schema/schema.ts';
import type { TableSchema } from '../../../ovsdb/schema/table-schema.ts';
import { defaultDatabase, type ToolContext } from './context.ts';
import { fatal } from './fatal.ts';
import { openLog, readerOf, readJson } from './read-file.ts';

/** Dates below are of older versions, which wrote seconds. */
const MILLISECONDS_MIN = 0x7fff_ffff;

export function showLog(context: ToolContext): void {
  const [name = defaultDatabase()] = context.args;
  const log = openLog(name);
  const reader = readerOf(log, name);
  const show = new LogPrinter(context);
  for (let i = 0; ; i++) {
    const json = readJson(reader);
    if (json === null) break;
    if (log.magic === 'CLUSTER') show.clusterRecord(i, json);
    else show.record(i, json);
  }
}

class LogPrinter {
  readonly #context: ToolContext;
  #schema: Schema | null = null;
  /** What rows are called, by UUID. */
  readonly #names: Map<string, string> = new Map();
  /** Of the line being made. */
  #line: string = '';

  constructor(context: ToolContext) {
    this.#context = context;
  }

  record(index: number, json: JsonObject): void {
    this.#put(`record ${index}:`);
    if (index === 0) {
      const schema = parseSchema(json);
      if (isError(schema)) {
        this.#failed(schema);
        return;
      }
      this.#schema = schema;
      this.#end(` "${schema.name}" schema, version="${schema.version}", cksum="${schema.cksum}"`);
    } else this.#changes(json);
    this.#end();
  }

  /** Of one member's part of a cluster: a header, then entries and what the member remembers. */
  clusterRecord(index: number, json: JsonObject): void {
    this.#end(`record ${index}:`);
    if (index === 0) this.#header(json);
    else this.#memory(json);
    this.#end();
  }

  #put(text: string): void {
    this.#line += text;
  }

  #end(text: string = ''): void {
    this.#context.print(this.#line + text);
    this.#line = '';
  }

  #failed(error: { toString(): string }): void {
    if (this.#line !== '') this.#end();
    fatal(error);
  }

  #changes(json: Json): void {
    if (!isObject(json)) return;
    const { _date: date, _comment: comment } = json;
    if (date !== undefined && isInteger(date)) this.#put(` ${dateText(Number(date))}`);
    if (typeof comment === 'string') this.#put(` "${comment}"`);
    if (this.#context.verbosity > 0) this.#tables(json);
  }

  #tables(json: JsonObject): void {
    const diff = json['_is_diff'] === true;
    let first = true;
    for (const [name, rows] of Object.entries(json)) {
      if (name.startsWith('_') || !isObject(rows)) continue;
      if (first) this.#end();
      first = false;
      const table = this.#schema?.tables.get(name) ?? null;
      for (const [uuid, row] of Object.entries(rows)) this.#row(name, table, uuid, row, diff);
    }
  }

  #row(name: string, table: TableSchema | null, uuid: string, row: Json, diff: boolean): void {
    const short = uuid.slice(0, 8);
    const old = this.#names.get(uuid);
    const nameJson = isObject(row) ? row['name'] : undefined;
    const now = nameJson === undefined ? undefined : serializeSorted(nameJson);
    if (old !== undefined)
      this.#end(`  table ${name} row ${old} (${short})${diff ? ' diff' : ''}:`);
    else if (now !== undefined) this.#end(`  table ${name} insert row ${now} (${short}):`);
    else this.#end(`  table ${name} insert row ${short}:`);
    if (isObject(row)) {
      if (this.#context.verbosity > 1) this.#columns(table, row);
      if (now !== undefined) this.#names.set(uuid, now);
      else if (old === undefined) this.#names.set(uuid, short);
    } else if (row === null) {
      this.#end('    delete row');
      this.#names.delete(uuid);
    }
  }

  #columns(table: TableSchema | null, row: JsonObject): void {
    for (const [name, value] of Object.entries(row)) {
      const column = table?.byName.get(name);
      const datum = column === undefined ? null : parseDatum(value, column.type, null);
      const text =
        column === undefined || datum === null || isError(datum)
          ? serializeSorted(value)
          : datumToText(datum, column.type);
      this.#end(`    ${name}=${text}`);
    }
  }

  #header(json: JsonObject): void {
    // Word for word, its slip in the quotes included.
    this.#end(` name: "${textOf(json['name'])}'`);
    this.#end(` local address: "${textOf(json['local_address'])}"`);
    this.#end(` server_id: ${textOf(json['server_id']).slice(0, 4)}`);
    if (json['cluster_id'] !== undefined) {
      this.#end(` cluster_id: ${textOf(json['cluster_id']).slice(0, 4)}`);
    }
    const remotes = json['remote_addresses'];
    if (isArray(remotes ?? null) && (remotes as Json[]).length > 0) {
      this.#end(` remote_addresses: ${(remotes as Json[]).map(textOf).join(' ')}`);
    }
    if (json['prev_index'] === undefined) return;
    this.#end(` prev_index: ${textOf(json['prev_index'])}`);
    this.#end(` prev_term: ${textOf(json['prev_term'])}`);
    this.#servers('prev_servers', json['prev_servers']);
    if (json['prev_eid'] !== undefined)
      this.#end(` prev_eid: ${textOf(json['prev_eid']).slice(0, 4)}`);
    this.#data('prev_', json['prev_data']);
  }

  #memory(json: JsonObject): void {
    if (json['comment'] !== undefined) this.#end(` comment: "${textOf(json['comment'])}"`);
    if (json['term'] !== undefined) this.#end(` term: ${textOf(json['term'])}`);
    if (json['index'] !== undefined) {
      this.#end(` index: ${textOf(json['index'])}`);
      this.#servers('servers', json['servers']);
      if (json['eid'] !== undefined) this.#end(` eid: ${textOf(json['eid']).slice(0, 4)}`);
      this.#data('', json['data']);
    }
    if (json['vote'] !== undefined) this.#end(` vote: ${textOf(json['vote']).slice(0, 4)}`);
    if (json['leader'] !== undefined) this.#end(` leader: ${textOf(json['leader']).slice(0, 4)}`);
    if (json['note'] !== undefined) this.#end(` note: "${textOf(json['note'])}"`);
    if (json['commit_index'] !== undefined) {
      this.#end(` commit_index: ${textOf(json['commit_index'])}`);
    }
  }

  #servers(name: string, json: Json | undefined): void {
    if (json === undefined || !isObject(json)) return;
    const servers = Object.entries(json).sort(([a], [b]) => (a < b ? -1 : 1));
    const texts = servers.map(([id, address]) => `${id.slice(0, 4)}(${serializeSorted(address)})`);
    this.#end(` ${name}: ${texts.join(', ')}`);
  }

  #data(prefix: string, json: Json | undefined): void {
    if (json === undefined) return;
    if (!isArray(json) || json.length !== 2) {
      this.#end(' ***invalid data***');
      return;
    }
    if (json[0] !== null) {
      const schema = parseSchema(json[0]);
      if (isError(schema)) {
        this.#failed(schema);
        return;
      }
      const { name, version, cksum } = schema;
      this.#end(` ${prefix}schema: "${name}", version="${version}", cksum="${cksum}"`);
      this.#schema = schema;
    }
    this.#changes(json[1]);
  }
}

function textOf(json: Json | undefined): string {
  return typeof json === 'string' ? json : serializeSorted(json ?? null);
}

/** UTC, as "2026-12-01 04:05:06.789"; empty where the calendar ends. */
function dateText(date: number): string {
  const ms = date < MILLISECONDS_MIN ? date * 1000 : date;
  const when = new Date(ms);
  if (Number.isNaN(when.getTime())) return '';
  return when.toISOString().replace('T', ' ').replace('Z', '');
}
