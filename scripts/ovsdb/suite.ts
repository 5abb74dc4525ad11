/**
 * The original's own test suite through our executables. Takes the path of a finished userspace
 * build of Open vSwitch, made elsewhere as its documentation says; the TLS tests need its test
 * certificates (`make tests/testpki-cacert.pem` and the like):
 *
 *   node scripts/ovsdb/suite.ts --checkout PATH [--groups tool,server,...]
 *     [--tests 1500-1600,1700] [--programs server,tool,client] [--jobs 4] [--original] [--accept]
 *
 * Executables of ours named ovsdb-server, ovsdb-tool, ovsdb-client stand first in AUTOTEST_PATH.
 * The failing tests are compared with test/fixtures/ovsdb-suite.json, a reason each: a failure
 * that is not there, and an entry that no longer fails, end with code 1. `--accept` writes the file
 * anew, keeping reasons; `--original` runs the checkout's own programs, to know the suite itself.
 */
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { judge, parseList, parseResults, type SuiteTest, wantedTests } from './suite-results.ts';

const { values } = parseArgs({
  options: {
    checkout: { type: 'string' },
    groups: { type: 'string' },
    tests: { type: 'string' },
    programs: { type: 'string', default: 'server,tool,client' },
    jobs: { type: 'string', default: '4' },
    original: { type: 'boolean', default: false },
    accept: { type: 'boolean', default: false },
  },
});

const root = resolve(import.meta.dirname, '../..');
const expectedPath = join(root, 'test/fixtures/ovsdb-suite.json');

if (values.checkout === undefined) throw new Error('--checkout PATH: a finished build is needed');
const checkout = resolve(values.checkout);

/** Our programs in a folder of their own: what is not asked for stays the original's. */
function substitutes(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ovsdb-suite-'));
  for (const name of values.programs.split(',')) {
    const path = join(folder, `ovsdb-${name}`);
    const program = join(root, 'bin/ovsdb', `ovsdb-${name}`);
    writeFileSync(path, `#!/bin/sh\nexec ${program} "$@"\n`);
    chmodSync(path, 0o755);
  }
  return folder;
}

function suite(parameters: readonly string[], folder: string | null): string[] {
  const path = ['utilities', 'vswitchd', 'ovsdb', 'vtep', 'tests', 'ipsec', ''];
  if (folder !== null) path.unshift(folder);
  return ['./testsuite', '-C', '.', `AUTOTEST_PATH=${path.join(':')}`, ...parameters];
}

async function run(tests: readonly SuiteTest[], folder: string | null): Promise<string> {
  const numbers = tests.map(({ number }) => String(number));
  const child = spawn('sh', suite([`-j${values.jobs}`, ...numbers], folder), {
    cwd: join(checkout, 'tests'),
    env: { ...process.env, LC_ALL: 'C', TESTSUITEFLAGS: '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk;
    process.stderr.write(chunk);
  });
  await new Promise((done) => child.once('close', done));
  return output;
}

const listed = spawnSync('sh', suite(['--list'], null), {
  cwd: join(checkout, 'tests'),
  encoding: 'utf8',
  maxBuffer: 1 << 26,
});
const all = parseList(listed.stdout);
if (all.length === 0) throw new Error(`no tests are listed: ${listed.stdout}${listed.stderr}`);
const wanted = wantedTests(all, values.groups ?? null, values.tests ?? null);
if (wanted.length === 0) throw new Error('no test is wanted');
const folder = values.original ? null : substitutes();
mkdirSync(join(checkout, 'tests'), { recursive: true });
try {
  const results = parseResults(await run(wanted, folder));
  const expected = JSON.parse(readFileSync(expectedPath, 'utf8'));
  const judged = judge(wanted, results, values.original ? {} : expected.failing);
  console.log(judged.report);
  if (values.accept) {
    const failing = { ...expected.failing, ...judged.failing };
    for (const stale of judged.stale) delete failing[stale];
    const sorted = Object.fromEntries(Object.entries(failing).sort(([a], [b]) => (a < b ? -1 : 1)));
    writeFileSync(expectedPath, `${JSON.stringify({ ...expected, failing: sorted }, null, 2)}\n`);
  } else if (!judged.isAsExpected) process.exitCode = 1;
} finally {
  if (folder !== null) rmSync(folder, { recursive: true, force: true });
}
