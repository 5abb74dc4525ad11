/** What is asked of ovsdb-client, the original's and ours, to compare what they answer. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ourFolder, type Ran, until, type Whose, type World } from '../e2e/ovsdb-programs.ts';
import { executable } from './peer.ts';

export const SCHEMA = `{"name":"D","version":"1.2.3","cksum":"12 34","tables":{
"T":{"isRoot":true,"indexes":[["name"]],"columns":{
 "name":{"type":"string"},
 "n":{"type":{"key":{"type":"integer","minInteger":-10,"maxInteger":9223372036854775807}}},
 "kv":{"type":{"key":"string","value":"string","min":0,"max":"unlimited"}},
 "refs":{"type":{"key":{"type":"uuid","refTable":"U"},"min":0,"max":"unlimited"}},
 "weak":{"type":{"key":{"type":"uuid","refTable":"T","refType":"weak"},"min":0}},
 "tags":{"type":{"key":"string","min":0,"max":"unlimited"}},
 "kind":{"type":{"key":{"type":"string","enum":["set",["","a","b"]]}}},
 "real":{"type":"real"},
 "flag":{"type":"boolean"},
 "when":{"type":{"key":"integer","min":0}},
 "soft":{"type":"string","ephemeral":true}}},
"U":{"maxRows":7,"columns":{"tags":{"mutable":false,"type":{"key":"string","min":0,"max":3}}}},
"Much_longer_name":{"isRoot":true,"columns":{"a":{"type":"integer"},"bb":{"type":"integer"}}},
"Z":{"isRoot":true,"columns":{"q":{"type":"uuid"}}}}}`;

export const NEWER: string = SCHEMA.replace('1.2.3', '1.3.0');

export const SECOND_SCHEMA = `{"name":"E","version":"1.0.0","tables":{
"A":{"columns":{"x":{"type":"integer"}}}}}`;

const ID = 'a0000000-0000-4000-8000-00000000000';

export const TRANSACTIONS: readonly string[] = [
  `["D",{"op":"insert","table":"T","uuid":"${ID}1","row":{"name":"a \\"b\\", c","n":1,"kv":["map",[["k","v"],["k 2",""]]],"real":1.5,"refs":["named-uuid","u"]}},{"op":"insert","table":"U","uuid-name":"u","uuid":"${ID}2","row":{"tags":["set",["x","y z"]]}}]`,
  `["D",{"op":"insert","table":"T","uuid":"${ID}3","row":{"name":"<z>&","n":9223372036854775807,"tags":["set",["é","日本","two\\nlines","tab\\t"]],"weak":["uuid","${ID}1"],"kind":"b","flag":true,"real":1e-7}}]`,
  `["D",{"op":"insert","table":"T","uuid":"${ID}4","row":{"name":"plain","n":-3,"when":5,"soft":"gone","real":12345678901234567}}]`,
  `["D",{"op":"insert","table":"T","uuid":"${ID}5","row":{"name":"${ID}1","tags":["set",["true","false","${ID}3"]]}}]`,
  '["D",{"op":"insert","table":"Z","row":{}}]',
];

export interface Invocation {
  /** `@` is the folder in which `db.sock` and the files are. */
  readonly args: readonly string[];
  readonly input?: string;
  /** That the original did what was meant. */
  readonly check?: (ran: Ran) => void;
}

const of = (...lines: (string | readonly string[])[]): Invocation[] =>
  lines.map((line) => ({ args: typeof line === 'string' ? line.split(' ') : line }));

const at = 'unix:@/db.sock';
const formats = ['table', 'list', 'html', 'csv', 'json'];
const cells = ['string', 'bare', 'json'];

const SELECT =
  '["D",{"op":"select","table":"T","where":[["name","==","plain"]],"columns":["n","name","tags","kv"]}]';

