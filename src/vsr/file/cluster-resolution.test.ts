import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { loadMutant } from '../mutant-test-helper.ts';
import { ClusterLog, type Habit } from './cluster-log-test-helper.ts';
import { type ClusterResolution, resolveCluster } from './cluster-resolution.ts';
import { slotProblems } from './cluster-slots-test-helper.ts';

type Resolve = typeof resolveCluster;

/** How often something was seen that a test is about. */
interface Seen {
  lives: number;
  fixes: number;
  cuts: number;
  faulty: number;
  uncertain: number;
}

const HABITS = ['plain', 'returning'] as const;
/** One place of every slot, or two that a single fault does not explain. */
const DAMAGES = ['header', 'prepare', 'both', 'old header', 'old prepare', 'bad over old'] as const;

/**
 * Lives of one log that end in power cuts, `damages` slots of each damaged at the end of the last.
 * The first wrong verdict, if there is one.
 */
function firstWrong(
  resolve: Resolve,
  rounds: number,
  options: { habit: Habit; damages: number },
): { problem: string | null; seen: Seen } {
  const seen: Seen = { lives: 0, fixes: 0, cuts: 0, faulty: 0, uncertain: 0 };
  for (let seed = 0; seed < rounds; seed++) {
    const prng = new Prng(seed);
    const log = new ClusterLog(prng, options.habit);
    const lives = prng.between(1, 8);
    for (let life = 1; life <= lives; life++) {
      for (let steps = prng.below(120); steps > 0; steps--) log.step();
      log.crash();
      const isLast = life === lives;
      if (isLast) damage(log, prng, options.damages);
      const verdict = resolve(log.scan());
      count(verdict, seen);
      const problem = log.problem(verdict, !isLast || options.damages === 0);
      if (problem !== null) return { problem: `seed ${seed}, life ${life}: ${problem}`, seen };
      if (!verdict.isHeadCertain) break;
      log.restart(verdict);
    }
  }
  return { problem: null, seen };
}

function damage(log: ClusterLog, prng: Prng, damages: number): void {
  const slots = Array.from({ length: 40 }, (_, slot) => slot);
  prng.shuffle(slots);
  for (const slot of slots.slice(0, damages)) {
    const kind = prng.pick(DAMAGES);
    if (kind === 'old header') log.damage(slot, 'headers', 'old');
    if (kind === 'old prepare' || kind === 'bad over old') log.damage(slot, 'prepares', 'old');
    if (kind === 'header' || kind === 'both' || kind === 'bad over old') {
      log.damage(slot, 'headers', 'bad');
    }
    if (kind === 'prepare' || kind === 'both') log.damage(slot, 'prepares', 'bad');
  }
}

function count(verdict: ClusterResolution, seen: Seen): void {
  seen.lives++;
  seen.fixes += verdict.fixes.length;
  seen.cuts += verdict.cuts.length;
  seen.faulty += verdict.slots.filter(({ kind }) => kind === 'faulty').length;
  if (!verdict.isHeadCertain) seen.uncertain++;
}

test('power cuts lose nothing and leave nothing unclear', () => {
  const { problem, seen } = firstWrong(resolveCluster, 500, { habit: 'plain', damages: 0 });
  assert.equal(problem, null);
  assert.equal(seen.uncertain, 0);
  assert.ok(seen.faulty < seen.lives / 500, JSON.stringify(seen));
  assert.ok(seen.fixes > 500 && seen.cuts > 500, JSON.stringify(seen));
});

test('nothing acknowledged is denied, whatever is damaged; nothing cut off comes back', () => {
  for (const habit of HABITS) {
    for (const damages of [1, 4, 40]) {
      const { problem, seen } = firstWrong(resolveCluster, 300, { habit, damages });
      assert.equal(problem, null);
      assert.ok(seen.faulty > 100 && seen.uncertain > 50, JSON.stringify(seen));
    }
  }
});

test('every combination of what two rings can hold', () => {
  assert.deepEqual(slotProblems(resolveCluster), []);
});

/** Everything above; what it finds first. */
function findProblem(resolve: Resolve): string | null {
  try {
    const [slots] = slotProblems(resolve);
    if (slots !== undefined) return slots;
    for (const damages of [0, 1, 4]) {
      for (const habit of HABITS) {
        const { problem } = firstWrong(resolve, 300, { habit, damages });
        if (problem !== null) return problem;
      }
    }
    return null;
  } catch (error) {
    return String(error);
  }
}

const PLANTED: readonly (readonly [string, string, string])[] = [
  ['any damaged body is a torn write', 'if (!isOld || one', 'if (one'],
  ['more torn writes than can be are believed', 'torn <= PIPELINE_MAX', 'torn <= 99'],
  ['other damage behind the head is passed over', 'isDoubtful = true;\n    if', ';\n    if'],
  ['old damage is a torn write too', 'one.op <= opMax - PIPELINE_MAX', 'one.op < 0'],
  ['an older view is not taken for older', '|| isCutOff(scan, one.found.headerBytes)', ''],
  [
    'what was cut off stays',
    'isIn(scan, found.prepareBytes)) return decision',
    'true) return decision',
  ],
  ['a view that did not begin is taken for over', ' && readView(header) <= scan.logView', ''],
  ['an old body is trusted', 'Math.max(scan.checkpoint + 1, opOldest(scan))', 'opOldest(scan)'],
  ['a body no view headers reach is trusted', '+ 1, opOldest(scan)', '+ 1'],
  ['the highest body is trusted', "=== 'E' || row === 'F'", "=== 'E'"],
  ['any body is trusted', 'opMin && isIn(scan, found.prepareBytes)', 'opMin'],
  ['the later body wins', "if (!isCutOff(scan, found.headerBytes)) return 'lost';", ''],
  ['the header decides', "if (isIn(scan, found.prepareBytes)) return 'fix';", ''],
  [
    'nothing that is there makes a head',
    "decision === 'ok' || decision === 'fix') opMax",
    'false) opMax',
  ],
  [
    'the superblock does not raise the head',
    'Math.max(scan.checkpoint, opFitting)',
    'scan.checkpoint',
  ],
  ['what lies in the slots makes a head, whatever was said', 'if (isBeyond)', 'if (false)'],
  ['a log may go beyond what was said of it', 'if (!isKnown) {', '{'],
  ['the slot of the head is not looked at', 'let op = head; op', 'let op = head + 1; op'],
  ['damage behind the head does not matter', 'isKnown || !hasFaulty(scan, resolved, head)', 'true'],
];

test('planted: prepares are written before the view of the log is durable', () => {
  const { problem } = firstWrong(resolveCluster, 3000, { habit: 'eager', damages: 0 });
  assert.match(String(problem), /acknowledged and is denied/);
});

test('nothing is found where nothing is planted', () => {
  assert.equal(findProblem(resolveCluster), null);
});

for (const [what, from, to] of PLANTED) {
  test(`planted: ${what}`, async () => {
    const url = new URL('./cluster-resolution.ts', import.meta.url);
    const mutant = await loadMutant<{ resolveCluster: Resolve }>(url, from, to);
    assert.notEqual(findProblem(mutant.resolveCluster), null);
  });
}
