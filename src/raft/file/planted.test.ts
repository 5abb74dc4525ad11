/** Bugs planted in the data file; the runs that are to find such bugs must find each of them. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { OUTCOMES } from './file-disk-test-helper.ts';
import type { FileModule } from './file-rig-test-helper.ts';
import { runByChance, runOpenings, runScript, runTwice } from './file-runs-test-helper.ts';

interface Plant {
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const PLANTS: readonly Plant[] = [
  {
    name: 'frames of an earlier life are taken for valid',
    file: 'reading.ts',
    from: 'if (!isNext || !bytesEqual(frame.previous, 0, this.#previous, 0, CHECKSUM_SIZE)) return null;',
    to: 'if (!isNext) return null;',
  },
  {
    name: 'lives are not told apart',
    file: 'chain.ts',
    from: '      head,\n      number: this.#number,',
    to: '      head: 1,\n      number: this.#number,',
  },
  {
    name: 'synced is reported one frame early',
    file: 'raft-file.ts',
    from: 'this.#durableSeq = frame.seq;',
    to: 'this.#durableSeq = this.#flights[0]?.seq ?? frame.seq;',
  },
  {
    name: 'frames count in any order',
    file: 'raft-file.ts',
    from: '        this.#done.add(number);',
    to: '        for (const { number: any } of this.#flights) if (any <= number) this.#done.add(any);',
  },
  {
    name: 'the head before the frames',
    file: 'replacement.ts',
    from: 'if (this.#inFlight > 0 || this.#isFlushing) return false;',
    to: 'if (this.#inFlight >= 0) return true;',
  },
  {
    name: 'the head without a flush',
    file: 'replacement.ts',
    from: 'if (this.#unflushed === 0) return true;',
    to: 'if (this.#unflushed >= 0) return true;',
  },
  {
    name: 'old extents are free too early',
    file: 'raft-file.ts',
    from: '      replacement.begin(Chain.begin(options, head.current.sequence));',
    to: '      this.#file.chain.release();\n      replacement.begin(Chain.begin(options, head.current.sequence));',
  },
  {
    name: 'appends are not held while the head is written',
    file: 'raft-file.ts',
    from: 'if (this.#replacements[0]?.isHolding === true) return;',
    to: '',
  },
  {
    name: 'a lost end of a record is filled with the next one',
    file: 'stream-reader.ts',
    from: 'if (!continues) this.#drop();',
    to: '',
  },
  {
    name: 'a snapshot of another history does not stop what was before',
    file: 'raft-file.ts',
    from: 'if (!replacement.continues) return targets;',
    to: '',
  },
  {
    name: 'the torn copy of the head may be the only one',
    file: 'head-store.ts',
    from: 'isDamaged(a) - isDamaged(b)',
    to: 'isDamaged(b) - isDamaged(a)',
  },
  {
    name: 'what is written changes under the write',
    file: 'raft-file.ts',
    from: '    const written = (): void => {\n      this.#work.giveBuffer(buffer);',
    to: '    this.#work.giveBuffer(buffer);\n    const written = (): void => {',
  },
];

/** The module with one piece of one of its files replaced. */
async function planted({ file, from, to }: Plant): Promise<FileModule> {
  const folder = mkdtempSync(join(tmpdir(), 'raft-file-'));
  try {
    for (const name of readdirSync(import.meta.dirname)) {
      if (/\.test\.ts$|-test-helper\.ts$/.test(name)) continue;
      cpSync(join(import.meta.dirname, name), join(folder, name));
      let text = readFileSync(join(folder, name), 'utf8');
      if (name === file) {
        assert.equal(text.split(from).length, 2, `not there exactly once: ${from}`);
        text = text.replace(from, () => to);
      }
      text = text.replaceAll(/(from ')(\.\.[^']+)(')/g, (_, before, path, after) => {
        return before + new URL(path, import.meta.url).href + after;
      });
      writeFileSync(join(folder, name), text);
    }
    return (await import(pathToFileURL(join(folder, 'index.ts')).href)) as FileModule;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What the runs say to it: `null` if they notice nothing. */
function complaint(module: FileModule): string | null {
  const options = { module, withoutInvariants: true };
  try {
    runTwice(options);
    for (let seed = 0; seed < 20; seed++) runOpenings(seed, options);
    for (const outcome of OUTCOMES) {
      let writes = 3;
      while (!runScript(writes, outcome, writes, options).isOver) writes++;
    }
    for (let seed = 0; seed < 400; seed++) runByChance(seed, options);
  } catch (error) {
    return error instanceof Error ? error.message : 'something else';
  }
  return null;
}

for (const plant of PLANTS) {
  test(`planted: ${plant.name}`, async () => {
    const found = complaint(await planted(plant));
    assert.ok(found !== null, 'nobody noticed');
  });
}
