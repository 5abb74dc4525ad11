/**
 * The rules of the house that no compiler checks: which room may import which, what pure rooms may
 * not touch, sizes, and a few words that must not be left lying about. A rule that is not here is
 * a wish.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';

const root = resolve(import.meta.dirname, '..');

/** room → rooms it may import. A room imports another through its index.ts. */
const layers: { readonly [room: string]: readonly string[] } = {
  stdx: [],
  wire: ['stdx'],
  engine: ['stdx', 'wire'],
  vsr: ['stdx', 'wire', 'engine'],
  raft: ['stdx', 'wire', 'engine'],
  ledger: ['stdx', 'wire', 'engine'],
  ovsdb: ['stdx', 'engine'],
  'ovsdb-cluster': ['stdx', 'engine', 'raft', 'ovsdb'],
  sim: ['stdx', 'wire', 'engine', 'vsr', 'raft', 'ledger', 'ovsdb', 'ovsdb-cluster'],
  io: ['stdx', 'wire', 'engine'],
  host: ['stdx', 'wire', 'engine', 'vsr', 'raft', 'ledger', 'ovsdb', 'ovsdb-cluster', 'io'],
  client: ['stdx', 'wire', 'engine', 'ledger', 'ovsdb', 'io'],
  admin: ['stdx', 'engine', 'host'],
};
const programs = ['lab', 'cli'];
/** Folders whose index is a public face too, so that users of one do not load the whole room. */
const publicFolders = /^src\/io\/[a-z-]+\/index\.ts$/;
const pure = ['stdx', 'wire', 'engine', 'vsr', 'raft', 'ledger', 'ovsdb', 'ovsdb-cluster', 'sim'];
/** Rooms that an embedder loads: they import no package. */
const withoutPackages = [...pure, 'io', 'host', 'client'];

