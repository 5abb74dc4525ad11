/**
 * The original's ovsdb-client beside ours: the same invocations against the same real servers, and
 * standard output, standard error and exit code must be the same to the byte.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { lacking, type Ran, until, type Whose, World } from './e2e/ovsdb-programs.ts';
import { certificatesMissing, makeCertificates } from './ovsdb-peer/certificates.ts';
import {
  clientOf,
  type Invocation,
  inBackground,
  invocations,
  locks,
  monitors,
  NEWER,
  type Ours,
  SCHEMA,
  SECOND_SCHEMA,
  TRANSACTIONS,
} from './ovsdb-peer/client-invocations.ts';

const sides: readonly Whose[] = ['theirs', 'ours'];

describe('ovsdb-client beside the original', {
  skip: lacking(['ovsdb-client', 'ovsdb-server', 'ovsdb-tool']),
}, () => {
  let world: World;

  before(async () => {
    world = new World();
    writeFileSync(world.path('D.ovsschema'), SCHEMA);
    writeFileSync(world.path('E.ovsschema'), SECOND_SCHEMA);
    writeFileSync(world.path('newer'), NEWER);
    writeFileSync(world.path('broken'), '{"name":');
    writeFileSync(world.path('no-schema'), '{"name":"D","version":"1","tables":{}}');
    writeFileSync(world.path('other-schema'), SCHEMA.replace('"D"', '"Missing"'));
    mkdirSync(world.path('folder'));
    const schemas = [world.path('D.ovsschema')];
    await world.startServer('theirs', {
      schemas,
      socket: 'db.sock',
      parameters: ['--remote=ptcp:0:127.0.0.1'],
    });
    await world.startServer('theirs', { schemas: [world.path('E.ovsschema')], socket: 'e.sock' });
    for (const transaction of TRANSACTIONS) {
      await world.must('ovsdb-client', ['transact', `unix:${world.path('db.sock')}`, transaction]);
    }
  });

  after(() => world.end());

  const run = (whose: Whose, { args, input }: Invocation): Promise<Ran> => {
    const full = args.map((text) => text.replaceAll('@', world.folder));
    if (input === undefined) return world.run('ovsdb-client', full, { whose });
    // From a file, in which the original can seek.
    writeFileSync(world.path('input'), input);
    const script = `exec "$0" "$@" <${world.path('input')}`;
    return world.run('sh', ['-c', script, clientOf(whose), ...full]);
  };

  for (const [group, list] of Object.entries(invocations)) {
    test(group, async () => {
      for (const invocation of list) {
        const [theirs, ours] = [await run('theirs', invocation), await run('ours', invocation)];
        const what = invocation.args.join(' ');
        assert.deepEqual(plain(ours), plain(theirs), what);
        invocation.check?.(theirs);
      }
    });
  }

  test('a backup is the same file, and each restores the other', async () => {
    const at = `unix:${world.path('db.sock')}`;
    const backups = new Map<Whose, string>();
    for (const whose of sides) {
      backups.set(whose, await world.must('ovsdb-client', ['backup', at, 'D'], { whose }));
    }
    const [theirs, ours] = sides.map((whose) => withoutDate(backups.get(whose) as string));
    assert.equal(ours, theirs);
    const dump = (): Promise<string> =>
      world.must('ovsdb-client', ['dump', at, 'D', 'T', 'name', 'n', 'kv', 'tags', 'when']);
    const content = await dump();
    for (const whose of sides) {
      const input = backups.get(whose === 'ours' ? 'theirs' : 'ours') as string;
      const restored = await run(whose, { args: ['restore', at, 'D'], input });
      assert.deepEqual(restored, { code: 0, stdout: '', stderr: '' });
      assert.equal(await dump(), content);
    }
  });

  for (const [name, args] of Object.entries(monitors)) {
    test(`monitor: ${name}`, async () => {
      const at = `unix:${world.path('db.sock')}`;
      const outputs = await watchBoth(world, args, async () => {
        for (const operation of changesOf(name)) {
          await world.must('ovsdb-client', ['transact', at, operation]);
          await sleep(150);
        }
      });
      const [theirs, ours] = outputs.map((text) =>
        text.replaceAll(/^\d{4}-\d\d-\d\d .*$/gm, '<time>'),
      );
      assert.notEqual(theirs, '');
      assert.equal(ours, theirs);
    });
  }

  test('locks: what happens to them is told', async () => {
    const told: Ours[] = [];
    for (const whose of sides) told.push(await locks(world, whose));
    assert.deepEqual(told[1], told[0]);
    assert.match(told[0]?.first ?? '', /locked/);
  });

  test('in the background: a monitor is told to stop', async () => {
    const told: string[] = [];
    for (const whose of sides) told.push(await inBackground(world, whose));
    assert.equal(told[1], told[0]);
    assert.match(told[0] as string, /insert/);
  });

  test('a conversion', async () => {
    const at = `unix:${world.path('e.sock')}`;
    for (const [i, whose] of sides.entries()) {
      const schema = SECOND_SCHEMA.replace('1.0.0', `1.1.${i}`);
      writeFileSync(world.path('next'), schema);
      const ask = async (command: string): Promise<string> => {
        const ran = await world.run('ovsdb-client', [command, at, world.path('next')], { whose });
        return `${ran.code} ${ran.stdout}${ran.stderr}`;
      };
      assert.equal(await ask('needs-conversion'), '0 yes\n');
      assert.equal(await ask('convert'), '0 ');
      assert.equal(await ask('needs-conversion'), '0 no\n');
    }
  });

  test('over TLS', { skip: certificatesMissing() }, async () => {
    makeCertificates(world.folder);
    const files = (names: string): string[] => {
      const [key, cert, ca] = names.split(' ').map((name) => world.path(name));
      return ['-p', key, '-c', cert, '-C', ca] as string[];
    };
    await world.startServer('theirs', {
      schemas: [world.path('other-schema')],
      socket: 'tls.sock',
      parameters: ['--remote=pssl:0:127.0.0.1', ...files('key.pem chain.pem cacert.pem')],
    });
    const log = readFileSync(world.path('tls.sock.log'), 'utf8');
    const remote = `ssl:127.0.0.1:${/listening on port (\d+)/.exec(log)?.[1]}`;
    const bootstrap = ['-p', '@/key.pem', '-c', '@/cert.pem', '--bootstrap-ca-cert=@/boot.pem'];
    for (const options of [
      files('key.pem cert.pem cacert.pem'),
      [...files('key.pem cert.pem cacert.pem'), '--ssl-protocols=TLSv1.2'],
      files('key.pem cert.pem key.pem'),
      files('nothing cert.pem cacert.pem'),
      files('cakey.pem cert.pem cacert.pem'),
      bootstrap,
      bootstrap,
    ]) {
      const ran: Ran[] = [];
      for (const whose of sides) {
        const args = ['-vconsole:off', ...options, 'list-dbs', remote];
        ran.push(
          await run(whose, { args: args.map((text) => text.replace('boot.pem', `${whose}.pem`)) }),
        );
      }
      assert.deepEqual(ran[1], ran[0], options.join(' '));
    }
  });

  test('the comparison notices a difference', () => {
    const ran: Ran = { code: 0, stdout: 'a\n', stderr: '' };
    assert.notDeepEqual(plain({ ...ran, stdout: 'a \n' }), plain(ran));
    assert.notDeepEqual(plain({ ...ran, code: 1 }), plain(ran));
    assert.notDeepEqual(plain({ ...ran, stderr: 'x' }), plain(ran));
  });
});

/** Times and what differs between any two processes are taken out. */
function plain(ran: Ran): Ran {
  const clean = (text: string): string =>
    text
      .replaceAll(/^\d{4}-\d\d-\d\dT[\d:.]+Z\|\d{5}\|/gm, '<log>')
      .replaceAll(/"_date":\d+/g, '"_date":0')
      // The original says how it was called.
      .replaceAll(/^\S*\/ovsdb-client: /gm, 'ovsdb-client: ');
  return { code: ran.code, stdout: clean(ran.stdout), stderr: clean(ran.stderr) };
}

