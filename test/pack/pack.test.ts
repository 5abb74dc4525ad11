/**
 * The package as a user gets it: packed, installed from the tarball in an empty folder, run there
 * under the pinned Node 26 and an exact Node 24, which must simulate the same, and used by a
 * type-checked consumer.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { EXAMPLES } from '../examples.ts';
import { raftPinsPath, readPins } from '../simulation-pins.ts';

const root = resolve(import.meta.dirname, '../..');
/** The oldest line that `engines` promises, exactly. */
const NODE_24 = '24.21.0';

const snippet = `import { startLedger } from 'roundelay';
const db = await startLedger({ directory: './ledger' });
if (!(db.port > 0)) throw new Error('no port');
const root = db.root();
if (root.length !== 32) throw new Error('no root');
await db.close();
console.log('closed');
`;

let folder = '';

function run(command: string, args: readonly string[], cwd: string): string {
  return execFileSync(command, args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '', NODE_COMPILE_CACHE: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 300_000,
  });
}

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'roundelay-pack-'));
  run('npm', ['pack', '--pack-destination', folder], root);
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'));
  assert.ok(tarball, 'npm pack made no tarball');
  mkdirSync(join(folder, 'app'));
  const manifest = {
    name: 'consumer',
    private: true,
    type: 'module',
    allowScripts: { node: true },
  };
  writeFileSync(join(folder, 'app/package.json'), JSON.stringify(manifest));
  run('npm', ['install', `../${tarball}`], join(folder, 'app'));
  mkdirSync(join(folder, 'node24'));
  writeFileSync(join(folder, 'node24/package.json'), JSON.stringify(manifest));
  run('npm', ['install', `node@${NODE_24}`], join(folder, 'node24'));
});

after(() => {
  rmSync(folder, { recursive: true, force: true });
});

function nodes(): readonly (readonly [string, string])[] {
  return [
    ['the pinned Node 26', join(root, 'node_modules/.bin/node')],
    [`Node ${NODE_24}`, join(folder, 'node24/node_modules/.bin/node')],
  ];
}

test('the tarball holds what a user needs and nothing else', () => {
  const packed = join(folder, 'app/node_modules/roundelay');
  for (const path of ['dist/cli/main.js', 'dist/host/index.d.ts', 'bin/roundelay.js', 'LICENSE']) {
    assert.ok(existsSync(join(packed, path)), `${path} is missing`);
  }
  assert.ok(!existsSync(join(packed, 'src')), 'sources are packed');
  const names = readdirSync(join(packed, 'dist'), { recursive: true }).map(String);
  assert.deepEqual(
    names.filter((name) => name.includes('.test.') || name.includes('test-helper')),
    [],
  );
});

test('roundelay version and the snippet run on both Nodes', () => {
  const app = join(folder, 'app');
  writeFileSync(join(app, 'snippet.js'), snippet);
  for (const [name, node] of nodes()) {
    const major = name.includes('26') ? /^v26\./ : /^v24\.21\.0/;
    assert.match(run(node, ['--version'], app), major, name);
    const version = run(node, ['node_modules/roundelay/bin/roundelay.js', 'version'], app);
    assert.match(version, /0\.1\.0/, name);
    assert.match(run(node, ['snippet.js'], app), /closed/, name);
    assert.match(run(node, ['snippet.js'], app), /closed/, `${name}, second start`);
    rmSync(join(app, 'ledger'), { recursive: true });
  }
});

test('a simulated cluster is the same run on both Nodes, and the one that is pinned', () => {
  const app = join(folder, 'app');
  for (const [name, node] of nodes()) {
    const pins = [
      ...readPins().map((pin) => ({ ...pin, protocol: 'vsr' })),
      ...readPins(raftPinsPath).map((pin) => ({ ...pin, protocol: 'raft' })),
    ];
    for (const { protocol, seed, hash } of pins) {
      const parameters = ['simulate', protocol, '--seed', String(seed)];
      const text = run(node, ['node_modules/roundelay/bin/roundelay.js', ...parameters], app);
      const found = /^hash ([0-9a-f]{16})$/m.exec(text)?.[1];
      assert.equal(
        found,
        hash,
        `${name}, ${protocol} seed ${seed} (after a change that is meant: npm run pin)`,
      );
    }
  }
});

