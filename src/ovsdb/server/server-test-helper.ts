/**
 * Transcripts of a server: sessions, requests and what the storage says, and what comes out. Text
 * files in `testdata`: a block of commands, "----", what came of them, a blank line. Messages that
 * are sent are shown as `session < message`, members sorted, UUIDs numbered. Commands:
 *
 * database SCHEMA [memory|readonly|waiting]   a new database; waiting: confirms at `stored`
 * session NAME [readonly] [role=R] [id=CN]    connects
 * NAME METHOD PARAMS [id=ID]                  a request; ids count up when none is given
 * NAME raw TEXT | NAME broken                 any message; text that is no JSON
 * NAME notify METHOD PARAMS
 * NAME closes | backlogged | drained
 * stored [N] | refused N [THROUGH]            what the storage has (without N: all), or has not
 * time MS                                     goes on by so much
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Prng } from '../../stdx/index.ts';
import { OvsdbError } from '../data/error.ts';
import { uuidsFromPrng } from '../data/uuid.ts';
import { parseJson } from '../json/parse.ts';
import { serializeSorted } from '../json/serialize.ts';
import type { Json } from '../json/value.ts';
import { Database } from '../store/database.ts';
import { jsonOf, schemaOf } from '../transact/transact-test-helper.ts';
import { type CoreLimits, OvsdbCore } from './index.ts';

export const folder: string = join(import.meta.dirname, 'testdata');

export function transcriptNames(): string[] {
  return readdirSync(folder).filter((name) => name.endsWith('.txt'));
}

const uuidForm = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Random UUIDs as numbers, in the order in which they turn up, and back. */
class UuidNumbers {
  readonly #known: string[] = [];

