/**
 * ovsdb-tool beside the real one: the same commands in two folders, and after each the same words,
 * the same exit code and the same databases. Needs the real ovsdb-tool on the PATH.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { main } from '../src/cli/ovsdb/tool.ts';
import {
  compareText,
  isObject,
  type Json,
  parseJson,
  serializeSorted,
} from '../src/ovsdb/index.ts';
import { executable, peerMissing } from './ovsdb-peer/peer.ts';

const skip = peerMissing();

const ordinals = {
  name: 'ordinals',
  version: '5.1.3',
  cksum: '12345678 9',
  tables: {
    ordinals: {
      columns: {
        number: { type: 'integer' },
        name: { type: 'string' },
        set: { type: { key: 'integer', min: 0, max: 'unlimited' } },
        map: { type: { key: 'string', value: 'real', min: 0, max: 'unlimited' } },
        brief: { type: 'string', ephemeral: true },
      },
      indexes: [['number']],
      isRoot: true,
    },
  },
} as const;

const files: { readonly [name: string]: string } = {
  schema: JSON.stringify(ordinals),
  'schema-new': JSON.stringify({
    name: 'ordinals',
    version: '5.2.0',
    tables: {
      ordinals: {
        columns: { number: { type: 'integer' }, extra: { type: 'string' } },
        isRoot: true,
      },
    },
  }),
  'schema-strict': JSON.stringify({
    ...ordinals,
    tables: {
      ordinals: {
        columns: { number: { type: { key: { type: 'integer', maxInteger: 1 } } } },
        isRoot: true,
      },
    },
  }),
  'schema-plain': '{"name":"plain","tables":{}}',
  'schema-bad': '{"name":"x","tables":{"t":{"columns":{"c":{"type":"strange"}}}}}',
  'schema-nojson': '{"name": nothing}',
  'schema-trailing': '{"name":"plain","tables":{}} x',
  'schema-array': '[]',
  empty: '',
  short: 'OVSDB JSO',
  text: 'hello, this is no database\n',
};

const uuid = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`;

function insert(n: number, more: { [column: string]: Json } = {}): string {
  const row = { number: n, name: `n${n}`, ...more };
  return JSON.stringify({ op: 'insert', table: 'ordinals', uuid: uuid(n), row });
}

const transact = (...operations: string[]): string => `["ordinals",${operations.join(',')}]`;

/** Words of a command; `@x` is the file x of the folder. `+x text`: appends to the file x. */
type Step = readonly string[];

const set = (...members: number[]): Json => ['set', members];
const create: Step = ['create', '@db', '@schema'];
const addOne: Step = ['transact', '@db', transact(insert(1))];