/** The README's example that has this word in it. */
function readmeExample(word: string): string {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const blocks = [...readme.matchAll(/```[jt]s\n([\s\S]*?)```/g)].map(([, code]) => code ?? '');
  const block = blocks.find((code) => code.includes(word));
  assert.ok(block, `the README has lost its example of ${word}`);
  return block;
}

test('the README’s library example and all examples run on both Nodes', () => {
  const app = join(folder, 'app');
  cpSync(join(root, 'examples'), join(app, 'examples'), { recursive: true });
  writeFileSync(join(app, 'library.ts'), readmeExample('defineMachine'));
  for (const [name, node] of nodes()) {
    assert.equal(run(node, ['library.ts'], app).trim(), 'total 42', name);
    for (const { file, argument, output } of EXAMPLES) {
      const lines = run(node, [join('examples', file), argument], app)
        .trim()
        .split('\n');
      assert.deepEqual(new Set(lines), new Set(output), `${name}, ${file}`);
    }
  }
});

test('the README’s OVSDB example and the programs in the package run on both Nodes', () => {
  const app = join(folder, 'app');
  writeFileSync(join(app, 'zoo.mjs'), readmeExample('startOvsdb'));
  const programs = join(app, 'node_modules/roundelay/bin/ovsdb');
  for (const [name, node] of nodes()) {
    assert.equal(run(node, ['zoo.mjs'], app).trim(), 'emu', name);
    const version = run(node, [join(programs, 'run.js'), 'tool', '--version'], app);
    assert.match(version, /^ovsdb-tool \(/, name);
  }
});

test('the library loads no package and nothing of servers for people; its size', () => {
  const app = join(folder, 'app');
  const hooks = `import { registerHooks } from 'node:module';
registerHooks({ load: (url, context, next) => {
  if (url.startsWith('file:')) process.stderr.write('loaded ' + url + '\\n');
  return next(url, context);
} });`;
  writeFileSync(join(app, 'hooks.mjs'), hooks);
  const shown = 'await import("./library.ts");';
  const code = `process.stderr.write = (text) => (process.stdout.write(text), true); ${shown}`;
  const args = ['--import', './hooks.mjs', '--input-type=module', '-e', code];
  const text = run(join(root, 'node_modules/.bin/node'), args, app);
  const loaded = [...text.matchAll(/^loaded (\S+)$/gm)].map(([, url]) => String(url));
  assert.ok(loaded.length > 50, `only ${loaded.length} modules were seen`);
  const foreign = loaded.filter(
    (url) => !/\/app\/(library\.ts|hooks\.mjs|node_modules\/roundelay\/)/.test(url),
  );
  assert.deepEqual(foreign, []);
  const programs = loaded.filter((url) => /dist\/(cli|lab|admin|sim|ovsdb)\//.test(url));
  assert.deepEqual(programs, []);
  const files = readdirSync(join(app, 'node_modules/roundelay'), { recursive: true }).map((name) =>
    join(app, 'node_modules/roundelay', String(name)),
  );
  const bytes = files.reduce((sum, path) => sum + statSync(path).size, 0);
  console.log(`unpacked ${Math.round(bytes / 1024)} KiB, ${loaded.length} modules loaded`);
});

test('a consumer type-checks against the published declarations', () => {
  const app = join(folder, 'app');
  writeFileSync(join(app, 'consumer.ts'), snippet.replace('console.log', 'void '));
  const options = {
    compilerOptions: {
      target: 'es2024',
      lib: ['es2024'],
      module: 'nodenext',
      strict: true,
      noEmit: true,
      skipLibCheck: false,
      types: ['node'],
      typeRoots: [join(root, 'node_modules/@types')],
    },
    include: ['consumer.ts'],
  };
  writeFileSync(join(app, 'tsconfig.json'), JSON.stringify(options));
  run(join(root, 'node_modules/.bin/tsc'), ['-p', app], app);
  writeFileSync(
    join(app, 'consumer.ts'),
    `${snippet}\nconst wrong: string = db.port;\nvoid wrong;\n`,
  );
  assert.throws(() => run(join(root, 'node_modules/.bin/tsc'), ['-p', app], app));
});