export const invocations: { readonly [group: string]: readonly Invocation[] } = {
  'databases and schemas': of(
    `list-dbs ${at}`,
    'list-dbs unix:db.sock',
    'list-dbs',
    `get-schema ${at} D`,
    `get-schema ${at}`,
    'get-schema',
    `--pretty get-schema ${at} D`,
    `get-schema ${at} _Server`,
    `get-schema-version ${at} D`,
    `get-schema-cksum ${at} D`,
    `get-schema-version ${at} _Server`,
    `get-schema-cksum ${at} _Server`,
    `list-tables ${at} D`,
    `list-columns ${at} D`,
    `list-columns ${at} D T`,
    `list-columns ${at} D Nothing`,
    `list-columns ${at} _Server`,
    ...formats.map((format) => `list-columns -f ${format} ${at} D U`),
    ...cells.map((data) => `list-columns -d ${data} ${at} D T`),
    `list-tables --no-headings ${at} D`,
    `list-tables --bare ${at} D`,
    `list-tables -f json --pretty ${at} D`,
    `get-schema ${at} Nothing`,
    `list-tables ${at} Nothing`,
    'get-schema unix:e.sock',
  ),
  'transactions and queries': of(
    ['transact', at, SELECT],
    ['transact', SELECT],
    ['--pretty', 'transact', at, SELECT],
    ['query', at, SELECT],
    ['query', at, `["D",{"op":"insert","table":"Z","uuid":"${ID}7","row":{}},{"op":"nothing"}]`],
    ['query', at, '["D",{"op":"delete","table":"T","where":[]}]'],
    ['query', at, '["D"]'],
    ['query', at, '["D",{"op":"abort"}]'],
    ['transact', at, '["D",{"op":"nothing"}]'],
    ['transact', at, '["D",{"op":"delete","table":"U","where":[]}]'],
    ['transact', at, '["D"]'],
    ['transact', at, '["Nothing"]'],
    ['transact', at, '[]'],
    ['transact', at, '[1]'],
    ['transact', at, '{}'],
    ['transact', at, '"D"'],
    ['transact', at, 'no json'],
    ['transact', at, '["D",'],
    ['transact', at, ''],
    ['query', at, '{}'],
    ['transact', at],
    ['transact'],
    ['transact', at, SELECT, SELECT],
    ['transact', 'x', SELECT],
    ['--db-change-aware', 'transact', at, SELECT],
    ['--no-db-change-aware', 'transact', at, SELECT],
    [
      'transact',
      at,
      '["_Server",{"op":"select","table":"Database","where":[["name","==","D"]],"columns":["name","model","connected"]}]',
    ],
    ['transact', at, '["_Server",{"op":"delete","table":"Database","where":[]}]'],
  ),
  dumps: of(
    `dump ${at} D`,
    `dump ${at}`,
    'dump',
    `dump ${at} D T`,
    `dump ${at} D T name n`,
    `dump ${at} D T n name _uuid`,
    `dump ${at} D T _version`,
    `dump ${at} D Nothing`,
    `dump ${at} D T nothing`,
    `dump ${at} D T name name`,
    `--pretty -f json dump ${at} D T`,
    `--bare dump ${at} D T`,
    `--no-headings dump ${at} D T`,
    `--no-headings -f list dump ${at} D`,
    `--no-headings -f html dump ${at} D T`,
    `--no-headings -f csv dump ${at} D`,
    `--max-column-width=5 dump ${at} D T`,
    `--max-column-width=x dump ${at} D T`,
    `-f list --max-column-width=5 dump ${at} D T`,
    ...formats.flatMap((format) => cells.map((data) => `-f ${format} -d ${data} dump ${at} D`)),
    `dump ${at} _Server Database name model leader connected cid sid index`,
  ),
  'what cannot be': of(
    [],
    'nothing',
    `list-dbs ${at} more`,
    `get-schema ${at} D more`,
    `list-columns ${at} D T more`,
    `backup ${at} D more`,
    `monitor ${at} D`,
    `monitor ${at} D Nothing`,
    `monitor ${at} D T nothing`,
    `monitor ${at} D T name,name`,
    `monitor ${at} D T name n,name`,
    `monitor-cond ${at} D [] Nothing`,
    `monitor-cond ${at} D [["nothing","==",1]] T`,
    `monitor-cond ${at} D no-json T`,
    `monitor-cond ${at} D [] ALL`,
    `monitor-cond ${at} D []`,
    `monitor-cond ${at} D [] T name more`,
    `monitor-cond-since ${at} D`,
    `wait ${at} D nothing`,
    `wait ${at} D`,
    `-t 1 lock ${at}`,
    'list-dbs unix:@/nothing',
    'list-dbs unix:nothing',
    'list-dbs tcp:127.0.0.1:1',
    'list-dbs tcp:127.0.0.1:x',
    'list-dbs nonsense:1',
    'list-dbs unix:@/folder',
    'list-dbs ssl:127.0.0.1:1',
    'list-dbs unix:@/nothing,unix:@/nothing',
    `list-dbs ${at},${at}`,
    `get-schema ${at},${at}`,
    `get-schema ${at},${at} D`,
    `get-schema-version ${at},${at} Nothing`,
    'transact unix:@/nothing,unix:@/nothing ["D"]',
    '--nothing list-dbs',
    '--nothing=x list-dbs',
    '--no=x list-dbs',
    '--pretty=x list-dbs',
    '--pret=x list-dbs',
    '-x list-dbs',
    '--format',
    `--format=x list-dbs ${at}`,
    `--data=x list-dbs ${at}`,
    `--timeout=0 list-dbs ${at}`,
    `--timeout=x list-dbs ${at}`,
    `-t 20 list-dbs ${at}`,
    '--no list-dbs',
    `--no-l list-dbs ${at}`,
    `needs-conversion ${at} @/nothing`,
    `needs-conversion ${at} @/folder`,
    `needs-conversion ${at} @/broken`,
    `needs-conversion ${at} @/no-schema`,
    `convert ${at} @/broken`,
    'needs-conversion',
  ),
  'needs conversion': of(
    `needs-conversion ${at} @/D.ovsschema`,
    `needs-conversion ${at} @/newer`,
    'needs-conversion @/newer',
  ),
  waits: of(
    `wait ${at} D connected`,
    `wait ${at} D added`,
    `wait ${at} Nothing removed`,
    'wait D added',
  ),
  restores: [
    { args: ['restore', at, 'D'], input: '' },
    { args: ['restore', at, 'D'], input: 'not a backup' },
    {
      args: ['restore', at, 'D'],
      input: 'OVSDB JSON 5 0123456789012345678901234567890123456789\n{}\n',
    },
    {
      args: ['restore', at, 'D'],
      input: 'OVSDB CLUSTER 5 0123456789012345678901234567890123456789\n{}\n',
    },
    { args: ['restore', at, 'D', 'more'], input: '' },
  ],
};

