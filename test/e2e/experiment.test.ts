/** `roundelay experiment` as a user calls it, with loads so small that only the way is tested. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ExitCode } from '../../src/cli/exit-codes.ts';
import { inFolder, Running, run } from './program-test-helper.ts';

const small = [
  '--replica-count=3',
  '--development',
  '--transfer-count=2_000',
  '--transfer-batch-size=100',
  '--account-count=100',
  '--open-seconds=2',
  '--runs=1',
];

test('a dead backup: every cell is run, compared and written down', {
  timeout: 120_000,
}, async () => {
  await inFolder(async (folder) => {
    const json = join(folder, 'out.json');
    const svg = join(folder, 'out.svg');
    const where = [`--directory=${folder}`, `--json=${json}`, `--svg=${svg}`];
    const which = ['--topology=alternating-ring', '--distance=none,1', '--kind=closed,open-kill'];
    const parameters = ['experiment', 'dead-replica', ...small, ...which, ...where];
    const result = await run(parameters, { timeoutMs: 110_000 });
    assert.equal(result.code, 0, result.stdout + result.stderr);
    for (const line of [
      /1: alternating-ring, closed, none \(healthy\): primary (\d) in view \d+, 20 batches /,
      /1: alternating-ring, closed, 1: primary (\d) in view \d+, victim \d, 20 batches /,
      /1: alternating-ring, open-kill, 1: /,
      /met: gap <= 150 ms/,
      /calibration: \d+ CPUs, /,
    ]) {
      assert.match(result.stdout, line);
    }
    const { cells, runs, goals } = JSON.parse(readFileSync(json, 'utf8'));
    const texts = cells.map(({ cell }: Row) => `${cell.kind} ${cell.distance}`);
    assert.deepEqual(texts, ['closed null', 'closed 1', 'open-kill null', 'open-kill 1']);
    assert.equal(runs.length, 4);
    for (const { result: one } of runs as readonly Run[]) {
      assert.equal(one.hasEnded, true);
      assert.ok(one.agreeMs !== null, 'the live replicas agree in the end');
      const isDead = one.cell.distance === 1;
      assert.equal(one.victim, isDead ? (one.primary + 1) % 3 : null);
      assert.equal(one.replicas.length, isDead ? 2 : 3);
    }
    assert.ok(goals.length > 4);
    assert.match(readFileSync(svg, 'utf8'), /^<svg .*times healthy/);
    assert.deepEqual(readdirSync(folder).toSorted(), ['out.json', 'out.svg']);
  });
});

interface Row {
  readonly cell: { readonly kind: string; readonly distance: number | null };
}

interface Run {
  readonly result: Row & {
    readonly hasEnded: boolean;
    readonly agreeMs: number | null;
    readonly primary: number;
    readonly victim: number | null;
    readonly replicas: readonly unknown[];
  };
}

test('what makes no sense is refused, with the choices', async () => {
  for (const [flag, text] of [
    ['--topology=knot', /--topology must be some of ring,/],
    ['--kind=closed,', /--kind must be some of closed,/],
    ['--distance=3', /--distance must be some of none,1,2/],
    ['--replica-count=2', /--replica-count must be a number from 3 to 6/],
    ['--transfer-batch-size=254', /at most 253 transfers fit/],
    ['--json=/missing/x.json', /--json: \/missing\/x\.json cannot be written: its folder does/],
    ['--svg=README.md/x.svg', /--svg: README\.md\/x\.svg cannot be written: its folder is a file/],
    ['--svg=src', /--svg: src is a folder/],
  ] as const) {
    const result = await run(['experiment', 'dead-replica', ...small, flag]);
    assert.equal(result.code, ExitCode.usage, flag);
    assert.match(result.stderr, text, flag);
  }
  const bare = await run(['experiment']);
  assert.equal(bare.code, ExitCode.usage);
  assert.match(bare.stderr, /there is dead-replica/);
});

test('what was measured is shown also when it cannot be written', {
  skip: !existsSync('/dev/full'),
  timeout: 120_000,
}, async () => {
  await inFolder(async (folder) => {
    const which = ['--topology=star', '--distance=none', `--directory=${folder}`];
    const parameters = ['experiment', 'dead-replica', ...small, ...which, '--json=/dev/full'];
    const { code, stdout, stderr } = await run(parameters, { timeoutMs: 110_000 });
    assert.equal(code, ExitCode.diskFull, stderr);
    assert.match(stdout, /calibration: \d+ CPUs, /);
    assert.match(stderr, /error: --json: \/dev\/full was not written: the disk is full\n$/);
  });
});

test('an interrupted experiment leaves nothing behind', { timeout: 60_000 }, async () => {
  await inFolder(async (folder) => {
    const running = new Running(
      ['experiment', 'dead-replica', ...small, '--topology=star', `--directory=${folder}`],
      { timeoutMs: 50_000 },
    );
    await running.saw(/1: star, closed, none/);
    const { code } = await running.end('SIGINT');
    assert.equal(code, ExitCode.interrupted);
    assert.deepEqual(readdirSync(folder), []);
  });
});
