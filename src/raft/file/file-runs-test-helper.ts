/** Runs that a data file has to survive: by chance, by script, with the power cut anywhere. */
import assert from 'node:assert/strict';
import { Prng } from '../../stdx/index.ts';
import { OUTCOMES, type Outcome } from './file-disk-test-helper.ts';
import { type FileModule, FileRig } from './file-rig-test-helper.ts';

const SIZES: readonly number[] = [0, 20, 20, 500, 4000, 9000, 30_000];

export interface RunOptions {
  readonly module?: FileModule;
  /** A planted bug is to be noticed by what it does to a file. */
  readonly withoutInvariants?: boolean;
}

/** A few lives of which each does what chance wants, and ends in a power cut. */
export function runByChance(seed: number, options: RunOptions = {}): FileRig {
  const prng = new Prng(seed, 1);
  const rig = new FileRig(seed, prng.pick([8192, 16_384, 65_536]), options.module);
  rig.areInvariantsOn = options.withoutInvariants !== true;
  rig.open();
  for (let life = 0; life < 5; life++) {
    for (let step = prng.below(30); step > 0; step--) runStep(rig, prng);
    if (prng.chance(1, 3)) {
      rig.requestSync();
      // What was on its way when there was no room may still find none.
      do {
        makeRoom(rig);
        rig.settle();
      } while (rig.failures.length > 0);
      assert.equal(rig.synced, rig.requested, 'nothing is under way, and not all is durable');
      assert.equal(rig.file.isReplacing, false);
    }
    rig.crash(prng.pick(OUTCOMES)).open();
    assert.equal(rig.corrupt, null);
  }
  rig.close();
  return rig;
}

function runStep(rig: FileRig, prng: Prng): void {
  const sizes = Array.from({ length: prng.below(4) }, () => prng.pick(SIZES));
  const action = prng.below(12);
  if (action < 5) rig.append([prng.pick(SIZES), ...sizes]);
  else if (action < 6) rig.note();
  else if (action < 7 && prng.chance(1, 2)) {
    rig.replace(prng.pick([null, ...SIZES, 100_000]), sizes, prng.chance(1, 2));
  }
  if (prng.chance(2, 3)) rig.requestSync();
  rig.advance();
  if (prng.chance(1, 20)) rig.disk.sizeMax = rig.disk.size;
  for (let count = prng.below(5); count > 0 && !rig.isIdle; count--) {
    rig.complete();
    rig.advance();
  }
  if (rig.failures.length > 0 && prng.chance(1, 3)) makeRoom(rig);
}

function makeRoom(rig: FileRig): void {
  rig.disk.sizeMax = Number.POSITIVE_INFINITY;
  rig.failures.length = 0;
  rig.file.retry();
}

/** One life that does everything there is; `writesMax`: the power is cut with that write. */
export function runScript(
  writesMax: number,
  outcome: Outcome,
  seed: number,
  options: RunOptions = {},
): { readonly rig: FileRig; readonly isOver: boolean } {
  const rig = new FileRig(seed, 16_384, options.module);
  rig.areInvariantsOn = options.withoutInvariants !== true;
  rig.open();
  const isCut = (): boolean => rig.disk.writesIssued >= writesMax;
  const steps: (() => void)[] = [
    () => rig.append([100, 200]),
    () => rig.append([5000]),
    () => rig.append([300]),
    () => rig.replace(50_000, [10, 20_000], true),
    () => rig.append([400]),
    () => rig.append([9000, 9000]),
    () => rig.append([30]),
    () => rig.replace(30_000, [], false),
    () => rig.append([500]),
    () => rig.append([600, 12_000]),
    () => rig.replace(null, [70], true),
    () => rig.append([700]),
  ];
  for (const step of steps) {
    if (isCut()) break;
    step();
    rig.requestSync();
    rig.advance();
    for (let i = 0; i < 6 && !rig.isIdle && !isCut(); i++) {
      rig.complete();
      rig.advance();
    }
  }
  while (!isCut() && !rig.isIdle) {
    rig.complete();
    rig.advance();
  }
  const isOver = !isCut();
  rig.crash(outcome).open();
  assert.equal(rig.corrupt, null, 'a crash is no damage');
  rig.append([1]);
  rig.requestSync();
  rig.settle().crash('old').open();
  assert.equal(rig.corrupt, null, 'a second crash is no damage either');
  rig.close();
  return { rig, isOver };
}

/** Lives that end while they open: heads are torn again and again. */
export function runOpenings(seed: number, options: RunOptions = {}): void {
  const prng = new Prng(seed, 2);
  const rig = new FileRig(seed, 8192, options.module);
  for (let life = 0; life < 30; life++) {
    rig.open(prng.below(8));
    assert.equal(rig.corrupt, null);
    rig.crash(prng.chance(3, 4) ? 'torn' : 'mixed');
  }
  rig.open();
  assert.equal(rig.corrupt, null);
  rig.close();
}

/** Of two frames the first is lost; the next life writes the same, and no more. */
export function runTwice(options: RunOptions = {}): void {
  const rig = new FileRig(1, 16_384, options.module).open();
  for (const size of [100, 200]) {
    rig.append([size]);
    rig.requestSync();
    rig.advance();
  }
  rig.complete(1);
  rig.crash('old').open();
  rig.append([100]);
  rig.requestSync();
  rig.settle();
  rig.crash('old').open();
  rig.close();
}