const scenarios: { readonly [name: string]: readonly Step[] } = {
  creation: [
    create,
    create,
    ['create', '@none/db', '@schema'],
    ['create', '@db2', '@none'],
    ...['schema-bad', 'schema-nojson', 'schema-trailing', 'schema-array', 'empty', 'text'].map(
      (name) => ['create', '@db2', `@${name}`],
    ),
    ['create', '@db2', '@'],
    ['create', '@db3', '@schema-plain'],
    ['db-version', '@db3'],
    ['db-cksum', '@db3'],
  ],
  inspection: [
    create,
    ...['db-name', 'db-version', 'db-cksum', 'db-cid', 'db-sid', 'db-local-address'].flatMap(
      (name) => ['@db', '@none', '@empty', '@short', '@text', '@'].map((file) => [name, file]),
    ),
    ...['db-is-clustered', 'db-is-standalone'].flatMap((name) =>
      ['@db', '@none', '@empty', '@text'].map((file) => [name, file]),
    ),
    ...['schema-name', 'schema-version', 'schema-cksum'].flatMap((name) =>
      ['@schema', '@schema-plain', '@schema-bad', '@none', '@empty'].map((file) => [name, file]),
    ),
    ['needs-conversion', '@db', '@schema'],
    ['needs-conversion', '@db', '@schema-new'],
    ['needs-conversion', '@none', '@schema'],
    ['needs-conversion', '@db', '@none'],
  ],
  versions: ['<', '<=', '==', '>=', '>', '!=', '~'].flatMap((operator) =>
    [
      ['1.2.3', '1.2.3'],
      ['1.2.3', '1.10.0'],
      ['2.0.0', '1.9.9'],
      ['1.2', '1.2.3'],
      ['1.2.3', 'x'],
    ].map(([a, b]) => ['compare-versions', a, operator, b]),
  ),
  'command lines': [
    [],
    ['nope'],
    ['--nope'],
    ['-x'],
    ['--ver'],
    ['--rbac-role'],
    ['--more=1'],
    ['--cid=1', 'db-name', '@db'],
    ['--cid=00000000-0000-0000-0000-000000000000', 'db-name', '@db'],
    ['--election-timer=1', 'db-name', '@db'],
    ['--election-timer=600001', 'db-name', '@db'],
    ['compare-versions', '1.2.3'],
    ['compare-versions', '1.2.3', '<', '1.2.4', 'x'],
    ['create', 'a', 'b', 'c'],
    ['db-cid'],
    ['query'],
    ['transact', '@a', '@b', '@c'],
    create,
    ['db-name', '--', '@db'],
    ['db-name', '@db', '--mo'],
    ['-m', 'db-name', '-mm', '@db'],
  ],
  transactions: [
    create,
    addOne,
    ['transact', '@db', transact(insert(2, { set: set(1, 2, 3), map: ['map', [['a', 1.5]]] }))],
    ['transact', '@db', transact(insert(9, { number: 2 }))],
    ['transact', '@db', transact('{"op":"comment","comment":"a \\"b\\""}', insert(3))],
    [
      'transact',
      '@db',
      transact('{"op":"mutate","table":"ordinals","where":[],"mutations":[["set","insert",7]]}'),
    ],
    [
      'transact',
      '@db',
      transact('{"op":"update","table":"ordinals","where":[],"row":{"brief":"x"}}'),
    ],
    [
      'query',
      '@db',
      transact(
        '{"op":"select","table":"ordinals","where":[],"columns":["number","name","set","map","brief"],"sort":["number"]}',
      ),
    ],
    ['transact', '@db', transact('{"op":"delete","table":"ordinals","where":[["number","==",1]]}')],
    ['transact', '@db', transact('{"op":"commit","durable":true}', insert(4))],
    ['transact', '@db', transact('{"op":"abort"}', insert(5))],
    ['transact', '@db', transact('{"op":"nope"}', insert(5))],
    ['transact', '@db', '["wrong"]'],
    ['transact', '@db', '{}'],
    ['transact', '@db', '["ordinals"]'],
    ['transact', '@db', 'nonsense'],
    ['transact', '@db', '["ordinals"] x'],
    ['transact', '@none', '["ordinals"]'],
    ['transact', '@text', '["ordinals"]'],
    [
      'transact',
      '@db',
      transact(
        insert(6),
        '{"op":"wait","table":"ordinals","where":[],"columns":["number"],"until":"==","rows":[]}',
        insert(7),
      ),
    ],
    [
      'transact',
      '@db',
      transact(
        '{"op":"wait","timeout":0,"table":"ordinals","where":[],"columns":["number"],"until":"==","rows":[]}',
      ),
    ],
    [
      'transact',
      '@db',
      transact(
        '{"op":"wait","timeout":0,"table":"ordinals","where":[],"columns":["number"],"until":"!=","rows":[]}',
      ),
    ],
    ['transact', '@db', transact('{"op":"assert","lock":"l"}')],
    ['--rbac-role=r', 'transact', '@db', transact(insert(8))],
    ['query', '@db', transact(insert(9))],
    ['query', '@db', transact('{"op":"update","table":"ordinals","where":[],"row":{"brief":"y"}}')],
    ['show-log', '@db'],
    ['-m', 'show-log', '@db'],
    ['-mm', 'show-log', '@db'],
    ['show-log', '@none'],
    ['show-log', '@text'],
    ['show-log', '@empty'],
  ],
  compaction: [
    create,
    addOne,
    ['transact', '@db', transact(insert(2, { set: set(4, 5), map: ['map', [['é', 1e300]]] }))],
    ['transact', '@db', transact('{"op":"delete","table":"ordinals","where":[["number","==",1]]}')],
    ['compact', '@db', '@copy'],
    ['compact', '@db', '@copy'],
    ['compact', '@db'],
    ['show-log', '@db'],
    addOne,
    ['-mm', 'show-log', '@db'],
    ['compact', '@none'],
    ['compact', '@text'],
    ['compact', '@db', '@none/copy'],
    ['compact', '@copy', '@db'],
  ],
  conversion: [
    create,
    ['transact', '@db', transact(insert(1), insert(2))],
    ['convert', '@db', '@schema-strict'],
    ['convert', '@db', '@schema-new', '@copy'],
    ['convert', '@db', '@none'],
    ['convert', '@db', '@schema-bad'],
    ['needs-conversion', '@db', '@schema-new'],
    ['convert', '@db', '@schema-new'],
    ['needs-conversion', '@db', '@schema-new'],
    [
      'query',
      '@db',
      transact(
        '{"op":"select","table":"ordinals","where":[],"columns":["number","extra"],"sort":["number"]}',
      ),
    ],
    ['convert', '@db', '@schema-plain'],
    ['db-name', '@db'],
  ],
  'damaged files': [
    create,
    addOne,
    ['+db', 'xxx\n'],
    ...everything(),
    ['+torn', 'OVSDB JSON 9'],
    ...everything('@torn'),
    create,
    ['create', '@long', '@schema'],
    ['+long', 'OVSDB JSON 20000 ffbcdae4b0386265f9ea3280dd7c8f0b72a20e56\n{"invalid":{}}\n'],
    ...everything('@long'),
    ['create', '@hash', '@schema'],
    ['+hash', 'OVSDB JSON 15 ffbcdae4b0386265f9ea3280dd7c8f0b72a20e57\n{"invalid":{}}\n'],
    ...everything('@hash'),
    ['create', '@meaning', '@schema'],
    ['+meaning', 'OVSDB JSON 15 ffbcdae4b0386265f9ea3280dd7c8f0b72a20e56\n{"invalid":{}}\n'],
    ...everything('@meaning'),
  ],
  'clustered files of our own': [
    ['create-cluster', '@c', '@schema', 'unix:s1.raft'],
    ['create-cluster', '@c', '@schema', 'unix:s1.raft'],
    ['create-cluster', '@c2', '@none', 'unix:s1.raft'],
    ['create-cluster', '@c2', '@text', 'unix:s1.raft'],
    ['create-cluster', '@c2', '@schema', 'nonsense'],
    ['create-cluster', '@c2', '@schema', 'tcp:1.2.3.4'],
    ['create-cluster', '@c2', '@schema', 'tcp:1.2.3.4:99999'],
    ['create-cluster', '@c2', '@schema', 'tcp:[::1]:6644'],
    create,
    addOne,
    ['create-cluster', '@c3', '@db', 'ssl:1.2.3.4:6644'],
    ['--election-timer=2000', 'create-cluster', '@c4', '@schema', 'unix:s1.raft'],
    ['join-cluster', '@j', 'ordinals', 'tcp:1.2.3.4:1234', 'tcp:2.3.4.5:1234'],
    [
      '--cid=520cf525-3772-43cc-8268-23bf5b548cf4',
      'join-cluster',
      '@j2',
      'ordinals',
      'tcp:1.2.3.4:1234',
      'tcp:2.3.4.5:1234',
    ],
    ['join-cluster', '@j3', 'no-name', 'tcp:1.2.3.4:1234', 'tcp:2.3.4.5:1234'],
    ['join-cluster', '@j3', 'ordinals', 'tcp:1.2.3.4:1234', 'tcp:1.2.3.4:1234'],
    ['join-cluster', '@j3', 'ordinals', 'tcp:1.2.3.4:1234', 'x'],
    ...['@c', '@c2', '@c3', '@c4', '@j', '@j2'].flatMap((file) =>
      ['db-name', 'db-cid', 'db-local-address', 'show-log'].map((name) => [name, file]),
    ),
    ['-mm', 'show-log', '@c3'],
    ['cluster-to-standalone', '@s', '@c3'],
    ['cluster-to-standalone', '@s', '@c3'],
    ['cluster-to-standalone', '@s2', '@c'],
    // Of '@db' instead of '@c' it fails in both; the real one leaves an empty file behind.
    ['cluster-to-standalone', '@s4', '@none'],
    ['query', '@s', transact('{"op":"select","table":"ordinals","where":[],"columns":["number"]}')],
  ],
  'clustered files': [
    ['db-name', '@cluster'],
    ['db-sid', '@cluster'],
    ['db-cid', '@cluster'],
    ['db-local-address', '@cluster'],
    ['db-is-clustered', '@cluster'],
    ['db-is-standalone', '@cluster'],
    ['db-version', '@cluster'],
    ['db-cksum', '@cluster'],
    ['compact', '@cluster'],
    ['convert', '@cluster', '@schema'],
    ['needs-conversion', '@cluster', '@schema'],
    ['query', '@cluster', '["ordinals"]'],
    ['transact', '@cluster', '["ordinals"]'],
    ['show-log', '@cluster'],
    ['-m', 'show-log', '@cluster'],
    ['-mm', 'show-log', '@cluster'],
  ],
};