  replaceIn(text: string): string {
    return text.replaceAll(uuidForm, (uuid) => {
      if (/^[abcd0]0000000-0000/.test(uuid)) return uuid;
      if (!this.#known.includes(uuid)) this.#known.push(uuid);
      return `<${this.#known.indexOf(uuid)}>`;
    });
  }

  restoreIn(text: string): string {
    return text.replaceAll(/<(\d+)>/g, (name, number) => this.#known[Number(number)] ?? name);
  }
}

export class TestServer {
  readonly core: OvsdbCore;
  readonly #names: UuidNumbers = new UuidNumbers();
  readonly #sessions: Map<string, number> = new Map();
  readonly #labels: Map<number, string> = new Map();
  nowMs: number = 0;
  #lastId: number = 0;
  /** Databases whose appends are confirmed only when the transcript says so. */
  readonly #waiting: Set<string> = new Set();
  #first: string = '';
  lines: string[] = [];

  constructor(limits: Partial<CoreLimits> = {}) {
    const uuids = uuidsFromPrng(new Prng(7));
    const serverId = 'd0000000-0000-4000-8000-000000000001';
    this.core = new OvsdbCore({ uuids, serverId, limits });
  }

  /** Everything that happens because of a block of commands. */
  run(commands: string): string {
    this.lines = [];
    for (const line of commands.split('\n')) {
      this.#command(line);
      this.settle();
    }
    return this.lines.length === 0 ? 'nothing' : this.lines.join('\n');
  }

  #command(line: string): void {
    const [, verb, rest] = /^(\S+) ?(.*)$/.exec(line) as unknown as [string, string, string];
    switch (verb) {
      case 'database':
        this.#database(rest);
        break;
      case 'remove':
        this.core.removeDatabase(rest, this.nowMs);
        break;
      case 'status': {
        const [, name, status] = /^(\S+) (.*)$/.exec(rest) as RegExpExecArray;
        this.core.setStatus(name, jsonOf(status) as object, this.nowMs);
        break;
      }
      case 'writable':
      case 'readonly':
        this.core.setReadOnly(rest, verb === 'readonly');
        break;
      case 'session':
        this.#session(rest);
        break;
      case 'stored':
        this.core.appended(this.#first, rest === '' ? Infinity : Number(rest), this.nowMs);
        break;
      case 'refused': {
        const [number, through] = rest.split(' ').map(Number);
        const error = new OvsdbError('I/O error', 'no space');
        this.core.appendFailed(this.#first, number, error, this.nowMs, through);
        break;
      }
      case 'time':
        this.nowMs += Number(rest);
        this.core.tick(this.nowMs);
        break;
      default:
        this.#ofSession(verb, rest);
    }
  }

  #database(text: string): void {
    const [, json, option] = /^(.*?)((?: (?:memory|readonly|waiting|clustered|unknown))*)$/.exec(
      text,
    ) as RegExpExecArray;
    const schema = schemaOf(json);
    const { name } = schema;
    if (this.#first === '') this.#first = name;
    if (option.includes('waiting')) this.#waiting.add(name);
    this.core.addDatabase(
      {
        name,
        database: option.includes('unknown') ? null : new Database(schema),
        model: option.includes('clustered') ? 'clustered' : 'standalone',
        readOnly: option.includes('readonly'),
        journal: option.includes('memory') ? 'none' : 'append',
      },
      this.nowMs,
    );
  }

  #session(text: string): void {
    const [name, ...options] = text.split(' ');
    const value = (key: string): string | undefined =>
      options.find((option) => option.startsWith(`${key}=`))?.slice(key.length + 1);
    const id = this.core.openSession({
      readOnly: options.includes('readonly'),
      role: value('role') ?? '',
      clientId: value('id') ?? null,
      label: name,
    });
    this.#sessions.set(name, id);
    this.#labels.set(id, name);
  }

  #ofSession(name: string, text: string): void {
    const id = this.#sessions.get(name);
    assert.ok(id !== undefined, `no session and no command: ${name}`);
    const [, method, rest] = /^(\S+) ?(.*)$/.exec(text) as unknown as [string, string, string];
    switch (method) {
      case 'closes':
        this.core.closeSession(id);
        break;
      case 'backlogged':
        this.core.backlogged(id);
        break;
      case 'drained':
        this.core.drained(id);
        break;
      case 'broken':
        this.core.malformed(id, 'line 0, column 1, byte 1: syntax error');
        break;
      case 'raw':
        this.core.receive(id, jsonOf(rest));
        break;
      case 'notify': {
        const [, what, params] = /^(\S+) (.*)$/.exec(rest) as RegExpExecArray;
        this.core.receive(id, {
          id: null,
          method: what,
          params: jsonOf(this.#names.restoreIn(params)),
        });
        break;
      }
      default: {
        const [, params, own] = /^(.*?)(?: id=(\S+))?$/.exec(rest) as RegExpExecArray;
        this.#lastId += own === undefined ? 1 : 0;
        const requestId = own === undefined ? this.#lastId : jsonOf(own);
        this.core.receive(id, {
          id: requestId,
          method,
          params: jsonOf(this.#names.restoreIn(params)),
        });
      }
    }
  }

  /** Until there is nothing to do now. */
  settle(): void {
    for (;;) {
      if (this.#takeEffects()) continue;
      const deadline = this.core.deadlineMs();
      if (deadline === null || deadline > this.nowMs) return;
      this.core.tick(this.nowMs);
    }
  }

  /** Whether there were any. */
  #takeEffects(): boolean {
    const effects = this.core.takeEffects();
    for (const effect of effects) {
      switch (effect.kind) {
        case 'send':
          this.#show(effect.session, `< ${this.#tidy(effect.text)}`);
          break;
        case 'drop':
          this.#show(effect.session, `dropped: ${effect.reason}`);
          break;
        case 'forward':
          this.lines.push(`forward ${effect.number} ${serializeSorted(effect.params)}`);
          break;
        case 'append': {
          const { database, number, record, schema, durable } = effect;
          if (!this.#waiting.has(database)) {
            this.core.appended(database, number, this.nowMs);
            break;
          }
          const tables = Object.keys(record ?? {}).filter((table) => !table.startsWith('_'));
          const what = schema === null ? tables.join(' ') : 'schema';
          this.lines.push(`append ${number} ${what}${durable ? ' durable' : ''}`);
        }
      }
    }
    return effects.length > 0;
  }

  #show(session: number, text: string): void {
    this.lines.push(`${this.#labels.get(session)} ${text}`);
  }

  #tidy(text: string): string {
    const parsed = parseJson(text);
    assert.ok(parsed.ok, `not JSON: ${text}`);
    return this.#names.replaceIn(serializeSorted(parsed.value as Json));
  }
}

/** Plays a file; `played`: the same file with what came out. With REWRITE=1 it is written. */
export function play(name: string): { text: string; played: string } {
  const path = join(folder, name);
  const text = readFileSync(path, 'utf8');
  let server = new TestServer();
  const blocks = text
    .trimEnd()
    .split('\n\n')
    .map((block) => {
      const [commands] = block.split('\n----');
      const lines = commands.split('\n');
      // A heading: what follows goes to a new server.
      if (lines.every((line) => line.startsWith('#'))) {
        server = new TestServer();
        return block;
      }
      const real = lines.filter((line) => !line.startsWith('#')).join('\n');
      return `${commands}\n----\n${server.run(real)}`;
    });
  const played = `${blocks.join('\n\n')}\n`;
  if (process.env['REWRITE'] === '1') writeFileSync(path, played);
  return { text: process.env['REWRITE'] === '1' ? played : text, played };
}