/** The date is part of the last record, and so of its hash. */
function withoutDate(backup: string): string {
  return backup
    .replace(/"_date":\d+/, '"_date":0')
    .replace(/(OVSDB JSON \d+ )[0-9a-f]{40}(\n\{.*"_date")/, '$1<sha1>$2');
}

async function watchBoth(
  world: World,
  args: readonly string[],
  body: () => Promise<void>,
): Promise<string[]> {
  const full = ['-vconsole:off', ...args.map((text) => text.replaceAll('@', world.folder))];
  const children = sides.map((whose) => world.start(clientOf(whose), full, whose));
  const begun = (): boolean => children.every((child) => world.outputOf(child) !== '');
  await until(begun, 15_000, () => 'a monitor says nothing').catch(() => {});
  await body();
  await sleep(300);
  const outputs = children.map((child) => world.outputOf(child));
  await Promise.all(children.map((child) => world.stop(child)));
  return outputs;
}

function changesOf(name: string): readonly string[] {
  return name.endsWith('without changes') ? [] : CHANGES;
}

const ID = 'a0000000-0000-4000-8000-000000000009';
const CHANGES: readonly string[] = [
  `["D",{"op":"insert","table":"T","uuid":"${ID}","row":{"name":"watched","n":1}}]`,
  `["D",{"op":"update","table":"T","where":[["_uuid","==",["uuid","${ID}"]]],"row":{"n":2,"tags":["set",["x","y"]]}}]`,
  `["D",{"op":"mutate","table":"T","where":[["_uuid","==",["uuid","${ID}"]]],"mutations":[["kv","insert",["map",[["l","w"]]]],["tags","delete","x"]]}]`,
  `["D",{"op":"insert","table":"U","row":{"tags":"u"}}]`,
  `["D",{"op":"delete","table":"T","where":[["_uuid","==",["uuid","${ID}"]]]},{"op":"delete","table":"U","where":[]}]`,
];