/** What may be done with a database file. */
function everything(file: string = '@db'): Step[] {
  return [
    ['db-name', file],
    ['db-version', file],
    ['show-log', file],
    ['query', file, '["ordinals"]'],
    ['transact', file, '["ordinals"]'],
    ['compact', file],
  ];
}

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function prepare(t: TestContext): string {
  const folder = fs.mkdtempSync(join(tmpdir(), 'ovsdb-tool-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(join(folder, name), text);
  const sample = join(import.meta.dirname, 'fixtures', 'ovsdb-sample-cluster.db');
  fs.copyFileSync(sample, join(folder, 'cluster'));
  return folder;
}

const inFolder = (folder: string, step: Step): string[] =>
  step.map((word) => (word.startsWith('@') ? join(folder, word.slice(1)) : word));

function runReal(folder: string, step: Step): Outcome {
  const { status, stdout, stderr } = spawnSync('ovsdb-tool', inFolder(folder, step), {
    encoding: 'utf8',
    env: { ...process.env, PATH: pathOfReal() },
  });
  return { code: status, stdout, stderr };
}

function pathOfReal(): string {
  return `${join(executable('ovsdb-tool') as string, '..')}:${process.env['PATH'] ?? ''}`;
}

async function runOurs(folder: string, step: Step): Promise<Outcome> {
  const output = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') => ({
    write: (text: string) => {
      output[name] += text;
    },
  });
  const words = inFolder(folder, step);
  const code = await main(words, { stdout: stream('stdout'), stderr: stream('stderr') });
  return { code, ...output };
}

