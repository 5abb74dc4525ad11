/** The original ovsdb-client against our server, every command of it; and a mirror in Python. */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { compareText, parseJson } from '../../src/ovsdb/index.ts';
import { Canonical } from '../ovsdb-peer/canonical.ts';
import { lacking, until, type Whose, World } from './ovsdb-programs.ts';

const SCHEMA = `{"name":"D","version":"1.2.3","cksum":"12 34","tables":{
"T":{"isRoot":true,"indexes":[["name"]],"columns":{
 "name":{"type":"string"},
 "n":{"type":{"key":"integer","min":0}},
 "kv":{"type":{"key":"string","value":"string","min":0,"max":"unlimited"}},
 "real":{"type":"real"},
 "soft":{"type":"string","ephemeral":true}}},
"U":{"columns":{"tags":{"type":{"key":"string","min":0,"max":"unlimited"}}}}}}`;
const NEWER = SCHEMA.replace('1.2.3', '1.3.0').replace(
  '"real":{"type":"real"}',
  '"more":{"type":"real"}',
);

const ID = 'a0000000-0000-4000-8000-000000000001';
const INSERT = `["D",{"op":"insert","table":"T","uuid":"${ID}","row":{"name":"a \\"b\\", c","n":1,"kv":["map",[["k","v"]]],"real":1.5}},{"op":"insert","table":"T","row":{"name":"<z>"}}]`;
const SELECT = '["D",{"op":"select","table":"T","where":[],"columns":["name","n","kv","real"]}]';

/** Outputs of a story, in which times and drawn UUIDs are alike. */
class Story {
  readonly world: World = new World();
  readonly lines: string[] = [];
  readonly #whose: Whose;

  constructor(whose: Whose) {
    this.#whose = whose;
  }

  async start(): Promise<void> {
    writeFileSync(this.world.path('D.ovsschema'), SCHEMA);
    writeFileSync(this.world.path('newer.ovsschema'), NEWER);
    await this.world.startServer(this.#whose, {
      schemas: [this.world.path('D.ovsschema')],
      socket: 's',
    });
  }

  get address(): string {
    return `unix:${this.world.path('s')}`;
  }

  /** Output is compared line by line; where rows come in any order, sorted. */
  async tell(parameters: readonly string[], input?: string): Promise<string> {
    const options = input === undefined ? {} : { input };
    const full = parameters.map((text) => text.replace('@', this.address));
    const ran = await this.world.run('ovsdb-client', ['--timeout=20', ...full], options);
    const text = this.plain(`${ran.stdout}${ran.stderr}`);
    this.lines.push(this.plain(`${parameters.join(' ')} → ${ran.code}`), ...canonical(text));
    return ran.stdout;
  }

  plain(text: string): string {
    return text
      .replaceAll(this.world.folder, '<folder>')
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => (id === ID ? id : '<id>'))
      .replaceAll(/\d{4}-\d\d-\d\d[T ][\d:.]+Z?/g, '<time>')
      .replaceAll(/"_date":\d+/g, '"_date":0')
      .replaceAll(/^OVSDB JSON \d+ [0-9a-f]{40}$/gm, '<header>');
  }
}