/** What pure rooms may not say, and why a reader would care. */
const bans: readonly (readonly [RegExp, string])[] = [
  [/\bMath\.(random|log\w*|exp\w*|pow|sin|cos|tan|sinh|cosh|tanh|cbrt|hypot)\b/, 'Math'],
  [/\bDate\b/, 'wall clock'],
  [/\bperformance\b\s*\./, 'clock'],
  [/\b(setTimeout|setInterval|setImmediate|queueMicrotask)\b/, 'timer'],
  [/\b(Promise|async|await)\b/, 'promise'],
  [/(?<![.\w#])process\s*\./, 'process'],
  [/\bconsole\s*\./, 'console'],
  [/\bBuffer\b/, 'Buffer'],
  [/\bnode:/, 'node module'],
  [/\bcrypto\s*\./, 'crypto'],
];

/** Lines, functions and folders: `file → reason` for the few that may be larger. Expected empty. */
const longFiles: { readonly [path: string]: string } = {};
const FILE_LINES_MAX = 500;
const LINE_COLUMNS_MAX = 100;
const FOLDER_SOURCES_MAX = 20;

function filesUnder(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => !path.includes('node_modules'));
}

const sources = filesUnder('src').filter((path) => path.endsWith('.ts'));
const scripts = ['test', 'bench', 'scripts']
  .flatMap(filesUnder)
  .filter((path) => path.endsWith('.ts'));
const isTest = (path: string): boolean => /\.test\.ts$|-test-helper\.ts$/.test(path);
const roomOf = (path: string): string => path.split('/')[1] as string;

/** Code without comments and string contents, so that prose may say "await". */
export function stripped(text: string): string {
  return text
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/(^|[^:'"`])\/\/.*$/gm, '$1')
    .replaceAll(/'(?:[^'\\\n]|\\.)*'/g, (literal) =>
      literal.startsWith("'node:") ? literal : "''",
    )
    .replaceAll(/`[^`]*`/g, '``');
}

function importsOf(text: string): string[] {
  const statement = /(?:^|\s)from '([^'\s]+)';|^import '([^'\s]+)'|\bimport\('([^'\s]+)'\)/gm;
  return [...text.matchAll(statement)].map(([, a, b, c]) => a ?? b ?? (c as string));
}

/** Problems of one file's imports, as sentences. */
export function importProblems(path: string, text: string): string[] {
  const room = roomOf(path);
  const problems: string[] = [];
  for (const specifier of importsOf(text)) {
    if (specifier.startsWith('.')) {
      const target = relative(root, resolve(root, dirname(path), specifier));
      const other = roomOf(target);
      if (!specifier.endsWith('.ts')) problems.push(`${specifier} lacks its extension`);
      if (other === room) continue;
      const allowed = programs.includes(room) ? room === 'cli' || other !== 'cli' : undefined;
      if (!(allowed ?? layers[room]?.includes(other))) problems.push(`imports ${other}`);
      const throughIndex = target === `src/${other}/index.ts` || publicFolders.test(target);
      if (!throughIndex && !programs.includes(room)) problems.push(`reaches into ${target}`);
    } else if (!specifier.startsWith('node:') && withoutPackages.includes(room)) {
      problems.push(`imports the package ${specifier}`);
    }
  }
  return problems;
}

/** Banned words of a pure room's file. */
export function banProblems(text: string): string[] {
  const code = stripped(text);
  return bans.filter(([pattern]) => pattern.test(code)).map(([, name]) => name);
}

test('every room exists in the layer table', () => {
  for (const path of sources) {
    const room = roomOf(path);
    assert.ok(room in layers || programs.includes(room), `${path}: unknown room`);
  }
});

test('rooms import only what their layer allows', () => {
  for (const path of sources) {
    if (isTest(path)) continue;
    const text = readFileSync(join(root, path), 'utf8');
    assert.deepEqual(importProblems(path, text), [], path);
  }
});

test('pure rooms touch no clock, chance, I/O or promise', () => {
  for (const path of sources) {
    if (isTest(path) || !pure.includes(roomOf(path))) continue;
    assert.deepEqual(banProblems(readFileSync(join(root, path), 'utf8')), [], path);
  }
});

/** Width of a line; one that only a string makes long is as good as the formatter can do. */
function columnsOf(line: string): number {
  if (line.length <= LINE_COLUMNS_MAX) return line.length;
  return line.replace(/'[^']*'|`[^`]*`/g, "''").length;
}

test('files, lines and folders keep their size', () => {
  const perFolder = new Map<string, number>();
  for (const path of [...sources, ...scripts]) {
    const lines = readFileSync(join(root, path), 'utf8').split('\n');
    if (!(path in longFiles)) assert.ok(lines.length <= FILE_LINES_MAX, `${path}: ${lines.length}`);
    const wide = lines.findIndex((line) => columnsOf(line) > LINE_COLUMNS_MAX);
    assert.ok(wide === -1, `${path}:${wide + 1} is wider than ${LINE_COLUMNS_MAX} columns`);
    if (!isTest(path)) perFolder.set(dirname(path), (perFolder.get(dirname(path)) ?? 0) + 1);
  }
  for (const [folder, count] of perFolder) {
    assert.ok(count <= FOLDER_SOURCES_MAX, `${folder} holds ${count} sources`);
  }
});

/** Words of unfinished work, spelled apart so that this file does not contain them. */
const marks = new RegExp(`\\b(${['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X'].join('|')})\\b`);

test('every source opens with a comment and leaves no mark behind', () => {
  for (const path of [...sources, ...scripts]) {
    const text = readFileSync(join(root, path), 'utf8');
    if (!isTest(path)) assert.match(text, /^(#!.*\n)?\/\*\*|^(#!.*\n)?\/\//, `${path}: no opening`);
    assert.doesNotMatch(text, marks, `${path}: a mark was left`);
    assert.doesNotMatch(text, /\.only\(/, `${path}: a test is singled out`);
  }
});

test('dependencies are exact and nothing installs by script', () => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const [name, version] of Object.entries({
    ...manifest.dependencies,
    ...manifest.devDependencies,
  })) {
    assert.match(String(version), /^\d+\.\d+\.\d+$/, `${name} is not pinned`);
  }
  for (const hook of ['preinstall', 'install', 'postinstall', 'prepare']) {
    assert.equal(manifest.scripts[hook], undefined, hook);
  }
});

test('the tidy rules themselves can fail', () => {
  assert.deepEqual(importProblems('src/ledger/a.ts', "import { x } from '../vsr/index.ts';"), [
    'imports vsr',
  ]);
  assert.deepEqual(importProblems('src/vsr/a.ts', "import { x } from '../wire/pool.ts';"), [
    'reaches into src/wire/pool.ts',
  ]);
  assert.deepEqual(
    importProblems('src/host/a.ts', "import { x } from '../io/streams/index.ts';"),
    [],
  );
  assert.deepEqual(importProblems('src/host/a.ts', "import { x } from '../io/streams/a.ts';"), [
    'reaches into src/io/streams/a.ts',
  ]);
  assert.deepEqual(importProblems('src/io/a.ts', "import pino from 'pino';"), [
    'imports the package pino',
  ]);
  assert.deepEqual(importProblems('src/lab/a.ts', "import { x } from '../cli/main.ts';"), [
    'imports cli',
  ]);
  assert.deepEqual(importProblems('src/cli/a.ts', "import { x } from '../lab/index.ts';"), []);
  assert.deepEqual(banProblems('const a = Math.random();'), ['Math']);
  assert.deepEqual(banProblems('const a = new Date();'), ['wall clock']);
  assert.deepEqual(banProblems("import 'node:fs';"), ['node module']);
  assert.deepEqual(banProblems('async function f() {}'), ['promise']);
  assert.deepEqual(banProblems('// await the Date\nconst a = 1; /* Math.random() */'), []);
});