/** UUIDs made by chance, not those that a transaction chose. */
function withoutUuids(text: string): string {
  return text.replaceAll(/\b(?!00000000)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UUID');
}

/** Without what differs from run to run, and in an order that does not depend on hash functions. */
function normalise(outcome: Outcome, folder: string, step: Step): string {
  const plain = (text: string): string =>
    withoutUuids(text)
      .replaceAll(`${folder}/`, '@')
      .replaceAll(folder, '@')
      .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{3})?Z?/g, 'DATE')
      .replaceAll(/First row, (.*?\.) {2}Second row, (.*?\.)"/g, (_, a: string, b: string) =>
        [a, b].sort(compareText).join(' and '),
      )
      .replaceAll(/(_id|_eid|vote|leader|eid): [0-9a-f]{4}/g, '$1: ID')
      .replaceAll(/\b[0-9a-f]{4}\(/g, 'ID(')
      .replaceAll(/(compacted|converted) by [^"]*/g, '$1 by US');
  const stdout = plain(outcome.stdout);
  const log = step.includes('show-log') ? sortedLog(stdout) : stdout;
  return `exit ${outcome.code}\n${log}--\n${plain(outcome.stderr)}`;
}

/** Columns of a row, and rows of a record, come in any order. */
function sortedLog(text: string): string {
  return text
    .split(/^(?=record )/m)
    .map((record) => {
      const [head, ...rows] = record.trimEnd().split(/^(?= {2}table )/m);
      const sorted = rows.map((row) => {
        const [first, ...columns] = row.trimEnd().split('\n');
        return [first, ...columns.sort(compareText)].join('\n');
      });
      return [head.trimEnd(), ...sorted.sort(compareText)].join('\n');
    })
    .join('\n');
}

/** The records of every database in the folder, in a form of which there is one. */
function contents(folder: string): string {
  const names = fs.readdirSync(folder).filter((name) => !name.startsWith('.'));
  return names
    .map((name) => {
      const text = withoutUuids(fs.readFileSync(join(folder, name), 'utf8')).replaceAll(
        `${folder}/`,
        '@',
      );
      const lines = text
        .split('\n')
        .map((line) => (line.startsWith('OVSDB') ? 'OVSDB' : sorted(line)));
      return `${name}:\n${lines.join('\n')}`;
    })
    .join('\n');
}

function sorted(line: string): string {
  const json = parseJson(line);
  if (!json.ok || !isObject(json.value)) return line;
  return serializeSorted(json.value)
    .replaceAll(/"_date":\d+/g, '"_date":0')
    .replaceAll(/(compacted|converted) by [^"]*/g, '$1 by US');
}

for (const [name, steps] of Object.entries(scenarios)) {
  test(`ovsdb-tool does what the real one does: ${name}`, { skip }, async (t) => {
    const [real, ours] = [prepare(t), prepare(t)];
    for (const step of steps) {
      if (step[0]?.startsWith('+')) {
        for (const folder of [real, ours]) {
          fs.appendFileSync(join(folder, step[0].slice(1)), step[1]);
        }
        continue;
      }
      const label = step.join(' ');
      const expected = normalise(runReal(real, step), real, step);
      const found = normalise(await runOurs(ours, step), ours, step);
      assert.equal(found, expected, label);
      assert.equal(contents(ours), contents(real), label);
    }
  });
}

test('each reads what the other has written', { skip }, async (t) => {
  const folder = prepare(t);
  const select = transact(
    '{"op":"select","table":"ordinals","where":[],"columns":["number","set"],"sort":["number"]}',
  );
  await runOurs(folder, create);
  for (let n = 1; n < 8; n++) {
    const step: Step = ['transact', '@db', transact(insert(n, { set: set(n, n + 1) }))];
    const outcome = n % 2 === 0 ? runReal(folder, step) : await runOurs(folder, step);
    assert.equal(outcome.code, 0, outcome.stderr);
    const [a, b] = [
      runReal(folder, ['query', '@db', select]),
      await runOurs(folder, ['query', '@db', select]),
    ];
    assert.equal(a.stderr, '');
    assert.deepEqual(a, b);
    if (n === 3) await runOurs(folder, ['compact', '@db']);
    if (n === 5) runReal(folder, ['compact', '@db']);
  }
});

test('started as a program it does the same', { skip }, (t) => {
  const folder = prepare(t);
  const code = `const { main } = await import(${JSON.stringify(new URL('../src/cli/ovsdb/tool.ts', import.meta.url).href)});
    process.exitCode = await main(process.argv.slice(1));`;
  const ours = (...args: string[]): string =>
    execFileSync(process.execPath, ['--input-type=module', '-e', code, '--', ...args], {
      encoding: 'utf8',
    });
  ours('create', join(folder, 'db'), join(folder, 'schema'));
  assert.equal(ours('db-name', join(folder, 'db')), 'ordinals\n');
});