export const monitors: { readonly [name: string]: readonly string[] } = {
  table: ['monitor', at, 'D', 'T'],
  'columns and selectors': ['monitor', at, 'D', 'T', 'name,!initial', 'n,kv,!modify'],
  everything: ['monitor', at, 'D', 'ALL'],
  'in CSV': ['monitor', '-f', 'csv', at, 'D', 'T', 'name,n,tags'],
  'in JSON': ['monitor', '-f', 'json', at, 'D', 'T', 'name,n,tags'],
  'bare list': ['monitor', '--bare', at, 'D', 'T', 'name,n,tags,kv'],
  html: ['monitor', '-f', 'html', at, 'D', 'T', 'name,n'],
  'with times': ['monitor', '--timestamp', at, 'D', 'T', 'name,n'],
  condition: [
    'monitor-cond',
    at,
    'D',
    '[["n","==",2],["name","==","plain"]]',
    'T',
    'name,n,tags,kv',
  ],
  'all columns by condition': ['monitor-cond', at, 'D', '[true]', 'T'],
  'since nothing': ['monitor-cond-since', at, 'D', '[["n","<",3]]', 'T', 'name,n,tags'],
  'since a transaction': ['monitor-cond-since', at, 'D', `${ID}0`, '[]', 'T', 'name,kv'],
  'not change aware': ['--no-db-change-aware', 'monitor', at, 'D', 'T', 'n'],
};

export interface Ours {
  readonly first: string;
  readonly second: string;
}

export function clientOf(whose: Whose): string {
  return whose === 'ours'
    ? join(ourFolder, 'ovsdb-client')
    : (executable('ovsdb-client') as string);
}

/** One client locks, another steals; both outputs. */
export async function locks(world: World, whose: Whose): Promise<Ours> {
  const address = `unix:${world.path('db.sock')}`;
  const args = ['-vconsole:off'];
  const first = world.start(clientOf(whose), [...args, 'lock', address, 'l'], whose);
  await until(
    () => world.outputOf(first) !== '',
    10_000,
    () => 'no answer to lock',
  );
  const second = world.start(clientOf(whose), [...args, 'steal', address, 'l'], whose);
  await until(
    () => world.outputOf(first).includes('stolen'),
    10_000,
    () => 'not stolen',
  );
  await sleep(200);
  await world.stop(second);
  await sleep(200);
  const told = { first: world.outputOf(first), second: world.outputOf(second) };
  await world.stop(first);
  return told;
}

/** A detached monitor, blocked, unblocked, and ended by its control socket; its output. */
export async function inBackground(world: World, whose: Whose): Promise<string> {
  const address = `unix:${world.path('db.sock')}`;
  const pidfile = world.path(`monitor-${whose}.pid`);
  const args = ['--detach', '--no-chdir', `--pidfile=${pidfile}`, '-vconsole:off'];
  const what = ['monitor', address, 'D', 'Much_longer_name'];
  const output = world.path(`monitor-${whose}.out`);
  const command = `${clientOf(whose)} ${[...args, ...what].join(' ')} >${output} 2>&1`;
  const shell = world.start('/bin/sh', ['-c', command], whose);
  await until(
    () => existsSync(pidfile),
    10_000,
    () => 'no pid file',
  );
  const pid = readFileSync(pidfile, 'utf8').trim();
  const control = world.path(`ovsdb-client.${pid}.ctl`);
  const tell = (...words: string[]): Promise<Ran> =>
    world.run('ovs-appctl', ['-t', control, ...words]);
  const said = [await tell('ovsdb-client/block'), await tell('ovsdb-client/block')];
  await world.must('ovsdb-client', [
    'transact',
    address,
    '["D",{"op":"insert","table":"Much_longer_name","row":{"a":4}}]',
  ]);
  said.push(await tell('ovsdb-client/unblock'), await tell('ovsdb-client/unblock'));
  const content = (): string => readFileSync(output, 'utf8');
  await until(
    () => content().includes('insert'),
    10_000,
    () => 'no insert',
  );
  said.push(await tell('exit'));
  await until(
    () => !existsSync(pidfile),
    10_000,
    () => 'the monitor does not end',
  );
  await world.stop(shell);
  await world.must('ovsdb-client', [
    'transact',
    address,
    '["D",{"op":"delete","table":"Much_longer_name","where":[]}]',
  ]);
  const words = said.map(({ code, stdout, stderr }) => `${code} ${stdout}${stderr}`);
  return [...words, content()].join('\n').replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<uuid>');
}