/** Lines sorted, since rows come in any order, and JSON with its members sorted. */
function canonical(text: string): string[] {
  return text
    .split('\n')
    .map((line) => {
      const json = /^[[{]/.test(line) ? parseJson(line) : null;
      return json?.ok ? new Canonical().of(json.value) : line;
    })
    .sort(compareText);
}

async function bothTell(t: TestContext, body: (story: Story) => Promise<void>): Promise<void> {
  const stories = [new Story('theirs'), new Story('ours')] as const;
  for (const { world } of stories) t.after(() => world.end());
  await Promise.all(
    stories.map(async (story) => {
      await story.start();
      await body(story);
      assert.deepEqual(story.world.complaints('s'), []);
    }),
  );
  assert.deepEqual(stories[1].lines, stories[0].lines);
}

const skip = lacking(['ovsdb-client', 'ovsdb-server']);

test('questions, transactions, dumps in every format', { skip }, (t) =>
  bothTell(t, async (story) => {
    for (const command of [
      'list-dbs',
      'get-schema',
      'get-schema-version',
      'get-schema-cksum',
      'list-tables',
      'list-columns',
    ]) {
      await story.tell([command, '@']);
    }
    await story.tell(['get-schema', '@', '_Server']);
    await story.tell(['get-schema', '@', 'nothing']);
    await story.tell(['list-columns', '@', 'D', 'T']);
    await story.tell(['transact', '@', INSERT]);
    await story.tell(['transact', '@', INSERT]);
    await story.tell(['transact', '@', '["D",{"op":"nothing"}]']);
    await story.tell(['transact', '@', 'no json']);
    await story.tell(['query', '@', SELECT]);
    await story.tell(['query', '@', INSERT]);
    await story.tell(['transact', '@', SELECT]);
    for (const format of ['table', 'list', 'html', 'csv', 'json']) {
      for (const data of ['string', 'bare', 'json']) {
        await story.tell([
          'dump',
          `--format=${format}`,
          `--data=${data}`,
          '@',
          'D',
          'T',
          'name',
          'kv',
          'n',
        ]);
      }
    }
    await story.tell(['dump', '@']);
    await story.tell(['dump', '@', '_Server', 'Database', 'name', 'model', 'connected', 'leader']);
    await story.tell(['dump', '@', 'D', 'Q']);
    await story.tell(['wait', '@', 'D', 'connected']);
    await story.tell(['wait', '@', 'D', 'added']);
    await story.tell(['wait', '@', 'E', 'removed']);
  }),
);

test('backup, restore, conversion', { skip }, (t) =>
  bothTell(t, async (story) => {
    const { world } = story;
    await story.tell(['transact', '@', INSERT]);
    await story.tell([
      'transact',
      '@',
      '["D",{"op":"update","table":"T","where":[],"row":{"soft":"gone"}}]',
    ]);
    const backup = await story.tell(['backup', '@', 'D']);
    await story.tell(['transact', '@', '["D",{"op":"delete","table":"T","where":[]}]']);
    await story.tell(['query', '@', SELECT]);
    await story.tell(['restore', '@', 'D'], backup);
    await story.tell(['query', '@', SELECT]);
    await story.tell(['restore', '@', 'D'], 'not a backup');
    const newer = world.path('newer.ovsschema');
    await story.tell(['needs-conversion', '@', world.path('D.ovsschema')]);
    await story.tell(['needs-conversion', '@', newer]);
    await story.tell(['convert', '@', newer]);
    await story.tell(['needs-conversion', '@', newer]);
    await story.tell(['get-schema-version', '@']);
    await story.tell(['dump', '@', 'D', 'T', 'name', 'n', 'more']);
    await story.tell(['restore', '@', 'D'], backup);
    await story.tell(['restore', '--force', '@', 'D'], backup);
    await story.tell(['dump', '@', 'D', 'T', 'name', 'n']);
    // What the server wrote is a file of the original's.
    const log = await world.must('ovsdb-tool', ['show-log', world.path('D.db')]);
    assert.match(log, /record \d+/);
  }),
);

test('monitors and locks while others change rows', { skip }, (t) =>
  bothTell(t, async (story) => {
    const { world } = story;
    await story.tell(['transact', '@', INSERT]);
    const monitors = [
      ['monitor', '@', 'D', 'T', 'name,n,kv'],
      ['monitor-cond', '@', 'D', '[["name","!=","<z>"]]', 'T', 'name,n'],
      [
        'monitor-cond-since',
        '@',
        'D',
        '00000000-0000-0000-0000-000000000000',
        '[["n","==",1]]',
        'T',
        'name,n',
      ],
      ['monitor', '--format=csv', '@', 'D', 'T', 'name', '!initial,insert', 'n'],
      ['monitor', '@', 'D', 'ALL'],
    ];
    const children = monitors.map((parameters) => {
      const full = parameters.map((text) => text.replace('@', story.address));
      return world.start('/usr/bin/ovsdb-client', ['-vconsole:off', ...full]);
    });
    const settle = (): Promise<void> => new Promise((done) => setTimeout(done, 300));
    await until(
      () => [0, 1, 2, 4].every((i) => world.outputOf(children[i] as ChildProcess) !== ''),
      10_000,
      () => 'monitors do not start',
    );
    await settle();
    for (const operation of [
      `{"op":"update","table":"T","where":[["_uuid","==",["uuid","${ID}"]]],"row":{"n":2}}`,
      `{"op":"mutate","table":"T","where":[["_uuid","==",["uuid","${ID}"]]],"mutations":[["kv","insert",["map",[["l","w"]]]]]}`,
      '{"op":"insert","table":"T","row":{"name":"new","n":1}}',
      '{"op":"delete","table":"T","where":[["name","==","new"]]}',
      `{"op":"update","table":"T","where":[["_uuid","==",["uuid","${ID}"]]],"row":{"name":"<z2>","n":["set",[]]}}`,
      '{"op":"delete","table":"T","where":[]}',
    ]) {
      await story.tell(['transact', '@', `["D",${operation}]`]);
      await settle();
    }
    for (const child of children) {
      const text = story.plain(world.outputOf(child));
      assert.notEqual(text.trim(), '', 'a monitor says nothing');
      story.lines.push(...canonical(text));
      await world.stop(child);
    }
  }),
);

test('a mirror in Python is the database after every change', {
  skip: lacking(['ovsdb-server', 'ovs-vsctl'], ['vswitch.ovsschema']) || noPythonModule(),
}, async (t) => {
  const world = new World();
  t.after(() => world.end());
  await world.startServer('ours', { schemas: ['vswitch.ovsschema'], socket: 's' });
  const address = `unix:${world.path('s')}`;
  const script = join(import.meta.dirname, '../ovsdb-peer/mirror.py');
  const schema = '/usr/share/openvswitch/vswitch.ovsschema';
  const mirror = world.start('/usr/bin/python3', [script, address, schema, world.path('mirror')]);
  const vsctl = (...parameters: string[]): Promise<string> =>
    world.must('ovs-vsctl', ['--no-wait', `--db=${address}`, ...parameters]);
  await vsctl('init');
  for (let i = 0; i < 12; i++) {
    await vsctl('add-br', `br${i}`, '--', 'set', 'bridge', `br${i}`, `external_ids:n=${i}`);
    if (i % 3 === 2) await vsctl('del-br', `br${i - 1}`);
  }
  const expected = (
    await vsctl('--columns=name', '--format=csv', '--no-headings', 'list', 'Bridge')
  )
    .trim()
    .split('\n')
    .sort();
  assert.equal(expected.length, 8);
  const mirrored = (): string[] =>
    existsSync(world.path('mirror'))
      ? readFileSync(world.path('mirror'), 'utf8').trim().split('\n')
      : [];
  await until(
    () => JSON.stringify(mirrored()) === JSON.stringify(expected),
    10_000,
    () => `the mirror has ${mirrored()}, not ${expected}: ${world.outputOf(mirror)}`,
  );
});

function noPythonModule(): string | false {
  if (existsSync('/usr/lib/python3/dist-packages/ovs/db/idl.py')) return false;
  return lacking(['python3-openvswitch (module ovs)']);
}
